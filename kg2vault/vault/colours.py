"""Which colour each community has: `assign()` keeps the old ones and gives the new ones what stands out most beside their neighbours.

Layer 1, pure. A community keeps its colour for as long as it lives; two communities never get the same one from here. Every colour handed
out is seen on Obsidian's light and dark ground, and told apart by eyes without red or green cones (`colour_space.distance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kg2vault.vault.colour_space import contrast, difference, from_lightness

LIGHT_GROUND, DARK_GROUND = 0xFFFFFF, 0x1E1E1E  # the grounds of Obsidian's own two themes
LEAST_CONTRAST = 2.0
# Okabe and Ito 2008 without black (lost on the dark ground) and yellow (lost on the light one); then, one after the other, the colour of
# sufficient contrast that is farthest from all before it. The closest two are 0.073 apart (see `distance`).
PALETTE: tuple[int, ...] = (
    *(0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0xD55E00, 0x56B4E9),
    *(0x90291E, 0x6887FF, 0x05556F, 0x3D746E, 0xACB78C, 0x1B46B4, 0xA74A04, 0x526EE3, 0x05CBC6, 0x2C5743),
)
_CHOICE = 48  # when the palette is used up, so many made-up colours are there to choose from
_WHOLE = 1.5  # how much farther than from all others a colour may be from its neighbours before the others count instead
_NEAREST = 12  # so many touching communities, heaviest first, are looked at
_STEP_LIGHTNESS, _STEP_HUE = 0.7548776662466927, 0.5698402909980532  # the R2 sequence (Roberts 2018): any first n cover the plane evenly


class Touching(NamedTuple):
    """A community as far as colours are concerned: its id, its size, and (id, summed weight) of the communities it touches."""

    id: str
    size: int
    neighbours: tuple[tuple[str, int], ...] = ()


def assign(communities: Sequence[Touching], previous: Mapping[str, int]) -> dict[str, int]:
    """Return the colour of each community, by id in sorted order.

    `previous` holds the colours in force (those of dead communities are ignored); a colour the user chose belongs in it. New
    communities choose in order of size, then id, among the free colours that are not much closer than others to any colour in use:
    the one with the largest distance to the touching communities, each distance divided by the square root of the share of the weight
    that falls on it, so that a heavy neighbour counts more. Beyond one and a half times the distance to all colours in use that counts
    for nothing more: all of them are in one picture. Ties, and communities that touch none, go by the distance to all, then by the
    palette's order.
    """
    colours = {one.id: previous[one.id] for one in communities if one.id in previous}
    choice = _Choice(sorted(colours.values()))
    for new in sorted((one for one in communities if one.id not in colours), key=lambda one: (-one.size, one.id)):
        near = sorted((item for item in new.neighbours if item[0] in colours and item[1] > 0), key=lambda item: (-item[1], item[0]))
        colours[new.id] = choice.take([(colours[key], weight) for key, weight in near[:_NEAREST]])
    return dict(sorted(colours.items()))


def hexadecimal(rgb: int) -> str:
    """Write a colour as CSS and JSON Canvas have it, "#rrggbb"."""
    return f"#{rgb:06x}"


class _Choice:
    """The free colours, in order of preference, each with its distance to the nearest colour in use."""

    def __init__(self, used: Sequence[int]) -> None:
        self._used = list(used)
        self._made_up = _made_up()
        self._free: dict[int, float] = {}
        for rgb in PALETTE:
            self._add(rgb)

    def take(self, near: Sequence[tuple[int, int]]) -> int:
        """Choose the colour for a community beside these (colour, weight), and use it up."""
        if not any(rgb in self._free for rgb in PALETTE):
            while len(self._free) < _CHOICE:
                self._add(next(self._made_up))
        total = sum(weight for _, weight in near)
        enough = max(self._free.values()) / 2

        def merit(rgb: int) -> tuple[float, float]:
            beside = min((round(difference(rgb, other) / (weight / total) ** 0.5, 6) for other, weight in near), default=0.0)
            return min(beside, _WHOLE * self._free[rgb]), self._free[rgb]

        best = max((rgb for rgb, apart in self._free.items() if apart >= enough), key=merit)
        del self._free[best]
        self._used.append(best)
        self._free = {rgb: min(apart, difference(rgb, best)) for rgb, apart in self._free.items()}
        return best

    def _add(self, rgb: int) -> None:
        if rgb not in self._used:
            self._free[rgb] = min((difference(rgb, other) for other in self._used), default=1.0)


def _made_up() -> Iterator[int]:
    """Yield colours without end, spread over hue and lightness, none of them twice and none of the palette."""
    seen = set(PALETTE)
    step = 0
    while True:
        step += 1
        rgb = from_lightness(0.44 + 0.34 * (step * _STEP_LIGHTNESS % 1), 0.15 if step % 2 else 0.09, step * _STEP_HUE % 1)
        if rgb not in seen and min(contrast(rgb, LIGHT_GROUND), contrast(rgb, DARK_GROUND)) >= LEAST_CONTRAST:
            seen.add(rgb)
            yield rgb
