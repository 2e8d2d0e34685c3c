"""A source, a vault and the program between them, on a disk and a clock of the test's own."""

import json
import re
import shutil
import sqlite3
import time
from pathlib import Path

from kg2vault.settings import Options, Place, gather
from kg2vault.storage.base import Disk
from kg2vault.syncing import SyncFlags, sync
from tests.conftest import Database

FOLDER = "Knowledge Graph"
WRITES = ("created", "updated", "retired")
YES = SyncFlags(allow_retire=True, allow_missing=True)


class LaterClock:
    """Runs ahead of the machine's clock, so that between two runs every note has settled."""

    def __init__(self):
        self.ahead = 0.0

    def now(self):
        return time.time() + self.ahead


class World:
    """One vault and one database below `root`; what a test does to them, and what it sees."""

    def __init__(self, root, *, build=True):
        self.root = Path(root)
        self.vault, self.db = self.root / "vault", self.root / "reader" / "hermes.db"
        self.clock = LaterClock()
        self.aliases = "aliases: {}\n"
        if build:
            (self.vault / ".obsidian").mkdir(parents=True)
            self.source = Database(self.db)
        else:
            self.source = Database.__new__(Database)
            self.source.path = self.db

    def copy(self, root):
        """Return the same world somewhere else, times of the files included."""
        shutil.copytree(self.root, root)
        twin = World(root, build=False)
        twin.clock.ahead, twin.aliases = self.clock.ahead, self.aliases
        return twin

    def settings(self):
        table = self.root / "aliases.yaml"
        table.write_text(self.aliases, encoding="utf-8")
        place = Place(env={}, cwd=self.root, home=self.root)
        return gather(Options(db=self.db, vault=self.vault, aliases=table), place)

    def sync(self, flags=YES, disk=None):
        """Sync once, a minute after the last time."""
        self.clock.ahead += 60
        return sync(self.settings(), flags, clock=self.clock, disk=disk or Disk())

    def tags(self, *tags, times=2):
        """Add items that carry these tags."""
        for _ in range(times):
            self.source.add(*tags)

    def untag(self, tag):
        self.source.untag(tag)

    def rows(self):
        connection = sqlite3.connect(self.db)
        found = connection.execute("SELECT item_id, tag FROM item_tags ORDER BY 1, 2").fetchall()
        connection.close()
        return found

    def path(self, name):
        """Return the one visible file called `name`.md."""
        found = [path for path in self.visible() if path.rsplit("/", 1)[-1] == f"{name}.md"]
        assert len(found) == 1, (name, found)
        return self.vault / found[0]

    def has(self, name):
        return any(path.rsplit("/", 1)[-1] == f"{name}.md" for path in self.visible())

    def text(self, name):
        return self.path(name).read_bytes().decode("utf-8", "surrogateescape")

    def write(self, name, text):
        self.path(name).write_bytes(text.encode("utf-8", "surrogateescape"))

    def edit(self, name, old, new):
        """Replace one place in a note, as a person would."""
        text = self.text(name)
        assert text.count(old) >= 1, (name, old, text)
        self.write(name, text.replace(old, new, 1))

    def append(self, name, text):
        self.write(name, self.text(name) + text)

    def visible(self):
        """Return the bytes of every file outside dot folders, dot files excluded."""
        return {
            path: (self.vault / path).read_bytes()
            for path in sorted(found.relative_to(self.vault).as_posix() for found in self.vault.rglob("*") if found.is_file())
            if not any(part.startswith(".") for part in path.split("/"))
        }

    def settings_files(self):
        """Return the bytes of Obsidian's own settings."""
        return {path.name: path.read_bytes() for path in sorted((self.vault / ".obsidian").iterdir())}

    def memory(self):
        """Return what the manifest says of every note, but for sizes, times, and numbers that have a history."""
        rows = json.loads((self.vault / ".kg2vault" / "manifest.json").read_text(encoding="utf-8"))["entries"]
        return {row[0]: [sorted(cell) if isinstance(cell, list) else cell for cell in (*row[1:3], *row[5:12], *row[14:])] for row in rows}

    def trash(self):
        """Return the bytes of what is in our trash."""
        folder = self.vault / ".kg2vault" / "trash"
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}

    def temporary(self):
        """Return every temporary file anywhere in the vault."""
        return sorted(str(path) for path in self.vault.rglob("*") if path.is_file() and ".tmp" in path.name)

    def stamps(self):
        return stamps(self.vault)

    def ids(self):
        """Return the paths of the visible notes by the id they carry."""
        found = {}
        for path, data in self.visible().items():
            head = re.search(rb'^kg_id: "(.*)"\r?$', data, re.MULTILINE)
            if path.endswith(".md") and head:
                found.setdefault(head[1].decode(), []).append(path)
        return found


def stamps(vault):
    """Return content, inode and time of everything in a vault but the lock, which comes and goes, and the folder it is in."""
    return {
        path.relative_to(vault).as_posix(): (path.read_bytes() if path.is_file() else None, path.lstat().st_ino, path.lstat().st_mtime_ns)
        for path in Path(vault).rglob("*")
        if not path.name.startswith("lock") and path.name != ".kg2vault"
    }


def writes(result):
    """Return how many files a sync touched, by its own account."""
    return sum(result.data["counts"][state] for state in WRITES)
