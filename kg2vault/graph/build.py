"""Build: everything one read took from hermes.db → the knowledge graph.

Layer 1, pure, and a function of its arguments: the order of rows and the hash seed change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kg2vault.graph.aliases import AliasTable, Canonicaliser
from kg2vault.graph.communities import Partition, Terms, edges_digest, find_communities
from kg2vault.graph.cooccurrence import Counted, count
from kg2vault.graph.metrics import BetweennessCache, measure
from kg2vault.graph.model import Concept, Edge, KnowledgeGraph, Pair, Reading

One = TypeVar("One")
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """What a person can decide about the graph."""

    min_items: int = 2  # a concept on fewer items is dropped
    min_weight: int = 2  # two concepts that share fewer items are not linked
    include_isolated: bool = False  # keep concepts without an edge
    fold_case: bool = True  # False keeps `Go` and `go` apart
    community_min_size: int = 3
    resolution: float = 1.0  # of modularity: more gives more and smaller communities
    stickiness: float = 0.05  # share of a concept's strength that ties it to its community of the last run
    betweenness_exact_up_to: int = 5000  # concepts; above, betweenness is estimated from a sample


def build_graph(
    reading: Reading,
    table: AliasTable,
    settings: GraphSettings,
    *,
    previous: Partition | None = None,
    cached: BetweennessCache | None = None,
    recluster: bool = False,
) -> KnowledgeGraph:
    """Build the graph; `previous` and `cached` are what the last run left (`partition_of`, `betweenness_cache_of`)."""
    counted = _count(reading, table, settings)
    concepts, pairs = counted.concepts, counted.pairs
    keys = [concept.key for concept in concepts]
    terms = Terms(settings.community_min_size, settings.resolution, settings.stickiness)
    digest = edges_digest(concepts, pairs, terms)
    (metrics, sampled), communities = _both(
        lambda: measure(keys, pairs, exact_up_to=settings.betweenness_exact_up_to, cached=cached),
        lambda: find_communities(concepts, pairs, terms, digest=digest, previous=previous, recluster=recluster),
        at_once=len(keys) > settings.betweenness_exact_up_to,
    )
    edges = tuple([Edge(keys[first], keys[second], weight) for first, second, weight in pairs])
    by_key = dict(zip(keys, concepts, strict=True))
    return KnowledgeGraph(
        concepts=by_key,
        edges=edges,
        metrics=metrics,
        communities=communities,
        neighbours=_neighbours(concepts, pairs),
        betweenness_sampled=sampled,
        distinct_tags=counted.distinct_tags,
        singleton_tags=counted.singleton_tags,
        tagged_items=counted.tagged_items,
        edges_digest=digest,
    )


def _both(one: Callable[[], One], other: Callable[[], Other], *, at_once: bool) -> tuple[One, Other]:
    """Call both functions; `at_once` on two cores, where Leiden takes seconds: the library leaves the interpreter to others meanwhile."""
    if not at_once:
        return one(), other()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as second:
        later = second.submit(other)
        return one(), later.result()


def _count(reading: Reading, table: AliasTable, settings: GraphSettings) -> Counted:
    return count(
        reading.assignments,
        Canonicaliser(table, fold_case=settings.fold_case),
        min_items=settings.min_items,
        min_weight=settings.min_weight,
        include_isolated=settings.include_isolated,
        items=reading.items,
    )


def _neighbours(concepts: Sequence[Concept], pairs: Sequence[Pair]) -> dict[str, tuple[tuple[str, int], ...]]:
    size, most = len(concepts), max((weight for _, _, weight in pairs), default=0)
    by_label = sorted(range(size), key=lambda node: (concepts[node].label, concepts[node].key))
    keys, rank = [concepts[node].key for node in by_label], [0] * size
    for place, node in enumerate(by_label):
        rank[node] = place
    near: list[list[int]] = [[] for _ in range(size)]
    for first, second, weight in pairs:  # one number for weight and rank, so that sorting compares numbers only
        heavy = (most - weight) * size
        near[first].append(heavy + rank[second])
        near[second].append(heavy + rank[first])
    return {
        concept.key: tuple([(keys[code % size], most - code // size) for code in sorted(ties)])
        for concept, ties in zip(concepts, near, strict=True)
    }
