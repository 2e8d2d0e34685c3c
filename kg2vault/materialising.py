"""Materialising: the graph as tables in hermes.db, for programs that ask in SQL.

Layer 3. `materialise` is what `rebuild --confirm`, the MCP tool and the daemon do; `rebuild_on` is the same on a connection. Rows are read
and counted before the write lock is taken, and again under it only if somebody wrote meanwhile: the reader waits for us no longer than a
write takes, and what is written belongs to what is there.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kg2vault import graphs
from kg2vault.errors import RefusedError
from kg2vault.graph.aliases import AliasTable, Canonicaliser, parse_alias_table
from kg2vault.graph.build import GraphSettings
from kg2vault.graph.cooccurrence import count
from kg2vault.graph.typed import TypedGraph, typed_graph
from kg2vault.result import OperationResult
from kg2vault.settings import Settings, settings_digest
from kg2vault.storage.kg_tables import Stamp, reading_in, rows_fingerprint, write_tables, written_to

BUSY_SECONDS = 30.0  # how long another writer is waited for: a reader's tagging pass commits item by item


@dataclass(frozen=True, slots=True)
class _Made:
    typed: TypedGraph
    stamp: Stamp


def materialise(settings: Settings, *, confirm: bool) -> OperationResult:
    """Write kg_nodes, kg_edges and kg_meta; raises RefusedError without `confirm`, SourceError (SourceBusy after half a minute)."""
    path = settings.database()
    if not confirm:
        raise RefusedError(
            f"rebuild replaces the contents of kg_nodes and kg_edges in {path}; nothing was written.",
            path=str(path),
            hint="Say --confirm (over MCP: confirm=true).",
        )
    table = parse_alias_table(*settings.alias_text())
    with written_to(path, BUSY_SECONDS) as connection:
        counts = rebuild_on(connection, path, table, graphs.graph_settings(settings.config))
    return _result(path, counts)


def materialize_if_enabled(settings: Settings) -> OperationResult | None:
    """Do what `watch.materialize` asks for, after a sync; None when it asks for nothing. Raises what `materialise` raises."""
    return materialise(settings, confirm=True) if settings.config.watch.materialize else None


def rebuild_on(connection: sqlite3.Connection, path: Path, table: AliasTable, terms: GraphSettings) -> dict[str, int | bool]:
    """Materialise on a connection without a row factory and return what is in the tables now.

    A transaction that is open already is joined and left to its owner to commit, and keeps nothing of a rebuild that failed; otherwise
    there is one of our own.
    """
    if connection.in_transaction:
        return _joined(connection, path, table, terms)
    connection.execute("BEGIN")
    try:
        before = _version(connection)
        made = _make(connection, path, table, terms)
    finally:
        connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) != before:
            made = _make(connection, path, table, terms)
        counts = _write(connection, made)
        connection.execute("COMMIT" if counts["changed"] else "ROLLBACK")
    except BaseException:
        if connection.in_transaction:  # SQLite ends it by itself when the disk is full
            connection.execute("ROLLBACK")
        raise
    return counts


def _joined(connection: sqlite3.Connection, path: Path, table: AliasTable, terms: GraphSettings) -> dict[str, int | bool]:
    connection.execute("SAVEPOINT kg2vault_rebuild")
    try:
        counts = _write(connection, _make(connection, path, table, terms))
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO kg2vault_rebuild")
            connection.execute("RELEASE kg2vault_rebuild")
        raise
    connection.execute("RELEASE kg2vault_rebuild")
    return counts


def terms_digest(table: AliasTable, terms: GraphSettings) -> str:
    """Return a digest of the settings that shape the tables, which know nothing of communities."""
    rules = (sorted(table.aliases.items()), sorted(table.fold_canonical), sorted(table.never_merge), sorted(table.ignore))
    return settings_digest(rules, terms.min_items, terms.min_weight, terms.include_isolated, terms.fold_case)


def _version(connection: sqlite3.Connection) -> int:
    """A number that changes when another connection has committed; asked inside a transaction, it is about that transaction's view."""
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _make(connection: sqlite3.Connection, path: Path, table: AliasTable, terms: GraphSettings) -> _Made:
    reading = reading_in(connection, path)
    counted = count(
        reading.assignments,
        Canonicaliser(table, fold_case=terms.fold_case),
        min_items=terms.min_items,
        min_weight=terms.min_weight,
        include_isolated=terms.include_isolated,
        items=reading.items,
    )
    stamp = Stamp(rows_fingerprint(connection, reading), terms_digest(table, terms))
    return _Made(typed_graph(counted, reading), stamp)


def _write(connection: sqlite3.Connection, made: _Made) -> dict[str, int | bool]:
    changed = write_tables(connection, made.typed, made.stamp)
    nodes = Counter(row[1] for row in made.typed.nodes)
    edges = Counter(row[2] for row in made.typed.edges)
    return {
        "nodes": nodes.total(),
        "edges": edges.total(),
        "concepts": nodes["concept"],
        "papers": nodes["paper"],
        "sources": nodes["source"],
        "mentions": edges["MENTIONS"],
        "co_occurs": edges["CO_OCCURS"],
        "published_in": edges["PUBLISHED_IN"],
        "changed": changed,
    }


def _result(path: Path, counts: dict[str, int | bool]) -> OperationResult:
    of_each = [(counts[f"{one}s"], one) for one in ("concept", "paper", "source", "edge")]
    *most, last = [f"{count} {one}{'' if count == 1 else 's'}" for count, one in of_each]
    said = f"{', '.join(most)} and {last}"
    summary = f"{said} written to {path}." if counts["changed"] else f"{path} holds the {said} already; nothing was written."
    return OperationResult("rebuild", {"database": str(path), **counts}, summary=summary)
