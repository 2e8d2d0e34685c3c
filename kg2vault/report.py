"""What a sync says afterwards: counts, the notes that need a person, and one line.

Layer 3.
"""

from __future__ import annotations

from collections import Counter

from kg2vault.errors import ExitCode
from kg2vault.graphs import Built
from kg2vault.result import OperationResult, Problem
from kg2vault.storage.apply import Outcome

_ORDER = ("created", "updated", "identical", "retired")
_ONLY_WHEN = ("skipped", "conflict", "damaged", "duplicate", "failed")
_WRITTEN = ("created", "updated", "retired")
_UNFINISHED = frozenset({"conflict", "damaged", "failed"})
_HINTS = {
    "conflict": "See `kg2vault conflicts`; settle it with `kg2vault resolve NOTE --mine`, `--generated` or `--both`.",
    "damaged": "Mend the marker lines or the frontmatter in the note; nothing in it is written until then.",
    "duplicate": "Delete the copy, or remove its kg_id to make it a note of your own.",
    "failed": "The other notes were written; the next sync tries this one again.",
}
_NOTHING_WRITTEN = "No note was written; mend that, and the next sync tries again."
_HIDDEN = "Make it readable, or let it be downloaded; until then no note counts as deleted."


def sync_result(built: Built, outcomes: tuple[Outcome, ...], *, dry_run: bool, problems: tuple[Problem, ...] = ()) -> OperationResult:
    """Return the result of a sync or of its dry run; `problems` are about files beside the notes and change no exit code."""
    graph, reading = built.graph, built.reading
    counts = Counter(outcome.state for outcome in outcomes)
    hints = _HINTS if any(counts.get(state) for state in _WRITTEN) else {**_HINTS, "failed": _NOTHING_WRITTEN}
    found = [
        Problem(outcome.state, f"{outcome.path}: {outcome.detail}", outcome.path, hints[outcome.state])
        for outcome in outcomes
        if outcome.state in _HINTS
    ]
    hidden = Counter(outcome.detail for outcome in outcomes if outcome.state == "skipped" and "could not be read" in outcome.detail)
    found += [Problem("skipped", f"{_notes(number)} left as before: {why}", None, _HIDDEN) for why, number in sorted(hidden.items())]
    changed = [outcome for outcome in outcomes if outcome.state not in ("identical", "deleted", "forgotten", "removed")]
    data = {
        "concepts": len(graph.concepts),
        "edges": len(graph.edges),
        "communities": len(graph.communities),
        "counts": {name: counts.get(name, 0) for name in (*_ORDER, *_ONLY_WHEN)},
        "notes": [{"id": o.id, "path": o.path, "state": o.state, "detail": o.detail} for o in changed],
        "rows_skipped": dict(reading.skipped),
        "rows_decoded": reading.decoded,
        "fingerprint": reading.fingerprint,
        "dry_run": dry_run,
    }
    code = ExitCode.UNFINISHED if any(counts.get(state) for state in _UNFINISHED) else ExitCode.FINE
    return OperationResult("sync", data, (*found, *problems), code, _summary(built, counts, dry_run=dry_run))


def _notes(number: int) -> str:
    return "1 note was" if number == 1 else f"{number:,} notes were"


def _summary(built: Built, counts: Counter[str], *, dry_run: bool) -> str:
    graph, reading = built.graph, built.reading
    communities = "community" if len(graph.communities) == 1 else "communities"
    size = f"{len(graph.concepts):,} concepts, {len(graph.edges):,} edges, {len(graph.communities):,} {communities}"
    parts = [f"{counts.get(name, 0):,} {name}" for name in _ORDER]
    parts += [f"{counts[name]:,} {name}" for name in _ONLY_WHEN if counts.get(name)]
    rows = sum(reading.skipped.values())
    left_out = f" · {rows:,} rows left out" if rows else ""
    would = "would be " if dry_run else ""
    return f"{size}: {would}{', '.join(parts)}{left_out}"
