"""When something was read about, in one line of plain text: `timeline()`.

Layer 1, pure. The line depends on the dates it is given and on nothing else, so it changes only when one of them does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"  # the first is for none at all
_MONTHS_UP_TO = 24  # periods; a longer time is told by the year
_MOST = 40  # bars; a stray date of the year 1 must not draw two thousand


def timeline(days: Sequence[str]) -> str:
    """Return first and last day, and items per month or year as bars; "" without days, no bars within one month.

    `days` are ISO dates in any order, each once for every item.
    """
    if not days:
        return ""
    first, last = min(days), max(days)
    if first == last:
        return f"Seen on {first}"
    seen = f"Seen from {first} to {last}"
    monthly = _month(last) - _month(first) < _MONTHS_UP_TO
    counts = Counter(_month(day) if monthly else int(day[:4]) for day in days)
    periods = range(max(min(counts), max(counts) - _MOST + 1), max(counts) + 1)
    if len(periods) < 2:
        return seen
    return f"{seen} · items per {'month' if monthly else 'year'} {sparkline([counts[period] for period in periods])}"


def sparkline(numbers: Sequence[int]) -> str:
    """Return one bar a number, the highest for the largest; zero is the lowest bar and nothing else is."""
    top = max(numbers, default=0)
    steps = len(_BARS) - 1
    return "".join(_BARS[-(-number * steps // top) if number else 0] for number in numbers)


def last_year(days: Sequence[str]) -> int:
    """Return how many of the days are in the year that ends with the last of them."""
    if not days:
        return 0
    last = max(days)
    start = f"{int(last[:4]) - 1:04d}{last[4:]}"
    return sum(day > start for day in days)


def _month(day: str) -> int:
    return int(day[:4]) * 12 + int(day[5:7]) - 1
