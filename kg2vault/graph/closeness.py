"""Closeness: which concepts are not linked but belong together, for one concept after the other of the same graph.

Layer 1, pure. Counts in whole billionths, which come out the same in any order and on any machine, and ties go to the smaller key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

_BILLION = 1_000_000_000


class Closeness:
    """The closeness of concepts two steps apart, by Adamic and Adar 2003: each shared neighbour counts 1 / ln(its degree).

    So sharing a hub says little. All neighbours of neighbours are walked; with numbers for keys that takes half the time.
    """

    def __init__(self, neighbours: Mapping[str, Sequence[tuple[str, int]]]) -> None:
        self._neighbours = neighbours

    def of(self, key: str, limit: int) -> tuple[tuple[str, float], ...]:
        """Return the concepts closest to one that are not linked to it, best first; none for a key the graph does not have."""
        place = self._places.get(key)
        if place is None or limit <= 0:
            return ()
        near = self._near[place]
        shares: dict[int, int] = {}
        so_far = shares.get
        for middle in near:
            share = self._share[middle]
            for other in self._near[middle]:
                shares[other] = so_far(other, 0) + share
        for linked in (place, *near):
            shares.pop(linked, None)
        if not shares:
            return ()
        least = sorted(shares.values(), reverse=True)[:limit][-1]
        best = sorted([(-share, other) for other, share in shares.items() if share >= least])[:limit]
        return tuple((self._keys[other], -share / _BILLION) for share, other in best)

    @cached_property
    def _keys(self) -> list[str]:
        return sorted(self._neighbours)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self._keys)}

    @cached_property
    def _near(self) -> list[list[int]]:
        places = self._places
        return [[places[other] for other, _ in self._neighbours[key]] for key in self._keys]

    @cached_property
    def _share(self) -> list[int]:
        """What a concept counts for those that share it, nothing when there is but one."""
        return [round(_BILLION / math.log(len(near))) if len(near) > 1 else 0 for near in self._near]
