"""A sync in a process of its own: `ChildSync` starts it, waits for it with an eye on the clock, and can ask it to stop.

Layer 3.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from kg2vault.daemon.job import Job
from kg2vault.errors import ExitCode

LONGEST_SYNC = 3600.0  # a read that never returns, from a drive in the cloud say, must not hold the daemon for ever
_GRACE = 20.0


class ChildSync:
    """Runs one job at a time; `every` seconds while it lasts, `on_wait` is called.

    `warm()` starts the process ahead of its job, so that what it imports is there when the quiet period is over.
    """

    def __init__(self, every: float = 0.1, longest: float = LONGEST_SYNC) -> None:
        self._every, self._longest = every, longest
        self._ready: _Child | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False

    def __call__(self, job: Job, on_wait: Callable[[], None]) -> dict[str, Any]:
        """Return the envelope; a child that ends without one, or not at all, is a failure of its own."""
        if self._stopping:
            return _broken("The sync was asked to stop before it began.", "stopped")
        try:
            child = self._take()
        except OSError as error:
            return _broken(f"No process could be started for the sync: {error.strerror or error}.", "child")
        with child.answer:
            child.give(job)
            self._process = child.process
            try:
                code = self._wait(child.process, on_wait)
            finally:
                self._process = None
            child.answer.seek(0)
            return _answer(child.answer.read(), code)

    def warm(self) -> None:
        """Have a process ready for the next job; one that cannot be started is for the sync to report."""
        if self._ready is None and not self._stopping:
            with contextlib.suppress(OSError):
                self._ready = _Child()

    def cool(self) -> None:
        """Let a process go that was made ready in vain."""
        child, self._ready = self._ready, None
        if child is not None:
            child.dismiss()

    def stop(self) -> None:
        """Ask the sync to finish the note in hand and end; may be called from a signal handler."""
        self._stopping = True
        if self._process is not None:
            self._process.terminate()

    def _take(self) -> _Child:
        child, self._ready = self._ready, None
        if child is not None and child.process.poll() is None:
            return child
        if child is not None:
            child.dismiss()
        return _Child()

    def _wait(self, process: subprocess.Popen[bytes], on_wait: Callable[[], None]) -> int | None:
        waited = 0.0
        if self._stopping:
            process.terminate()
        while waited < self._longest:
            try:
                return process.wait(min(self._every, self._longest - waited))
            except subprocess.TimeoutExpired:
                waited += self._every
                on_wait()
                if self._stopping:
                    break
        for end in (process.terminate, process.kill):
            end()
            try:
                code = process.wait(_GRACE)
                return code if self._stopping else None
            except subprocess.TimeoutExpired:
                continue
        return None


class _Child:
    """A process that imports what a sync needs and then waits for its job; without one, or with its parent gone, it just ends."""

    def __init__(self) -> None:
        self.answer = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever takes the answer, or by dismiss()
        try:
            command = [sys.executable, "-m", "kg2vault.daemon.job"]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self.answer, stderr=subprocess.DEVNULL)
        except OSError:
            self.answer.close()
            raise

    def give(self, job: Job) -> None:
        """Hand over the job; a process that died is noticed by its missing answer."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError), self.process.stdin as pipe:
            pipe.write(pickle.dumps(job))

    def dismiss(self) -> None:
        """End the process, which has had no job and so has nothing in hand."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.answer.close()


def _answer(printed: bytes, code: int | None) -> dict[str, Any]:
    try:
        envelope = json.loads(printed)
        assert isinstance(envelope["data"], dict)
        return dict(envelope)
    except (ValueError, KeyError, TypeError, AssertionError):
        if code is None:
            return _broken("The sync did not end and was stopped; is the vault on a drive that hangs?", "hung")
        return _broken(f"The process of the sync ended with {code} and no answer.", "child")


def _broken(message: str, code: str) -> dict[str, Any]:
    problem = {"code": code, "message": message, "path": None, "hint": "`kg2vault sync -v` shows more."}
    return {"operation": "sync", "ok": False, "data": {"ran": True}, "problems": [problem], "exit_code": int(ExitCode.BUG)}
