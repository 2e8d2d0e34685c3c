"""Partition: dividing the graph by weighted modularity, staying close to an earlier division.

Layer 1, pure; the only module that imports graspologic-native. Node and edge order are canonical and the seed is fixed, so the answer
is a function of the graph and the earlier division alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kg2vault.graph.model import Pair

_SEED = 1
_ITERATIONS = 3  # measured: most of what more rounds give, for half a second at 300,000 edges


def divide(pairs: Sequence[Pair], *, resolution: float = 1.0) -> list[list[int]]:
    """Divide from scratch by Leiden (Traag, Waltman, van Eck 2019); concepts without an edge belong to no part."""
    return _leiden(pairs, (), {}, resolution)


def divide_again(
    pairs: Sequence[Pair], strength: Sequence[int], before: Sequence[Sequence[int]], *, resolution: float = 1.0, stickiness: float = 0.05
) -> list[list[int]]:
    """Divide, starting from the parts that were: each gets an anchor tied to its members with a share of their strength.

    An anchor makes leaving cost `stickiness` times the member's own weight, so that noise moves nobody and a real change still does.
    """
    linked = {end for first, second, _ in pairs for end in (first, second)}
    parts = [present for part in before if (present := [node for node in part if node in linked])]
    start = {str(node): number for number, part in enumerate(parts) for node in part}
    for number, node in enumerate(sorted(linked - {node for part in parts for node in part}), start=len(parts)):
        start[str(node)] = number
    ties: list[tuple[str, str, float]] = []
    for number, part in enumerate(parts if stickiness > 0 else ()):
        anchor = f"anchor {number}"
        start[anchor] = number
        ties.extend((anchor, str(node), stickiness * strength[node]) for node in part)
    return _leiden(pairs, ties, start, resolution)


def modularity(pairs: Sequence[Pair], parts: Sequence[Sequence[int]], *, resolution: float = 1.0) -> float:
    """Return the weighted modularity of a division (Newman 2004), each node in no part counting as a part of its own; 0 without edges."""
    total = sum(weight for _, _, weight in pairs)
    if total == 0:
        return 0.0
    part_of = {node: number for number, part in enumerate(parts) for node in part}
    inside = 0
    strength: defaultdict[int, int] = defaultdict(int)
    for first, second, weight in pairs:
        # A node in no part is its own part: a negative number no part has.
        one, other = part_of.get(first, -1 - first), part_of.get(second, -1 - second)
        inside += weight if one == other else 0
        strength[one] += weight
        strength[other] += weight
    expected = sum(value * value for value in strength.values()) / (4 * total * total)
    return inside / total - resolution * expected


def _leiden(pairs: Sequence[Pair], ties: Sequence[tuple[str, str, float]], start: Mapping[str, int], resolution: float) -> list[list[int]]:
    if not pairs:
        return []
    import graspologic_native

    edges = [(str(first), str(second), float(weight)) for first, second, weight in pairs]
    _, found = graspologic_native.leiden(
        [*edges, *ties], starting_communities=dict(start) or None, resolution=resolution, iterations=_ITERATIONS, seed=_SEED
    )
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for name, number in found.items():
        if not name.startswith("anchor"):
            parts[number].append(int(name))
    return _connected(parts.values(), pairs)


def _connected(parts: Iterable[Sequence[int]], pairs: Sequence[Pair]) -> list[list[int]]:
    """Split every part that hangs together only through an anchor, or not at all; sorted by their smallest member."""
    part_of = {node: number for number, part in enumerate(parts) for node in part}
    near: dict[int, list[int]] = {node: [] for node in part_of}
    for first, second, _ in pairs:
        if part_of[first] == part_of[second]:
            near[first].append(second)
            near[second].append(first)
    pieces: list[list[int]] = []
    seen: set[int] = set()
    for node in sorted(near):
        if node not in seen:
            piece = _reachable(node, near)
            seen.update(piece)
            pieces.append(sorted(piece))
    return pieces


def _reachable(start: int, near: Mapping[int, Sequence[int]]) -> set[int]:
    reached = {start}
    frontier = [start]
    while frontier:
        for other in near[frontier.pop()]:
            if other not in reached:
                reached.add(other)
                frontier.append(other)
    return reached
