"""Carry out a plan: `apply()` is the only place where planning turns into files.

Layer 2. Updates act first and are recorded afterwards; removals, of notes and of parts of them, are recorded before they act, because a
forgotten write is found again by its id while a forgotten removal looks like a deletion by the user. A note to be created is first put on
record as one that is coming, which is right whether or not it comes to be. One note that fails never stops the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from kg2vault.storage.base import Clock
from kg2vault.storage.manifest_file import ManifestFile
from kg2vault.storage.vault_dir import ChangedError, VaultDir
from kg2vault.sync.manifest import EntryState, Manifest, ManifestEntry
from kg2vault.sync.observed import bytes_of
from kg2vault.sync.plan import Action, Create, Keep, KeepReason, Plan, Retire, Update


class Outcome(NamedTuple):
    """What became of one note: created, updated, identical, retired, skipped, conflict, damaged, duplicate, deleted or failed."""

    id: str
    path: str
    state: str
    detail: str = ""


class Applied(NamedTuple):
    """The outcomes, and the entries to remember."""

    outcomes: tuple[Outcome, ...]
    entries: Mapping[str, ManifestEntry]
    stopped: bool = False  # asked to end before every note had its turn


_STATES = {KeepReason.RECENT: "skipped", KeepReason.UNAVAILABLE: "skipped", KeepReason.REMOVED: "forgotten"}


def apply(
    plan: Plan,
    manifest: Manifest,
    vault: VaultDir,
    store: ManifestFile,
    clock: Clock,
    *,
    progress: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Applied:
    """Carry out every action, or those before `should_stop` said so; raises VaultError only when our own record cannot be written."""
    run = _Run(manifest, vault, clock)
    intents = dict(_intents(plan, manifest))
    if intents:
        store.save(replace(manifest, entries={**manifest.entries, **intents}))
        run.entries.update(intents)
    stopped = False
    for done, action in enumerate(plan.actions):
        if not isinstance(action, Keep) and (stopped := stopped or should_stop()):
            run.leave(action)
            continue
        run.act(action)
        if progress is not None:
            progress(done + 1)
    if run.created:
        vault.disk.flush()
    return Applied(tuple(run.outcomes), run.entries, stopped)


def _intents(plan: Plan, manifest: Manifest) -> Iterator[tuple[str, ManifestEntry]]:
    """Yield what must be on record before it happens: notes that come and go, and what comes to and goes out of shared lists."""
    for action in plan.actions:
        before = manifest.entries.get("" if isinstance(action, Keep) else action.entry.id)
        if isinstance(action, Retire):
            yield action.entry.id, action.entry
        elif isinstance(action, Create):  # should its concept leave before a sync gets through, the note is known for ours
            yield action.entry.id, action.entry._replace(state=EntryState.COMING)
        elif isinstance(action, Update) and before is not None:
            intended = before.intending(action.entry)
            if intended != before:
                yield before.id, intended


class _Run:
    """The state of one application."""

    def __init__(self, manifest: Manifest, vault: VaultDir, clock: Clock) -> None:
        self.entries = dict(manifest.entries)
        self.before = manifest.entries
        self.vault = vault
        self.stamp = datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="seconds")
        self.outcomes: list[Outcome] = []
        self.created = 0

    def act(self, action: Action) -> None:
        if isinstance(action, Keep):
            self._keep(action)
            return
        try:
            outcome = self._write(action)
        except (ChangedError, FileNotFoundError) as error:
            outcome = Outcome(action.entry.id, action.path, "skipped", str(error) if isinstance(error, ChangedError) else "moved meanwhile")
            self._as_before(action.entry.id)
        except OSError as error:
            outcome = Outcome(action.entry.id, action.path, "failed", error.strerror or str(error))
            self._as_before(action.entry.id)
        self.outcomes.append(outcome)

    def leave(self, action: Create | Update | Retire) -> None:
        """Remember a note as it was: the next run plans it again."""
        self._as_before(action.entry.id)

    def _write(self, action: Create | Update | Retire) -> Outcome:
        entry = action.entry
        if isinstance(action, Retire):
            where = self.vault.retire(action.path, action.expected)
            self.entries.pop(entry.id, None)
            return Outcome(entry.id, action.path, "retired", where)
        data = bytes_of(action.text)
        if isinstance(action, Create):
            size, mtime_ns = self.vault.create(action.path, data)
            self.created += 1
        else:
            size, mtime_ns = self.vault.replace(action.path, data, action.expected)
        self._remember(entry._replace(size=size, mtime_ns=mtime_ns))
        if entry.trouble:
            return Outcome(entry.id, action.path, entry.trouble, "other parts of the note were updated")
        return Outcome(entry.id, action.path, "created" if isinstance(action, Create) else "updated")

    def _keep(self, action: Keep) -> None:
        if action.entry is not None:
            self._remember(action.entry)
        elif action.reason is KeepReason.REMOVED:
            self.entries.pop(action.id, None)
        self.outcomes.append(Outcome(action.id, action.path, _STATES.get(action.reason, action.reason.value), action.detail))

    def _remember(self, entry: ManifestEntry) -> None:
        self.entries[entry.id] = entry._replace(since=self.stamp) if entry.trouble and not entry.since else entry

    def _as_before(self, note_id: str) -> None:
        before = self.before.get(note_id)
        if before is None:
            self.entries.pop(note_id, None)
        else:
            self.entries[note_id] = before


__all__ = ["Applied", "EntryState", "Outcome", "apply"]
