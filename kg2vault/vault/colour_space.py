"""How different two colours look: OKLab, for eyes that see all colours and for those that do not.

Layer 1, pure. Colours are integers, red * 65536 + green * 256 + blue, as Obsidian's graph.json has them.
"""

from __future__ import annotations

import math
from functools import lru_cache

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

# Ottosson 2020, "A perceptual color space for image processing": linear sRGB to cone responses, and their cube roots to OKLab.
_TO_CONES: Matrix = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB: Matrix = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
_FROM_LAB: Matrix = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
_FROM_CONES: Matrix = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)
# Machado, Oliveira and Fernandes 2009, severity 1, on linear sRGB.
_PROTANOPIA: Matrix = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
_DEUTERANOPIA: Matrix = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
_DIGITS = 6  # cube roots differ in their last bits between machines; a choice between colours must not


def distance(one: int, other: int) -> float:
    """Return how far apart two colours look to the eye that tells them apart worst: normal, protanope or deuteranope.

    OKLab units: 0.02 is just noticeable, black and white are 1 apart.
    """
    return round(min(math.dist(a, b) for a, b in zip(_seen(one), _seen(other), strict=True)), _DIGITS)


def difference(one: int, other: int) -> float:
    """Return the mean of the distance to the normal eye and of `distance`: for choosing colours that stand out for everybody.

    Going by the worst eye alone, two blues count as far apart as pink and turquoise, which only a protanope takes for alike.
    """
    return round((math.dist(_seen(one)[0], _seen(other)[0]) + distance(one, other)) / 2, _DIGITS)


def luminance(rgb: int) -> float:
    """Return the relative luminance (WCAG 2) of a colour, 0 to 1."""
    red, green, blue = _linear(rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: int, other: int) -> float:
    """Return the contrast ratio (WCAG 2) of two colours, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def from_lightness(lightness: float, chroma: float, hue: float) -> int:
    """Return the colour at a lightness (0..1), a chroma (0..0.4) and a hue (turns) of OKLCH, paler where sRGB has no such colour."""
    while True:
        lab = (lightness, chroma * math.cos(hue * math.tau), chroma * math.sin(hue * math.tau))
        long, medium, short = (value**3 for value in _apply(_FROM_LAB, lab))
        linear = _apply(_FROM_CONES, (long, medium, short))
        if chroma <= 0 or all(-1e-4 <= value <= 1.0001 for value in linear):
            red, green, blue = (_eight_bits(value) for value in linear)
            return red * 65536 + green * 256 + blue
        chroma -= 0.005


@lru_cache(maxsize=4096)
def _seen(rgb: int) -> tuple[Triple, ...]:
    linear = _linear(rgb)
    return tuple(_lab(seen) for seen in (linear, _apply(_PROTANOPIA, linear), _apply(_DEUTERANOPIA, linear)))


def _lab(linear: Triple) -> Triple:
    inside = (min(max(linear[0], 0.0), 1.0), min(max(linear[1], 0.0), 1.0), min(max(linear[2], 0.0), 1.0))
    long, medium, short = (math.cbrt(value) for value in _apply(_TO_CONES, inside))
    return _apply(_TO_LAB, (long, medium, short))


def _linear(rgb: int) -> Triple:
    red, green, blue = (_from_gamma(rgb >> shift & 255) for shift in (16, 8, 0))
    return red, green, blue


def _from_gamma(channel: int) -> float:
    value = channel / 255
    return float(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)


def _eight_bits(linear: float) -> int:
    value = min(max(linear, 0.0), 1.0)
    return round(255 * (value * 12.92 if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))


def _apply(matrix: Matrix, vector: Triple) -> Triple:
    first, second, third = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return first, second, third
