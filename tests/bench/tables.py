"""What was measured as plain Markdown, ready for a README: `report()`."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from tests.bench.rounds import Measured
from tests.bench.targets import growth, verdicts

STAGES = ("start", "read", "build", "metrics", "communities", "render", "scan", "plan", "write", "beside", "remember", "rest")
_RUNS = ("first sync", "one new item", "unchanged sync", "--version", "floor", "usual")
_NAMES = {"floor": "floor: plain writes", "usual": "the usual way"}


def report(measured: Sequence[Measured], generated: Sequence[Measured]) -> str:
    """Return the tables of all corpora, targets last; `generated` are those of one kind, from which growth is told."""
    parts = [machine(), _sizes(measured), *(_stages(corpus) for corpus in measured if "first sync" in corpus.rounds[0].seconds)]
    parts += [_graphs(measured), _growth(generated), _verdicts(measured)]
    return "\n\n".join(part for part in parts if part)


def machine() -> str:
    """Describe the machine without naming it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {platform.system()}, Python {platform.python_version()}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _sizes(measured: Sequence[Measured]) -> str:
    names = ("items", "rows", "concepts", "edges", "communities", "files", "bytes", "usual files", "usual bytes", "written for one")
    head = ["corpus", *names[:5], "files", "MB", "usual way: files", "MB", "notes written for one new item"]
    rows = []
    for corpus in measured:
        cells = [corpus.size.get(name) for name in names]
        shown = [
            ("–" if cell is None else f"{cell / 1e6:.1f}" if "bytes" in name else f"{cell:,}")
            for name, cell in zip(names, cells, strict=True)
        ]
        rows.append([corpus.name, *shown])
    return _table(head, rows)


def _stages(corpus: Measured) -> str:
    """The table of one corpus: a row for each run, a column for each stage."""
    rows = []
    for run in _RUNS:
        whole = corpus.seconds(run)
        if whole is None:
            continue
        stages = [_seconds(corpus.stage(run, name)) if run in ("first sync", "one new item") else "" for name in STAGES]
        peak = corpus.peak(run)
        late = "> " if run == "usual" and corpus.outlasted else ""
        rows.append([_NAMES.get(run, run), late + _seconds(whole), *stages, "" if peak is None else f"{peak / 1e6:.0f} MB"])
    return f"**{corpus.name}**, seconds\n\n" + _table(["", "whole", *STAGES, "peak"], rows)


def _graphs(measured: Sequence[Measured]) -> str:
    names = ("start", "read", "build", "metrics", "communities")
    rows = []
    for corpus in measured:
        cells = [_seconds(corpus.stage("graph", name)) for name in names]
        rows.append(
            [
                corpus.name,
                f"{corpus.size['rows']:,}",
                _seconds(corpus.seconds("graph")),
                *cells,
                f"{(corpus.peak('graph') or 0) / 1e6:.0f} MB",
            ]
        )
    return "The graph alone, seconds\n\n" + _table(["corpus", "rows", "whole", *names, "peak"], rows)


def _growth(generated: Sequence[Measured]) -> str:
    time, memory = growth(generated, lambda corpus: corpus.seconds("graph")), growth(generated, lambda corpus: corpus.peak("graph"))
    if time is None or memory is None:
        return ""
    return f"From the smallest to the largest generated corpus the graph's time grows as rows^{time:.2f}, its peak as rows^{memory:.2f}."


def _verdicts(measured: Sequence[Measured]) -> str:
    rows = [[one.corpus, one.target, one.found, {True: "met", False: "**missed**", None: "–"}[one.met]] for one in verdicts(measured)]
    return _table(["corpus", "target", "found", ""], rows) if rows else ""


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"
