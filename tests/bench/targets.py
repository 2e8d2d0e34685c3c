"""What speed is promised, as ratios of times measured side by side: `verdicts()`.

The bounds are those the project set itself before anything was measured. Each ratio is worked out within a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log

from tests.bench.rounds import Measured

Seconds = dict[str, float]
NAMED = "pyvideo"  # the corpus for which the small targets were set
LARGE = 5_000  # notes, from which a corpus stands for the one with ten thousand concepts


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target, and what came of it."""

    corpus: str
    target: str
    found: str
    met: bool | None  # None: the target is that of another corpus, or patience ended too early to tell


def against_usual(seconds: Seconds) -> float:
    """How many times faster the first sync is than the usual way."""
    return seconds["usual"] / seconds["first sync"]


def against_floor(seconds: Seconds) -> float:
    """How many times the floor the first sync takes, the start of Python left aside."""
    return (seconds["first sync"] - seconds["python"]) / seconds["floor"]


def unchanged(seconds: Seconds) -> float:
    """How many times `--version` and the stat of all notes a sync takes that has nothing to do."""
    return seconds["unchanged sync"] / (seconds["--version"] + seconds["stat"])


def one_new_item(seconds: Seconds) -> float:
    """The part of the first sync's time that one new item takes."""
    return seconds["one new item"] / seconds["first sync"]


def verdicts(measured: Sequence[Measured]) -> list[Verdict]:
    """Hold everything that was measured against its target."""
    return [verdict for corpus in measured for verdict in _of(corpus)]


def _of(corpus: Measured) -> Iterator[Verdict]:
    large = corpus.size.get("files", 0) > LARGE
    more = " at least" if corpus.outlasted else ""
    times = 25 if large else 8
    yield from _ratio(corpus, f"first sync at least {times} times faster than the usual way", against_usual, times, least=True, more=more)
    if not large:
        yield from _ratio(corpus, "first sync at most 6 times the floor, and Python's start", against_floor, 6)
    yield from _ratio(corpus, "nothing changed: at most 1.5 times `--version` and stat of the notes", unchanged, 1.5)
    if large:
        yield from _ratio(corpus, "one new item: at most 0.25 of the first sync", one_new_item, 0.25)
        yield from _below(corpus, "peak of the first sync under 350 MB", corpus.peak("first sync"), 350e6, 1e6, "MB")
    if corpus.size.get("items", 0) >= 500_000:
        yield from _below(corpus, "graph with metrics and communities in at most 20 s", corpus.seconds("graph"), 20, 1, "s")
        yield from _below(corpus, "graph in at most 1.2 GB", corpus.peak("graph"), 1.2e9, 1e6, "MB")


def _ratio(
    corpus: Measured, target: str, formula: Callable[[Seconds], float], bound: float, *, least: bool = False, more: str = ""
) -> Iterator[Verdict]:
    found = corpus.ratio(formula)
    if found is not None:
        met = found >= bound if least else found <= bound
        counts = corpus.name == NAMED or corpus.size.get("files", 0) > LARGE or formula is unchanged
        counts = counts and (met or not more)  # a lower bound proves nothing missed
        yield Verdict(corpus.name, target, f"{more} {found:.2f}".strip(), met if counts else None)


def _below(corpus: Measured, target: str, found: float | None, bound: float, unit: float, name: str) -> Iterator[Verdict]:
    if found is not None:
        yield Verdict(corpus.name, target, f"{found / unit:.3g} {name}", found <= bound)


def growth(measured: Sequence[Measured], of: Callable[[Measured], float | None]) -> float | None:
    """Return the exponent with which something grows with the rows (least squares on logarithms), None of fewer than two sizes."""
    points = [(log(corpus.size["rows"]), log(value)) for corpus in measured if (value := of(corpus))]
    if len({x for x, _ in points}) < 2:
        return None
    middle_x, middle_y = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)
