"""A sync that has nothing to do, answered at once: `answer()` before anything else is imported, from what the last sync remembered.

Layer 3. Works out nothing: when every input of a sync (the call, the program's files, settings, database, manifest, each note's size and
mtime, every name in the vault) is what it was when a sync found the vault complete, that sync's answer is given again. Anything else, a
folder that can't be read or a note that waits for a person included, is left to a real sync. witness.py writes what is read here.
"""

from __future__ import annotations

import os
import sys
import time

from kg2vault import __version__
from kg2vault.storage.file_token import file_token, is_fresh, program_stamp

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes longer than all the rest
except ImportError:
    from hashlib import blake2b

MAGIC = "kg2vault answer 1"
ENVIRONMENT = (
    *("KG2VAULT_CONFIG", "ATTEST_DB", "RSS_DB", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    *("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
)
STATE = ".kg2vault"
WHOLE_FILES = (".obsidian/graph.json", ".obsidian/types.json")
LOOKED_AT = (".md", ".base", ".canvas")  # of other files the names alone matter


class UnusualError(Exception):
    """Something that only a real sync can judge."""


class Memo:
    """What the last sync left: where to look, the digest of what is to be found there, and what to say and write down then."""

    def __init__(self, vault: str, databases: list[str], settings: list[str], digest: str, answer: str, run: tuple[str, str, str]) -> None:
        self.vault, self.databases, self.settings = vault, databases, settings
        self.digest, self.answer = digest, answer
        self.run = run  # path of the record of the last run, and its text around the time of that run

    def fields(self) -> list[str]:
        """Return the fields of the file."""
        counts = f"{len(self.databases)} {len(self.settings)}"
        return [MAGIC, self.digest, self.answer, *self.run, self.vault, counts, *self.databases, *self.settings, "end"]


def answer(arguments: list[str]) -> str | None:
    """Return what a sync with these arguments prints now, or None when a real one has to be made."""
    path = memo_path(arguments)
    try:
        memo = _load(path) if path is not None else None
        if memo is None or digest(arguments, memo.vault, memo.databases, memo.settings) != memo.digest:
            return None
        _write_down(*memo.run)
    except (OSError, ValueError, UnusualError):
        return None
    return memo.answer


def memo_path(arguments: list[str]) -> str | None:
    """Return where the answer to this very call is kept, None where the program does not know a place."""
    folder = memo_folder()
    return None if folder is None else os.path.join(folder, f"{_hash(_call(arguments), 8)}.answer")


def memo_folder() -> str | None:
    """Return the folder of answers, in the user's cache folder (as platformdirs has it, which takes longer to import than to answer)."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/kg2vault")
    if os.name != "posix":
        return None
    return os.path.join(os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache"), "kg2vault")


def digest(arguments: list[str], vault: str, databases: list[str], settings: list[str], lines: list[str] | None = None) -> str:
    """Return a digest of everything a sync depends on; raises OSError and UnusualError when a part of it can't be told.

    `lines` is what `walk` gave, for those who need it themselves.
    """
    root = os.path.realpath(vault)
    usual = os.access(root, os.W_OK | os.X_OK) and os.access(f"{root}/{STATE}/manifest.json", os.R_OK) and not _is_inside_another(root)
    if not usual:
        raise UnusualError(root)
    parts = [*_call(arguments), __version__, sys.version, program_stamp(), root]
    parts += [f"{path} {content(path)!r}" for path in (*settings, *(f"{root}/{name}" for name in WHOLE_FILES))]
    parts += [_database(path) for path in databases]
    parts += [manifest_stamp(root), str(os.path.isdir(f"{root}/.obsidian")), *(lines if lines is not None else walk(root))]
    return _hash(parts, 24)


def _is_inside_another(root: str) -> bool:
    while (folder := os.path.dirname(root)) != root:
        if os.path.lexists(f"{folder}/{STATE}/manifest.json"):
            return True
        root = folder
    return False


def content(path: str) -> bytes | None:
    """Return a file's bytes, None when there is no such file; raises OSError."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except (FileNotFoundError, NotADirectoryError):
        return None


def manifest_stamp(root: str) -> str:
    """Return what changes whenever the manifest is written; raises OSError when there is none."""
    found = os.stat(f"{root}/{STATE}/manifest.json")
    return stamp_text((found.st_ino, found.st_size, found.st_mtime_ns))


def stamp_text(stamp: tuple[int, int, int]) -> str:
    """Return inode, size and mtime in ns as text."""
    return ".".join(map(str, stamp))


def walk(root: str) -> list[str]:
    """Return a line for everything visible in the vault, with size and mtime of each note; raises OSError and UnusualError.

    Sees what `VaultDir.scan` sees, in the same way: folders and files that start with a dot are passed over, links not followed.
    """
    lines: list[str] = []
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    _refuse(name)
                elif entry.is_symlink():
                    lines.append(f"{folder}{name}\0{os.readlink(entry.path)}")
                elif entry.is_dir(follow_symlinks=False):
                    lines.append(f"{folder}{name}\0folder")
                    pending.append(f"{folder}{name}/")
                elif name[-3:] == ".md" or name.lower().endswith(LOOKED_AT):
                    stat = entry.stat(follow_symlinks=False)
                    lines.append(f"{folder}{name}\0{stat.st_size}\0{stat.st_mtime_ns}")
                else:
                    lines.append(folder + name)
    lines.sort()  # folders list their entries in any order
    for folder in (STATE, ".obsidian"):
        if os.path.isdir(f"{root}/{folder}"):
            for name in os.listdir(f"{root}/{folder}"):
                _refuse(name)
    return lines


def _refuse(name: str) -> None:
    """Raise UnusualError for what an interrupted run leaves, and for a note that is in the cloud only."""
    if name.endswith(".icloud") or (name.endswith(".tmp") and name.startswith(".kg2vault-")):
        raise UnusualError(name)


def _database(path: str) -> str:
    token = file_token(os.path.realpath(path))
    if is_fresh(token):
        raise UnusualError(path)
    return f"{path} {token}"


def _call(arguments: list[str]) -> list[str]:
    return [*arguments, "", os.getcwd(), *(os.environ.get(name, "") for name in ENVIRONMENT)]


def _hash(parts: list[str], size: int) -> str:
    state = blake2b(digest_size=size)
    lengths = ",".join([str(len(part)) for part in parts])
    state.update(f"{lengths}\n{''.join(parts)}".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def _load(path: str) -> Memo | None:
    raw = content(path)
    fields = raw.decode("utf-8", "surrogateescape").split("\0") if raw is not None else []
    if len(fields) < 8 or fields[0] != MAGIC or fields[-1] != "end":
        return None
    databases, settings = map(int, fields[7].split())
    rest = fields[8:-1]
    if len(rest) != databases + settings:
        return None
    return Memo(fields[6], rest[:databases], rest[databases:], fields[1], fields[2], (fields[3], fields[4], fields[5]))


def _write_down(path: str, before: str, after: str) -> None:
    """Record this run as the last one; raises OSError."""
    temp = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.tmp")
    at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, f"{before}{at}{after}".encode("utf-8", "surrogateescape"))
    finally:
        os.close(handle)
    os.replace(temp, path)
