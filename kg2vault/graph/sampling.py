"""Sampled betweenness: an estimate for graphs where the exact answer would take minutes.

Layer 1, pure; imports numpy, which rustworkx brings along, only when a graph is that large. Brandes' sum is
taken over some sources instead of all (Brandes and Pich 2007). The sources are the concepts whose keys have the smallest digests: the
choice is as good as random, the same on every machine, and one new concept changes at most one of them, so that a small change of the
graph is a small change of the estimates.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from kg2vault.graph.model import Pair

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_MOST_SOURCES = 512
_FEWEST_SOURCES = 64
_WORK = 100_000_000  # concepts and edges looked at in all: some five seconds


def sample_size(concepts: int, edges: int) -> int:
    """Return how many sources to take: a power of two, fewer in a larger graph, so that the time stays within seconds."""
    affordable = _WORK // max(1, concepts + edges)
    size = _MOST_SOURCES
    while size > _FEWEST_SOURCES and size > affordable:
        size //= 2
    return size


def estimate(keys: Sequence[str], pairs: Sequence[Pair], sources: int, component: Sequence[int]) -> list[float]:
    """Estimate betweenness from so many sources, normalised to 0..1 as the exact one is.

    Trees that hang on the graph are folded into their roots first: what passes through their concepts is known exactly, and in a graph
    of tags they are a good part of it.
    """
    import numpy as np

    size = len(keys)
    folded = _fold_trees(size, pairs, component)
    root, table = np.array(folded.root), np.array(pairs, dtype=np.int64).reshape(-1, 3)[:, :2]
    starts, ends = _adjacency(size, table[(root[table] == table).all(axis=1)])
    weight = np.array(folded.weight, dtype=float)
    drawn = Counter(folded.root[node] for node in nsmallest(sources, range(size), key=lambda node: _lot(keys[node])))
    total, heard = np.zeros(size), np.full(size, float(sources))
    for source, times in sorted(drawn.items()):
        total += times * _dependencies(source, starts, ends, weight)
        heard[source] -= times
    # What hangs on a concept says nothing about it, so it is estimated from the others; a pair is met from both ends, hence the half.
    found = np.array(folded.through, dtype=float) + total * (size - weight) / np.maximum(heard, 1.0) / 2
    values: list[float] = np.minimum(found / ((size - 1) * (size - 2) / 2), 1.0).tolist()
    return values


@dataclass(frozen=True, slots=True)
class _Folded:
    root: list[int]  # of the tree a concept is folded into; itself when it stays
    weight: list[int]  # concepts folded into a root, with itself
    through: list[int]  # pairs whose shortest paths pass a concept on their way out of a folded tree


def _fold_trees(size: int, pairs: Sequence[Pair], component: Sequence[int]) -> _Folded:
    """Take away concepts with one neighbour until none is left (Baglioni and others 2012)."""
    population = Counter(component)
    degree, mixed = [0] * size, [0] * size
    for first, second, _ in pairs:
        degree[first] += 1
        degree[second] += 1
        mixed[first] ^= second  # the exclusive or of all neighbours: of the last one, when one is left
        mixed[second] ^= first
    root, weight, through = list(range(size)), [1] * size, [0] * size
    leaves = [node for node in range(size) if degree[node] == 1]
    taken = []
    while leaves:
        leaf = leaves.pop()
        if degree[leaf] != 1:
            continue  # its neighbour was taken meanwhile: the last of a tree
        stem = mixed[leaf]
        through[stem] += weight[leaf] * (population[component[leaf]] - weight[stem] - weight[leaf])
        weight[stem] += weight[leaf]
        mixed[stem] ^= leaf
        degree[stem] -= 1
        degree[leaf] = 0
        root[leaf] = stem
        taken.append(leaf)
        if degree[stem] == 1:
            leaves.append(stem)
    for leaf in reversed(taken):  # stems taken later are settled first
        root[leaf] = root[root[leaf]]
    return _Folded(root, weight, through)


def _lot(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _adjacency(size: int, table: Array) -> tuple[Array, Array]:
    """Compressed rows, of edges as an array of two columns: the neighbours of node i are ends[starts[i]:starts[i + 1]]."""
    import numpy as np

    origins, ends = np.concatenate((table, table[:, ::-1])).T
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(origins, minlength=size), out=starts[1:])
    return starts, ends[np.argsort(origins, kind="stable")]


def _dependencies(source: int, starts: Array, ends: Array, weight: Array) -> Array:
    """How many weighted targets the source reaches through each concept, a whole breadth-first level at a time.

    A target counts at a concept in proportion to how far along the path the concept is (Geisberger, Sanders, Schultes 2008), and twice
    that, as the other end of the path adds the rest: the same sum over all sources, but the neighbours of a source no longer stand out.
    """
    import numpy as np

    size = len(weight)
    levels, paths = _levels(source, starts, ends)
    share, dependency = np.zeros(size), np.zeros(size)
    for distance in range(len(levels), 1, -1):
        before, after = levels[distance - 1]
        passed = paths[before] / paths[after] * (weight[after] / distance + share[after])
        share += np.bincount(before, weights=passed, minlength=size)
        dependency[before] = share[before] * (2 * (distance - 1))
    return dependency


def _levels(source: int, starts: Array, ends: Array) -> tuple[list[tuple[Array, Array]], Array]:
    """The edges that lead from each distance to the next one, and the number of shortest paths from the source to each concept."""
    import numpy as np

    size = len(starts) - 1
    paths = np.zeros(size)
    paths[source] = 1.0
    frontier = np.array([source])
    levels: list[tuple[Array, Array]] = []
    while frontier.size:
        begin = starts[frontier]
        counts = starts[frontier + 1] - begin
        arcs = np.arange(counts.sum()) + np.repeat(begin - np.cumsum(counts) + counts, counts)
        reached = ends[arcs]
        onward = np.flatnonzero(paths[reached] == 0.0)
        before, after = np.repeat(frontier, counts)[onward], reached[onward]
        levels.append((before, after))
        found = np.bincount(after, weights=paths[before], minlength=size)
        paths += found
        frontier = np.flatnonzero(found)
    return levels, paths
