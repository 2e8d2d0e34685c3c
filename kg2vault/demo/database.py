"""Turn the bundled reading log into a hermes.db with the reader's own schema.

Layer 2. `write_demo_database(path)` is the one everybody comes for. It never overwrites anything but a demo database that nobody has
changed: such a file carries a digest of its own rows in SQLite's application id, which the reader leaves at 0. The same log gives the
same rows, with no time of the run in them, and a second call leaves the file alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from kg2vault.errors import RefusedError, VaultError

# As the reader writes it, white space included: whatever can read the one can read the other.
SCHEMA = (
    "CREATE TABLE feeds(id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, title TEXT, last_fetched TEXT)",
    "CREATE TABLE items(id INTEGER PRIMARY KEY, feed_id INTEGER REFERENCES feeds(id), guid TEXT, title TEXT NOT NULL, url TEXT, "
    "summary TEXT NOT NULL DEFAULT '', published TEXT NOT NULL DEFAULT (datetime('now')), content_hash TEXT NOT NULL, "
    "UNIQUE(feed_id, guid))",
    "CREATE TABLE item_features(item_id INTEGER PRIMARY KEY REFERENCES items(id), content_type TEXT NOT NULL, model TEXT NOT NULL, "
    "tagged_at TEXT NOT NULL DEFAULT (datetime('now')))",
    "CREATE TABLE item_tags(item_id INTEGER NOT NULL REFERENCES items(id), tag TEXT NOT NULL, PRIMARY KEY (item_id, tag))",
    "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, interests TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE clicks(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, item_id INTEGER NOT NULL, useful INTEGER NOT NULL, "
    "clicked_at TEXT NOT NULL DEFAULT (datetime('now')), source TEXT NOT NULL DEFAULT 'ui', UNIQUE(user_id, item_id))",
    "CREATE TABLE kg_nodes(name TEXT PRIMARY KEY, node_type TEXT NOT NULL, degree INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE kg_edges(source TEXT NOT NULL, target TEXT NOT NULL, edge_type TEXT NOT NULL, weight INTEGER NOT NULL DEFAULT 1, "
    "PRIMARY KEY(source,target,edge_type))",
    "CREATE TABLE kg_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
# Everything a person could have put there; the kg_* tables are left out, because `rebuild` may fill them.
_READING_TABLES = ("feeds", "items", "item_features", "item_tags", "users", "clicks")
_HEADER = b"SQLite format 3\x00"
_APPLICATION_ID = slice(68, 72)  # big-endian, in the header: https://www.sqlite.org/fileformat2.html#database_header

_Row = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class LoggedItem:
    """One line of the reading log; `published` is YYYY-MM-DD."""

    title: str
    url: str
    feed_url: str
    feed_title: str
    published: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DemoCounts:
    """What the demo database holds; `tags` are different spellings."""

    feeds: int
    items: int
    tags: int


def read_log() -> tuple[LoggedItem, ...]:
    """Return the bundled log, oldest first."""
    text = files("kg2vault.demo").joinpath("reading_log.jsonl").read_text(encoding="utf-8")
    return tuple(_logged(line) for line in text.split("\n") if line)


def write_demo_database(path: Path) -> DemoCounts:
    """Make `path` the demo database, unless it is already.

    Raises RefusedError when something else is there, or a demo database that somebody has changed, and VaultError when the folder
    cannot be written.
    """
    log = read_log()
    tables = _tables(log)
    try:
        if os.path.lexists(path):
            there = _reading_rows(path)
            if there is None:
                raise _not_ours(path)
            if there == tables:
                return _counts(log)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, tables)
    except OSError as error:
        raise VaultError(
            f"{path} cannot be written: {error.strerror}.", path=str(path), hint="Choose another folder: kg2vault demo DIR."
        ) from error
    return _counts(log)


def _logged(line: str) -> LoggedItem:
    item = json.loads(line)
    feed = item["feed"]
    return LoggedItem(item["title"], item["url"], feed["url"], feed["title"], item["published"], tuple(item["tags"]))


def _counts(log: Iterable[LoggedItem]) -> DemoCounts:
    items = tuple(log)
    return DemoCounts(len({item.feed_url for item in items}), len(items), len({tag for item in items for tag in item.tags}))


def _tables(log: tuple[LoggedItem, ...]) -> dict[str, list[_Row]]:
    """Return the rows of every reading table, in the order of their primary keys."""
    feeds: dict[str, list[LoggedItem]] = {}
    for item in log:
        feeds.setdefault(item.feed_url, []).append(item)
    number = {url: place for place, url in enumerate(sorted(feeds), start=1)}
    numbered = list(enumerate(log, start=1))
    return {
        "feeds": [(place, url, feeds[url][-1].feed_title, _midnight(feeds[url][-1])) for url, place in number.items()],
        "items": [
            (place, number[item.feed_url], item.url, item.title, item.url, "", _midnight(item), _content_hash(item))
            for place, item in numbered
        ],
        "item_features": [(place, _content_type(item), "sample reading log", _midnight(item)) for place, item in numbered],
        "item_tags": sorted((place, tag) for place, item in numbered for tag in item.tags),
        "users": [],
        "clicks": [],
    }


def _midnight(item: LoggedItem) -> str:
    return f"{item.published} 00:00:00"


def _content_hash(item: LoggedItem) -> str:
    return hashlib.sha256(f"{item.title}\n{item.url}".encode()).hexdigest()


def _content_type(item: LoggedItem) -> str:
    return "paper" if item.url.startswith("https://arxiv.org/") else "article"


def _application_id(tables: dict[str, list[_Row]]) -> int:
    """Return a digest of the rows that fits SQLite's signed 32 bits and is never 0, the value of every other database."""
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:4]) >> 1 | 1


def _reading_rows(path: Path) -> dict[str, list[_Row]] | None:
    """Return the rows of a demo database that nobody has changed; None for any other file.

    The header is read first: SQLite would make files beside a stranger's database.
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        header = file.read(_APPLICATION_ID.stop)
    mark = int.from_bytes(header[_APPLICATION_ID])
    if not header.startswith(_HEADER) or not mark:
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in _READING_TABLES}
        return rows if _application_id(rows) == mark else None
    except (sqlite3.Error, TypeError):  # TypeError: a blob somebody put into a column of ours
        return None


def _write(path: Path, tables: dict[str, list[_Row]]) -> None:
    """Write a new file beside `path` and put it in its place."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)  # of a run that was killed and had the same process id
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA application_id = {_application_id(tables)}")
            connection.execute("BEGIN")
            for statement in SCHEMA:
                connection.execute(statement)
            for table, rows in tables.items():
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            connection.execute("COMMIT")
        fresh.replace(path)
    except sqlite3.Error as error:
        raise VaultError(f"{path} cannot be written: {error}.", path=str(path), hint="Choose another folder: kg2vault demo DIR.") from error
    finally:
        fresh.unlink(missing_ok=True)


def _not_ours(path: Path) -> RefusedError:
    return RefusedError(
        f"{path} is not the demo's database, or somebody has changed it, so it stays as it is.",
        path=str(path),
        hint="Choose another folder: kg2vault demo DIR.",
    )
