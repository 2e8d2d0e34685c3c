"""How a live database that belongs to somebody else is read without leaving a trace.

Layer 2. `read_in_peace` runs a piece of reading on a connection that cannot write, in whichever of three ways creates no file beside the
database, and turns what goes wrong into a SourceError of one sentence.

* *In place*: `mode=ro`. A rollback-journal database needs no other file; a live WAL database has its -wal and -shm already.
* *Resting*: a WAL database that nobody has open has neither, and `mode=ro` would create both, leave them behind after closing (measured)
  and fail in a folder that can't be written. Such a file is read with `immutable=1`, which sees the whole content as there is no -wal;
  if any of its files changed or appeared meanwhile, the result is thrown away and the reading done again.
* *Copied*: a -wal without a -shm (a restored backup, a crash), a journal that has to be rolled back, a -shm that may not be written: the
  files are copied into a private temporary folder, compared, and the copy is recovered and read.

So no file of ours ever lies beside the reader's, whoever runs us: as another user such a file could lock the reader out of its own
database. Should the reader close its database in the very moment between looking and opening, SQLite leaves an empty -wal and a -shm
behind; they are not removed, because another program may have opened them by then, and they do no harm.

Closing *any* descriptor of a file drops all POSIX locks this process has on it, so reads go one at a time.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from kg2vault.errors import SourceBusy, SourceDenied, SourceError, SourceMissing, SourceSchema
from kg2vault.storage.fingerprint import SIBLINGS, file_token, is_fresh

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_MAGIC = b"SQLite format 3\0"
_ATTEMPTS = 4
_PAUSE_SECONDS = 0.02
_SETTLE_SECONDS = 2.5
_one_at_a_time = threading.Lock()


class _Moved(Exception):
    """The files changed while they were read in a way that takes no lock."""


def read_in_peace(path: Path, busy_timeout: float, work: Work[T]) -> T:
    """Return what `work` reads in one transaction; `busy_timeout` is in seconds.

    Raises SourceMissing, SourceDenied, SourceBusy, or SourceError for a file that is empty, damaged or no database.
    """
    with _one_at_a_time:
        try:
            return _read(path, Path(os.path.realpath(path)), busy_timeout, work)
        except sqlite3.Error as error:
            raise explain(error, path) from error
        except OSError as error:
            raise _explain_os(error, path) from error


def _read(path: Path, real: Path, busy_timeout: float, work: Work[T]) -> T:
    for _ in range(_ATTEMPTS):
        wal_mode = _inspect(path, real)
        has_wal, has_shm = Path(f"{real}-wal").exists(), Path(f"{real}-shm").exists()
        if not wal_mode or (has_wal and has_shm):
            break
        try:
            return _read_copy(real, work) if has_wal else _read_resting(real, work)
        except _Moved:
            time.sleep(_PAUSE_SECONDS)
    try:
        return _read_in_place(real, "mode=ro", busy_timeout, work)
    except sqlite3.OperationalError as error:
        if primary_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    try:
        return _read_copy(real, work)
    except _Moved:
        raise SourceBusy(f"{path} is being written faster than it can be copied.", path=str(path), hint="Try again in a moment.") from None


def _read_in_place(real: Path, mode: str, busy_timeout: float, work: Work[T]) -> T:
    with closing(sqlite3.connect(f"{real.as_uri()}?{mode}", uri=True, timeout=busy_timeout, isolation_level=None)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        return work(connection)


def _read_resting(real: Path, work: Work[T]) -> T:
    before = _settled_token(real)
    try:
        found = _read_in_place(real, "mode=ro&immutable=1", 0, work)
    except (sqlite3.Error, SourceError):
        if _has_moved(real, before):
            raise _Moved from None
        raise
    if _has_moved(real, before):
        raise _Moved
    return found


def _settled_token(real: Path) -> str:
    """Wait until the files are older than their clock's resolution: only then does an equal token afterwards prove anything."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while is_fresh(token := file_token(real)):
        if time.monotonic() > deadline:
            raise _Moved
        time.sleep(_PAUSE_SECONDS)
    return token


def _has_moved(real: Path, before: str) -> bool:
    return file_token(real) != before or Path(f"{real}-wal").exists()


def _read_copy(real: Path, work: Work[T]) -> T:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="kg2vault-") as folder:
        copy = Path(folder) / "copy.db"
        before = _settled_token(real)
        for suffix in ("", *SIBLINGS):
            source = Path(f"{real}{suffix}")
            if not suffix or source.exists():
                shutil.copyfile(source, f"{copy}{suffix}")
        if file_token(real) != before:
            raise _Moved
        return _read_in_place(copy, "mode=rw", 0, work)


def _inspect(path: Path, real: Path) -> bool:
    """Tell whether the file is in WAL mode; raises for what is no database at all."""
    found = real.stat()
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a file"
        raise SourceError(f"{path} is {kind}, not a database.", path=str(path), hint="Name the file hermes.db itself.")
    with real.open("rb") as handle:
        head = handle.read(20)
    if not head:
        raise SourceError(f"{path} is empty (0 bytes).", path=str(path), hint="Let the reader create it, or name another file with --db.")
    if not head.startswith(_MAGIC):
        raise SourceError(f"{path} is not an SQLite database.", path=str(path), hint="Name the reader's hermes.db with --db.")
    return head[18:20] == b"\2\2"


def primary_code(error: sqlite3.Error) -> int:
    """Return what kind of error it is, without the details of SQLite's extended codes."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def explain(error: sqlite3.Error, path: Path) -> SourceError:
    """Return the one sentence for what SQLite said."""
    code = primary_code(error)
    where = str(path)
    other = "Name the reader's hermes.db with --db."
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return SourceBusy(f"{path} is locked by the program that writes it.", path=where, hint="Try again when it has finished.")
    if code == sqlite3.SQLITE_NOTADB:
        return SourceError(f"{path} is not an SQLite database, or it is encrypted.", path=where, hint=other)
    if code == sqlite3.SQLITE_CORRUPT:
        mend = "Restore it from a backup, or mend it with `sqlite3 FILE .recover`."
        return SourceError(f"{path} is damaged ({error}).", path=where, hint=mend)
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY):
        return SourceDenied(f"{path} is there, but cannot be opened ({error}).", path=where, hint="Check who may read it and its folder.")
    if code == sqlite3.SQLITE_ERROR:
        return SourceSchema(f"{path} cannot be read as a reader's database ({error}).", path=where, hint="Is it the reader's hermes.db?")
    return SourceError(f"{path} cannot be read ({error}).", path=where, hint="Check the disk it is on.")


def _explain_os(error: OSError, path: Path) -> SourceError:
    where = str(path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return SourceMissing(f"There is no {path}.", path=where, hint="Name the reader's hermes.db with --db, or write db: in config.yaml.")
    if isinstance(error, PermissionError):
        return SourceDenied(
            f"{path} is there, but this program may not read it ({error.strerror}).",
            path=where,
            hint="Grant read access to it and its folder; on macOS also under Privacy & Security → Full Disk Access.",
        )
    return SourceError(f"{path} cannot be read ({error.strerror or error}).", path=where, hint="Check the disk it is on.")
