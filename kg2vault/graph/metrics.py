"""Metrics: degree, strength, betweenness, PageRank and components of every concept.

Layer 1, pure; the only module that imports rustworkx, and only when there is an edge to measure. Numbers are rounded to
`DIGITS` significant digits before anybody sees them: threads add in different orders and differ in the last bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kg2vault.graph.model import KnowledgeGraph, Metrics, Pair

DIGITS = 10
_DAMPING = 0.85  # Page and others 1998
_PAGERANK_ERROR = 1e-12  # summed over all concepts: far below the rounding, so the number of rounds does not show
_PAGERANK_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class BetweennessCache:
    """Betweenness of an earlier run; valid as long as concepts and unweighted edges are the same."""

    edge_set_digest: str
    values: Mapping[str, float]
    sampled: bool = False


def betweenness_cache_of(graph: KnowledgeGraph) -> BetweennessCache:
    """Return what the next build needs to skip betweenness when only weights changed."""
    return BetweennessCache(
        edge_set_digest=edge_set_digest(list(graph.concepts), [(edge.source, edge.target) for edge in graph.edges]),
        values={key: metrics.betweenness for key, metrics in graph.metrics.items()},
        sampled=graph.betweenness_sampled,
    )


def measure(
    keys: Sequence[str], pairs: Sequence[Pair], *, exact_up_to: int = 5000, cached: BetweennessCache | None = None
) -> tuple[dict[str, Metrics], bool]:
    """Measure every concept; the flag says whether betweenness was sampled, as it is for more than `exact_up_to` concepts."""
    size = len(keys)
    degree, strength = degrees(size, pairs)
    part = components(size, pairs)
    rank = pagerank(size, pairs)
    sampled = size > exact_up_to
    between = _remembered(keys, pairs, sampled, cached)
    if between is None:
        between = sampled_betweenness(keys, pairs, part) if sampled else betweenness(size, pairs)
    return {key: Metrics(degree[i], strength[i], between[i], rank[i], part[i]) for i, key in enumerate(keys)}, sampled


def degrees(size: int, pairs: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Return the number of neighbours and the summed edge weight of each concept."""
    degree, strength = [0] * size, [0] * size
    for first, second, weight in pairs:
        degree[first] += 1
        degree[second] += 1
        strength[first] += weight
        strength[second] += weight
    return degree, strength


def betweenness(size: int, pairs: Sequence[Pair]) -> list[float]:
    """Return exact betweenness, normalised to 0..1 by the number of pairs of other concepts (Brandes 2001); 0 below three concepts."""
    if size < 3 or not pairs:
        return [0.0] * size
    import rustworkx

    graph = rustworkx.PyGraph(multigraph=True)
    graph.add_nodes_from(range(size))
    graph.extend_from_edge_list([(first, second) for first, second, _ in pairs])
    values = rustworkx.graph_betweenness_centrality(graph, normalized=True)
    return [rounded(values[node]) for node in range(size)]


def sampled_betweenness(keys: Sequence[str], pairs: Sequence[Pair], component: Sequence[int]) -> list[float]:
    """Return an estimate of `betweenness` that takes seconds where the exact answer takes minutes; good for ranking, see `sampling`."""
    from kg2vault.graph import sampling

    if len(keys) < 3 or not pairs:
        return [0.0] * len(keys)
    return [rounded(value) for value in sampling.estimate(keys, pairs, sampling.sample_size(len(keys), len(pairs)), component)]


def pagerank(size: int, pairs: Sequence[Pair]) -> list[float]:
    """Return weighted PageRank (damping 0.85), summing to 1; a concept without edges has what random jumps give it."""
    if size == 0:
        return []
    if not pairs:
        return [rounded(1 / size)] * size
    import rustworkx

    graph = rustworkx.PyDiGraph(multigraph=True)  # each edge comes once each way; False would look for repeats
    graph.add_nodes_from(range(size))
    graph.add_edges_from([edge for first, second, weight in pairs for edge in ((first, second, weight), (second, first, weight))])
    values = rustworkx.pagerank(graph, alpha=_DAMPING, weight_fn=float, tol=_PAGERANK_ERROR / size, max_iter=_PAGERANK_ROUNDS)
    return [rounded(values[node]) for node in range(size)]


def components(size: int, pairs: Sequence[Pair]) -> list[int]:
    """Return the number of each concept's component: 0 is the largest, ties go to the one with the smallest key."""
    root = list(range(size))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for first, second, _ in pairs:
        one, other = find(first), find(second)
        root[max(one, other)] = min(one, other)
    found = [find(node) for node in range(size)]
    sizes = [0] * size
    for node in found:
        sizes[node] += 1
    number = {node: position for position, node in enumerate(sorted(set(found), key=lambda node: (-sizes[node], node)))}
    return [number[node] for node in found]


def rounded(value: float) -> float:
    """Round to `DIGITS` significant digits, the precision every platform and thread count agrees on."""
    return float(f"{value:.{DIGITS}g}")


def edge_set_digest(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> str:
    """Return a digest of the unweighted graph; keys and edges must be sorted."""
    text = "\n".join([*keys, "", *(f"{source}\t{target}" for source, target in edges)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _remembered(keys: Sequence[str], pairs: Sequence[Pair], sampled: bool, cached: BetweennessCache | None) -> list[float] | None:
    if cached is None or cached.sampled != sampled:
        return None
    digest = edge_set_digest(keys, [(keys[first], keys[second]) for first, second, _ in pairs])
    if digest != cached.edge_set_digest or any(key not in cached.values for key in keys):
        return None
    return [cached.values[key] for key in keys]
