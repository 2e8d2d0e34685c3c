"""Has a database been written, or the program itself? Answers from the file system that cost next to nothing.

Layer 2. Imports next to nothing, because a sync that finds nothing to do is over before anything larger would be loaded.
"""

from __future__ import annotations

import os
import time

SIBLINGS = ("-wal", "-journal")  # -shm holds nothing that is not in the others, and every reader touches it
PROGRAM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - importing pathlib takes longer
_FINE_WINDOW_NS = 50_000_000  # kernels stamp files with a clock that ticks every 1 to 10 ms
_COARSE_WINDOW_NS = 2_000_000_000  # FAT stamps whole even seconds, HFS+ and some servers whole seconds


def file_token(path: str | os.PathLike[str]) -> str:
    """Return inode, size and time of change of a database and its -wal and -journal; never raises.

    Equal tokens mean that nothing was written. An empty -wal counts as none: readers create and remove it. A file stamped within the
    resolution of its file system could be written once more without a trace, so its token is different at every call until that time
    has passed.
    """
    parts = []
    newest = 0
    for suffix in ("", *SIBLINGS):
        part, stamp = _signature(f"{path}{suffix}", main=not suffix)
        parts.append(part)
        newest = max(newest, stamp)
    now = time.time_ns()
    if newest and is_recent(newest, now):
        parts.append(f"fresh@{now}")
    return " ".join(parts)


def program_stamp() -> str:
    """Return what changes when the program is installed anew or edited: size and mtime of its files. Raises OSError."""
    parts = []
    for folder, _, names in os.walk(PROGRAM):
        for name in names:
            if not name.endswith(".pyc"):
                found = os.stat(f"{folder}/{name}")  # noqa: PTH116
                parts.append(f"{folder}/{name} {found.st_size} {found.st_mtime_ns}")
    return "\n".join(sorted(parts))


def is_fresh(token: str) -> bool:
    """Tell whether a token is one that can't be trusted yet, because the files were stamped a moment ago."""
    return "fresh@" in token


def is_recent(stamp: int, now: int) -> bool:
    """Tell whether a file stamped so (ns) could be written once more without getting another stamp."""
    return abs(now - stamp) < (_FINE_WINDOW_NS if stamp % 1_000_000_000 else _COARSE_WINDOW_NS)


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
