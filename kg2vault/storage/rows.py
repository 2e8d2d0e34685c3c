"""The rows of hermes.db as clean values: text decoded, ids whole numbers, everything sorted and once.

Layer 2. `read_rows` runs the queries on an open connection; it decides nothing about files. Text comes from SQLite as bytes and every
distinct tag is decoded once, so millions of rows share a few thousand strings.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar, cast

from kg2vault.errors import SourceSchema
from kg2vault.storage.fingerprint import FeedRow, ItemRow

Row = TypeVar("Row", bound="tuple[object, ...]")

_EPOCH = re.compile(r"-?\d{9,17}(\.\d+)?")  # text of a number: a column with text affinity stores numbers so; 20260101 is a date
_NOTHING_TO_SEE = {"Cc", "Cf", "Zs", "Zl", "Zp"}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Rows:
    """What one transaction read, sorted, each once."""

    pairs: Sequence[tuple[int, str]]
    items: Sequence[ItemRow]
    feeds: Sequence[FeedRow]
    skipped: Mapping[str, int]
    decoded: int


class _Ids(dict[object, "int | None"]):
    """Whole numbers, one object each; None for what is none. 1.0 and '1' are 1, as SQLite compares them in a column of numbers."""

    def __missing__(self, value: object) -> int | None:
        found: int | None = None
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**63
        digits = isinstance(value, bytes) and len(value) <= 18 and value.isdigit()
        if isinstance(value, int | float | bytes) and (isinstance(value, int) or whole or digits):
            found = int(value)
        return self.setdefault(value, found)


class _Tags(dict["bytes | None", "str | None"]):
    """Decoded tags, one string each; None for those that show nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: set[bytes | None] = set()

    def __missing__(self, raw: bytes | None) -> str | None:
        text = None
        if raw is not None:
            text = raw.decode("utf-8", "replace")
            if "\ufffd" in text and text.encode() != raw:
                self.replaced.add(raw)
            if all(unicodedata.category(character) in _NOTHING_TO_SEE for character in text):
                text = None
        return self.setdefault(raw, text)


class _Texts:
    """Decodes facts and counts the ones that needed replacement."""

    def __init__(self) -> None:
        self.replaced = 0

    def __call__(self, raw: bytes | None) -> str:
        if raw is None:
            return ""
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.replaced += 1
            return raw.decode("utf-8", "replace")


def read_rows(connection: sqlite3.Connection, path: Path, *, summaries: bool) -> Rows:
    """Read the three tables; raises SourceSchema naming the table or column that is missing, and sqlite3.Error."""
    connection.text_factory = bytes
    _require_tags(connection, path)
    skipped: Counter[str] = Counter()
    pairs, replaced = _assignments(connection, skipped)
    texts = _Texts()
    items = _items(connection, texts, summaries=summaries)
    feeds = _feeds(connection, texts)
    return Rows(pairs, items, feeds, dict(sorted(skipped.items())), replaced + texts.replaced)


def has_tags(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether item_tags has a row; raises SourceSchema when there is no such table."""
    connection.text_factory = bytes
    _require_tags(connection, path)
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM item_tags)").fetchone()[0])


def _assignments(connection: sqlite3.Connection, skipped: Counter[str]) -> tuple[list[tuple[int, str]], int]:
    ids, tags = _Ids(), _Tags()
    replaced = 0

    def skip(item: object, raw: bytes | None) -> bool:
        skipped["null" if raw is None or item is None else "blank" if tags[raw] is None else "item id"] += 1
        return False

    usable = [
        (number, tag)
        for item, raw in connection.execute("SELECT item_id, CAST(tag AS TEXT) FROM item_tags")
        if ((tag := tags[raw]) is not None and (number := ids[item]) is not None) or skip(item, raw)
    ]
    pairs = cast("list[tuple[int, str]]", usable)
    if tags.replaced:
        strings = {tags[raw] for raw in tags.replaced}
        replaced = sum(tag in strings for _, tag in pairs)
    pairs.sort()
    return [pair for pair, _ in groupby(pairs)], replaced


def _items(connection: sqlite3.Connection, texts: _Texts, *, summaries: bool) -> list[ItemRow]:
    columns = _columns(connection, "items", optional=True)
    if "id" not in columns:
        return []
    names = ("title", "url", "summary") if summaries else ("title", "url")
    texts_of = {name: f"CAST({name} AS TEXT)" if name in columns and name in names else "NULL" for name in ("title", "url", "summary")}
    plain = {name: name if name in columns else "NULL" for name in ("published", "feed_id")}
    ids, feeds = _Ids(), _Ids()
    query = f"SELECT id, {texts_of['title']}, {texts_of['url']}, {plain['published']}, {plain['feed_id']}, {texts_of['summary']} FROM items"
    rows: list[ItemRow] = [
        (number, texts(title), texts(url), _date(published, texts), feeds[feed], texts(summary))
        for item, title, url, published, feed, summary in connection.execute(query)
        if (number := ids[item]) is not None
    ]
    return _once(rows)


def _feeds(connection: sqlite3.Connection, texts: _Texts) -> list[FeedRow]:
    columns = _columns(connection, "feeds", optional=True)
    if "id" not in columns:
        return []
    url, title = (f"CAST({name} AS TEXT)" if name in columns else "NULL" for name in ("url", "title"))
    ids = _Ids()
    rows: list[FeedRow] = [
        (number, texts(address), texts(name))
        for feed, address, name in connection.execute(f"SELECT id, {url}, {title} FROM feeds")
        if (number := ids[feed]) is not None
    ]
    return _once(rows)


def _once(rows: list[Row]) -> list[Row]:
    rows.sort(key=itemgetter(0))
    if len({row[0] for row in rows}) == len(rows):
        return rows
    rows.sort(key=lambda row: (row[0], ascii(row)))  # a view may give an id twice: which row wins must not depend on their order
    return [next(group) for _, group in groupby(rows, key=itemgetter(0))]


def _date(value: bytes | float | None, texts: _Texts) -> str:
    """Return a date as stored, without blanks around it; a number of seconds, milli- or microseconds since 1970 as UTC."""
    if isinstance(value, bytes):
        text = texts(value).strip()
        if not _EPOCH.fullmatch(text):
            return text
        value = float(text)
    if value is None:
        return ""
    seconds = value
    for _ in range(2):
        seconds = seconds / 1000 if abs(seconds) >= 1e11 else seconds  # 1e11 s is the year 5138
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(value)


def _columns(connection: sqlite3.Connection, table: str, *, optional: bool = False) -> dict[str, str]:
    """Map the lower-case name of each column to the name as declared; empty when there is no such table or view."""
    try:
        rows = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.OperationalError as error:
        if optional and "no such" in str(error):  # a virtual table whose module is not loaded, a view of something that is gone
            return {}
        raise
    names = [name.decode("utf-8", "replace") for (name,) in rows]
    return {name.lower(): name for name in names}


def _require_tags(connection: sqlite3.Connection, path: Path) -> None:
    columns = _columns(connection, "item_tags")
    if not columns:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name").fetchall()
        names = [name.decode("utf-8", "replace") for (name,) in rows if not name.startswith(b"sqlite_")]
        raise SourceSchema(f"{path} has no table item_tags ({_listed(names)}).", path=str(path), hint="Is it the reader's hermes.db?")
    for name in ("item_id", "tag"):
        if name not in columns:
            found = _listed(list(columns.values()))
            raise SourceSchema(f"The table item_tags in {path} has no column {name} ({found}).", path=str(path))


def _listed(names: list[str]) -> str:
    if not names:
        return "it has none at all"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "it has " + ", ".join(names[:_SHOWN]) + more
