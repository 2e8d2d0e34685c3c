"""Where the cards of a canvas stand: `arrange()` keeps the old ones where they are and finds room for the new ones.

Layer 1, pure. Whole numbers on a grid, no two cards overlap, and the same input gives the same places: the force-directed layout of
rustworkx (Fruchterman and Reingold 1991) gets a fixed seed and sorted input, and only says about where a card belongs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

GRID = 20  # Obsidian's own snapping distance
GAP = 120  # between cards, so that the edges and their labels are seen
_SHELF = 1600  # least width of a row of cards that touch none
_SPREAD = 2.0  # side of the picture relative to the side of a square of all cards together
_SEED = 7
_ROUNDS = 500
_PULLING = 3  # heaviest neighbours of a card

Pull = Mapping[str, Sequence[tuple[str, int]]]  # each card's neighbours with the weight between them


class Box(NamedTuple):
    """A card's place: upper left corner and size, in pixels."""

    x: int
    y: int
    width: int
    height: int

    @property
    def centre(self) -> tuple[float, float]:
        """Return the middle of the box."""
        return self.x + self.width / 2, self.y + self.height / 2

    def touches(self, other: Box, gap: int = 0) -> bool:
        """Return whether two boxes overlap or are closer than `gap`."""
        return (
            self.x < other.x + other.width + gap
            and other.x < self.x + self.width + gap
            and self.y < other.y + other.height + gap
            and other.y < self.y + self.height + gap
        )


def arrange(sizes: Mapping[str, tuple[int, int]], pull: Pull, previous: Mapping[str, Box]) -> dict[str, Box]:
    """Return a box for each card, by id in sorted order.

    Cards that have a previous box keep its corner, and take their new size if there is room. New ones come as near to their neighbours as
    there is room, the larger first, those without neighbours on a shelf below; with nothing to keep, the whole is laid out anew.
    """
    placed = _kept(sizes, {key: previous[key] for key in sorted(previous) if key in sizes})
    linked = {key for key in sizes if any(other in sizes and weight > 0 for other, weight in pull.get(key, ()))}
    fresh = {} if placed else _spring({key: sizes[key] for key in linked}, pull)
    for key in sorted((key for key in sizes if key not in placed), key=lambda key: (key not in linked, -sizes[key][0], key)):
        boxes = list(placed.values())
        target = fresh.get(key) or _among(pull.get(key, ()), placed)
        placed[key] = (
            _nearest(target, sizes[key], boxes)
            if target
            else _shelved(sizes[key], [placed[one] for one in sorted(linked & set(placed))], boxes)
        )
    return dict(sorted(placed.items()))


def _kept(sizes: Mapping[str, tuple[int, int]], old: Mapping[str, Box]) -> dict[str, Box]:
    placed = dict(old)
    for key, box in old.items():
        grown = Box(box.x, box.y, *sizes[key])
        if grown != box and not any(grown.touches(other) for name, other in placed.items() if name != key):
            placed[key] = grown
    return placed


def _spring(sizes: Mapping[str, tuple[int, int]], pull: Pull) -> dict[str, tuple[float, float]]:
    """Return about where the centre of each card belongs.

    Each card is pulled by its heaviest neighbours alone, with the root of the weight: were all of them to pull, a graph in which nearly
    everything touches would end as a ball.
    """
    import rustworkx

    keys = sorted(sizes)
    number = {key: i for i, key in enumerate(keys)}
    weights = {(key, other): weight for key in keys for other, weight in pull.get(key, ()) if other in number}
    pairs = sorted(
        {(min(pair), max(pair)) for key in keys for pair in [(key, other) for other, _ in pull[key] if other in number][:_PULLING]}
    )
    heaviest = max(weights.values(), default=1)
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(keys)
    graph.add_edges_from([(number[one], number[other], math.sqrt(weights[one, other] / heaviest)) for one, other in pairs])
    found = rustworkx.spring_layout(graph, weight_fn=float, num_iter=_ROUNDS, scale=1, seed=_SEED)
    side = _SPREAD * math.sqrt(sum((width + GAP) * (height + GAP) for width, height in sizes.values()))
    return {key: (found[i][0] * side / 2, found[i][1] * side / 2) for key, i in number.items()}


def _among(near: Sequence[tuple[str, int]], placed: Mapping[str, Box]) -> tuple[float, float] | None:
    """Return the mean of the neighbours' centres by weight, None for a card that has none there."""
    there = [(placed[key].centre, weight) for key, weight in near if key in placed and weight > 0]
    total = sum(weight for _, weight in there)
    if not total:
        return None
    return sum(x * weight for (x, _), weight in there) / total, sum(y * weight for (_, y), weight in there) / total


def _nearest(centre: tuple[float, float], size: tuple[int, int], taken: Sequence[Box]) -> Box:
    """Return the nearest box on the grid around a centre that keeps the gap to all that are there."""
    left, top = (round((middle - length / 2) / GRID) * GRID for middle, length in zip(centre, size, strict=True))
    boxes = (Box(left + dx, top + dy, *size) for dx, dy in _outwards())
    return next(box for box in boxes if not any(box.touches(other, GAP) for other in taken))


def _shelved(size: tuple[int, int], above: Sequence[Box], taken: Sequence[Box]) -> Box:
    """Return the first free box, row by row, below the cards in `above`."""
    left, right = min((box.x for box in above), default=0), max((box.x + box.width for box in above), default=0)
    top = max((box.y + box.height for box in above), default=0) + 2 * GAP
    row = range(left, max(right - size[0], left + _SHELF) + 1, 2 * GRID)
    boxes = (Box(x, top + down * 2 * GRID, *size) for down in count() for x in row)
    return next(box for box in boxes if not any(box.touches(other, GAP) for other in taken))


def _outwards() -> Iterator[tuple[int, int]]:
    """Yield steps on a coarser grid, ring by ring, the nearest of a ring first."""
    reach = 0
    while True:
        ring = [(dx, dy) for dx in range(-reach, reach + 1) for dy in range(-reach, reach + 1) if max(abs(dx), abs(dy)) == reach]
        for dx, dy in sorted(ring, key=lambda step: (step[0] ** 2 + step[1] ** 2, step[1], step[0])):
            yield 2 * GRID * dx, 2 * GRID * dy
        reach += 1
