"""One corpus, measured in rounds: `measure()`. Each round does everything once, so that a slow minute of the machine slows all alike."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.bench.corpus import add_item, often_together
from tests.bench.processes import Cost, Runner

_SETTLE = 0.1  # seconds: a database written a moment ago is not trusted yet, see storage/file_token.py
_SHORT = 5  # how often a round repeats what is over in an instant


@dataclass(frozen=True, slots=True)
class Wish:
    """What to measure of a corpus: a name to print, and how its database is made at a path."""

    name: str
    make: Callable[[Path], None]
    usual: bool = True  # the usual way as well
    vault: bool = True  # False: the graph only


@dataclass(slots=True)
class Round:
    """What one round took, in seconds, and the peaks of memory in bytes."""

    seconds: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(slots=True)
class Measured:
    """The rounds of one corpus."""

    name: str
    size: dict[str, int] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    outlasted: bool = False  # the usual way was stopped before it was done

    def seconds(self, what: str) -> float | None:
        """Return the median seconds of something, None when it was not measured."""
        return middle([done.seconds[what] for done in self.rounds if what in done.seconds])

    def peak(self, what: str) -> float | None:
        """Return the median peak in bytes."""
        return middle([done.peaks[what] for done in self.rounds if what in done.peaks])

    def stage(self, run: str, name: str) -> float | None:
        """Return the median seconds of a stage of a run."""
        return middle([done.stages[run].get(name, 0.0) for done in self.rounds if run in done.stages])

    def ratio(self, formula: Callable[[dict[str, float]], float]) -> float | None:
        """Return the median over the rounds of a ratio within one round; None when a part of it was not measured."""
        found = []
        for done in self.rounds:
            try:
                found.append(formula(done.seconds))
            except KeyError:
                continue
        return middle(found)


def middle(values: list[float] | list[int]) -> float | None:
    """Return the median, None of nothing."""
    return median(values) if values else None


def measure(wish: Wish, runner: Runner, repetitions: int, patience: float) -> Measured:
    """Measure one corpus; `patience` is how many seconds the usual way is waited for."""
    found = Measured(wish.name)
    original = runner.folder / "made.db"
    wish.make(original)
    runner.run("-m", "kg2vault", "--version")  # compiles
    for number in range(repetitions):
        done = Round()
        found.rounds.append(done)
        _graph(found, done, runner, original)
        if wish.vault:
            bench = _Bench(runner, original, found, done)
            bench.first()
            bench.floor()
            if wish.usual and not (found.outlasted and number):
                bench.usual(patience)
            bench.unchanged()
            bench.one_more()
            bench.clear()
    original.unlink()
    return found


def _graph(found: Measured, done: Round, runner: Runner, database: Path) -> None:
    if not found.size:
        runner.run("-m", "tests.bench.graph_only", str(database))  # compiles, and fills the system's cache of the file
    cost = runner.run("-m", "tests.bench.graph_only", str(database))
    _keep(done, "graph", cost)
    found.size.update(cost.said["size"])


def _keep(done: Round, what: str, cost: Cost) -> None:
    done.seconds[what], done.peaks[what] = cost.wall, cost.peak
    stages = dict(cost.said["stages"])
    told = sum(seconds for stage, seconds in stages.items() if stage not in ("start", "import")) - cost.said["beside"]
    stages["start"] = cost.wall - told
    done.stages[what] = stages


class _Bench:
    """One round with a vault of its own."""

    def __init__(self, runner: Runner, original: Path, found: Measured, done: Round) -> None:
        self.runner, self.found, self.done = runner, found, done
        self.database, self.vault = runner.folder / "hermes.db", runner.folder / "vault"
        self.sync = ("sync", "--json", "--db", str(self.database), "--vault", str(self.vault))
        self.clear()
        shutil.copyfile(original, self.database)
        (self.vault / ".obsidian").mkdir(parents=True)
        time.sleep(_SETTLE)

    def clear(self) -> None:
        """Leave nothing behind for the next round."""
        for folder in (self.vault, self.runner.folder / "floor", self.runner.folder / "usual", self.runner.folder / "home"):
            shutil.rmtree(folder, ignore_errors=True)
        self.database.unlink(missing_ok=True)
        (self.runner.folder / "home").mkdir()

    def first(self) -> None:
        """The first sync; before the very first one, a sync elsewhere has compiled everything."""
        if len(self.found.rounds) == 1:
            self.runner.run("-m", "tests.bench.timed", *self.sync, "--dry-run")
        _keep(self.done, "first sync", self.runner.run("-m", "tests.bench.timed", *self.sync))

    def floor(self) -> None:
        """What writing and looking costs anyway, and starting Python."""
        said = self.runner.run("-m", "tests.bench.floor", str(self.vault), str(self.runner.folder / "floor")).said
        self.done.seconds |= {"floor": said["write"], "stat": said["stat"]}
        self.found.size |= {"files": said["files"], "bytes": said["bytes"]}
        self._short("python", "-c", "pass")

    def usual(self, patience: float) -> None:
        """The usual way, as long as patience lasts; one that did not finish counts as finished then, which flatters it."""
        cost = self.runner.run("-m", "tests.bench.usual", str(self.database), str(self.runner.folder / "usual"), patience=patience)
        self.done.seconds["usual"], self.done.peaks["usual"] = cost.wall, cost.peak
        if cost.finished:
            self.done.stages["usual"] = cost.said["stages"]
            self.found.size |= {"usual files": cost.said["files"], "usual bytes": cost.said["bytes"]}
        else:
            self.found.outlasted = True

    def unchanged(self) -> None:
        """A sync that has nothing to do, next to the least that a command can take."""
        self.runner.run("-m", "kg2vault", *self.sync)
        self._short("--version", "-m", "kg2vault", "--version")
        self._short("unchanged sync", "-m", "kg2vault", *self.sync)

    def one_more(self) -> None:
        """One new item with two tags that were often used together."""
        add_item(self.database, often_together(self.database))
        time.sleep(_SETTLE)
        before = self._dates()
        cost = self.runner.run("-m", "tests.bench.timed", *self.sync)
        _keep(self.done, "one new item", cost)
        self.found.size["written for one"] = sum(stamp != before.get(path) for path, stamp in self._dates().items())

    def _dates(self) -> dict[Path, tuple[int, int]]:
        stats = {path: path.stat() for path in self.vault.rglob("*.md") if ".kg2vault" not in path.parts}
        return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}

    def _short(self, what: str, *arguments: str) -> None:
        found = [self.runner.run(*arguments, quiet_disk=False).wall for _ in range(_SHORT)]
        self.done.seconds[what] = middle(found) or 0.0
