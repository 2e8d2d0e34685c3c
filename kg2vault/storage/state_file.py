"""How the last run went: `StateFile`, one small JSON file per vault in the platform's state folder, outside the vault.

Layer 2. `status` and `doctor` read it; it holds no note content. It also remembers that a vault was synced once, so that an empty folder in
its place is taken for a drive that is not mounted and not for a new vault.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kg2vault.storage.base import Disk
from kg2vault.storage.manifest_file import replace_file


@dataclass(frozen=True, slots=True)
class State:
    """`mode` is once, events or polling; times are ISO UTC; `error` is {code, message, since, tries} of what stands in the way now."""

    vault: str = ""
    db: str = ""
    version: str = ""
    mode: str = "once"
    pid: int = 0
    started: str = ""
    beat: str = ""  # the daemon's last sign of life
    last_success: str = ""
    last_fingerprint: str = ""
    last_summary: str = ""
    syncs: int = 0
    failed: int = 0  # notes that could not be written in the last sync
    error: dict[str, Any] = field(default_factory=dict)


class StateFile:
    """The state of one vault."""

    def __init__(self, vault: Path, folder: Path | None = None, disk: Disk | None = None) -> None:
        from platformdirs import user_state_path

        self.vault = vault
        self.folder = folder if folder is not None else user_state_path("kg2vault")
        self.path = self.folder / f"{hashlib.sha256(str(vault).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.json"
        self.disk = disk or Disk()

    def load(self) -> State | None:
        """Return the state, None when there is none that can be read."""
        try:
            raw = json.loads(self.path.read_text(encoding="utf-8"))
            known = {name: raw[name] for name in asdict(State()) if name in raw}
            return State(**known)
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def save(self, state: State) -> None:
        """Write the state; a failure is of no consequence for the vault and is passed over."""
        text = json.dumps(asdict(replace(state, vault=str(self.vault))), ensure_ascii=True, indent=1)
        try:
            self.disk.mkdir(self.folder)
            replace_file(self.disk, self.path, text.encode())
        except OSError:
            return
