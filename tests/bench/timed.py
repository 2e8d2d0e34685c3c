"""One sync in a process of its own, with the time each stage took: `python -m tests.bench.timed ARGUMENTS OF kg2vault`.

Prints a JSON object on the last line: seconds and processor seconds by stage, the whole, and the peak of memory in bytes. The
stages are timed at the functions that sync() itself is made of; a stage that contains another is given without it.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_BORN = time.perf_counter()


class Watch:
    """Adds up the seconds spent in each stage, without those of the stages inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.beside = 0.0  # seconds of stages that ran on another thread meanwhile
        self._open: list[tuple[float, float]] = []

    def over(self, owner: Any, name: str, stage: str) -> None:
        """Time every call of `owner.name` as `stage`."""
        function = getattr(owner, name)

        @functools.wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            return self.call(stage, lambda: function(*arguments, **options))

        setattr(owner, name, timed)

    def call(self, stage: str, body: Callable[[], Any]) -> Any:
        """Run a body as a stage; one that runs beside the others, on another thread, is in nobody's time but its own."""
        if threading.current_thread() is not threading.main_thread():
            return self._beside(stage, body)
        self._open.append((0.0, 0.0))
        begun, busy = time.perf_counter(), time.process_time()
        try:
            return body()
        finally:
            spent, used = time.perf_counter() - begun, time.process_time() - busy
            inside, used_inside = self._open.pop()
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent - inside
            self.cpu[stage] = self.cpu.get(stage, 0.0) + used - used_inside
            if self._open:
                above, used_above = self._open.pop()
                self._open.append((above + spent, used_above + used))

    def _beside(self, stage: str, body: Callable[[], Any]) -> Any:
        begun, busy = time.perf_counter(), time.thread_time()
        try:
            return body()
        finally:
            spent = time.perf_counter() - begun
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
            self.cpu[stage] = self.cpu.get(stage, 0.0) + time.thread_time() - busy
            self.beside += spent


def main() -> None:
    """Run the program, and say how long what took."""
    watch = Watch()
    watch.call("start", _imports)
    from kg2vault import collector, graphs, syncing, unchanged
    from kg2vault.graph import build
    from kg2vault.storage.cache_file import CacheFile
    from kg2vault.storage.manifest_file import ManifestFile
    from kg2vault.storage.vault_dir import VaultDir
    from kg2vault.vault.render import DesiredNotes
    from kg2vault.witness import Witness

    watch.over(unchanged, "answer", "scan")
    watch.over(graphs, "read_source", "read")
    watch.over(graphs, "build", "build")
    watch.over(build, "measure", "metrics")
    watch.over(build, "find_communities", "communities")
    watch.over(syncing, "render", "render")
    watch.over(DesiredNotes, "__getitem__", "render")
    watch.over(DesiredNotes, "expect", "render")
    watch.over(VaultDir, "scan", "scan")
    watch.over(syncing, "lay_out", "plan")
    watch.over(syncing, "plan", "plan")
    watch.over(syncing, "apply", "write")
    watch.over(syncing, "decorate", "beside")
    for store in (ManifestFile, CacheFile):
        for name in ("load", "save"):
            watch.over(store, name, "remember")
    watch.over(ManifestFile, "holds", "remember")
    watch.over(Witness, "see", "remember")
    watch.over(Witness, "remember", "remember")
    leave, collector.leave = collector.leave, lambda _: None  # there is something to tell first
    code = watch.call("rest", _command_line)
    whole = time.perf_counter() - _BORN
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    cpu = sum(os.times()[:2])
    said = {"stages": watch.seconds, "beside": watch.beside, "stages_cpu": watch.cpu, "whole": whole, "cpu": cpu, "peak": peak}
    print(json.dumps({**said, "exit_code": code}))
    leave(0)


def _imports() -> None:
    import kg2vault.cli.notes  # noqa: F401


def _command_line() -> int:
    from kg2vault.__main__ import main as program

    try:
        program()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    main()
