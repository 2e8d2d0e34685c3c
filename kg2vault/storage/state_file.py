"""How things stand: `RunFile` and `DaemonFile`, two small JSON files per vault in the platform's state folder, outside the vault.

Layer 2. The first is written by whoever syncs, the second by the daemon alone; `status` and `doctor` read them, and they hold no note
content. A vault is known by where its path leads, so another spelling of the path is the same vault. A file that can't be written or
read costs a report and never a sync.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from kg2vault.storage.base import Disk

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """The last sync that came to its end; `at` is ISO UTC, `manifest` the digest of the manifest as it was left."""

    vault: str = ""
    at: str = ""
    version: str = ""
    summary: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    graph: Mapping[str, int] = field(default_factory=dict)  # concepts, edges, communities
    fingerprint: str = ""
    problems: list[dict[str, Any]] = field(default_factory=list)
    manifest: str = ""


@dataclass(frozen=True, slots=True)
class DaemonState:
    """What the daemon last said of itself. Times are ISO UTC; a fault is {code, message, hint, path, since, tries}, empty for none."""

    vault: str = ""
    db: str = ""
    config: str = ""
    version: str = ""
    pid: int = 0
    started: str = ""
    beat: str = ""  # the last sign of life; a new one is due within `beat_seconds`
    beat_seconds: float = 0.0
    mode: str = ""  # events or polling
    unwatched: list[str] = field(default_factory=list)  # what there are no events for, and the poll sees to
    syncing_since: str = ""
    syncs: int = 0  # since the start
    looks: int = 0  # syncs that were not needed after all
    observer_restarts: int = 0
    last_success: str = ""
    last_fingerprint: str = ""
    fault: Mapping[str, Any] = field(default_factory=dict)
    settings_fault: Mapping[str, Any] = field(default_factory=dict)
    last_error: Mapping[str, Any] = field(default_factory=dict)  # {code, message, at} of the last fault, also when it is over
    stopped: str = ""  # when, and by what `fault` unless a person did it
    exit_code: int = 0


class _JsonFile(Generic[T]):
    def __init__(self, vault: Path, kind: type[T], suffix: str, folder: Path | None, disk: Disk | None) -> None:
        from platformdirs import user_state_path

        self.folder = folder if folder is not None else user_state_path("kg2vault")
        self.path = self.folder / f"{vault_key(vault)}{suffix}"
        self._vault, self._kind, self._disk = vault, kind, disk or Disk()

    def load(self) -> T | None:
        """Return what was saved last, None when there is nothing that can be read."""
        try:
            raw = json.loads(self.path.read_text(encoding="utf-8"))
            names = {each.name for each in fields(self._kind)}  # type: ignore[arg-type]
            return self._kind(**{name: value for name, value in raw.items() if name in names})
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def text(self, state: T) -> str:
        """Return what `save` writes."""
        return json.dumps({**asdict(state), "vault": str(self._vault)}, ensure_ascii=True, indent=1)  # type: ignore[call-overload]

    def save(self, state: T) -> bool:
        """Replace the file, and return whether that worked; not durably, because a lost report is found out at the next run."""
        temp = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            self._disk.mkdir(self.folder)
            self._disk.unlink(temp)
            self._disk.write_new(temp, self.text(state).encode(), durable=False, mode=0o600)
            self._disk.replace(temp, self.path)
        except OSError:
            return False
        return True


class RunFile(_JsonFile[Run]):
    """The last sync of one vault."""

    def __init__(self, vault: Path, folder: Path | None = None, disk: Disk | None = None) -> None:
        super().__init__(vault, Run, ".json", folder, disk)


class DaemonFile(_JsonFile[DaemonState]):
    """The daemon of one vault."""

    def __init__(self, vault: Path, folder: Path | None = None, disk: Disk | None = None) -> None:
        super().__init__(vault, DaemonState, ".daemon.json", folder, disk)


def vault_key(vault: Path) -> str:
    """Return the name under which things outside the vault are kept for it."""
    place = unicodedata.normalize("NFC", os.path.realpath(vault))
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
