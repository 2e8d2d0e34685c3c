"""Health: whether the graph is usable, not just how big it is.

Layer 1, pure. Tags are counted as the graph counts them: merged spellings over distinct items, so that a better alias table shows.
"""

from __future__ import annotations

from kg2vault.graph.communities import Partition, modularity, partition_of
from kg2vault.graph.model import KnowledgeGraph


def health(graph: KnowledgeGraph, fresh: Partition | None = None) -> dict[str, int | float | str]:
    """Return the numbers that show real problems, in a fixed order; 0 where there is nothing to measure.

    `singleton_rate` is the share (0..1) of canonical tags on one item only: high means the tagger mints one-off words.
    The `_pct` numbers are percentages: `degree_1_pct` of concepts hanging on one edge, `hub_dominance_pct` of edges that touch the most
    connected concept, `largest_community_pct` of concepts in the largest community: near 100, clustering says nothing. With `fresh`
    (`communities.fresh_partition`), `modularity_fresh` is what starting afresh would reach: much more means it is time to recluster.
    """
    degrees = [metrics.degree for metrics in graph.metrics.values()]
    nodes, edges = len(graph.concepts), len(graph.edges)
    largest = max((len(community.members) for community in graph.communities), default=0)
    report: dict[str, int | float | str] = {
        "nodes": nodes,
        "edges": edges,
        "distinct_tags": graph.distinct_tags,
        "singleton_rate": round(_share(graph.singleton_tags, graph.distinct_tags), 4),
        "degree_1_pct": _percent(degrees.count(1), nodes),
        "median_degree": _median(degrees),
        "max_degree": max(degrees, default=0),
        "hub_dominance_pct": _percent(max(degrees, default=0), edges),
        "communities": len(graph.communities),
        "largest_community_pct": _percent(largest, nodes),
        "modularity": round(modularity(graph, partition_of(graph)), 4),
        "betweenness": "sampled" if graph.betweenness_sampled else "exact",
    }
    if fresh is not None:
        report["modularity_fresh"] = round(modularity(graph, fresh), 4)
    return report


def _median(numbers: list[int]) -> float:
    ordered, middle = sorted(numbers), len(numbers) // 2  # `statistics` loads fractions and decimal for this
    return (ordered[middle] + ordered[~middle]) / 2 if ordered else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _percent(part: int, whole: int) -> float:
    return round(100 * _share(part, whole), 1)
