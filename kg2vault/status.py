"""Status: what state the vault and its daemon are in, on one screen.

Layer 3. `Standing` gathers the facts that `status` shows and `doctor` judges. Looking changes nothing. That a daemon lives is told by its
lock and never by a pid, which may have become somebody else's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from kg2vault.deciding import Pending, View
from kg2vault.errors import ConfigError, ExitCode, Kg2VaultError, SourceError
from kg2vault.recording import guard_mounted
from kg2vault.result import OperationResult, Problem
from kg2vault.settings import Settings
from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.hermes import HermesSource
from kg2vault.storage.state_file import DaemonFile, DaemonState, Run, RunFile
from kg2vault.sync.manifest import EntryState, Manifest
from kg2vault.syncing import notes_digest

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand now. `current` is None when that can't be told; each `…_error` is why something could not be looked at."""

    settings: Settings
    now: float
    run: Run | None
    daemon: DaemonState | None
    alive: bool
    database: str
    source_error: Kg2VaultError | None
    view: View | None
    vault_error: Kg2VaultError | None
    pending: tuple[Pending, ...]
    current: bool | None
    why: str  # of `current`

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The notes that the last sync could not write."""
        return [problem for problem in self.run.problems if problem["code"] == "failed"] if self.run is not None else []

    @property
    def fault(self) -> Mapping[str, Any]:
        """What stands in the daemon's way, or ended it.

        Empty when nothing does, when a daemon that is gone said so before it went, and when a sync has succeeded since it ended.
        """
        daemon, run = self.daemon, self.run
        if daemon is None:
            return {}
        ended_by_it = daemon.stopped and 0 < daemon.exit_code < 128 and not (run is not None and run.at > daemon.stopped)
        if not (self.alive or ended_by_it):
            return {}
        return daemon.fault

    @property
    def urgent(self) -> tuple[Pending, ...]:
        """The notes that wait for a person."""
        return tuple(pending for pending in self.pending if pending.reason != "deleted")


def look(settings: Settings, now: float | None = None) -> Standing:
    """Gather the facts; raises ConfigError when no vault is set."""
    vault = settings.vault()
    fingerprint, database, source_error = _source(settings)
    view, vault_error = _vault(settings)
    current, why = _current(settings, view, fingerprint)
    if source_error is not None or vault_error is not None:
        why = str((source_error or vault_error or ConfigError("")).message)
    return Standing(
        settings=settings,
        now=time.time() if now is None else now,
        run=RunFile(vault).load(),
        daemon=DaemonFile(vault).load(),
        alive=DaemonLock(vault).is_held(),
        database=database,
        source_error=source_error,
        view=view,
        vault_error=vault_error,
        pending=tuple(view.pending()) if view is not None else (),
        current=current,
        why=why,
    )


def _source(settings: Settings) -> tuple[str | None, str, SourceError | None]:
    database = ""
    try:
        path = settings.database()
        database = str(path)
        return HermesSource(path).fingerprint(summaries=settings.config.notes.items), database, None
    except SourceError as error:
        return None, database or error.path or "", error


def _vault(settings: Settings) -> tuple[View | None, Kg2VaultError | None]:
    try:
        guard_mounted(settings.vault())
        return View(settings), None
    except ConfigError:
        raise
    except Kg2VaultError as error:
        return None, error


def _current(settings: Settings, view: View | None, fingerprint: str | None) -> tuple[bool | None, str]:
    if view is None or fingerprint is None:
        return None, ""
    manifest = view.manifest
    if not manifest.fingerprint:
        return False, "no sync has come to its end yet"
    if manifest.fingerprint != fingerprint:
        return False, "the database has changed since the last sync"
    try:
        digest = notes_digest(settings)
    except ConfigError as error:
        return None, error.message
    if manifest.settings != digest:
        return False, "the settings or the alias table have changed since the last sync"
    return True, "it shows the database and the settings as they are now"


def status(settings: Settings, now: float | None = None) -> OperationResult:
    """Say how things stand; exit code 1 as long as notes failed or wait for a person, or something can't be looked at."""
    standing = look(settings, now)
    fault = standing.fault
    errors = [error for error in (standing.source_error, standing.vault_error) if error and error.message != fault.get("message")]
    problems = [Problem(error.code, error.message, error.path, error.hint) for error in errors]
    if fault:
        problems.append(
            Problem(fault["code"], f"The daemon says since {fault['since']}: {fault['message']}", fault.get("path"), fault.get("hint"))
        )
    settings_fault = dict(standing.daemon.settings_fault) if standing.daemon is not None and standing.alive else {}
    if settings_fault:
        problems.append(Problem("config", settings_fault["message"], settings_fault.get("path"), settings_fault.get("hint")))
    problems += [Problem("failed", problem["message"], problem["path"], problem["hint"]) for problem in standing.failed]
    problems += [
        Problem(row.reason, f"{row.path}: {row.detail}{f', since {row.since}' if row.since else ''}", row.path, "See `kg2vault conflicts`.")
        for row in standing.urgent
    ]
    data = _data(standing)
    code = ExitCode.UNFINISHED if problems else ExitCode.FINE
    return OperationResult("status", data, tuple(problems), code, _screen(standing, data))


def _data(standing: Standing) -> dict[str, Any]:
    run, daemon, settings = standing.run, standing.daemon, standing.settings
    return {
        "vault": str(settings.vault()),
        "folder": settings.folder,
        "db": standing.database,
        "config": str(settings.config.origin) if settings.config.origin is not None else None,
        "aliases": str(settings.aliases) if settings.aliases is not None else None,
        "current": standing.current,
        "why": standing.why,
        "daemon": {"alive": standing.alive, **({} if daemon is None else asdict(daemon))},
        "last_sync": None if run is None else {"at": run.at, "summary": run.summary, "counts": dict(run.counts), **run.graph},
        "notes": _notes(standing.view.manifest) if standing.view is not None else None,
        "failed": [problem["path"] for problem in standing.failed],
        "waiting": [row.path for row in standing.urgent],
        "deleted": sum(row.reason == "deleted" for row in standing.pending),
    }


def _notes(manifest: Manifest) -> dict[str, int]:
    live = [entry for entry in manifest.entries.values() if entry.state is not EntryState.TOMBSTONE]
    kinds: dict[str, int] = {}
    for entry in live:
        kind = entry.id.partition("/")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    return dict(sorted(kinds.items()))


def _screen(standing: Standing, data: dict[str, Any]) -> str:
    run = standing.run
    answer = {True: "yes", False: "no", None: "can't be told"}[standing.current]
    notes = data["notes"]
    rows = [
        ("vault", f"{data['vault']} ({data['folder']})"),
        ("database", data["db"] or "not found"),
        ("daemon", daemon_line(standing)),
        ("last sync", f"{_ago(run.at, standing.now)}: {run.summary}" if run is not None else "never"),
        ("current", f"{answer}: {standing.why}" if standing.why else answer),
        ("notes", ", ".join(f"{count:,} {kind}" for kind, count in notes.items()) or "none" if notes is not None else "can't be told"),
        ("failed", _listed(data["failed"])),
        ("waiting", f"{_listed(data['waiting'])}{' (kg2vault conflicts)' if data['waiting'] else ''}"),
    ]
    return "\n".join(f"{name:<10} {value}" for name, value in rows)


def daemon_line(standing: Standing) -> str:
    """Return in one line whether a daemon lives, how it looks for changes, and since when."""
    daemon = standing.daemon
    if not standing.alive:
        if daemon is None:
            return "none (kg2vault service install)"
        if not daemon.stopped:
            return f"dead: process {daemon.pid} ended without a word, last seen {_ago(daemon.beat, standing.now)}"
        because = f", because: {standing.fault['message']}" if standing.fault else ""
        return f"stopped {_ago(daemon.stopped, standing.now)}{because}"
    if daemon is None:
        return "alive"
    now = f", syncing since {daemon.syncing_since}" if daemon.syncing_since else ""
    if not now and standing.fault:
        now = f", held up since {standing.fault['since']}"
    return f"alive: process {daemon.pid} since {daemon.started}, {daemon.mode}, {many(daemon.syncs, 'sync')}{now}"


def seconds_since(stamp: str, now: float) -> float:
    """Return the seconds since an ISO UTC time; endless for one that is none."""
    try:
        return max(0.0, now - datetime.fromisoformat(stamp).timestamp())
    except ValueError:
        return float("inf")


def _ago(stamp: str, now: float) -> str:
    seconds = seconds_since(stamp, now)
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name} ago" if seconds != float("inf") else stamp or "unknown"
    return f"{many(round(seconds), 'second')} ago"


def many(count: int, what: str) -> str:
    """Return a count with the word for what was counted."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{len(paths)}: {', '.join(paths[:_SHOWN])}{more}" if paths else "none"
