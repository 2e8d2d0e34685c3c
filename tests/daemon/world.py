"""A world in which time passes only when the daemon waits: scripted events, commits, syncs and sleep."""

import heapq
import itertools
import logging
import signal

from kg2vault.daemon.diary import Diary
from kg2vault.daemon.inforce import InForce
from kg2vault.daemon.log import DaemonLog
from kg2vault.daemon.loop import Daemon, Ports
from kg2vault.settings import Options, Place
from kg2vault.storage.state_file import DaemonFile

MORNING = 1_800_000_000.0
CLEAN = {"created": 0, "updated": 3, "identical": 6, "retired": 0, "skipped": 0, "conflict": 0, "failed": 0}


def done(*, ran=True, problems=(), version=None, **counts):
    """The envelope of a sync that came to its end."""
    data = {"ran": ran, "counts": {**CLEAN, **counts}, "summary": "6 concepts", "fingerprint": "f"}
    if version is not None:
        data["version"] = version
    return {"operation": "sync", "ok": True, "data": data, "problems": list(problems), "exit_code": 1 if problems else 0}


def broken(code, message="It is not there.", name="source-missing"):
    """The envelope of a sync that an error ended."""
    problem = {"code": name, "message": message, "path": None, "hint": "Bring it back."}
    return {"operation": "sync", "ok": False, "data": {"ran": True}, "problems": [problem], "exit_code": code}


class ScriptedWatcher:
    """Stands for SourceWatcher. Waiting lets the world's time pass."""

    def __init__(self, world, files, polling):
        self.world, self.files, self.polling = world, dict(files), polling
        self.hints, self.living, self.deaf = [], True, False
        self.started = self.stopped = self.restarts = self.renewed = 0

    def start(self):
        self.started += 1

    def stop(self):
        self.stopped += 1

    def restart(self):
        self.restarts += 1
        self.living = True
        self.hints += list(self.files)

    def alive(self):
        return self.living or self.polling

    def watched(self):
        return frozenset() if self.polling or self.deaf else frozenset(self.files)

    def renew(self):
        self.renewed += 1
        return False

    def wake(self, name):
        self.hints.append(name)

    def wait(self, timeout):
        if not self.hints:
            self.world.pass_time(timeout, until_hint=True)
        names, self.hints = frozenset(self.hints), []
        return names or None


class World:
    """One daemon, its settings on disk, and everything else made up. Times are seconds since its start."""

    def __init__(self, folder, config="", db=True):
        self.folder = folder
        self.vault, self.db = folder / "vault", folder / "hermes.db"
        self.vault.mkdir()
        if db:
            self.db.touch()
        self.config = folder / "config.yaml"
        self.config.write_text(f"db: hermes.db\nvault:\n  path: vault\n{config}", encoding="utf-8")
        self.time, self.wall_ahead = 0.0, 0.0
        self.generation = 0
        self.script, self.order = [], itertools.count()
        self.jobs, self.answers, self.seconds = [], [], 0.5
        self.watchers, self.records = [], []
        self.readiness, self.record = [], "as we left it"
        self.chance = 0.5

    def at(self, when, act):
        """Let `act` happen at a time."""
        heapq.heappush(self.script, (when, next(self.order), act))

    def commit(self, *, silent=False):
        """The reader writes; `silent` drives give no event."""
        self.generation += 1
        if not silent and not self.watcher.polling:
            self.watcher.hints.append("db")

    def commits(self, *times, silent=False):
        for when in times:
            self.at(when, lambda: self.commit(silent=silent))

    def hint(self, name):
        self.watcher.hints.append(name)

    def pass_time(self, seconds, *, until_hint=False):
        """Let time pass and scripted things happen; stop early at a hint if asked to."""
        end = self.time + seconds
        while self.script and self.script[0][0] <= end:
            when, _, act = heapq.heappop(self.script)
            self.time = max(self.time, when)
            act()
            if until_hint and self.watcher.hints:
                return
        self.time = max(self.time, end)

    @property
    def watcher(self):
        return self.watchers[-1]

    @property
    def times(self):
        """When each sync began."""
        return [when for when, _ in self.jobs]

    @property
    def state(self):
        return DaemonFile(self.vault).load()

    @property
    def lines(self):
        return [record.getMessage() for record in self.records]

    def gate(self, path):
        return f"{path}@{self.generation}"

    def kept(self, vault):
        return self.record

    def carry_out(self, job):
        """Do a sync, or say what it would have said."""
        return self.answers.pop(0) if self.answers else done()

    def make(self, *, polling=False):
        """Make the daemon."""

        def new_watcher(files, polled):
            self.watchers.append(ScriptedWatcher(self, files, polled))
            return self.watchers[-1]

        def sync(job, on_wait):
            self.jobs.append((self.time, job))
            end = self.time + self.seconds
            while self.time < end:
                self.pass_time(min(1.0, end - self.time))
                on_wait()
            return self.carry_out(job)

        logger = logging.Logger("story")
        logger.addHandler(_Remember(self.records))
        ports = Ports(
            now=lambda: self.time,
            wall=lambda: MORNING + self.time + self.wall_ahead,
            random=lambda: self.chance,
            watcher=new_watcher,
            gate=self.gate,
            sync=sync,
            kept=self.kept,
            warm=lambda: self.readiness.append((self.time, "warm")),
            cool=lambda: self.readiness.append((self.time, "cool")),
        )
        inforce = InForce(Options(config=self.config), Place(env={}, cwd=self.folder, home=self.folder))
        self.diary = Diary(DaemonFile(self.vault), ports.now, ports.wall)
        self.daemon = Daemon(inforce, ports, self.diary, DaemonLog(logger, ports.now), polling=polling)
        return self.daemon

    def run(self, until, *, polling=False):
        """Run the daemon, and end it with SIGTERM at the time `until`."""
        daemon = self.make(polling=polling)
        self.at(until, lambda: daemon.ask_to_stop(signal.SIGTERM))
        return daemon.run()


class _Remember(logging.Handler):
    def __init__(self, records):
        super().__init__()
        self.records = records

    def emit(self, record):
        self.records.append(record)
