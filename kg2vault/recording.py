"""What is remembered outside the vault about each sync, and the one thing that is concluded from it.

Layer 3. A vault that was synced once and is an empty folder now is taken for the mount point of a drive that is not there: writing into it
would fill the wrong disk, and be hidden when the drive comes back.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kg2vault import __version__
from kg2vault.errors import VaultError
from kg2vault.result import OperationResult
from kg2vault.storage.state_file import Run, RunFile
from kg2vault.storage.vault_dir import STATE_FOLDER

_SHOWN_PROBLEMS = 50


def record(vault: Path, result: OperationResult, now: float) -> OperationResult:
    """Remember a sync that came to its end, and return its result as it is."""
    RunFile(vault).save(run_of(vault, result, now))
    return result


def run_of(vault: Path, result: OperationResult, now: float) -> Run:
    """Return what is remembered of a sync that ended `now`, in seconds since the epoch."""
    problems = [
        {"code": problem.code, "message": problem.message, "path": problem.path, "hint": problem.hint} for problem in result.problems
    ]
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    data = result.data
    return Run(
        at=at,
        version=__version__,
        summary=result.summary,
        counts=dict(data["counts"]),
        graph={name: data[name] for name in ("concepts", "edges", "communities")},
        fingerprint=data["fingerprint"],
        problems=problems[:_SHOWN_PROBLEMS],
        manifest=manifest_digest(vault) or "",
    )


def record_unfinished(vault: Path) -> None:
    """Remember only how the manifest was left by a sync that was asked to stop."""
    file = RunFile(vault)
    run = file.load()
    if run is not None:
        file.save(replace(run, manifest=manifest_digest(vault) or ""))


def guard_mounted(vault: Path) -> None:
    """Raise VaultError for an empty folder in the place of a vault that was synced before."""
    try:
        empty = not any(vault.iterdir())
    except OSError:
        return
    run = RunFile(vault).load() if empty else None
    if run is None:
        return
    raise VaultError(
        f"The vault {vault} is an empty folder, but it was synced at {run.at}; is its drive mounted? Nothing was written.",
        path=str(vault),
        hint="If you emptied it yourself, run `kg2vault sync --allow-missing`.",
    )


def manifest_digest(vault: Path) -> str | None:
    """Return a digest of the manifest's bytes, None when there is none that can be read."""
    try:
        return hashlib.sha256((vault / STATE_FOLDER / "manifest.json").read_bytes()).hexdigest()[:16]
    except OSError:
        return None
