"""The vault as a folder on disk: `VaultDir` scans it and is the only writer under it.

Layer 2. Three promises live here. A file is old or new, never half: everything is written to a dot-named temporary file in the same folder
and put in place in one step. Nothing is overwritten that is not what planning saw: an update and a removal compare the digest first, a
creation fails when the name is taken. Nothing is unlinked: a note that leaves goes to the trash.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kg2vault.errors import VaultError
from kg2vault.storage.base import Disk
from kg2vault.sync.observed import ObservedNote, Scan, digest_of, text_of
from kg2vault.vault.yaml_scalars import quoted

STATE_FOLDER = ".kg2vault"
SETTINGS_FOLDER = ".obsidian"
TRASH = f"{STATE_FOLDER}/trash"
TEMP_PREFIX, TEMP_SUFFIX = ".kg2vault-", ".tmp"
_HEAD = 8192
_NO_LINK = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EACCES}
_SF_DATALESS = 0x40000000  # sys/stat.h on macOS: the content is in the cloud, reading would download it


class ChangedError(Exception):
    """The file is not what planning saw; the next run will look again."""


class VaultDir:
    """The notes below `root`; every path given or returned is relative to it, with `/`."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.root = root
        self.disk = disk or Disk()
        self._folders: dict[str, Path] = {}  # those for new notes that were looked at, by place

    def check(self, folder: str, *, writing: bool = True) -> None:
        """Raise VaultError unless the vault is a folder that can be written, and `folder` lies inside it with its links followed."""
        try:
            is_folder = stat.S_ISDIR(self.root.stat().st_mode)
        except FileNotFoundError:
            raise VaultError(
                f"The vault {self.root} does not exist. Create the folder or correct vault.path; is its drive mounted?", path=str(self.root)
            ) from None
        except OSError as error:
            raise VaultError(f"The vault {self.root} cannot be opened: {error.strerror}.{denied(error)}", path=str(self.root)) from error
        if not is_folder:
            raise VaultError(f"The vault {self.root} is a file, not a folder. Correct vault.path.", path=str(self.root))
        self._check_folder(folder)
        outer = outer_vault(self.root.resolve()) if writing else None
        if outer is not None:
            way = f"Set vault.path to {outer}, or remove {outer}/{STATE_FOLDER} to give that vault up."
            why = "which kg2vault writes already: every note would be there twice"
            raise VaultError(f"The vault {self.root} lies inside the vault {outer}, {why}. {way}", path=str(self.root))
        if writing and not os.access(self.root, os.W_OK | os.X_OK):
            way = "Give yourself write permission, or mount its drive for writing."
            raise VaultError(f"The vault {self.root} cannot be written. {way}", path=str(self.root))

    def _check_folder(self, folder: str) -> None:
        root, target = self.root.resolve(), (self.root / folder).resolve()
        if not target.is_relative_to(root):
            raise VaultError(f"{folder!r} leads out of the vault, to {target}. Choose a folder inside it (vault.folder).", path=str(target))
        if target != root / folder:
            way = "Name the folder itself (vault.folder): notes behind a link are not looked at."
            raise VaultError(f"{folder!r} in the vault is a link to {target}. {way}", path=str(target))
        if os.path.lexists(target) and not target.is_dir():
            raise VaultError(f"{target} is a file, not a folder. Rename it, or choose another vault.folder.", path=str(target))

    def scan(self, known: Mapping[str, tuple[int, int, str]], strangers: Mapping[str, tuple[int, int]] | None = None) -> Scan:
        """Walk the vault. `known` gives (size, mtime in ns, id) of notes by path; those unchanged are not read again."""
        walk = _Walk(self.root, known, strangers or {})
        walk.run()
        return Scan(
            {key: tuple(sorted(found, key=lambda note: note.path)) for key, found in sorted(walk.notes.items())},
            frozenset(walk.paths),
            dict(sorted(walk.unreadable.items())),
            frozenset(walk.unavailable),
            walk.strangers,
            tuple(sorted(walk.leftovers)),
        )

    def read(self, path: str) -> bytes:
        """Return a note's bytes; raises OSError."""
        return (self.root / path).read_bytes()

    def create(self, path: str, data: bytes) -> tuple[int, int]:
        """Write a new note and return its (size, mtime in ns); raises ChangedError when the name is taken meanwhile, or OSError."""
        place, _, name = path.rpartition("/")
        known = self._folders.get(place)
        if known is not None:
            with contextlib.suppress(FileNotFoundError):  # somebody took the folder away since
                return self._create(known / name, path, data)
        folder = self._folders[place] = self._made_folder(place)
        return self._create(folder / name, path, data)

    def _create(self, target: Path, path: str, data: bytes) -> tuple[int, int]:
        temp = self._temp(target.parent)
        try:
            self.disk.write_new(temp, data, durable=False)
            try:
                self.disk.link(temp, target)
            except FileExistsError:
                raise ChangedError(f"{path} exists by now") from None
            except OSError as error:
                if error.errno not in _NO_LINK:
                    raise
                if os.path.lexists(target):
                    raise ChangedError(f"{path} exists by now") from None
                self.disk.replace(temp, target)
        except OSError:
            self._forget(temp)
            raise
        except ChangedError:
            self.disk.unlink(temp)
            raise
        self.disk.unlink(temp)
        return _size_and_time(target)

    def replace(self, path: str, data: bytes, expected: str) -> tuple[int, int]:
        """Replace a note that still has the digest `expected`, durably; raises ChangedError when it has not, or OSError."""
        target = self.root / path
        mode = target.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise ChangedError(f"{path} is not a plain file any more")
        temp = self._temp(target.parent)
        try:
            self.disk.write_new(temp, data, durable=True)
            self.disk.chmod(temp, stat.S_IMODE(mode))
            if digest_of(target.read_bytes()) != expected:
                raise ChangedError(f"{path} was edited meanwhile")
            self.disk.replace(temp, target)
        except OSError:
            self._forget(temp)
            raise
        except ChangedError:
            self.disk.unlink(temp)
            raise
        self.disk.sync_folder(target.parent)
        return self.stat(path)

    def retire(self, path: str, expected: str) -> str:
        """Move a note that still has the digest `expected` into the trash and return where it is; raises ChangedError or OSError."""
        source = self.root / path
        if not stat.S_ISREG(source.lstat().st_mode) or digest_of(source.read_bytes()) != expected:
            raise ChangedError(f"{path} was edited meanwhile")
        trash = self.root / TRASH
        self.disk.mkdir(trash)
        target = _free(trash, source.name)
        self.disk.replace(source, target)
        if digest_of(target.read_bytes()) != expected and not os.path.lexists(source):
            self.disk.replace(target, source)  # an edit slipped in between the look and the move: the trash takes no user text
            raise ChangedError(f"{path} was edited meanwhile")
        return target.relative_to(self.root).as_posix()

    def tidy(self, folders: Iterable[str]) -> None:
        """Remove those of these folders that are empty, the inner ones first."""
        for path in sorted(folders, reverse=True):
            with contextlib.suppress(OSError):
                self.disk.rmdir(self.root / path)

    def sweep(self, leftovers: tuple[str, ...]) -> None:
        """Remove temporary files that a run before this one did not live to remove. Call it with the lock held."""
        for path in leftovers:
            self._forget(self.root / path)

    def stat(self, path: str) -> tuple[int, int]:
        """Return (size, mtime in ns) of a note; raises OSError."""
        return _size_and_time(self.root / path)

    def _made_folder(self, place: str) -> Path:
        """Return a folder for new notes, made if there is none; raises OSError for one that is or lies behind a link."""
        folder = self.root / place
        self._stay_inside(folder)
        self.disk.mkdir(folder)
        return folder

    def _stay_inside(self, folder: Path) -> None:
        root, real = self.root.resolve(), folder.resolve()
        if not real.is_relative_to(root):
            raise OSError(errno.EXDEV, "its folder is a link that leads out of the vault", str(folder))
        if real != root / folder.relative_to(self.root):
            raise OSError(errno.EXDEV, "its folder is a link, and notes behind a link are not looked at", str(folder))

    def _temp(self, folder: Path) -> Path:
        return folder / f"{TEMP_PREFIX}{secrets.token_hex(6)}{TEMP_SUFFIX}"

    def _forget(self, temp: Path) -> None:
        try:
            self.disk.unlink(temp)
        except OSError:
            return  # the next start sweeps it


class _Walk:
    """One walk: collects what `Scan` holds. Folders and files that start with a dot are Obsidian's and ours, and are passed over."""

    def __init__(self, root: Path, known: Mapping[str, tuple[int, int, str]], strangers: Mapping[str, tuple[int, int]]) -> None:
        self.root = str(root)
        self.known = known
        self.known_strangers = strangers
        self.notes: dict[str, list[ObservedNote]] = {}
        self.paths: list[str] = []
        self.unreadable: dict[str, str] = {}
        self.unavailable: list[str] = []
        self.strangers: dict[str, tuple[int, int]] = {}
        self.leftovers: list[str] = []
        self.nameless: list[ObservedNote] = []  # where we know a note of ours to be, with our markers, but without its id

    def run(self) -> None:
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(f"{self.root}/{folder}") as found:
                    entries = list(found)
            except OSError as error:
                self.unreadable[folder or "."] = error.strerror or str(error)
                continue
            prefix = f"{folder}/" if folder else ""
            pending.extend(self._entries(prefix, entries))
        for note in self.nameless:
            if note.id in self.notes:
                self.strangers[note.path] = (note.size, note.mtime_ns)
            else:
                self.notes[note.id] = [note]
        for folder in (STATE_FOLDER, SETTINGS_FOLDER):
            with contextlib.suppress(OSError):
                names = os.listdir(f"{self.root}/{folder}")  # noqa: PTH208 - names are all we want
                self.leftovers.extend(f"{folder}/{name}" for name in names if is_temporary(name))

    def _entries(self, prefix: str, entries: list[os.DirEntry[str]]) -> Iterator[str]:
        for entry in entries:
            name, path = entry.name, prefix + entry.name
            if name[0] == ".":
                self._dotted(prefix, name)
                continue
            self.paths.append(path)
            try:
                if entry.is_symlink():
                    self._link(path)
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield path
                elif name[-3:].lower() == ".md":
                    self._note(path, entry.stat(follow_symlinks=False))
            except OSError as error:
                self.unreadable[path] = error.strerror or str(error)

    def _dotted(self, prefix: str, name: str) -> None:
        if is_temporary(name):
            self.leftovers.append(prefix + name)
        elif name.endswith(".icloud") and len(name) > len("..icloud"):
            real = prefix + name[1 : -len(".icloud")]
            self.paths.append(real)
            if real[-3:].lower() == ".md" or "." not in name[1 : -len(".icloud")]:  # a picture hides no note, a folder may
                self.unavailable.append(real)

    def _link(self, path: str) -> None:
        """A note that we knew behind a link is out of reach, which is not the same as deleted."""
        if any(note == path or note.startswith(f"{path}/") for note in self.known):
            self.unreadable[path] = "it is a symbolic link"

    def _note(self, path: str, found: os.stat_result) -> None:
        size, mtime = found.st_size, found.st_mtime_ns
        before = self.known.get(path)
        if before is not None and before[0] == size and before[1] == mtime:
            self.notes.setdefault(before[2], []).append(ObservedNote(before[2], path, size, mtime))
            return
        if self.known_strangers.get(path) == (size, mtime):
            self.strangers[path] = (size, mtime)
            return
        if is_placeholder(found):
            self.unavailable.append(path)
            return
        text = self._claimed(path)
        note_id = _id_in(text) if text is not None else None
        if note_id is not None and text is not None:
            self.notes.setdefault(note_id, []).append(ObservedNote(note_id, path, size, mtime, text))
        elif before is not None and (text := self._still_ours(path, before[2])) is not None:
            self.nameless.append(ObservedNote(before[2], path, size, mtime, text))
        else:
            self.strangers[path] = (size, mtime)

    def _still_ours(self, path: str, note_id: str) -> str | None:
        """Return the text of a note that holds our markers and its id, but no longer where a property is read.

        It is damaged, which is not the same as deleted; a note without the id was made the user's own.
        """
        text = text_of(Path(self.root, path).read_bytes())
        return text if "%% kg2vault:begin " in text and f"kg_id: {quoted(note_id)}" in text else None

    def _claimed(self, path: str) -> str | None:
        """Return the text of a note whose head could hold an id, reading no more than a block of those that can't."""
        with open(f"{self.root}/{path}", "rb", buffering=0) as handle:  # noqa: PTH123 - ten thousand of these
            head = handle.read(_HEAD)
            if not head.startswith((b"---", b"\xef\xbb\xbf---")):
                return None
            if b"kg_id" not in head and (len(head) < _HEAD or b"\n---" in head):
                return None
            rest = handle.readall() if len(head) == _HEAD else b""
        return text_of(head + (rest or b""))


def _id_in(text: str) -> str | None:
    from kg2vault.vault.note import kg_id_of  # where no note has changed, nothing is taken apart

    return kg_id_of(text)


def _size_and_time(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_size, found.st_mtime_ns


def outer_vault(root: Path) -> Path | None:
    """Return the nearest folder above a vault that is a vault of ours itself, None when there is none."""
    return next((folder for folder in root.parents if os.path.lexists(folder / STATE_FOLDER / "manifest.json")), None)


def is_temporary(name: str) -> bool:
    """Return whether a file name is that of one of our temporary files."""
    return name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX)


def is_placeholder(found: os.stat_result, platform: str = sys.platform) -> bool:
    """Return whether a file's content is in the cloud only. Decided from `stat`: reading it would download it, or never return."""
    return platform == "darwin" and bool(getattr(found, "st_flags", 0) & _SF_DATALESS)


def _free(folder: Path, name: str) -> Path:
    target, number = folder / name, 1
    while os.path.lexists(target):
        number += 1
        target = folder / f"{Path(name).stem} {number}{Path(name).suffix}"
    return target


def denied(error: OSError) -> str:
    """Return what to do about a refusal that is not the file system's but the system's; nothing for any other error."""
    if error.errno not in {errno.EPERM, errno.EACCES}:
        return ""
    return " The folder is there, but this program may not see it; on macOS grant it access under Privacy & Security > Files and Folders."
