"""macOS: `Launchd` writes a launch agent's plist and drives launchctl.

Layer 4, front. Promise: absolute paths, no shell, no `~`; when `unload` returns the label is gone, because launchctl's bootout returns
before the job has ended and a bootstrap in between fails with error 5.
"""

from __future__ import annotations

import plistlib
import re
from collections.abc import Mapping
from pathlib import Path
from xml.parsers.expat import ExpatError

from kg2vault.errors import ServiceError
from kg2vault.service.base import Completed, JobState, Runner, Timing, run_command
from kg2vault.service.privacy import guarded_folder
from kg2vault.service.spec import RESTART_SECONDS, STOP_SECONDS, ServiceSpec

GONE_SECONDS = STOP_SECONDS + 15.0
RETRY_SECONDS = 2.0
_LONGEST_POLL = 1.0
_IO_ERROR = 5
_NO_DOMAIN_CODES = (112, 125)
_NO_DOMAIN_WORDS = ("domain does not support specified action", "could not find domain")
_NO_SUCH_JOB = ("could not find service", "no such process")
_WAITING_STATES = ("running", "spawn scheduled", "spawning", "xpcproxy")


class NoSessionError(ServiceError):
    """The user has no graphical session, so there is no launchd domain to put an agent in."""

    code = "service-no-session"


class Launchd:
    """Launch agents of the user `uid`, in the domain of the graphical session."""

    system = "launchd"

    def __init__(self, home: Path, uid: int, runner: Runner = run_command, timing: Timing | None = None) -> None:
        self._folder = home / "Library" / "LaunchAgents"
        self._domain = f"gui/{uid}"
        self._run = runner
        self._timing = timing or Timing()

    def file_of(self, label: str) -> Path:
        """Return the plist's place; launchd reads this folder at login."""
        return self._folder / f"{label}.plist"

    def render(self, spec: ServiceSpec) -> bytes:
        """Return the plist. Keys: launchd.plist(5)."""
        log = f"{spec.logs}/{spec.label}.log"
        settings = {
            "Label": spec.label,
            "ProgramArguments": list(spec.arguments),
            "EnvironmentVariables": dict(spec.environment(self.system)),
            "WorkingDirectory": "/",  # a vault that is not mounted would keep the job from starting at all
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": RESTART_SECONDS,
            "ExitTimeOut": STOP_SECONDS,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
        return plistlib.dumps(settings, sort_keys=True)

    def settings_in(self, data: bytes) -> Mapping[str, object]:
        """Return the plist's top level; raises ValueError."""
        try:
            settings = plistlib.loads(data)
        except (plistlib.InvalidFileException, ExpatError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"not a property list: {error}") from error
        if not isinstance(settings, dict):
            raise ValueError("not a property list of settings")
        return settings

    def arguments_in(self, data: bytes) -> tuple[str, ...]:
        """Return ProgramArguments; raises ValueError."""
        words = self.settings_in(data).get("ProgramArguments")
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise ValueError("ProgramArguments is not a list of words")
        return tuple(words)

    def state(self, label: str) -> JobState:
        """Ask `launchctl print`; raises ServiceError, NoSessionError when there is no graphical session."""
        done = self._run(("launchctl", "print", f"{self._domain}/{label}"))
        if done.code == 0:
            return _job(done.out)
        if _is_no_job(done):
            return JobState()
        raise self._fault(done, f"launchd cannot be asked about {label}")

    def load(self, label: str) -> None:
        """Bootstrap the plist, trying once more after error 5; raises ServiceError.

        `enable` first: a label that was ever disabled is refused by bootstrap, with the same error 5.
        """
        path = str(self.file_of(label))
        self._run(("launchctl", "enable", f"{self._domain}/{label}"))
        done = self._run(("launchctl", "bootstrap", self._domain, path))
        if done.code == _IO_ERROR:
            self._timing.sleep(RETRY_SECONDS)
            done = self._run(("launchctl", "bootstrap", self._domain, path))
        if done.code != 0:
            raise self._fault(done, f"launchd did not take {path}, which is written and is read at the next login")

    def start(self, label: str) -> None:
        """Kickstart a loaded job that has ended; raises ServiceError."""
        done = self._run(("launchctl", "kickstart", f"{self._domain}/{label}"))
        if done.code != 0:
            raise self._fault(done, f"launchd did not start {label}")

    def unload(self, label: str) -> None:
        """Boot the job out and wait until `launchctl print` no longer finds it; raises ServiceError after 45 seconds."""
        if not self.state(label).loaded:
            return
        asked = self._run(("launchctl", "bootout", f"{self._domain}/{label}"))
        end, pause = self._timing.now() + GONE_SECONDS, 0.1
        while self.state(label).loaded:
            if self._timing.now() >= end:
                raise ServiceError(
                    f"launchd still holds {label} {GONE_SECONDS:.0f} s after it was asked to let go"
                    f"{f' ({asked.said})' if asked.said else ''}. Nothing was changed on disk; log out and in, then try again.",
                    path=str(self.file_of(label)),
                )
            self._timing.sleep(pause)
            pause = min(pause * 2, _LONGEST_POLL)

    def forget(self, label: str) -> None:
        """Nothing to tidy: launchd forgot the label when it was booted out."""

    def hints(self, spec: ServiceSpec) -> tuple[str, ...]:
        """Return where the log is, and a warning for each path macOS guards."""
        paths = (spec.vault, spec.db, spec.config, spec.aliases)
        guarded = sorted({folder for path in paths if path and (folder := guarded_folder(path, spec.home))})
        warning = "macOS guards {}: if the service is denied access, `kg2vault doctor` says which program to allow."
        return (f"Its log is {spec.logs}/{spec.label}.log.", *(warning.format(folder) for folder in guarded))

    def _fault(self, done: Completed, what: str) -> ServiceError:
        words = done.said.lower()
        if done.code in _NO_DOMAIN_CODES or any(phrase in words for phrase in _NO_DOMAIN_WORDS):
            return NoSessionError(
                f"There is no graphical session of this user ({self._domain}), so no launch agent can be started: "
                "over ssh, or as another user, macOS may have none. Log in at the Mac itself and run it there, or run `kg2vault watch`."
            )
        return ServiceError(f"{what}: {done.said or 'no reason given'} (exit code {done.code}). Log out and in, then try again.")


def _is_no_job(done: Completed) -> bool:
    words = f"{done.out} {done.err}".lower()
    return any(phrase in words for phrase in _NO_SUCH_JOB)


def _job(printed: str) -> JobState:
    """Read the lines of `launchctl print` that are about the job itself: deeper ones are indented by more than one tab."""
    found = dict(re.findall(r"^\t([a-z ]+) = (.*)$", printed, re.MULTILINE))
    pid = re.match(r"\d+", found.get("pid", ""))
    last = re.match(r"-?\d+", found.get("last exit code", ""))
    state = found.get("state", "")
    return JobState(
        loaded=True,
        running=pid is not None or state in _WAITING_STATES,
        pid=int(pid[0]) if pid else None,
        last_exit=int(last[0]) if last else None,
        detail=state,
    )
