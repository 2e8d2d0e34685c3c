"""The daemon's loop: `Daemon.run()` waits, looks, syncs, and says how things stand.

Layer 3. Everything from outside comes through `Ports`, so that a test can play the clock, the events and the syncs. Events are hints: a
sync is started when the files of the source look different from before, and the child does it only when the rows really are.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kg2vault import __version__
from kg2vault.config import Config
from kg2vault.daemon.diary import Diary
from kg2vault.daemon.inforce import InForce
from kg2vault.daemon.job import Job
from kg2vault.daemon.log import DaemonLog
from kg2vault.daemon.pace import Pace, Pacer
from kg2vault.errors import ExitCode, Kg2VaultError, SourceError
from kg2vault.settings import Settings
from kg2vault.storage.vault_dir import VaultDir

MOST_RESTARTS, RESTART_WINDOW = 5, 3600.0
STOP, RELOAD = "stop", "reload"
_SETTINGS = frozenset({"config", "aliases"})


class Watcher(Protocol):
    """The part of `SourceWatcher` that the loop uses."""

    polling: bool

    def start(self) -> None: ...  # noqa: D102 - as in storage/watcher.py

    def stop(self) -> None: ...  # noqa: D102

    def restart(self) -> None: ...  # noqa: D102

    def alive(self) -> bool: ...  # noqa: D102

    def watched(self) -> frozenset[str]: ...  # noqa: D102

    def renew(self) -> bool: ...  # noqa: D102

    def wake(self, name: str) -> None: ...  # noqa: D102

    def wait(self, timeout: float) -> frozenset[str] | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Ports:
    """The world: `now` never goes back, `wall` is the time of day, `gate` the token of a database's files, `sync` does a job.

    `kept` is the token of our record in a vault; `warm` gets ready for a job that is to be expected, `cool` undoes that when there is none.
    """

    now: Callable[[], float]
    wall: Callable[[], float]
    random: Callable[[], float]
    watcher: Callable[[Mapping[str, Path], bool], Watcher]
    gate: Callable[[Path], str]
    sync: Callable[[Job, Callable[[], None]], dict[str, Any]]
    kept: Callable[[Path], str]
    warm: Callable[[], None] = lambda: None
    cool: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: with an exit code, or because it has to begin anew (`again`: in this process, `upgraded`: in a fresh one)."""

    code: int = 0
    again: bool = False
    upgraded: bool = False


class Daemon:
    """One daemon on one vault, which must be locked for it already."""

    def __init__(self, inforce: InForce, ports: Ports, diary: Diary, log: DaemonLog, *, polling: bool = False) -> None:
        self.inforce, self.ports, self.diary, self.log = inforce, ports, diary, log
        self._always_polling = polling
        self._vault = inforce.settings.vault()
        self._config: Config = inforce.settings.config
        self._signal: int | None = None
        self._ending: Ending | None = None
        self._seen: str | None = None
        self._kept: str | None = None  # the vault's record as the last sync left or found it
        self._restarts: list[float] = []
        self.pacer = Pacer(pace_of(self._config), ports.now(), ports.wall(), ports.random)
        self._files = self._files_to_watch()
        self.watcher = ports.watcher(self._files, self._polling())

    def ask_to_stop(self, number: int) -> None:
        """End after what is in hand; may be called from a signal handler."""
        self._signal = number
        self.watcher.wake(STOP)

    def run(self) -> Ending:
        """Run until a signal, or a fault that only a person can mend."""
        self.log.fact("kg2vault %s watches for %s", __version__, self._vault)
        try:
            self.watcher.start()
            self._say_mode()
            self.pacer.demand()
            while self._ending is None and self._signal is None:
                self._turn()
        finally:
            self.ports.cool()
            self.watcher.stop()
        if self._ending is not None:
            return self._ended(self._ending)
        self.log.fact("Asked to end (%s)", signal.Signals(self._signal or 0).name)
        return self._ended(Ending(128 + (self._signal or 0)))

    def _ended(self, ending: Ending) -> Ending:
        self.diary.note(stopped=self.diary.stamp(), exit_code=ending.code, syncing_since="")
        return ending

    def _turn(self) -> None:
        self._look_after_observer()
        if self._ending is not None:
            return
        start = self.ports.now()
        wish = min(self.pacer.next_time(start), self.diary.next_beat())
        names = self.watcher.wait(wish) or frozenset()
        if self._signal is not None:
            return
        now = self.ports.now()
        if self.pacer.slept(now, self.ports.wall(), start, wish):
            self.log.fact("The machine slept or its clock was set: comparing everything")
            self.pacer.demand()
        self._take(names, now)
        if self.pacer.poll_due(now):
            self._look()
        if self.pacer.due(self.ports.now()):
            self._sync()
            self.ports.cool()
        elif self.pacer.is_hinted:
            self.ports.warm()
        self.diary.beat()

    def _take(self, names: frozenset[str], now: float, *, since: float | None = None) -> None:
        if RELOAD in names:
            self.log.fact("Asked to reload")
            self.pacer.demand()
        if names & _SETTINGS:
            self.pacer.hint(now, since=since)
        if "db" in names:
            self._compare_gate(now, since=since)

    def _compare_gate(self, now: float, *, since: float | None = None) -> None:
        database = self._files.get("db")
        if database is None or self.ports.gate(database) != self._seen:
            self.pacer.hint(now, since=since)

    def _look(self) -> None:
        """Look by ourselves, for what gave no event."""
        self.watcher.renew()
        now = self.ports.now()
        self._compare_gate(now)
        if self._kept not in (None, self.ports.kept(self._vault)):  # unmounted, restored from a backup, or synced by somebody else
            self._kept = self._seen = None
            self.pacer.hint(now)
        if self.inforce.is_stale():
            self.pacer.hint(now)
        self._say_mode()

    def _sync(self) -> None:
        started = self.ports.now()
        must_look = self.pacer.must_look
        self.pacer.begin()
        must_sync = self._refresh() or must_look
        if self._ending is not None:
            return
        settings = self.inforce.settings
        try:
            gate = self._ready(settings)
        except Kg2VaultError as error:
            self._failed(int(error.exit_code), {"code": error.code, "message": error.message, "hint": error.hint, "path": error.path})
            return
        if gate == self._seen and not must_sync:
            return
        self._seen = gate
        self.diary.note(syncing_since=self.diary.stamp())
        envelope = self.ports.sync(Job(settings, must_sync), lambda: self._meanwhile(started))
        self._meanwhile(started)
        self._judge(envelope, self.ports.now() - started)
        self._say_mode()

    def _meanwhile(self, started: float) -> None:
        """Take note of what happens during the sync that began at `started`, when it happens: the quiet period counts from then."""
        self._take(self.watcher.wait(0) or frozenset(), self.ports.now(), since=started)
        self.diary.beat()

    def _ready(self, settings: Settings) -> str:
        """Return the gate; raises what a sync would raise, without the cost of starting one."""
        VaultDir(settings.vault()).check(settings.folder)
        database = settings.database()
        if self._files.get("db") != database:
            self._watch_anew()
        self.diary.note(db=str(database))
        return self.ports.gate(database)

    def _judge(self, envelope: dict[str, Any], seconds: float) -> None:
        problems, data = envelope["problems"], envelope["data"]
        if any(problem["code"] == "stopped" for problem in problems):
            return
        if envelope["exit_code"] not in (ExitCode.FINE, ExitCode.UNFINISHED):
            first = problems[0] if problems else {"code": "bug", "message": "The sync failed without a reason."}
            self._failed(envelope["exit_code"], first)
        else:
            self._succeeded(data, problems, seconds)
        if data.get("version", __version__) != __version__ and self._ending is None:
            self.log.fact("kg2vault is %s by now: beginning anew", data["version"])
            self._ending = Ending(upgraded=True)

    def _succeeded(self, data: Mapping[str, Any], problems: list[dict[str, Any]], seconds: float) -> None:
        state, ran, counts = self.diary.state, bool(data["ran"]), data.get("counts", {})
        unsettled = counts.get("skipped", 0) + counts.get("failed", 0) > 0
        self.pacer.succeeded(self.ports.now(), skipped=unsettled)
        self._kept = self.ports.kept(self._vault)
        self.log.settle("sync")
        self.diary.fault("fault", None)
        self.diary.note(
            syncing_since="",
            last_success=self.diary.stamp(),
            syncs=state.syncs + ran,
            looks=state.looks + (not ran),
            last_fingerprint=data.get("fingerprint", ""),
            stopped="",
            exit_code=0,
        )
        if not ran:
            return
        self.log.fact("%s (%.1f s)", data.get("summary", "synced"), seconds)
        topics = {f"note {problem['path']}": problem for problem in problems}
        self.log.keep_to(set(topics), "note ")
        for topic, problem in topics.items():
            self.log.complain(topic, f"{problem['code']}: {problem['message']}")

    def _failed(self, code: int, problem: Mapping[str, Any]) -> None:
        wait = self.pacer.failed(self.ports.now())
        message = " ".join(str(part) for part in (problem.get("message"), problem.get("hint")) if part)
        self._kept = self.ports.kept(self._vault)
        self.diary.note(syncing_since="")
        self.diary.fault("fault", problem, self.pacer.tries)
        self.log.complain("sync", message)
        if code == ExitCode.MANIFEST:
            self.log.complain("end", "Only a person can mend this: ending.")
            self._ending = Ending(code)
        elif self.pacer.tries == 1:
            self.log.fact("Trying again in %.0f s, then less and less often", wait)

    def _refresh(self) -> bool:
        """Read the settings again if need be; return whether the vault must be compared with them."""
        before = self.inforce.settings
        changed = self.inforce.refresh()
        problem = self.inforce.problem
        if problem is None:
            self.log.settle("settings")
            self.diary.fault("settings_fault", None)
        else:
            kept = "The settings from before stay in force."
            self.log.complain("settings", f"{problem.message.rstrip('.')}. {kept}")
            self.diary.fault("settings_fault", {"code": problem.code, "message": problem.message, "hint": kept, "path": problem.path})
        if not changed:
            return False
        self.log.fact("Other settings are in force")
        settings = self.inforce.settings
        if settings.vault() != before.vault() or settings.config.watch.log_file != before.config.watch.log_file:
            self._ending = Ending(again=True)
            return True
        self._config = settings.config
        self.pacer.pace = pace_of(self._config)
        self._watch_anew()
        return True

    def _polling(self) -> bool:
        return self._always_polling or self._config.watch.polling

    def _files_to_watch(self) -> dict[str, Path]:
        files = self.inforce.files()
        try:
            files["db"] = self.inforce.settings.database()
        except SourceError as error:
            if error.code == "source-missing" and error.path is not None:
                files["db"] = Path(error.path)
        return files

    def _watch_anew(self) -> None:
        """Watch other files, or in another way, if they are other ones than before."""
        files = self._files_to_watch()
        if files == self._files and self.watcher.polling == self._polling():
            return
        self.watcher.stop()
        self._files, self._seen = files, None
        self.watcher = self.ports.watcher(files, self._polling())
        self.watcher.start()

    def _look_after_observer(self) -> None:
        if self.watcher.alive():
            return
        now = self.ports.now()
        self._restarts = [*(at for at in self._restarts if now - at < RESTART_WINDOW), now]
        if len(self._restarts) > MOST_RESTARTS:
            message = f"The observer of events died {len(self._restarts)} times within an hour: ending, to be started afresh."
            self.log.complain("end", message)
            self.diary.fault("fault", {"code": "observer", "message": message})
            self._ending = Ending(ExitCode.BUG)
            return
        self.log.complain("observer", "The observer of events had died; it was started again")
        self.diary.note(observer_restarts=self.diary.state.observer_restarts + 1)
        self.watcher.restart()

    def _say_mode(self) -> None:
        watched = self.watcher.watched()
        mode = "polling" if self.watcher.polling or "db" not in watched else "events"
        unwatched = [] if self.watcher.polling else sorted(set(self._files) - watched)
        self.diary.note(mode=mode, unwatched=unwatched)


def pace_of(config: Config) -> Pace:
    """Return the times that the settings ask for."""
    watch = config.watch
    return Pace(watch.quiet_seconds, watch.max_delay_seconds, watch.poll_seconds, config.limits.settle_seconds)
