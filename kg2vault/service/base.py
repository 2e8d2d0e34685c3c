"""The seam between this program and launchd or systemd: `ServiceManager`, and the `Runner` through which both are commanded.

Layer 4, front. A manager knows one system's file format and commands; what to do with them is decided in `install.py`, once for both.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kg2vault.errors import ServiceError
from kg2vault.service.spec import ServiceSpec

COMMAND_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended: exit code, output and error output."""

    code: int
    out: str = ""
    err: str = ""

    @property
    def said(self) -> str:
        """What it said, on one line; error output first."""
        return " ".join((self.err.strip() or self.out.strip()).split())


class Runner(Protocol):
    """Runs one command to its end."""

    def __call__(self, argv: Sequence[str]) -> Completed:
        """Return how it ended; raises ServiceError when the command is not there or never ends."""
        ...


@dataclass(frozen=True, slots=True)
class Timing:
    """The passing of time: seconds on a clock that never goes back, and waiting."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class JobState:
    """What the system knows of a job.

    `loaded`: it is known, and started at login; `running`: it has a process, or is about to be started again.
    """

    loaded: bool = False
    running: bool = False
    pid: int | None = None
    last_exit: int | None = None
    detail: str = ""


class ServiceManager(Protocol):
    """One system's way of keeping a program running."""

    system: str

    def file_of(self, label: str) -> Path:
        """Return where the service's file belongs."""
        ...

    def render(self, spec: ServiceSpec) -> bytes:
        """Return the file; the same spec gives the same bytes."""
        ...

    def settings_in(self, data: bytes) -> Mapping[str, object]:
        """Return a file's settings by name, for comparing; raises ValueError when it cannot be read."""
        ...

    def arguments_in(self, data: bytes) -> tuple[str, ...]:
        """Return the program and arguments a file would run; raises ValueError when it cannot be read."""
        ...

    def state(self, label: str) -> JobState:
        """Ask the system; raises ServiceError when it cannot be reached. Changes nothing."""
        ...

    def load(self, label: str) -> None:
        """Make the system read the file, start the job now and at every login; raises ServiceError."""
        ...

    def start(self, label: str) -> None:
        """Start a loaded job that has ended; raises ServiceError."""
        ...

    def unload(self, label: str) -> None:
        """Stop the job and wait until the system has let go of it; raises ServiceError. A job that is not there is fine."""
        ...

    def forget(self, label: str) -> None:
        """Tidy up after the file has been removed."""
        ...

    def hints(self, spec: ServiceSpec) -> tuple[str, ...]:
        """Return what the user should know about a service that has just been installed."""
        ...


def run_command(argv: Sequence[str]) -> Completed:
    """Run a command without a shell, in English; raises ServiceError when it is not there or takes longer than 90 seconds."""
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise ServiceError(f"There is no {argv[0]} on this machine. Run `kg2vault watch` under whatever starts programs here.") from None
    except subprocess.TimeoutExpired:
        raise ServiceError(f"`{' '.join(argv)}` did not end within {COMMAND_SECONDS:.0f} s. Try again after logging out and in.") from None
    except OSError as error:
        raise ServiceError(f"`{argv[0]}` cannot be run: {error.strerror}.") from error
    return Completed(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
