"""Processes and what they cost: `Runner.run()`. For POSIX systems, which tell a parent what its child used.

Every measurement is a process of its own, with compiled modules at hand as they are after an installation, a home folder of its own, and a
disk that has nothing left to write from before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_KILOBYTE = 1 if sys.platform == "darwin" else 1024  # macOS gives the peak of memory in bytes


class ProcessError(Exception):
    """A measured process failed; its words are the message."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took: seconds from start to end as its parent saw them, processor seconds, and its peak of memory in bytes."""

    wall: float
    cpu: float
    peak: int
    output: str = ""
    finished: bool = True  # False: stopped when patience ended, so that all numbers are lower bounds

    @property
    def said(self) -> dict[str, Any]:
        """The JSON object on the last line of the output."""
        found = json.loads(self.output.strip().rpartition("\n")[2])
        assert isinstance(found, dict)
        return found


class Runner:
    """Runs Python modules, with everything they leave in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        home = folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        ours = ("PYTHON", "XDG_", "KG2VAULT_", "ATTEST_DB", "RSS_DB")
        self._env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self._env |= {"HOME": str(home), "PYTHONPATH": str(_ROOT), "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONHASHSEED": "0"}

    def run(self, *arguments: str, patience: float | None = None, quiet_disk: bool = True) -> Cost:
        """Run `python ARGUMENTS`; raises ProcessError when it ends with an error. Without patience there is no end to waiting."""
        if quiet_disk:
            os.sync()
        output = self.folder / "output"
        with output.open("wb") as out:
            begun = time.perf_counter()
            process = subprocess.Popen([sys.executable, *arguments], stdout=out, stderr=subprocess.STDOUT, cwd=self.folder, env=self._env)
            stopped = threading.Event()
            timer = threading.Timer(patience or 0, lambda: (stopped.set(), process.kill()))
            if patience is not None:
                timer.start()
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begun
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        text = output.read_text(encoding="utf-8", errors="replace")
        if process.returncode and not stopped.is_set():
            raise ProcessError(f"{' '.join(arguments)}: exit code {process.returncode}\n{text}")
        return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * _KILOBYTE, text, not stopped.is_set())
