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

from kg2vault.graph.model import Assignments, Feed, Item
from kg2vault.storage.file_token import SIBLINGS, file_token, is_fresh

__all__ = ["SIBLINGS", "content_digest", "file_token", "is_fresh"]


def content_digest(assignments: Sequence[tuple[int, str]], items: Iterable[Item], feeds: Iterable[Feed]) -> str:
    """Return the digest of what the notes are made of: the assignments, the tagged items and their feeds (32 hex digits).

    `items` and `feeds` are sorted and without duplicates. Items without tags and feeds without such items are in no note and are left
    out. Columns are hashed one by one as lengths and joined text, so that no content can imitate a boundary.
    """
    rows = Assignments.of(assignments)
    tagged = set(rows.item_ids)
    used = [item for item in items if item[0] in tagged]
    wanted = {item[4] for item in used}
    shown = [feed for feed in feeds if feed[0] in wanted]
    state = hashlib.sha256(b"kg2vault content 1\n")
    _add_numbers(state, rows.item_ids)
    _add_numbers(state, rows.tag_at)
    _add_texts(state, rows.tags)
    feed_ids = list(map(itemgetter(4), used))
    _add_numbers(state, array("q", map(itemgetter(0), used)))
    _add_numbers(state, array("q", [feed is None for feed in feed_ids]))
    _add_numbers(state, array("q", [feed or 0 for feed in feed_ids]))
    for column in (1, 2, 3, 5):
        _add_texts(state, list(map(itemgetter(column), used)))
    _add_numbers(state, array("q", map(itemgetter(0), shown)))
    _add_texts(state, list(map(itemgetter(1), shown)))
    _add_texts(state, list(map(itemgetter(2), shown)))
    return state.hexdigest()[:32]


def _add_numbers(state: hashlib._Hash, numbers: array[int]) -> None:
    column = numbers
    if sys.byteorder == "big":
        column = numbers[:]
        column.byteswap()
    state.update(b"%d:" % len(numbers))
    state.update(column)


def _add_texts(state: hashlib._Hash, texts: Sequence[str]) -> None:
    _add_numbers(state, array("q", map(len, texts)))
    state.update("".join(texts).encode("utf-8", "surrogatepass"))
