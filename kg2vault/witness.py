"""Sees to it that the next sync can be answered at once: `Witness` makes sure a vault is complete and writes the memo of unchanged.py.

Layer 3. A sync that found nothing left to do, or has just done all of it, tells what it knows of every note; only when the vault, walked
once more, is exactly that, does the memo say so. So an edit made while the sync was running is never taken for something it has seen.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kg2vault import unchanged
from kg2vault.config import config_candidates
from kg2vault.errors import ExitCode, Kg2VaultError
from kg2vault.recording import run_of
from kg2vault.result import OperationResult
from kg2vault.settings import APP, Settings
from kg2vault.storage.discover import SKILL_PATH, VARIABLES
from kg2vault.storage.file_token import file_token, is_recent
from kg2vault.storage.state_file import RunFile
from kg2vault.sync.manifest import EntryState, ManifestEntry

MOST_MEMOS = 40
_TIME = "9999-12-31T23:59:59+00:00"
_EPOCH_END = 253402300799  # that time, in seconds
_CALM = frozenset({"created", "updated", "identical"})
_SILENT = frozenset({"deleted", "forgotten", "removed"})


Stamp = tuple[int, int, int]  # inode, size, mtime in ns


class Ended(NamedTuple):
    """What a sync knows when it has ended; `gate` and `manifest` as they were when it could still have noticed a change."""

    entries: Mapping[str, ManifestEntry]
    strangers: Mapping[str, tuple[int, int]]
    gate: str
    manifest: Stamp | None
    states: frozenset[str]  # of all notes
    is_calm: Callable[[], bool]  # whether there is nothing to write beside the notes; looks at the files once more
    later: OperationResult  # of a sync that finds everything as this one left it


class Witness:
    """For one call of the program. `started` is when it had not read any settings yet, in ns since the epoch."""

    def __init__(self, arguments: list[str], settings: Settings, started: int) -> None:
        self._arguments, self._settings, self._started = arguments, settings, started
        self._found: tuple[list[str], list[str], str] | None = None
        self._later = OperationResult("sync")

    def see(self, ended: Ended) -> None:
        """Look whether everything is as the sync believes it is."""
        self._later = ended.later
        if ended.states <= _CALM | _SILENT:
            with contextlib.suppress(OSError, unchanged.UnusualError, Kg2VaultError):
                self._found = self._look(ended)

    def remember(self, result: OperationResult, shown: Callable[[OperationResult], str]) -> None:
        """Write the memo if everything was and this call had no problem either; `shown` tells what a result prints."""
        path = unchanged.memo_path(self._arguments)
        if path is None or self._found is None or result.exit_code != ExitCode.FINE or result.problems:
            return
        databases, settings, digest = self._found
        later = self._later
        vault = self._settings.vault()
        file = RunFile(vault)
        before, _, after = file.text(run_of(vault, later, _EPOCH_END)).partition(_TIME)
        memo = unchanged.Memo(str(vault), databases, settings, digest, shown(later), (str(file.path), before, after))
        fields = memo.fields()
        if any("\0" in field for field in fields):
            return
        with contextlib.suppress(OSError):
            _write(Path(path), "\0".join(fields).encode("utf-8", "surrogateescape"))

    def _look(self, ended: Ended) -> tuple[list[str], list[str], str] | None:
        root = os.path.realpath(self._settings.vault())
        databases, settings = self._databases(), self._settings_files()
        if databases is None or settings is None:
            return None
        lines = unchanged.walk(root)
        digest = unchanged.digest(self._arguments, str(self._settings.vault()), databases, settings, lines)
        stamp = unchanged.stamp_text(ended.manifest) if ended.manifest is not None else ""
        same = (
            unchanged.manifest_stamp(root) == stamp
            and file_token(os.path.realpath(databases[0])) == ended.gate
            and _is_as_known(lines, ended)
            and ended.is_calm()
        )
        return (databases, settings, digest) if same else None

    def _databases(self) -> list[str] | None:
        """Return the database, and the places where another one would be taken for it; None while there is one."""
        found, place = str(self._settings.database()), self._settings.place
        if self._settings.config.db is not None or any(place.env.get(name) for name in VARIABLES):
            return [found]
        others = [str(path) for path in (place.home / SKILL_PATH, place.cwd / "hermes.db") if str(path) != found]
        return None if any(map(os.path.lexists, others)) else [found, *others]

    def _settings_files(self) -> list[str] | None:
        """Return every file that had or could have had a say; None when one may have changed since it was read."""
        from platformdirs import user_config_path

        origin, place = self._settings.config.origin, self._settings.place
        paths: list[Path] = []
        for path, _ in config_candidates(None, place.env, place.cwd, user_config_path(APP)):
            paths.append(path)
            if path == origin:
                break
        if origin is not None and origin not in paths:
            paths = [origin]  # --config
        aliases = self._settings.aliases or (origin.parent if origin is not None else place.cwd) / "aliases.yaml"
        known = {path for path in (origin, self._settings.aliases) if path is not None}
        settled = all(_is_settled(path, self._started) if path in known else not os.path.lexists(path) for path in [*paths, aliases])
        return [str(path) for path in [*paths, aliases]] if settled else None


def _is_settled(path: Path, started: int) -> bool:
    """Tell whether a file was last touched before the program started."""
    changed = path.stat().st_ctime_ns
    return changed < started and not is_recent(changed, started)


def _is_as_known(lines: list[str], ended: Ended) -> bool:
    """Tell whether the notes found by the walk are those the sync knows, each with the size and mtime it knows."""
    ours = {
        entry.path: (entry.size, entry.mtime_ns)
        for entry in ended.entries.values()
        if entry.state in (EntryState.LIVE, EntryState.ORPHANED) and not entry.trouble
    }
    there = 0
    for line in lines:
        path, *stat = line.split("\0")
        if len(stat) != 2 or path[-3:].lower() != ".md":
            continue
        known = ours.get(path)
        there += known is not None
        if (known or ended.strangers.get(path)) != (int(stat[0]), int(stat[1])):
            return False
    return there == len(ours)


def _write(path: Path, data: bytes) -> None:
    """Replace a memo, and let go of the oldest when there are many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    temp.replace(path)
    memos = sorted(path.parent.glob("*.answer"), key=lambda memo: memo.stat().st_mtime_ns)
    for memo in memos[:-MOST_MEMOS]:
        memo.unlink(missing_ok=True)


__all__ = ["Ended", "Stamp", "Witness"]
