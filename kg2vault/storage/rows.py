"""The rows of hermes.db as clean values: text decoded, ids whole numbers, everything sorted and once.

Layer 2. `read_rows` runs the queries on an open connection; it decides nothing about files. Text comes from SQLite as bytes and every
distinct tag is decoded once, so millions of rows share a few thousand strings.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from kg2vault.errors import SourceSchema
from kg2vault.graph.columns import in_order
from kg2vault.graph.model import Assignments, Feed, Item

Row = TypeVar("Row", bound="tuple[object, ...]")

_EPOCH = re.compile(r"-?\d{9,17}(\.\d+)?")  # text of a number: a column with text affinity stores numbers so; 20260101 is a date
_NOTHING_TO_SEE = {"Cc", "Cf", "Zs", "Zl", "Zp"}
_SHOWN = 20
_AT_ONCE = 1_000  # rows: more do not stay in the processor's cache, which takes half as long again


@dataclass(frozen=True, slots=True)
class Rows:
    """What one transaction read, sorted, each once."""

    assignments: Assignments
    items: Sequence[Item]
    feeds: Sequence[Feed]
    skipped: Mapping[str, int]
    decoded: int


class _Ids(dict[object, "int | None"]):
    """Whole numbers; None for what is none. 1.0 and '1' are 1, as SQLite compares them in a column of numbers."""

    def __missing__(self, value: object) -> int | None:
        found: int | None = None
        whole = isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**63
        digits = isinstance(value, bytes | str) and len(value) <= 18 and value.isdigit() and value.isascii()
        if isinstance(value, int | float | bytes | str) and (isinstance(value, int) or whole or digits):
            found = int(value)
        return self.setdefault(value, found)


class _Tags(dict["bytes | None", "int | None"]):
    """Numbers of tags, in the order in which they came, as places in `texts`; None for those that show nothing. Each is decoded once."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.replaced: set[int] = set()
        self._odd: dict[str, int] = {}  # only these can come from several raw tags

    def __missing__(self, raw: bytes | None) -> int | None:
        number = None
        if raw is not None:
            text = raw.decode("utf-8", "replace")
            if (text.isprintable() and text.strip()) or not all(unicodedata.category(character) in _NOTHING_TO_SEE for character in text):
                number = self._number(text, raw)
        self[raw] = number
        return number

    def _number(self, text: str, raw: bytes) -> int:
        if "\ufffd" in text:
            number = self._odd.setdefault(text, len(self.texts))
            if text.encode() != raw:
                self.replaced.add(number)
            if number < len(self.texts):
                return number
        self.texts.append(text)
        return len(self.texts) - 1


def read_rows(connection: sqlite3.Connection, path: Path, *, summaries: bool) -> Rows:
    """Read the three tables; raises SourceSchema naming the table or column that is missing, and sqlite3.Error."""
    _require_tags(connection, path)
    items, replaced_in_items = _items(connection, summaries=summaries)
    feeds, replaced_in_feeds = _feeds(connection)
    skipped: Counter[str] = Counter()
    assignments, replaced = _assignments(connection, skipped)
    return Rows(assignments, items, feeds, dict(sorted(skipped.items())), replaced + replaced_in_items + replaced_in_feeds)


def has_tags(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether item_tags has a row; raises SourceSchema when there is no such table."""
    _require_tags(connection, path)
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM item_tags)").fetchone()[0])


def _assignments(connection: sqlite3.Connection, skipped: Counter[str]) -> tuple[Assignments, int]:
    tags, ids = _Tags(), _Ids()
    item_ids, numbers = array("q"), array("q")
    connection.text_factory = bytes
    cursor = connection.execute("SELECT item_id, CAST(tag AS TEXT) FROM item_tags")
    while rows := cursor.fetchmany(_AT_ONCE):
        items, raws = zip(*rows, strict=True)
        before = len(item_ids)
        try:
            item_ids.extend(items)
            numbers.extend(map(tags.__getitem__, raws))  # type: ignore[arg-type]
        except TypeError:  # a row that is left out, or an item id that is not stored as a whole number
            del item_ids[before:], numbers[before:]
            for item, raw in rows:
                number, item_id = tags[raw], ids[item]
                if number is not None and item_id is not None:
                    item_ids.append(item_id)
                    numbers.append(number)
                else:
                    skipped["null" if raw is None or item is None else "blank" if number is None else "item id"] += 1
    replaced = sum(map(tags.replaced.__contains__, numbers)) if tags.replaced else 0
    return in_order(item_ids, numbers, tags.texts), replaced


def _items(connection: sqlite3.Connection, *, summaries: bool) -> tuple[list[Item], int]:
    columns = _columns(connection, "items", optional=True)
    if "id" not in columns:
        return [], 0
    summary = _text_of("summary", columns) if summaries else "''"
    date = "CASE typeof(published) WHEN 'blob' THEN CAST(published AS TEXT) ELSE published END" if "published" in columns else "''"
    feed = "feed_id" if "feed_id" in columns else "NULL"
    query = f"SELECT id, {_text_of('title', columns)}, {_text_of('url', columns)}, {date}, {feed}, {summary} FROM items"
    found, replaced = _facts(connection, query)
    ids, feeds = _Ids(), _Ids()
    rows = [
        Item(number, title, url, _date(published), feeds[feed_id], summary)
        for item, title, url, published, feed_id, summary in found
        if (number := item if type(item) is int else ids[item]) is not None
    ]
    return _once(rows), replaced


def _feeds(connection: sqlite3.Connection) -> tuple[list[Feed], int]:
    columns = _columns(connection, "feeds", optional=True)
    if "id" not in columns:
        return [], 0
    found, replaced = _facts(connection, f"SELECT id, {_text_of('url', columns)}, {_text_of('title', columns)} FROM feeds")
    ids = _Ids()
    return _once([Feed(number, url, title) for feed, url, title in found if (number := ids[feed]) is not None]), replaced


def _text_of(name: str, columns: Mapping[str, str]) -> str:
    return f"ifnull(CAST({name} AS TEXT), '')" if name in columns else "''"


def _facts(connection: sqlite3.Connection, query: str) -> tuple[Iterable[tuple[Any, ...]], int]:
    """Let SQLite decode all text, which is much faster; where one value is not UTF-8 that fails, and each is decoded here and counted."""
    connection.text_factory = str
    try:
        return connection.execute(query).fetchall(), 0
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    replaced = 0

    def lenient(raw: bytes) -> str:
        nonlocal replaced
        text = _lenient(raw)
        replaced += "\ufffd" in text and text.encode() != raw
        return text

    connection.text_factory = lenient
    return connection.execute(query).fetchall(), replaced


def _once(rows: list[Row]) -> list[Row]:
    rows.sort(key=itemgetter(0))
    if len({row[0] for row in rows}) == len(rows):
        return rows
    rows.sort(key=lambda row: (row[0], ascii(row)))  # a view may give an id twice: which row wins must not depend on their order
    return [next(group) for _, group in groupby(rows, key=itemgetter(0))]


def _date(value: str | float | None) -> str:
    """Return a date as stored, without blanks around it; a number of seconds, milli- or microseconds since 1970 as UTC."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value.strip()
        if text[4:5] == "-" or not _EPOCH.fullmatch(text):
            return text
        value = float(text)
    seconds = value
    for _ in range(2):
        seconds = seconds / 1000 if abs(seconds) >= 1e11 else seconds  # 1e11 s is the year 5138
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(value)


def _columns(connection: sqlite3.Connection, table: str, *, optional: bool = False) -> dict[str, str]:
    """Map the lower-case name of each column to the name as declared; empty when there is no such table or view."""
    connection.text_factory = _lenient
    try:
        rows = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.OperationalError as error:
        if optional and "no such" in str(error):  # a virtual table whose module is not loaded, a view of something that is gone
            return {}
        raise
    names = [str(name) for (name,) in rows]
    return {name.lower(): name for name in names}


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _require_tags(connection: sqlite3.Connection, path: Path) -> None:
    columns = _columns(connection, "item_tags")
    if not columns:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name").fetchall()
        names = [name for (name,) in rows if not name.startswith("sqlite_")]
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
