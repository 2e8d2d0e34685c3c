"""Has the source changed? A token from the file system that costs nothing, and a digest of what the vault depends on.

Layer 2. `file_token` never opens a file: an equal token means that nothing was written, a different one that something may have been.
`content_digest` then decides: it is equal for equal content in any file, row order, Python version and process, whatever else the database
holds and however its pages lie.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from array import array
from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path

SIBLINGS = ("-wal", "-journal")  # -shm holds nothing that is not in the others, and every reader touches it
_FINE_WINDOW_NS = 50_000_000  # kernels stamp files with a clock that ticks every 1 to 10 ms
_COARSE_WINDOW_NS = 2_000_000_000  # FAT stamps whole even seconds, HFS+ and some servers whole seconds

ItemRow = tuple[int, str, str, str, "int | None", str]  # id, title, url, published, feed id, summary
FeedRow = tuple[int, str, str]  # id, url, title


def file_token(path: Path) -> str:
    """Return inode, size and time of change of a database and its -wal and -journal; never raises.

    An empty -wal counts as none: readers create and remove it. A file stamped within the resolution of its file system could be written
    once more without a trace, so its token is different at every call until that time has passed.
    """
    parts = []
    newest = 0
    for suffix in ("", *SIBLINGS):
        part, stamp = _signature(f"{path}{suffix}", main=not suffix)
        parts.append(part)
        newest = max(newest, stamp)
    now = time.time_ns()
    window = _FINE_WINDOW_NS if newest % 1_000_000_000 else _COARSE_WINDOW_NS
    if newest and abs(now - newest) < window:
        parts.append(f"fresh@{now}")
    return " ".join(parts)


def is_fresh(token: str) -> bool:
    """Tell whether a token is one that can't be trusted yet, because the files were stamped a moment ago."""
    return "fresh@" in token


def _signature(path: str, *, main: bool) -> tuple[str, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - a suffix on a name, not a path below it
    except (FileNotFoundError, NotADirectoryError):
        return "-", 0
    except OSError as error:
        return f"error{error.errno}", 0
    if not main and found.st_size == 0:
        return "-", 0
    # The time of a change of status tells a file restored with its old date; on -wal SQLite moves it at every read (it sets the owner).
    status = f".{found.st_ctime_ns}" if main else ""
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}{status}", found.st_mtime_ns


def content_digest(pairs: Sequence[tuple[int, str]], items: Iterable[ItemRow], feeds: Iterable[FeedRow]) -> str:
    """Return the digest of what the notes are made of: the assignments, the tagged items and their feeds (32 hex digits).

    `pairs`, `items` and `feeds` are sorted and without duplicates. Items without tags and feeds without such items are in no note and are
    left out. Columns are hashed one by one as lengths and joined text, so that no content can imitate a boundary.
    """
    ids = [number for number, _ in pairs]
    tags = sorted({tag for _, tag in pairs})
    place = {tag: index for index, tag in enumerate(tags)}
    tagged = set(ids)
    used = [row for row in items if row[0] in tagged]
    wanted = {row[4] for row in used}
    shown = [row for row in feeds if row[0] in wanted]
    state = hashlib.sha256(b"kg2vault content 1\n")
    _add_numbers(state, ids)
    _add_numbers(state, list(map(place.__getitem__, map(itemgetter(1), pairs))))
    _add_texts(state, tags)
    _add_numbers(state, [row[0] for row in used])
    _add_numbers(state, [row[4] is None for row in used])
    _add_numbers(state, [row[4] or 0 for row in used])
    for column in (1, 2, 3, 5):
        _add_texts(state, list(map(itemgetter(column), used)))
    _add_numbers(state, [row[0] for row in shown])
    _add_texts(state, [row[1] for row in shown])
    _add_texts(state, [row[2] for row in shown])
    return state.hexdigest()[:32]


def _add_numbers(state: hashlib._Hash, numbers: list[int]) -> None:
    column = array("q", numbers)
    if sys.byteorder == "big":
        column.byteswap()
    state.update(b"%d:" % len(numbers))
    state.update(column)


def _add_texts(state: hashlib._Hash, texts: list[str]) -> None:
    _add_numbers(state, list(map(len, texts)))
    state.update("".join(texts).encode("utf-8", "surrogatepass"))
