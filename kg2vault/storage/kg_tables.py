"""The tables kg_nodes, kg_edges and kg_meta in hermes.db: the only place where the program writes to the reader's database.

Layer 2. Everything happens on a connection in one transaction of the caller's; rows that are right already are not written again, so
that a rebuild with nothing new leaves the file as it is. Rows of node and edge types that are not ours, written by hand or by a later
reader, stay.
"""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kg2vault.errors import SourceDenied, SourceSchema
from kg2vault.graph.model import Reading
from kg2vault.graph.typed import EDGE_TYPES, NODE_TYPES, TypedGraph
from kg2vault.storage.access import explain, primary_code, read_in_peace
from kg2vault.storage.fingerprint import content_digest
from kg2vault.storage.rows import read_rows

# As the reader creates them.
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS kg_nodes(name TEXT PRIMARY KEY, node_type TEXT NOT NULL, degree INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS kg_edges(source TEXT NOT NULL, target TEXT NOT NULL, edge_type TEXT NOT NULL, "
    "weight INTEGER NOT NULL DEFAULT 1, PRIMARY KEY(source,target,edge_type))",
    "CREATE TABLE IF NOT EXISTS kg_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
_OUR_NODES = f"node_type IN ({', '.join(map(repr, NODE_TYPES))})"
_OUR_EDGES = f"edge_type IN ({', '.join(map(repr, EDGE_TYPES))})"
_NODES = f"SELECT name, node_type, degree FROM kg_nodes WHERE {_OUR_NODES}"
_EDGES = f"SELECT source, target, edge_type, weight FROM kg_edges WHERE {_OUR_EDGES}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What kg_meta says the tables were made of: `fingerprint` of the rows, digest of the `settings`."""

    fingerprint: str
    settings: str


def write_tables(connection: sqlite3.Connection, typed: TypedGraph, stamp: Stamp) -> bool:
    """Make the tables say this and return whether a row had to change; raises sqlite3.Error, SourceSchema for tables of another make."""
    try:
        return _write(connection, typed, stamp)
    except sqlite3.Error as error:
        if primary_code(error) not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH):
            raise
        raise SourceSchema(
            f"kg_nodes, kg_edges and kg_meta in the database are not as rebuild makes them ({error}); nothing was written.",
            hint="Rename or drop what is called so, then run rebuild again.",
        ) from error


def _write(connection: sqlite3.Connection, typed: TypedGraph, stamp: Stamp) -> bool:
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"kg_nodes", "kg_edges", "kg_meta"} <= names:
        for statement in SCHEMA:
            connection.execute(statement)
    nodes, edges = connection.execute(_NODES).fetchall(), connection.execute(_EDGES).fetchall()
    taken = {row[0] for row in connection.execute(f"SELECT name FROM kg_nodes WHERE NOT {_OUR_NODES}")}
    wanted = [row for row in typed.nodes if row[0] not in taken]  # a node written by hand keeps its name; ours is that node then
    changed = False
    if not _same(nodes, wanted):
        connection.execute(f"DELETE FROM kg_nodes WHERE {_OUR_NODES}")
        connection.executemany("INSERT INTO kg_nodes(name, node_type, degree) VALUES (?, ?, ?)", wanted)
        changed = True
    if not _same(edges, typed.edges):
        connection.execute(f"DELETE FROM kg_edges WHERE {_OUR_EDGES}")
        connection.executemany("INSERT INTO kg_edges(source, target, edge_type, weight) VALUES (?, ?, ?, ?)", typed.edges)
        changed = True
    if stamp_in(connection) != stamp:
        rows = [("fingerprint", stamp.fingerprint), ("settings", stamp.settings)]
        connection.executemany("INSERT OR REPLACE INTO kg_meta(key, value) VALUES (?, ?)", rows)
        changed = True
    return changed


def _same(found: Sequence[tuple[object, ...]], wanted: Sequence[tuple[object, ...]]) -> bool:
    return len(found) == len(wanted) and set(found) == set(wanted)


def stamp_in(connection: sqlite3.Connection) -> Stamp | None:
    """Return what kg_meta says, None when the tables were never written by us."""
    try:
        found = dict(connection.execute("SELECT key, value FROM kg_meta WHERE key IN ('fingerprint', 'settings')").fetchall())
    except sqlite3.OperationalError as error:
        if "no such" not in str(error) and "decode" not in str(error):
            raise
        return None
    return Stamp(str(found["fingerprint"]), str(found.get("settings", ""))) if "fingerprint" in found else None


def stamp_of(path: Path, busy_timeout: float = 5.0) -> Stamp | None:
    """Return what kg_meta in a database says; raises SourceError."""
    return read_in_peace(path, busy_timeout, stamp_in)


def reading_in(connection: sqlite3.Connection, path: Path) -> Reading:
    """Return what the graph needs, read on an open connection; raises SourceSchema and sqlite3.Error. No fingerprint, no summaries."""
    rows = read_rows(connection, path, summaries=False)
    connection.text_factory = str
    return Reading(rows.assignments, {item.id: item for item in rows.items}, {feed.id: feed for feed in rows.feeds})


def rows_fingerprint(connection: sqlite3.Connection, reading: Reading) -> str:
    """Return `<max rowid>:<count>:<content>` of item_tags.

    The first two are cheap to compare, but a row that is changed in place, or the last one deleted and another added, leaves them as they
    were; and VACUUM may number the rows anew. What counts is the third part, `content_of` the reading.
    """
    try:
        rowid = connection.execute("SELECT max(rowid) FROM item_tags").fetchone()[0]
    except sqlite3.OperationalError:  # a view, or a table without row ids
        rowid = None
    count = connection.execute("SELECT count(*) FROM item_tags").fetchone()[0]
    return f"{rowid or 0}:{count}:{content_of(reading)}"


def content_of(reading: Reading) -> str:
    """Return a digest of everything the tables are made of: the assignments, which items there are and in which feeds."""
    state = hashlib.sha256(content_digest(reading.assignments, (), ()).encode())
    feeds_of = [-1 if item.feed_id is None else item.feed_id for item in reading.items.values()]
    for column in (list(reading.items), feeds_of, list(reading.feeds)):
        state.update(b"%d:" % len(column))
        state.update(array("q", column))
    return state.hexdigest()[:32]


@contextmanager
def written_to(path: Path, busy_timeout: float) -> Iterator[sqlite3.Connection]:
    """Give a connection that may write and waits so many seconds for other writers; raises SourceError. Never creates a database."""
    read_in_peace(path, busy_timeout, lambda connection: None)  # says in one sentence what is no database at all
    try:
        uri = f"{path.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=busy_timeout, isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as error:
        if primary_code(error) == sqlite3.SQLITE_READONLY:
            hint = "Rebuilding needs write access to it and its folder."
            raise SourceDenied(f"{path} may not be written ({error}).", path=str(path), hint=hint) from error
        raise explain(error, path) from error
