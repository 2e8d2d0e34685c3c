"""Doctor: what is wrong, and how to mend it.

Layer 3. Each check is red, yellow or green; whatever is not green has a way out. Looks at everything and changes nothing; the checks of the
service come from the front end, which knows launchd and systemd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kg2vault import __version__
from kg2vault.checking import Check, green, red, yellow
from kg2vault.checking_vault import vault_checks
from kg2vault.errors import ConfigError, ExitCode
from kg2vault.graph.alias_table import parse_alias_table
from kg2vault.result import OperationResult, Problem
from kg2vault.settings import Settings
from kg2vault.status import Standing, daemon_line, look, many, seconds_since

ServiceChecks = Callable[[Standing], Iterable[Check]]
_SLACK = 60.0  # seconds that a sync may take, on top of the waits that are set
_START = "Run `kg2vault service install`, or `kg2vault watch` in a terminal."


def doctor(settings: Settings, service: ServiceChecks | None = None, now: float | None = None) -> OperationResult:
    """Look at everything; exit code 1 when something is red. Raises ConfigError when no vault is set."""
    standing = look(settings, now)
    checks = [*_source(standing), *_settings(standing), *vault_checks(standing)]
    installed = list(service(standing)) if service is not None else []
    has_service = any(check.name == "service" and check.level != "yellow" for check in installed)
    checks += [*_daemon(standing, has_service), _current(standing), *installed]
    counts = {level: sum(check.level == level for check in checks) for level in ("red", "yellow", "green")}
    data = {"checks": [{"name": c.name, "level": c.level, "message": c.message, "hint": c.hint} for c in checks], **counts}
    problems = tuple(Problem(check.name, check.message, None, check.hint) for check in checks if check.level == "red")
    code = ExitCode.UNFINISHED if problems else ExitCode.FINE
    summary = f"{counts['red']} red, {counts['yellow']} yellow, {counts['green']} green"
    return OperationResult("doctor", data, problems, code, summary)


def _source(standing: Standing) -> Iterator[Check]:
    error = standing.source_error
    if error is None:
        yield green("database", f"{standing.database} can be read.")
        yield green("schema", "It has the reader's tables.")
        return
    way = error.hint or "Name the reader's hermes.db with --db, or write db: in config.yaml."
    if error.code == "source-schema":
        yield green("database", f"{standing.database} can be opened.")
        yield red("schema", error.message, way)
    elif error.retryable:
        yield yellow("database", error.message, way)
    else:
        yield red("database", error.message, way)


def _settings(standing: Standing) -> Iterator[Check]:
    settings = standing.settings
    origin = settings.config.origin
    try:
        text, where = settings.alias_text()
        parse_alias_table(text, where)
    except ConfigError as error:
        yield red("aliases", error.message, error.hint or "Mend the alias table.")
    else:
        yield green("aliases", where)
    fault = standing.daemon.settings_fault if standing.daemon is not None and standing.alive else {}
    if fault:
        yield red(
            "settings", f"The daemon cannot use the settings as they are: {fault['message']}", "Mend the file; it is read again by itself."
        )
    else:
        yield green("settings", str(origin) if origin is not None else "the defaults; there is no config.yaml")


def _daemon(standing: Standing, has_service: bool) -> Iterator[Check]:
    daemon, line = standing.daemon, daemon_line(standing)
    if not standing.alive or daemon is None:
        by_a_person = daemon is None or (daemon.stopped and not standing.fault)
        harmless = by_a_person and not has_service
        yield yellow("daemon", line, _START) if harmless else red("daemon", line, str(standing.fault.get("hint") or _START))
        return
    silent = seconds_since(daemon.beat, standing.now)
    if silent > 2 * daemon.beat_seconds + standing.settings.config.watch.poll_seconds + _SLACK:
        yield red(
            "daemon", f"Process {daemon.pid} lives, but has given no sign of life since {daemon.beat}: it hangs.", _restart(daemon.pid)
        )
    elif standing.fault:
        fault = standing.fault
        told = f"It tries again and again since {fault['since']} ({many(fault['tries'], 'time')}): {fault['message']}"
        yield red("daemon", told, str(fault.get("hint") or "It goes on by itself when the cause is gone."))
    elif daemon.version != __version__:
        yield yellow("daemon", f"It runs version {daemon.version}; this is {__version__}.", _restart(daemon.pid))
    else:
        yield green("daemon", line)
    yield _observer(standing)


def _observer(standing: Standing) -> Check:
    daemon = standing.daemon
    assert daemon is not None
    every = f"every {standing.settings.config.watch.poll_seconds:g} s"
    if daemon.mode == "polling" and "db" in daemon.unwatched:
        way = "If the drive gives no events, `watch.polling: true` says so for good. On Linux raise fs.inotify.max_user_watches."
        return yellow("mode", f"There are no events for the database's folder; it is looked at {every}.", way)
    if daemon.observer_restarts:
        return yellow(
            "mode", f"The observer of events died {many(daemon.observer_restarts, 'time')} and was started again.", "See the log for when."
        )
    return green("mode", f"It polls {every}, as asked." if daemon.mode == "polling" else f"It waits for events, and looks {every} besides.")


def _current(standing: Standing) -> Check:
    name = "current"
    if standing.current:
        return green(name, f"The vault is current: {standing.why}.")
    if standing.current is None:
        return red(name, f"Whether the vault is current can't be told: {standing.why}", "Mend that first.")
    message = f"The vault is not current: {standing.why}."
    watch = standing.settings.config.watch
    waited = standing.now - _changed_at(standing)
    if standing.alive and not standing.fault and waited < watch.max_delay_seconds + watch.poll_seconds + _SLACK:
        return yellow(name, message, "A sync is due within a moment.")
    return red(
        name, message, "Run `kg2vault sync`; the checks of the daemon say why it did not." if standing.alive else "Run `kg2vault sync`."
    )


def _changed_at(standing: Standing) -> float:
    """Return when the database, its -wal or a settings file was written last."""
    settings = standing.settings
    files = [Path(standing.database), Path(f"{standing.database}-wal"), settings.config.origin, settings.aliases]
    times = [0.0]
    for file in files:
        try:
            times.append(file.stat().st_mtime if file is not None else 0.0)
        except OSError:
            continue
    return max(times)


def _restart(pid: int) -> str:
    return f"Start it anew: `kg2vault service uninstall` and `install`, or end process {pid} and run `kg2vault watch`."
