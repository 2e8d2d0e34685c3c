"""One daemon per vault: `DaemonLock`, held for the daemon's life.

Layer 2. It lies in the platform's state folder and not in the vault: an open file on a drive keeps it from being ejected, and a daemon may
start before its vault is mounted. The lock is the kernel's, so whether it is held is the truth about a daemon's life, unlike a pid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kg2vault.errors import LockHeldError, ServiceError
from kg2vault.storage.base import Disk
from kg2vault.storage.state_file import DaemonFile, vault_key

_POLL = 2.0
_PATIENCE = 2.0  # somebody who only looks whether it is held has it for a moment


class DaemonLock:
    """The lock of the daemon of one vault."""

    def __init__(self, vault: Path, folder: Path | None = None) -> None:
        from platformdirs import user_state_path

        self._vault = vault
        self._folder = folder if folder is not None else user_state_path("kg2vault")
        self.path = self._folder / f"{vault_key(vault)}.lock"

    @contextmanager
    def hold(self, on_wait: Callable[[LockHeldError], None] | None = None) -> Iterator[None]:
        """Hold the lock for the length of the block; raises LockHeldError naming the daemon that has it.

        With `on_wait` that error is told to it, once, and the lock is waited for however long that takes.
        """
        lock = FileLock(self.path)
        try:
            Disk().mkdir(self._folder)
            try:
                lock.acquire(timeout=_PATIENCE, poll_interval=0.05)
            except Timeout:
                if on_wait is None:
                    raise
                on_wait(self._held())
                lock.acquire(timeout=-1, poll_interval=_POLL)
        except Timeout:
            raise self._held() from None
        except OSError as error:
            raise ServiceError(f"{self.path} cannot be locked: {error.strerror or error}.", path=str(self.path)) from error
        try:
            yield
        finally:
            lock.release()

    def is_held(self) -> bool:
        """Tell whether a daemon has the lock; creates nothing."""
        if not self.path.exists():
            return False
        with suppress(OSError), suppress(Timeout), FileLock(self.path).acquire(timeout=0):
            return False
        return True

    def _held(self) -> LockHeldError:
        state = DaemonFile(self._vault, self._folder).load()
        who = f"process {state.pid}, since {state.started}" if state is not None and state.pid else "another process"
        return LockHeldError(
            f"The vault {self._vault} has a daemon already ({who}).", path=str(self.path), hint="`kg2vault status` shows what it does."
        )
