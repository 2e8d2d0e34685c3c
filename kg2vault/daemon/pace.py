"""When to sync: `Pacer`, every timing rule of the daemon as arithmetic on times that are handed in.

Layer 3, pure: no clock, no sleeping. All times are seconds of a clock that never goes back, except `wall`, which is the time of day.

* A hint (something was written) waits for the *quiet period* after the last hint, but never longer than *max delay* after the first.
* A hint that came during a sync means one more sync, counted from that sync's start.
* Notes that were skipped because somebody was writing them are tried again after the *settle* time, doubling while they stay skipped.
* After a failure the next attempt waits 2 s, doubling up to 2 minutes, each time by a random share of up to a fifth longer or shorter, so
  that several daemons do not knock in step. A hint brings it forward, though not to less than the shortest wait: the cause may be gone.
* A *demand* (start, reload, wake from sleep) is due at once, and is not satisfied by finding that nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FIRST_RETRY, LONGEST_RETRY, JITTER = 2.0, 120.0, 0.2
LONGEST_SETTLE = 600.0
JUMP_SECONDS = 30.0  # a gap between the clocks, or between expected and actual waking, that only sleep explains
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Pace:
    """The times that a person may set, in seconds."""

    quiet: float = 2.0
    max_delay: float = 30.0
    poll: float = 60.0
    settle: float = 3.0


class Pacer:
    """The state of waiting; ask `due()` when the time `next_time()` has come or anything happened."""

    def __init__(self, pace: Pace, now: float, wall: float, random: Callable[[], float]) -> None:
        self.pace = pace
        self._random = random
        self._first_hint: float | None = None
        self._last_hint = now
        self._demanded = False
        self._retry_at = _NEVER
        self._failed_at = -_NEVER
        self._tries = 0
        self._settle_at = _NEVER
        self._settle_tries = 0
        self._poll_at = now + pace.poll
        self._clocks = (now, wall)

    @property
    def tries(self) -> int:
        """How many attempts in a row have failed."""
        return self._tries

    @property
    def must_look(self) -> bool:
        """Whether the next sync is wanted even if the source did not change."""
        return self._demanded or self._settle_at != _NEVER or self._tries > 0

    @property
    def is_hinted(self) -> bool:
        """Whether a sync is to be expected at the end of the quiet period."""
        return self._first_hint is not None and not self._tries

    def hint(self, now: float, *, since: float | None = None) -> None:
        """Something may have changed; `since` is when at the earliest, if that is not now."""
        if self._first_hint is None:
            self._first_hint = now if since is None else since
        self._last_hint = now

    def demand(self) -> None:
        """Sync now, whatever the source says."""
        self._demanded = True

    def due(self, now: float) -> bool:
        """Tell whether a sync is to begin."""
        return now >= self._due_at()

    def next_time(self, now: float) -> float:
        """Return for how many seconds nothing is to be done."""
        return max(0.0, min(self._due_at(), self._poll_at) - now)

    def poll_due(self, now: float) -> bool:
        """Tell whether it is time to look without being asked; the next look is then a poll interval away."""
        if now < self._poll_at:
            return False
        self._poll_at = now + self.pace.poll
        return True

    def slept(self, now: float, wall: float, since: float, wish: float) -> bool:
        """Tell whether the machine slept, or its clock was set, since the last call.

        Some clocks stand still while the machine sleeps: then the time of day has run ahead. Others go on: then the wait that began at
        `since` took much longer than the `wish` seconds it was to take.
        """
        before, wall_before = self._clocks
        self._clocks = (now, wall)
        return abs((wall - wall_before) - (now - before)) > JUMP_SECONDS or now - since > wish + JUMP_SECONDS

    def begin(self) -> None:
        """A sync begins: hints and demands from here on are about the next one."""
        self._first_hint = None
        self._demanded = False

    def succeeded(self, now: float, *, skipped: bool) -> None:
        """A sync has ended; with notes `skipped`, another is due when they have settled."""
        self._tries = 0
        self._retry_at = _NEVER
        self._settle_tries = self._settle_tries + 1 if skipped else 0
        wait = max(self.pace.settle, 1.0) * 2.0 ** (self._settle_tries - 1)
        self._settle_at = now + min(wait, LONGEST_SETTLE) if skipped else _NEVER

    def failed(self, now: float) -> float:
        """A sync could not be done; returns the seconds until the next attempt."""
        self._tries += 1
        plain = min(FIRST_RETRY * 2.0 ** min(self._tries - 1, 16), LONGEST_RETRY)
        wait = plain * (1.0 + JITTER * (2.0 * self._random() - 1.0))
        self._failed_at, self._retry_at = now, now + wait
        return wait

    def _due_at(self) -> float:
        hinted = _NEVER
        if self._first_hint is not None:
            hinted = min(self._last_hint + self.pace.quiet, self._first_hint + self.pace.max_delay)
        if self._tries:
            return min(self._retry_at, max(hinted, self._failed_at + FIRST_RETRY))
        return min(-_NEVER if self._demanded else _NEVER, hinted, self._settle_at)
