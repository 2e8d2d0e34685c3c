"""Build: everything one read took from hermes.db → the knowledge graph.

Layer 1, pure, and a function of its arguments: the order of rows and the hash seed change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kg2vault.graph.aliases import AliasTable, Canonicaliser
from kg2vault.graph.communities import Partition, Terms, edges_digest, find_communities
from kg2vault.graph.cooccurrence import Counted, count
from kg2vault.graph.metrics import BetweennessCache, measure
from kg2vault.graph.model import Concept, Edge, KnowledgeGraph, Reading


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
    metrics, sampled = measure(keys, pairs, exact_up_to=settings.betweenness_exact_up_to, cached=cached)
    terms = Terms(settings.community_min_size, settings.resolution, settings.stickiness)
    digest = edges_digest(concepts, pairs, terms)
    communities = find_communities(concepts, pairs, terms, digest=digest, previous=previous, recluster=recluster)
    edges = tuple(Edge(keys[first], keys[second], weight) for first, second, weight in pairs)
    by_key = dict(zip(keys, concepts, strict=True))
    return KnowledgeGraph(
        concepts=by_key,
        edges=edges,
        metrics=metrics,
        communities=communities,
        neighbours=_neighbours(by_key, edges),
        betweenness_sampled=sampled,
        distinct_tags=counted.distinct_tags,
        singleton_tags=counted.singleton_tags,
        tagged_items=counted.tagged_items,
        edges_digest=digest,
    )


def _count(reading: Reading, table: AliasTable, settings: GraphSettings) -> Counted:
    return count(
        reading.assignments,
        Canonicaliser(table, fold_case=settings.fold_case),
        min_items=settings.min_items,
        min_weight=settings.min_weight,
        include_isolated=settings.include_isolated,
        items=reading.items,
    )


def _neighbours(concepts: Mapping[str, Concept], edges: Sequence[Edge]) -> dict[str, tuple[tuple[str, int], ...]]:
    by_label = sorted(concepts, key=lambda key: (concepts[key].label, key))
    rank = {key: place for place, key in enumerate(by_label)}  # so that sorting each list compares numbers only
    near: dict[str, list[tuple[int, int]]] = {key: [] for key in concepts}
    for edge in edges:
        near[edge.source].append((-edge.weight, rank[edge.target]))
        near[edge.target].append((-edge.weight, rank[edge.source]))
    return {key: tuple([(by_label[place], -weight) for weight, place in sorted(ties)]) for key, ties in near.items()}
