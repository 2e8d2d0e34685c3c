"""The manifest on disk: `ManifestFile`, one JSON file in the vault's `.kg2vault` folder, always replaced as a whole.

Layer 2. An absent file is a first run; one that cannot be understood stops the run. The two are never mixed up.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from kg2vault.errors import ManifestError, VaultError
from kg2vault.storage.base import Disk
from kg2vault.storage.vault_dir import STATE_FOLDER, TEMP_PREFIX, TEMP_SUFFIX, denied
from kg2vault.sync.manifest import REBUILD_HINT, Manifest, dump_manifest, load_manifest
from kg2vault.sync.observed import bytes_of, text_of


class ManifestFile:
    """`.kg2vault/manifest.json` of one vault."""

    def __init__(self, vault: Path, disk: Disk | None = None) -> None:
        self.folder = vault / STATE_FOLDER
        self.path = self.folder / "manifest.json"
        self.disk = disk or Disk()
        self._on_disk: str | None = None
        self._saved: Manifest | None = None

    def load(self) -> Manifest | None:
        """Return the manifest, None when there is none.

        Raises ManifestError for one that is damaged or newer, and VaultError for one that may be well but cannot be read now.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except IsADirectoryError as error:
            raise ManifestError(f"{self.path} is a folder.", path=str(self.path), hint=REBUILD_HINT) from error
        except OSError as error:
            reason = f"{error.strerror or error}.{denied(error)}"
            raise VaultError(f"{self.path} cannot be read: {reason}", path=str(self.path), hint="Nothing was written.") from error
        self._on_disk, self._saved = text_of(data), None
        return load_manifest(self._on_disk, str(self.path))

    def holds(self, manifest: Manifest) -> bool:
        """Return whether the file that was loaded or saved says exactly this."""
        return manifest == self._saved or dump_manifest(manifest) == self._on_disk

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what changes when somebody replaces the file, None when there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def save(self, manifest: Manifest) -> bool:
        """Write the manifest unless the same bytes are there; return whether it wrote. Raises VaultError."""
        text = dump_manifest(manifest)
        if text == self._on_disk:
            return False
        try:
            self.disk.mkdir(self.folder)
            replace_file(self.disk, self.path, bytes_of(text))
        except OSError as error:
            raise VaultError(f"{self.path} cannot be written: {error.strerror}.", path=str(self.path)) from error
        self._on_disk, self._saved = text, manifest
        return True

    def sweep(self) -> None:
        """Remove temporary files a crashed run left beside the manifest. Call it with the lock held."""
        if self.folder.is_dir():
            for path in self.folder.glob(f"{TEMP_PREFIX}*{TEMP_SUFFIX}"):
                self.disk.unlink(path)


def replace_file(disk: Disk, path: Path, data: bytes) -> None:
    """Put `data` at `path` durably and at once; raises OSError and leaves the old file."""
    temp = path.parent / f"{TEMP_PREFIX}{secrets.token_hex(6)}{TEMP_SUFFIX}"
    try:
        disk.write_new(temp, data, durable=True)
        disk.replace(temp, path)
    except OSError:
        disk.unlink(temp)
        raise
    disk.sync_folder(path.parent)
