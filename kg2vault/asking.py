"""The questions: neighbors, path, central, communities, concepts, health. One body for commands, the MCP server and `kg2vault.kg`.

Layer 3. Each takes the graph it is asked of and plain values and returns an OperationResult whose `data` has the same keys whatever the
answer is (`EMPTY` shows them without one). Names in answers are labels, as people see them in the vault. A name that is no concept's is
refused with the spellings that come close; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kg2vault.errors import ConfigError
from kg2vault.graph import queries
from kg2vault.graph.communities import fresh_partition
from kg2vault.graph.health import health as measure_health
from kg2vault.graph.model import Concept, KnowledgeGraph
from kg2vault.graph.spelling import spelling_key
from kg2vault.result import OperationResult
from kg2vault.standing import Standing
from kg2vault.vault.escape import plain, shorten

TOP_MEMBERS = 10
EMPTY: Mapping[str, Mapping[str, Any]] = {
    "neighbors": {"node": "", "neighbors": [], "count": 0},
    "path": {"source": "", "target": "", "path": [], "weights": [], "length": None, "connected": False},
    "central": {"metric": "", "concepts": [], "count": 0},
    "communities": {"communities": [], "count": 0},
    "concepts": {"concepts": [], "count": 0},
    "health": {"health": {}},
    "rebuild": {
        "database": "",
        **dict.fromkeys(("nodes", "edges", "concepts", "papers", "sources", "mentions", "co_occurs", "published_in"), 0),
        "changed": False,
    },
    "note": {"name": "", "path": "", "generated": ""},
}
_ECHOED = 200  # characters of a name that nothing is called
_DIGITS = 8  # of an unnormalised betweenness: two fewer than the graph rounds to, so that 0.3333333333 of 3 pairs is 1


class UnknownConcept(ConfigError):
    """A name that is no concept's; `offered` are labels that come close."""

    code = "unknown-concept"

    def __init__(self, name: str, offered: tuple[str, ...]) -> None:
        close = f" Close to it: {', '.join(map(plain, offered))}." if offered else ""
        way = "`kg2vault concepts` lists them, with --prefix those that begin alike (over MCP: kg_concepts)."
        asked = shorten(plain(name), _ECHOED)
        super().__init__(f"No concept is called {asked!r}.{close}", path=shorten(name, _ECHOED), hint=way)
        self.offered = offered


def concept(standing: Standing, name: str) -> Concept:
    """Return the concept a person means; raises UnknownConcept."""
    found = queries.resolve(standing.graph, name, standing.table, fold_case=standing.terms.fold_case)
    if found.key is None:
        raise UnknownConcept(name, found.offered)
    return standing.graph.concepts[found.key]


def neighbors(standing: Standing, node: str, limit: int = 20) -> OperationResult:
    """Say what is linked to a concept directly, heaviest edge first."""
    graph, asked = standing.graph, concept(standing, node)
    found = queries.neighbors(graph, asked.key, limit)
    rows = [{"name": graph.concepts[key].label, "weight": weight, "distance": 1} for key, weight in found]
    count = len(graph.neighbours[asked.key])
    data = {"node": asked.label, "neighbors": rows, "count": count}
    return _answer("neighbors", standing, data, f"{plain(asked.label)} is linked to {_many(count, 'concept')}{_shown(rows, count)}.")


def path(standing: Standing, source: str, target: str) -> OperationResult:
    """Say how two concepts are connected, by as few edges as possible and by the same ones every time."""
    graph = standing.graph
    start, end = concept(standing, source), concept(standing, target)
    found = queries.shortest_path(graph, start.key, end.key)
    weight = {(edge.source, edge.target): edge.weight for edge in graph.edges} if found else {}
    steps = zip(found or (), (found or ())[1:], strict=False)
    labels = [_label(graph, key) for key in found or ()]
    data = {
        "source": start.label,
        "target": end.label,
        "path": labels,
        "weights": [weight[min(step), max(step)] for step in steps],
        "length": len(found) - 1 if found else None,
        "connected": found is not None,
    }
    if found is None:
        return _answer("path", standing, data, f"There is no path between {plain(start.label)} and {plain(end.label)}.")
    return _answer("path", standing, data, " → ".join(map(plain, labels)))


def central(standing: Standing, metric: str = "degree", limit: int = 10) -> OperationResult:
    """Rank concepts; betweenness is not normalised and counts each pair once, `share` is the 0..1 the notes show.

    Raises ConfigError naming the metrics there are.
    """
    graph = standing.graph
    if metric not in queries.METRICS:
        raise ConfigError(f"There is no metric {plain(metric)!r}; choose one of {', '.join(queries.METRICS)}.")
    rows: list[dict[str, Any]] = [{"name": graph.concepts[k].label, "score": value} for k, value in queries.central(graph, metric, limit)]
    if metric == "betweenness":
        pairs = (len(graph.concepts) - 1) * (len(graph.concepts) - 2) / 2
        rows = [{"name": row["name"], "score": float(f"{row['score'] * pairs:.{_DIGITS}g}"), "share": row["score"]} for row in rows]
    data = {"metric": metric, "concepts": rows, "count": len(graph.concepts)}
    sampled = ", estimated from a sample" if metric == "betweenness" and graph.betweenness_sampled else ""
    return _answer("central", standing, data, f"By {metric}{sampled}, {len(rows)} of {_many(len(graph.concepts), 'concept')}.")


def communities(standing: Standing, min_size: int = 3, limit: int | None = None, top: int | None = TOP_MEMBERS) -> OperationResult:
    """Say which groups there are, the largest first, each with its `top` members by degree (None: all)."""
    found = _communities(standing, min_size)
    rows: list[dict[str, Any]] = [
        {"id": id_, "name": name, "label": label, "size": len(members), "members": members[:top]}
        for id_, name, label, members in (found if limit is None else found[: max(0, limit)])
    ]
    grouped = sum(len(members) for *_, members in found)
    said = f"{_many(len(found), 'community', 'communities')} of at least {_many(max(1, min_size), 'concept')}"
    held = f"{grouped} of {_many(len(standing.graph.concepts), 'concept')} are in one"
    return _answer("communities", standing, {"communities": rows, "count": len(found)}, f"{said}{_shown(rows, len(found))}; {held}.")


def concepts(standing: Standing, prefix: str = "", limit: int | None = 50) -> OperationResult:
    """List concepts, those on most items first; `prefix` is compared with every spelling of a concept, blanks and case apart."""
    graph, wanted = standing.graph, _begin(prefix)
    community = graph.community_of()
    found = [c for c in graph.concepts.values() if any(_begin(name).startswith(wanted) for name in (c.label, c.key, *c.spellings))]
    found.sort(key=lambda c: (-c.items, c.label))
    rows = [
        {
            "name": c.label,
            "items": c.items,
            "degree": graph.metrics[c.key].degree,
            "community": graph.concepts[community[c.key].label].label if c.key in community else "",
        }
        for c in (found if limit is None else found[: max(0, limit)])
    ]
    begin = f" beginning with {plain(prefix)}" if prefix else ""
    return _answer(
        "concepts", standing, {"concepts": rows, "count": len(found)}, f"{_many(len(found), 'concept')}{begin}{_shown(rows, len(found))}."
    )


def health(standing: Standing) -> OperationResult:
    """Say whether the graph is usable (graph/health.py explains the numbers)."""
    terms = standing.terms
    fresh = fresh_partition(standing.graph, min_size=terms.community_min_size, resolution=terms.resolution)
    report = measure_health(standing.graph, fresh)
    grouped = _many(len(standing.graph.communities), "community", "communities")
    said = f"{_many(len(standing.graph.concepts), 'concept')}, {_many(len(standing.graph.edges), 'edge')}, {grouped}."
    return _answer("health", standing, {"health": report}, said)


def _communities(standing: Standing, min_size: int) -> list[tuple[str, str, str, list[str]]]:
    """Communities as (id, name, label, members): the graph's own, and below its minimum size those that can be found in the rest."""
    graph = standing.graph
    found = [(c.id, c.name, c.label, c.members) for c in graph.communities if len(c.members) >= min_size]
    taken = {key for c in graph.communities for key in c.members}
    if min_size < standing.terms.community_min_size:
        for small in fresh_partition(graph, min_size=min_size, resolution=standing.terms.resolution).communities:
            rest = tuple(key for key in small.members if key not in taken)
            if len(rest) >= max(1, min_size):
                found.append((small.id, small.name, small.label if small.label in rest else rest[0], rest))
    found.sort(key=lambda row: (-len(row[3]), row[0]))
    return [(id_, name, _label(graph, label), [_label(graph, key) for key in members]) for id_, name, label, members in found]


def _label(graph: KnowledgeGraph, key: str) -> str:
    return graph.concepts[key].label


def _begin(name: str) -> str:
    return spelling_key(name).replace(" ", "-").replace("_", "-")


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _shown(rows: list[dict[str, Any]], count: int) -> str:
    return f", {len(rows)} shown" if len(rows) < count else ""


def _answer(operation: str, standing: Standing, data: dict[str, Any], summary: str) -> OperationResult:
    data = {**data, "stale": bool(standing.lagging)}
    return OperationResult(operation, data, standing.problems, summary=summary)
