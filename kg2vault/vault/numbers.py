"""Numbers as they stand in notes: rounded so that noise does not show, written as plain decimals.

Layer 1, pure.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

BETWEENNESS_STEP, PAGERANK_STEP = 0.0001, 0.0000001
_TOLERANCE = 0.1


def two_digits(value: float) -> float:
    """Round to two significant digits; 0 stays 0. Computed in decimal, so that the same value always rounds the same way."""
    number = Decimal(repr(value))
    if number == 0:
        return 0.0
    return float(number.quantize(Decimal(1).scaleb(number.adjusted() - 1), rounding=ROUND_HALF_EVEN))


def steady(value: float, before: str | None, step: float, *, within: float | None = None) -> float:
    """Round a number, or return the one that stands in the note already while it is still about right.

    Each new edge moves betweenness and PageRank of concepts far from it by a little. `before` stays until the number is more than `step`
    (or `within`, when given) and more than a tenth away from it, so that a note is not rewritten for a digit nobody reads. A new number has
    two significant digits, and no more decimals than `step`.
    """
    try:
        old = float(before) if before is not None else None
    except ValueError:
        old = None
    if old is not None and not abs(value - old) > max(step if within is None else within, old * _TOLERANCE):
        return old
    return two_digits(float(Decimal(repr(value)).quantize(Decimal(repr(step)), rounding=ROUND_HALF_EVEN)))


def plain(value: float) -> str:
    """Write a number without an exponent and without trailing zeros, as JavaScript prints it."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
