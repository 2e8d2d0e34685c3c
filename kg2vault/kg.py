"""The reader's own graph module: the same names, on a connection to hermes.db.

Layer 3. Everything but `rebuild` only reads. Any `sqlite3.Connection` will do, with a row factory or without. The graph is the one the
commands speak of, with the alias table that comes with the package and no vault: the functions here are thin, the answers come from
`kg2vault.asking`. `ALIASES`, `MIN_TAG_USES` and `MIN_EDGE_WEIGHT` are looked up at every call.

Node names are labels: the spelling the alias table names, else the one most items carry.
"""

from __future__ import annotations

import functools
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from kg2vault import asking
from kg2vault.errors import ConfigError
from kg2vault.graph import build, queries
from kg2vault.graph.aliases import AliasTable, Canonicaliser, parse_alias_table, spelling_key
from kg2vault.graph.build import GraphSettings
from kg2vault.graph.cooccurrence import count
from kg2vault.graph.model import Concept, Edge, KnowledgeGraph, Metrics, Reading
from kg2vault.materialising import rebuild_on
from kg2vault.standing import Standing
from kg2vault.storage.kg_tables import content_of, reading_in, rows_fingerprint, stamp_in

Adjacency = dict[str, set[str]]
EdgeWeights = dict[tuple[str, str], int]

_TABLE = parse_alias_table(files("kg2vault").joinpath("defaults/aliases.yaml").read_text(encoding="utf-8"), "the built-in aliases.yaml")
ALIASES: dict[str, str] = dict(_TABLE.aliases)
MIN_TAG_USES = 2
MIN_EDGE_WEIGHT = 2
_last: dict[tuple[object, ...], Standing] = {}


def canonical(tag: str) -> str:
    """Return the canonical spelling of a tag: what the alias table names, or the tag itself (in lower case, blanks tidied).

    A function of the tag alone, so it knows nothing of which capitals most items use. A blank tag is the empty string.
    """
    canonicaliser = _canonicaliser()
    key = canonicaliser(tag)
    return (canonicaliser.named_spelling(key) or key) if key is not None else ""


def build_graph(assignments: Iterable[tuple[int, str]]) -> tuple[Adjacency, EdgeWeights]:
    """Return (adjacency, edge weights) of (item id, tag) pairs; a weight stands under (smaller name, greater name).

    Spellings are merged first, then rare concepts dropped, then shared items counted, then light edges and lonely concepts dropped.
    """
    counted = count(
        sorted({(item, tag) for item, tag in assignments}), _canonicaliser(), min_items=MIN_TAG_USES, min_weight=MIN_EDGE_WEIGHT
    )
    names = [concept.label for concept in counted.concepts]
    adjacency: Adjacency = {name: set() for name in sorted(names)}
    weights: EdgeWeights = {}
    for first, second, weight in counted.pairs:
        one, other = sorted((names[first], names[second]))
        adjacency[one].add(other)
        adjacency[other].add(one)
        weights[one, other] = weight
    return adjacency, dict(sorted(weights.items()))


def tag_assignments(conn: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return every (item id, tag) pair, sorted, each once; blank tags and NULLs are left out."""
    return list(_reading(conn).assignments)


def neighbors(conn: sqlite3.Connection, node: str, limit: int = 20) -> list[dict[str, Any]]:
    """Return direct neighbours as {name, weight, distance: 1}, heaviest first, then by name; an empty list for an unknown concept."""
    try:
        return list(asking.neighbors(_standing(conn), node, limit).data["neighbors"])
    except ConfigError:
        return []


def shortest_path(conn: sqlite3.Connection, source: str, target: str) -> list[str] | None:
    """Return the names along a shortest path, None when the two are in different components; raises ValueError for an unknown concept."""
    try:
        data = asking.path(_standing(conn), source, target).data
    except ConfigError as error:
        raise ValueError(str(error)) from error
    return list(data["path"]) if data["connected"] else None


def central(conn: sqlite3.Connection, metric: str = "degree", limit: int = 10) -> list[dict[str, Any]]:
    """Return the most central concepts as {name, score}; betweenness counts each unordered pair once and is not normalised.

    Raises ValueError naming the metrics there are.
    """
    try:
        rows = asking.central(_standing(conn), metric, limit).data["concepts"]
    except ConfigError as error:
        raise ValueError(str(error)) from error
    return [{"name": row["name"], "score": row["score"]} for row in rows]


def communities(
    conn: sqlite3.Connection | None, min_size: int = 3, graph: tuple[Adjacency, EdgeWeights] | None = None
) -> list[dict[str, Any]]:
    """Return groups as {label, size, members}, the largest first, members by degree; `graph` saves deriving it from the connection."""
    adjacency, weights = graph if graph is not None else build_graph(tag_assignments(_given(conn)))
    standing = Standing(_bare(adjacency, weights), AliasTable.empty(), GraphSettings(community_min_size=len(adjacency) + 1))
    rows = asking.communities(standing, min_size, top=None).data["communities"]
    return [{"label": row["label"], "size": row["size"], "members": list(row["members"])} for row in rows]


def concepts(conn: sqlite3.Connection, prefix: str = "", limit: int | None = None) -> list[str]:
    """Return the names of concepts, those on most items first; with a prefix, those with a spelling that begins so."""
    return [row["name"] for row in asking.concepts(_standing(conn), prefix, limit).data["concepts"]]


def health(conn: sqlite3.Connection) -> dict[str, int | float | str]:
    """Return the numbers that say whether the graph is usable; `kg2vault.graph.health` explains each."""
    return dict(asking.health(_standing(conn)).data["health"])


def resolve_query(text: str, adjacency: Mapping[str, object]) -> str:
    """Return the node a person means by what they typed, or the text unchanged when nothing fits."""
    if text in adjacency:
        return text
    graph = _bare({name: set() for name in adjacency}, {})
    found = queries.resolve(graph, text, _table()).key
    return graph.concepts[found].label if found is not None else text


def resolve_or_raise(name: str, members: Iterable[str], *, kind: str) -> str:
    """Return the member that a name means; raises ValueError that names what lists them. `kind` is `tag` or `concept`."""
    known = dict.fromkeys(members)
    if name in known:
        return name
    wanted = canonical(name)
    for member in sorted(known):
        if wanted and canonical(member) == wanted:
            return member
    found = resolve_query(name, known)
    if found in known:
        return found
    way = "kg.concepts() lists the concepts" if kind == "concept" else "kg.concepts(prefix=...) finds those that begin alike"
    raise ValueError(f"unknown {kind} {name!r}; {way}")


def fingerprint(conn: sqlite3.Connection) -> str:
    """Return `<max rowid>:<row count>:<digest of the content>`, which changes with every write that the graph can notice."""
    with _one_moment(conn):
        return rows_fingerprint(conn, reading_in(conn, _path(conn)))


def is_stale(conn: sqlite3.Connection) -> bool:
    """Return whether the tables were made of other rows than there are now, or never."""
    with _one_moment(conn):
        stamp = stamp_in(conn)
        return stamp is None or stamp.fingerprint.rpartition(":")[2] != content_of(reading_in(conn, _path(conn)))


def rebuild(conn: sqlite3.Connection) -> dict[str, int | bool]:
    """Write kg_nodes, kg_edges and kg_meta in one transaction and return the counts.

    In a transaction that is open already it takes part and leaves the commit to the caller.
    """
    with _plain(conn):
        return rebuild_on(conn, _path(conn), _table(), _terms())


def _table() -> AliasTable:
    return AliasTable(ALIASES, _TABLE.fold_canonical, _TABLE.never_merge, _TABLE.ignore)


def _terms() -> GraphSettings:
    return GraphSettings(min_items=MIN_TAG_USES, min_weight=MIN_EDGE_WEIGHT)


def _canonicaliser() -> Canonicaliser:
    return _remembered_canonicaliser(tuple(ALIASES.items()))


@functools.lru_cache(maxsize=2)
def _remembered_canonicaliser(_aliases: tuple[tuple[str, str], ...]) -> Canonicaliser:
    return Canonicaliser(_table())


def _standing(conn: sqlite3.Connection) -> Standing:
    """The graph of the rows as they are now; asked twice about the same rows, it is built once."""
    reading = _reading(conn)
    key = (content_of(reading), tuple(ALIASES.items()), MIN_TAG_USES, MIN_EDGE_WEIGHT)
    if key not in _last:
        graph = build.build_graph(reading, _table(), _terms())
        _last.clear()
        _last[key] = Standing(graph, _table(), _terms())
    return _last[key]


def _reading(conn: sqlite3.Connection) -> Reading:
    with _one_moment(conn):
        return reading_in(conn, _path(conn))


def _given(conn: sqlite3.Connection | None) -> sqlite3.Connection:
    if conn is None:
        raise TypeError("communities() needs a connection or a graph")
    return conn


@contextmanager
def _plain(conn: sqlite3.Connection) -> Iterator[None]:
    """Take the caller's factories off the connection for a while."""
    row_factory, text_factory = conn.row_factory, conn.text_factory
    conn.row_factory, conn.text_factory = None, str
    try:
        yield
    finally:
        conn.row_factory, conn.text_factory = row_factory, text_factory


@contextmanager
def _one_moment(conn: sqlite3.Connection) -> Iterator[None]:
    """Let everything that is read be of one moment: in the transaction that is open already, else in one of our own."""
    with _plain(conn):
        joined = conn.in_transaction
        if not joined:
            conn.execute("BEGIN")
        try:
            yield
        finally:
            if not joined and conn.in_transaction:
                conn.execute("COMMIT")


def _path(conn: sqlite3.Connection) -> Path:
    """The file behind a connection, for messages."""
    rows = conn.execute("PRAGMA database_list").fetchall()
    return Path(next((str(row[2]) for row in rows if row[1] == "main" and row[2]), ":memory:"))


def _bare(adjacency: Mapping[str, set[str]], weights: Mapping[tuple[str, str], int]) -> KnowledgeGraph:
    """A graph with nothing but names and edges, its keys in the order every graph has them."""
    named_alike = Counter(map(spelling_key, adjacency))
    key_of = {name: name if named_alike[key := spelling_key(name)] > 1 else key for name in adjacency}
    named = {key: name for name, key in sorted(key_of.items(), key=lambda pair: (pair[1], pair[0]))}
    ends = {tuple(sorted((key_of[one], key_of[other]))): weight for (one, other), weight in weights.items()}
    return KnowledgeGraph(
        concepts={key: Concept(key, name, (), ()) for key, name in named.items()},
        edges=tuple(Edge(source, target, weight) for (source, target), weight in sorted(ends.items())),
        metrics={key_of[name]: Metrics(len(near), 0, 0.0, 0.0, 0) for name, near in adjacency.items()},
        communities=(),
        neighbours=dict.fromkeys(named, ()),
    )
