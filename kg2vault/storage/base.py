"""The Protocols at which storage can be exchanged: real files, memory, or a disk that fails on purpose.

Layer 2. `Disk` is every effect the program has on a file system, one method an effect, so that a test can stop the program at each of them.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Protocol

from kg2vault.graph.model import Reading


class Source(Protocol):
    """Where the tags come from."""

    def read(self, *, summaries: bool = False) -> Reading:
        """Read everything in one transaction."""
        ...


class Clock(Protocol):
    """The time of day."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()


class Disk:
    """The effects on a file system. Nothing else in the program writes, renames or removes a file of the vault."""

    def write_new(self, path: Path, data: bytes, *, durable: bool, mode: int = 0o666) -> None:
        """Create a file that must not exist yet and fill it; `durable` waits until it is on the medium."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)

    def chmod(self, path: Path, mode: int) -> None:
        """Give a file the permissions of the one it replaces."""
        with contextlib.suppress(OSError):
            path.chmod(mode)

    def replace(self, source: Path, target: Path) -> None:
        """Put `source` in the place of `target`, at once."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        """Give `source` a second name; raises FileExistsError when `target` is taken."""
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        """Remove a name; one that is gone already is fine."""
        path.unlink(missing_ok=True)

    def mkdir(self, path: Path) -> None:
        """Create a folder with its parents; one that exists is fine."""
        path.mkdir(parents=True, exist_ok=True)

    def rmdir(self, path: Path) -> None:
        """Remove an empty folder; raises OSError for any other."""
        path.rmdir()

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the medium, where the system can do that."""
        if os.name != "posix":
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                os.fsync(handle)
        finally:
            os.close(handle)

    def flush(self) -> None:
        """Wait until all that was written without `durable` is on the medium."""
        if hasattr(os, "sync"):
            os.sync()
