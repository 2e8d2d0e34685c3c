"""Files beside the notes: Obsidian's own settings, the base and the canvas. `BesideNotes` reads, replaces and retires them.

Layer 2. A file that changed between reading and writing is left for the next run; a folder `.obsidian` is never created.
"""

from __future__ import annotations

import os
from pathlib import Path

from kg2vault.storage.base import Disk
from kg2vault.storage.manifest_file import replace_file
from kg2vault.storage.vault_dir import ChangedError, VaultDir
from kg2vault.sync.observed import bytes_of, digest_of, text_of


class BesideNotes:
    """Text files of one vault, by path relative to its root; with `writes` off, writing only tells what would be written."""

    def __init__(self, root: Path, disk: Disk | None = None, *, writes: bool = True) -> None:
        self.root = root
        self.writes = writes
        self.disk = disk or Disk()

    def is_obsidian_vault(self) -> bool:
        """Return whether Obsidian has opened this folder as a vault."""
        return (self.root / ".obsidian").is_dir()

    def read(self, path: str) -> str | None:
        """Return a file's text, None when there is none; raises OSError."""
        try:
            return text_of((self.root / path).read_bytes())
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str, before: str | None) -> bool:
        """Replace a file that still holds `before` (None: that does not exist); return whether it did. Raises OSError."""
        target = self.root / path
        if target.is_symlink() or self.read(path) != before or (before is None and os.path.lexists(target)):
            return False
        if not self.writes:
            return True
        self.disk.mkdir(target.parent)
        replace_file(self.disk, target, bytes_of(text))
        return True

    def retire(self, path: str, before: str) -> bool:
        """Move a file that still holds `before` into the trash; return whether it did. Raises OSError."""
        if (self.root / path).is_symlink() or self.read(path) != before:
            return False
        if self.writes:
            try:
                VaultDir(self.root, self.disk).retire(path, digest_of(bytes_of(before)))
            except ChangedError:
                return False
        return True
