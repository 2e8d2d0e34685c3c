"""Has the source changed? A digest of what the vault depends on, where `file_token` only says that something was written.

Layer 2. `content_digest` is equal for equal content in any file, row order, Python version and process, whatever else the database
holds and however its pages lie.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Iterable, Sequence
from operator import itemgetter

from kg2vault.storage.file_token import SIBLINGS, file_token, is_fresh

__all__ = ["SIBLINGS", "FeedRow", "ItemRow", "content_digest", "file_token", "is_fresh"]

ItemRow = tuple[int, str, str, str, "int | None", str]  # id, title, url, published, feed id, summary
FeedRow = tuple[int, str, str]  # id, url, title


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
