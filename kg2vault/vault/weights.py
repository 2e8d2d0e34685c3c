"""Weights where other tools look for them: three bands, a node size, and how often a link is repeated.

Layer 1, pure. All three are coarse on purpose: they move rarely, so that one new item does not rewrite notes it has nothing to do with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Literal, NamedTuple

Band = Literal["strong", "medium", "weak"]

_SIZES = (40, 300)  # what Extended Graph takes for a node, in hundredths of the normal size
_SIZE_STEP = 20


class Bands(NamedTuple):
    """The weights from which on an edge is medium, and strong."""

    medium: int
    strong: int

    def of(self, weight: int) -> Band:
        """Return the band of an edge."""
        if weight >= self.strong:
            return "strong"
        return "medium" if weight >= self.medium else "weak"


def bands(weights: Iterable[int], previous: Bands | None = None) -> Bands:
    """Return the bands for the edges of a graph, given all their weights.

    One pair of thresholds for the whole graph, so that an edge is in the same band at both its ends and a band means the same in every
    note. Of the summed weight, about a third is on strong edges, a third on medium and a third on weak ones: with the many light and few
    heavy edges of co-occurrence, thirds of the *number* of edges would all be of weight 2. The thresholds are of the row 1, 2, 5, 10, 20,
    50…, and one of `previous` stays until the weights have moved a quarter past its step: they change when the graph does, not by the item.
    """
    counts: dict[int, int] = {}
    for weight in weights:
        counts[weight] = counts.get(weight, 0) + 1
    total = sum(weight * count for weight, count in counts.items())
    medium = _step(_threshold(counts, 2 * total), previous.medium if previous else 0)
    strong = _step(_threshold(counts, total), previous.strong if previous else 0)
    medium = max(min(medium, _round_down(strong - 1)), _round_up(min(counts, default=1) + 1))
    return Bands(medium, max(strong, _round_up(medium + 1)))


def size_100(degree: int) -> int:
    """Return a node size, 40 to 300 in steps of 20, 100 being normal: it grows with the root of the degree, so that the area shows it.

    It depends on the concept alone, not on the largest one. 300 is reached at 100 neighbours.
    """
    least, most = _SIZES
    grown = least + (most - least) * math.sqrt(max(degree, 0) / 100)
    return min(most, round(grown / _SIZE_STEP) * _SIZE_STEP)


def repeat(weight: int, max_weight: int, n: int) -> int:
    """Return how often to write a link, 1 to `n`, by the logarithm of its weight.

    The largest weight of the graph is rounded down to a power of two first, so that its growth shows only when it doubles. Raises
    ValueError for `n` below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1")
    doublings = max(1, max_weight.bit_length() - 1)
    # In whole numbers, since logarithms differ between machines: (n - 1) * log2(weight) / doublings, rounded down.
    power: int = max(weight, 1) ** (n - 1)
    level = (power.bit_length() - 1) // doublings
    return min(n, 1 + level)


def _threshold(counts: dict[int, int], triple: int) -> int:
    """Return the largest weight such that the edges at least as heavy carry a third of `triple`, 1 if there are none."""
    carried = 0
    for weight in sorted(counts, reverse=True):
        carried += weight * counts[weight]
        if 3 * carried >= triple:
            return weight
    return 1


def _step(number: int, previous: int) -> int:
    """Return the largest step of the row that is not above a number; the previous one if the number is not clearly outside it."""
    if previous and 4 * previous <= 5 * number and 4 * number < 5 * _round_up(previous + 1):
        return previous
    return _round_down(number)


def _row() -> Iterator[int]:
    step = 1
    while True:
        yield from (step, 2 * step, 5 * step)
        step *= 10


def _round_up(number: int) -> int:
    return next(step for step in _row() if step >= number)


def _round_down(number: int) -> int:
    return max(takewhile(lambda step: step <= number, _row()), default=1)
