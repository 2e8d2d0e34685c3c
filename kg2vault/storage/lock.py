"""One writer per vault: `VaultLock`, an operating system lock held for as long as the writing lasts.

Layer 2. The lock is the kernel's, so it ends with its process however that ends; a file beside it says who holds it, for the message only.
Nothing is created before `acquire()`: a dry run that does not acquire leaves no trace.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from kg2vault.errors import LockHeldError, VaultError
from kg2vault.storage.base import Disk
from kg2vault.storage.manifest_file import replace_file
from kg2vault.storage.vault_dir import STATE_FOLDER

_POLL_SECONDS = 0.05
_COMMAND_WORDS = 3


class Holder(NamedTuple):
    """Who holds a lock; `since` is local time, for people."""

    pid: int
    command: str
    since: str
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command}, since {self.since})"

    def is_alive(self) -> bool:
        """Tell whether there is such a process; on another machine or where it can't be asked, believe it."""
        if self.host != platform.node() or os.name != "posix":
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


class VaultLock:
    """The lock `.kg2vault/<name>` of a vault. Other names than the default are for other things of which a vault has one: a daemon."""

    def __init__(self, vault: Path, name: str = "lock") -> None:
        self.vault = vault
        self.folder = vault / STATE_FOLDER
        self.path = self.folder / name
        self.holder_path = self.folder / f"{name}-holder.json"
        self._disk = Disk()

    @contextmanager
    def acquire(self, wait: float = 0.0) -> Iterator[None]:
        """Hold the lock for the length of the block; `wait` is in seconds, 0 tries once.

        Raises LockHeldError naming the holder, and VaultError when the vault is not there or can't be written.
        """
        if not self.vault.is_dir():
            raise VaultError(f"There is no folder {self.vault}.", path=str(self.vault), hint="Is its drive mounted?")
        from filelock import FileLock, Timeout  # whoever only asks for the holder does without

        lock = FileLock(self.path)
        try:
            self._disk.mkdir(self.folder)
            lock.acquire(timeout=max(wait, 0.0), poll_interval=_POLL_SECONDS)
        except Timeout:
            raise self._held() from None
        except OSError as error:
            raise VaultError(f"{self.path} cannot be locked: {error.strerror or error}.", path=str(self.path)) from error
        try:
            self._sign()
            yield
        finally:
            with suppress(OSError):
                self._disk.unlink(self.holder_path)
            lock.release()

    def holder(self) -> Holder | None:
        """Return who holds the lock as far as the file beside it tells; never touches the lock itself, never raises."""
        try:
            holder = Holder(**json.loads(self.holder_path.read_text(encoding="utf-8")))
            return holder if holder.is_alive() else None
        except (OSError, ValueError, TypeError):
            return None

    def _sign(self) -> None:
        words = [Path(sys.argv[0]).name or "python", *sys.argv[1:_COMMAND_WORDS]]
        holder = Holder(os.getpid(), " ".join(words), time.strftime("%Y-%m-%d %H:%M:%S"), platform.node())
        with suppress(OSError):  # a full disk is for the writing to report, not for the courtesy of a name
            replace_file(self._disk, self.holder_path, json.dumps(holder._asdict()).encode())

    def _held(self) -> LockHeldError:
        holder = self.holder()
        who = str(holder) if holder is not None else "another process"
        return LockHeldError(
            f"The vault {self.vault} is being written by {who}.", path=str(self.path), hint="Try again when it has finished."
        )
