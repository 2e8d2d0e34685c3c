"""Numbers as they stand in notes: rounded so that noise does not show, written as plain decimals.

Layer 1, pure.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal


def two_digits(value: float) -> float:
    """Round to two significant digits; 0 stays 0. Computed in decimal, so that the same value always rounds the same way."""
    number = Decimal(repr(value))
    if number == 0:
        return 0.0
    return float(number.quantize(Decimal(1).scaleb(number.adjusted() - 1), rounding=ROUND_HALF_EVEN))


def plain(value: float) -> str:
    """Write a number without an exponent and without trailing zeros, as JavaScript prints it."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
