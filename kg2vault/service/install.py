"""Install, uninstall and look at a vault's service: the decisions, the same for every `ServiceManager`.

Layer 4, front. Promise: installing what is installed does nothing; a file is replaced as a whole and only after the job that ran from the
old one is gone, so an interrupted install is finished by the next; the vault is never touched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kg2vault.errors import ServiceError
from kg2vault.service.base import JobState, Runner, ServiceManager, Timing, run_command
from kg2vault.service.launchd import Launchd
from kg2vault.service.spec import LABEL_PREFIX, ServiceSpec
from kg2vault.service.systemd import Systemd

Action = Literal["installed", "unchanged", "updated", "removed", "absent"]


@dataclass(frozen=True, slots=True)
class ServiceOutcome:
    """What installing or uninstalling did; `loaded` is what the system said afterwards."""

    action: Action
    path: str
    label: str
    loaded: bool
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """A service as it is: `drift` and `missing` are empty for one that is installed, current and able to start."""

    system: str
    label: str
    path: str
    installed: bool
    job: JobState
    drift: str | None
    missing: tuple[str, ...]
    unreachable: str | None = None  # why the system could not be asked


def manager_for(
    system: str | None,
    *,
    platform: str,
    home: Path,
    uid: int,
    env: Mapping[str, str],
    runner: Runner = run_command,
    timing: Timing | None = None,
) -> ServiceManager:
    """Return launchd's or systemd's manager; without `system`, the platform's (`sys.platform`). Raises ServiceError for any other."""
    chosen = system or {"darwin": "launchd", "linux": "systemd"}.get(platform)
    if chosen == "launchd":
        return Launchd(home, uid, runner, timing)
    if chosen == "systemd":
        config = env.get("XDG_CONFIG_HOME", "")
        return Systemd(Path(config) if Path(config).is_absolute() else home / ".config", uid, runner)
    raise ServiceError(f"There is no service for {chosen or platform}, only launchd and systemd. Start `kg2vault watch` at login yourself.")


def logs_for(system: str, home: Path, env: Mapping[str, str]) -> str:
    """Return the folder of the service's log: ~/Library/Logs/kg2vault, or the state folder on Linux, where the journal has it as well."""
    if system == "launchd":
        return str(home / "Library" / "Logs" / "kg2vault")
    state = env.get("XDG_STATE_HOME", "")
    return str((Path(state) if Path(state).is_absolute() else home / ".local" / "state") / "kg2vault")


def install(manager: ServiceManager, spec: ServiceSpec) -> ServiceOutcome:
    """Make the service be what `spec` says, and running; raises ServiceError.

    The system is asked first: when it cannot be reached nothing has been written.
    """
    path, wanted = manager.file_of(spec.label), manager.render(spec)
    present, job = _read(path), manager.state(spec.label)
    if present == wanted and job.loaded:
        return _unchanged(manager, spec, job)
    with _writing(path):
        _make_folder(Path(spec.logs))
        staged = _stage(path, wanted)
        try:
            if job.loaded or job.running:
                manager.unload(spec.label)
            staged.replace(path)
        finally:
            staged.unlink(missing_ok=True)
    manager.load(spec.label)
    action: Action = "installed" if present in (None, wanted) else "updated"
    return ServiceOutcome(action, str(path), spec.label, manager.state(spec.label).loaded, manager.hints(spec))


def uninstall(manager: ServiceManager, label: str) -> ServiceOutcome:
    """Stop the job and remove its file, whichever of them is there; raises ServiceError."""
    path, job = manager.file_of(label), manager.state(label)
    there = os.path.lexists(path)
    if not there and not job.loaded and not job.running:
        return ServiceOutcome("absent", str(path), label, False)
    manager.unload(label)
    with _writing(path):
        path.unlink(missing_ok=True)
    manager.forget(label)
    return ServiceOutcome("removed", str(path), label, manager.state(label).loaded, ("The vault and the logs are as they were.",))


def status(manager: ServiceManager, spec: ServiceSpec) -> ServiceStatus:
    """Return what is installed, whether it runs and whether it is what this version would install. Changes nothing."""
    path = manager.file_of(spec.label)
    unreachable = None
    try:
        job = manager.state(spec.label)
    except ServiceError as error:
        job, unreachable = JobState(), str(error)
    present = _read(path)
    lost = missing_paths(manager, spec.label)
    return ServiceStatus(manager.system, spec.label, str(path), present is not None, job, drift(manager, spec), lost, unreachable)


def preview(manager: ServiceManager, spec: ServiceSpec) -> str:
    """Return the file `install` would write."""
    return manager.render(spec).decode("utf-8")


def drift(manager: ServiceManager, spec: ServiceSpec) -> str | None:
    """Return in one sentence how the installed file differs from what `install` would write; None when it does not, or is not there."""
    present, wanted = _read(manager.file_of(spec.label)), manager.render(spec)
    if present is None or present == wanted:
        return None
    try:
        now, then = manager.settings_in(present), manager.settings_in(wanted)
    except ValueError as error:
        return f"The service file cannot be read ({error}). Run `kg2vault service install`."
    changed = sorted(key for key in now.keys() | then.keys() if now.get(key) != then.get(key))
    return f"The service file differs in {', '.join(changed) or 'its layout'}. Run `kg2vault service install`."


def installed_labels(manager: ServiceManager) -> tuple[str, ...]:
    """Return the labels of every vault's service that has a file, sorted: one whose vault was moved is still among them."""
    pattern = manager.file_of(f"{LABEL_PREFIX}.*")
    return tuple(sorted(path.stem for path in pattern.parent.glob(pattern.name)))


def missing_paths(manager: ServiceManager, label: str) -> tuple[str, ...]:
    """Return the paths the installed file runs with that are not there, in its order; a file that may not be looked at is not missing."""
    present = _read(manager.file_of(label))
    if present is None:
        return ()
    try:
        words = manager.arguments_in(present)
    except ValueError:
        return ()
    return tuple(word for word in words if Path(word).is_absolute() and _is_absent(word))


def _unchanged(manager: ServiceManager, spec: ServiceSpec, job: JobState) -> ServiceOutcome:
    path = str(manager.file_of(spec.label))
    if job.running:
        return ServiceOutcome("unchanged", path, spec.label, True, ("It is installed as it should be and running; nothing was done.",))
    manager.start(spec.label)
    ended = f" (exit code {job.last_exit})" if job.last_exit is not None else ""
    return ServiceOutcome("unchanged", path, spec.label, True, (f"It is installed as it should be, but had stopped{ended}: started.",))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServiceError(f"The service file {path} cannot be read: {error.strerror}.", path=str(path)) from error


def _is_absent(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116 - Path.exists() answers "no" for a folder that may not be entered
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _make_folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def _stage(path: Path, data: bytes) -> Path:
    """Write the new file beside the old one, under a name neither system reads, and wait until it is on the disk."""
    _make_folder(path.parent)
    staged = path.with_name(f".{path.name}.new")
    staged.unlink(missing_ok=True)
    with staged.open("xb") as file:
        os.fchmod(file.fileno(), 0o644)  # launchd refuses a plist that others can write
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return staged


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or str(path)
        raise ServiceError(f"{place} cannot be written: {error.strerror}. Give yourself permission to.", path=str(place)) from error
