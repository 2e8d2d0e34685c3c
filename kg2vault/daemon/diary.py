"""What the daemon tells `status` and `doctor`: `Diary`, the state file kept up to date with few writes.

Layer 3. A change is written at once; a mere sign of life every few minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kg2vault import __version__
from kg2vault.storage.state_file import DaemonFile, DaemonState

BEAT_SECONDS = 240.0


class Diary:
    """`now` never goes back, `wall` is the time of day; both in seconds."""

    def __init__(self, file: DaemonFile, now: Callable[[], float], wall: Callable[[], float]) -> None:
        self._file, self._now, self._wall = file, now, wall
        before = file.load() or DaemonState()
        stamp = self.stamp()
        self.state = DaemonState(
            version=__version__,
            pid=os.getpid(),
            started=stamp,
            beat=stamp,
            beat_seconds=BEAT_SECONDS,
            last_success=before.last_success,
            last_fingerprint=before.last_fingerprint,
            last_error=before.last_error,
        )
        self._written: DaemonState | None = None
        self._beat_at = now()

    def note(self, **changes: Any) -> None:
        """Change the state, and write it if that says anything new."""
        state = replace(self.state, **changes)
        if state == self.state and self._written is not None:
            return
        self.state = state
        self._save()

    def beat(self) -> None:
        """Write a sign of life when one is due."""
        if self._now() - self._beat_at >= BEAT_SECONDS:
            self._save()

    def next_beat(self) -> float:
        """Return the seconds until a sign of life is due."""
        return max(0.0, self._beat_at + BEAT_SECONDS - self._now())

    def fault(self, name: str, problem: Mapping[str, Any] | None, tries: int = 1) -> None:
        """Note what stands in the way and since when; None when nothing does."""
        before = getattr(self.state, name)
        if problem is None:
            self.note(**{name: {}})
            return
        same = before.get("code") == problem.get("code") and before.get("message") == problem.get("message")
        since = before["since"] if same else self.stamp()
        shown = {key: problem.get(key) for key in ("code", "message", "hint", "path")}
        last = {"code": problem.get("code"), "message": problem.get("message"), "at": self.stamp()}
        self.note(last_error=last, **{name: {**shown, "since": since, "tries": tries}})

    def stamp(self) -> str:
        """Return the time of day."""
        return datetime.fromtimestamp(self._wall(), UTC).isoformat(timespec="seconds")

    def _save(self) -> None:
        self.state = replace(self.state, beat=self.stamp())
        self._beat_at = self._now()
        self._file.save(self.state)
        self._written = self.state
