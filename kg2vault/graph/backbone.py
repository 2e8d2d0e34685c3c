"""The edges worth drawing in a dense graph: `backbone()` picks them, the graph itself keeps all.

Layer 1, pure. Which edges are picked depends on the weights alone, never on the order they come in, and no concept that has an edge is left
without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from kg2vault.graph.model import Edge, KnowledgeGraph

Mode = Literal["all", "topk", "disparity"]
Pair = tuple[str, str]  # (source, target), source < target
Near = Mapping[str, Iterable[tuple[str, int]]]  # each key's neighbours with the weight, heaviest first

_DIGITS = 12  # the last bits of a power differ between machines; whether an edge is kept must not


def backbone(graph: KnowledgeGraph, *, mode: Mode = "all", k: int = 5, alpha: float = 0.05) -> frozenset[Pair]:
    """Return the edges to draw, as (source, target).

    `all` keeps every edge, `topk` those among the `k` heaviest of either end (the first `k` neighbours as the notes list them), `disparity`
    those `significant` at the level `alpha`. Raises ValueError for another mode, `k` below 1, or `alpha` outside 0..1.
    """
    if mode == "all":
        return frozenset((edge.source, edge.target) for edge in graph.edges)
    if mode == "topk":
        return strongest(graph.neighbours, k)
    if mode == "disparity":
        kept = significant(graph.edges, alpha)
        return kept | strongest(graph.neighbours, 1, only=_left_out(graph, kept))
    raise ValueError(f"no such backbone: {mode!r}")


def strongest(neighbours: Near, k: int, *, only: Iterable[str] | None = None) -> frozenset[Pair]:
    """Return the edges that are among the first `k` of either end (or of the ends in `only`); raises ValueError for `k` below 1."""
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    keys = neighbours if only is None else only
    return frozenset(_pair(key, other) for key in keys for other, _ in list(neighbours[key])[:k])


def significant(edges: Iterable[Edge], alpha: float) -> frozenset[Pair]:
    """Return the edges that pass the disparity filter of Serrano, Boguñá and Vespignani (PNAS 106, 2009, equation 2).

    Seen from an end with k edges and strength s, an edge of weight w has p = w / s. Were the strength cut into k parts at random, a part
    would be at least p with probability (1 - p) ** (k - 1). The edge passes if that is below `alpha` at one of its ends. An end with one
    edge has nothing to compare (the probability is 1) and leaves the decision to the other end, as in the paper. Raises ValueError
    for `alpha` outside 0..1.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is {alpha}; it must be between 0 and 1")
    found = tuple(edges)
    degree: dict[str, int] = {}
    strength: dict[str, int] = {}
    for edge in found:
        for key in (edge.source, edge.target):
            degree[key] = degree.get(key, 0) + 1
            strength[key] = strength.get(key, 0) + edge.weight

    def chance(key: str, weight: int) -> float:
        return float(round(((strength[key] - weight) / strength[key]) ** (degree[key] - 1), _DIGITS))

    return frozenset(
        (edge.source, edge.target) for edge in found if min(chance(edge.source, edge.weight), chance(edge.target, edge.weight)) < alpha
    )


def _left_out(graph: KnowledgeGraph, kept: frozenset[Pair]) -> list[str]:
    """Return the concepts that have edges but none of those kept.

    The paper lets them fall out of the picture; here every concept has a note, which a person should reach, so its heaviest edge stays.
    """
    reached = {key for pair in kept for key in pair}
    return [key for key, near in graph.neighbours.items() if near and key not in reached]


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)
