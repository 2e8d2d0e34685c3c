"""A progress bar on standard error, shown when a terminal is there and the work lasts.

Layer 4.
"""

from __future__ import annotations

import sys
import time
from typing import Any

_PATIENCE = 0.5  # seconds of work before a bar is worth showing


class Progress:
    """A context that shows `step(what, done, total)` as a bar."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, what: str, done: int, total: int) -> None:
        """Say that `done` of `total` are done."""
        if not self.enabled:
            return
        if self._bar is None:
            if time.monotonic() - self._started < _PATIENCE:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(what, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)
