"""What needs a person: the conflicts and damaged notes of a vault, and the ways to settle each.

Layer 3. A list is made by looking at the notes as they are now; settling one is a single guarded replacement, followed by a sync.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from kg2vault.errors import ConfigError, ExitCode, VaultError
from kg2vault.result import OperationResult
from kg2vault.settings import Settings
from kg2vault.storage.lock import VaultLock
from kg2vault.storage.vault_dir import TRASH, ChangedError, VaultDir
from kg2vault.sync.identify import Identifier
from kg2vault.sync.layout import choose, copies_of
from kg2vault.sync.manifest import EntryState, Manifest, ManifestEntry
from kg2vault.sync.observed import ObservedNote, Scan, bytes_of, digest_of, text_of
from kg2vault.sync.plan import NO_ID
from kg2vault.syncing import Stores, SyncFlags, sync
from kg2vault.vault import settle
from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.note import parse
from kg2vault.vault.paths import name_key
from kg2vault.vault.regions import Region
from kg2vault.vault.resolve import Resolver

_WAYS_OUT = {
    "conflict": "kg2vault resolve NOTE --mine (the text becomes yours), --generated (ours replaces it) or --both",
    "damaged": "mend the marker lines or the frontmatter by hand",
    "duplicate": "delete the copy, or its kg_id to make it a note of your own",
    "deleted": "nothing, or kg2vault restore NOTE",
}
_NEEDS_A_PERSON = frozenset({"conflict", "damaged", "duplicate"})


@dataclass(frozen=True, slots=True)
class Pending:
    """One note that waits for a decision."""

    path: str
    id: str
    reason: str
    detail: str
    since: str


class View:
    """The vault as it is now, beside the manifest; reads only."""

    def __init__(self, settings: Settings) -> None:
        self.stores = Stores(settings)
        self.stores.vault.check(settings.folder, writing=False)
        self.manifest = self.stores.manifest.load() or Manifest()
        known = {e.path: (-1 if e.trouble else e.size, e.mtime_ns, e.id) for e in self.manifest.entries.values()}  # -1: look again
        self.scan: Scan = self.stores.vault.scan(known, self.stores.cache.load().strangers)
        self.winners, self.losers = choose({}, self.manifest, self.scan)
        paths = {key: found.path for key, found in self.winners.items()}
        labels = {key: entry.label for key, entry in self.manifest.entries.items()}
        self.identifier = Identifier(paths, self.manifest, self.scan, labels, copies_of(self.losers))
        self._resolver: Resolver | None = None

    def pending(self) -> Iterator[Pending]:
        """Yield what waits for a person, and what the user deleted, by path."""
        found = [*self._troubled(), *self._copies(), *self._deleted()]
        yield from sorted(found, key=lambda pending: (pending.reason == "deleted", pending.path))

    def _troubled(self) -> Iterator[Pending]:
        for note_id, found in self.winners.items():
            if found.text is None:
                continue
            note = parse(found.text)
            since = self._since(note_id)
            if note.damage is not None or note.kg_id != note_id:
                yield Pending(found.path, note_id, "damaged", note.damage or NO_ID, since)
                continue
            untouched = self.identifier.untouched_in(found.path)
            regions = [region for region in note.regions if not untouched(region)]
            edited = [region.name for region in regions if since or not self._leads_nowhere(found.path, region)]
            if edited:
                yield Pending(found.path, note_id, "conflict", f"edited inside our region ({', '.join(edited)})", since)

    def _leads_nowhere(self, path: str, region: Region) -> bool:
        """Tell whether a region links to what is not there: as a sync that was cut short leaves it, so the next one has to judge."""
        means, self._resolver = self.identifier.meaning_in(path), self._resolver or Resolver(self.scan.paths)
        links = (link.target for link in parse_links(region.body) if not link.markdown)
        return any(means(target) is None and self._resolver.resolve(target, path) is None for target in links)

    def _copies(self) -> Iterator[Pending]:
        for note_id, losers in self.losers.items():
            for found in losers:
                yield Pending(found.path, note_id, "duplicate", f"has the id of {self.winners[note_id].path}", "")

    def _deleted(self) -> Iterator[Pending]:
        for entry in self.manifest.entries.values():
            if entry.state is EntryState.TOMBSTONE and entry.id not in self.winners:
                yield Pending(entry.path, entry.id, "deleted", "you deleted it", "")

    def _since(self, note_id: str) -> str:
        entry = self.manifest.entries.get(note_id)
        return entry.since if entry is not None else ""


def conflicts(settings: Settings) -> OperationResult:
    """List what waits for a decision; exit code 1 when anything does."""
    pending = list(View(settings).pending())
    urgent = [row for row in pending if row.reason in _NEEDS_A_PERSON]
    rows = [
        {"path": p.path, "id": p.id, "reason": p.reason, "detail": p.detail, "since": p.since, "way_out": _WAYS_OUT[p.reason]}
        for p in pending
    ]
    count = {0: "Nothing needs a decision.", 1: "1 note needs a decision."}.get(len(urgent), f"{len(urgent)} notes need a decision.")
    if len(pending) > len(urgent) and not urgent:
        count = "Nothing needs a decision: what you deleted stays deleted."
    code = ExitCode.UNFINISHED if urgent else ExitCode.FINE
    return OperationResult("conflicts", {"notes": rows, "waiting": len(urgent)}, (), code, count)


def resolve(settings: Settings, name: str, choice: str) -> OperationResult:
    """Settle the conflict of one note: `choice` is mine, generated or both. Raises ConfigError when there is none, VaultError on a race."""
    with VaultLock(settings.vault()).acquire(SyncFlags().wait_seconds):
        view = View(settings)
        waiting = [pending for pending in view.pending() if pending.reason == "conflict"]
        pending = _pick(name, [(row.path, row.id) for row in waiting], "in conflict")
        path = waiting[pending].path
        _settle(view, view.winners[waiting[pending].id], choice)
    result = sync(settings)
    return OperationResult("resolve", {"path": path, "kept": choice}, result.problems, result.exit_code, f"{path}: {_DONE[choice]}")


_DONE = {
    "mine": "your text stays, and is yours; the region is not written again.",
    "generated": "the generated text is back.",
    "both": "your text stands below the region, which is generated again.",
}


def _settle(view: View, found: ObservedNote, choice: str) -> None:
    assert found.text is not None
    text, untouched = found.text, view.identifier.untouched_in(found.path)
    for region in reversed(parse(text).regions):
        if untouched(region):
            continue
        if choice == "mine":
            text = settle.keep_mine(text, region)
        elif choice == "generated":
            text = settle.give_back(text, region)
        else:
            text = settle.keep_both(text, region)
    try:
        size, mtime_ns = view.stores.vault.replace(found.path, bytes_of(text), digest_of(bytes_of(found.text)))
    except ChangedError as error:
        raise VaultError(f"{error}; try again.", path=found.path) from error
    entry = view.manifest.entries.get(found.id)
    if entry is not None:
        _save(view, entry._replace(path=found.path, size=size, mtime_ns=mtime_ns, content="", trouble="", since=""))


def restore(settings: Settings, name: str) -> OperationResult:
    """Bring back a note the user deleted, or regions they removed from one. Raises ConfigError when there is nothing to restore."""
    with VaultLock(settings.vault()).acquire(SyncFlags().wait_seconds):
        view = View(settings)
        entries = sorted(view.manifest.entries.values(), key=lambda entry: entry.path)
        rows = [(entry, _restored(view, entry)) for entry in entries]
        able = [(entry, after) for entry, after in rows if after is not entry]
        at = _pick(name, [(entry.path, entry.id) for entry, _ in able], "deleted")
        entry, after = able[at]
        if after is None:
            entries_left = {key: value for key, value in view.manifest.entries.items() if key != entry.id}
            view.stores.manifest.save(replace(view.manifest, entries=entries_left))
        else:
            _save(view, after)
    result = sync(settings)
    return OperationResult("restore", {"path": entry.path}, result.problems, result.exit_code, f"{entry.path} is written again.")


def _restored(view: View, entry: ManifestEntry) -> ManifestEntry | None:
    """Return the entry after a restore: None to forget a tombstone, the same entry when there is nothing to bring back."""
    found = view.winners.get(entry.id)
    if entry.state is EntryState.TOMBSTONE and found is None:
        return None
    if found is None:
        return entry
    note = parse(found.text if found.text is not None else text_of(view.stores.vault.read(found.path)))
    present = tuple(region.name for region in note.regions)
    if note.damage is not None or set(entry.regions) <= set(present):
        return entry
    return entry._replace(regions=present, content="")


def _save(view: View, entry: ManifestEntry) -> None:
    view.stores.manifest.save(replace(view.manifest, entries={**view.manifest.entries, entry.id: entry}))


def _pick(name: str, rows: list[tuple[str, str]], what: str) -> int:
    """Return the position of the one row that a person means by a path, a file name, an id or a concept's name."""
    wanted = name_key(name.removeprefix("./"))

    def names(path: str, note_id: str) -> set[str]:
        pure = PurePosixPath(path)
        return {
            name_key(text) for text in (path, path.removesuffix(".md"), pure.name, pure.stem, note_id, note_id.partition("/")[2]) if text
        }

    hits = [at for at, (path, note_id) in enumerate(rows) if wanted in names(path, note_id)]
    if len(hits) == 1:
        return hits[0]
    listed = ", ".join(path for path, _ in (rows if not hits else [rows[at] for at in hits])[:5]) or "none"
    raise ConfigError(f"{name!r} is {'not the name of a note' if not hits else 'the name of several notes'} that is {what} ({listed}).")


def trash(settings: Settings, *, empty: bool) -> OperationResult:
    """List the notes in the trash, or unlink them for good."""
    root = settings.vault()
    vault = VaultDir(root)
    vault.check(settings.folder, writing=empty)
    folder = root / TRASH
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if empty and names:
        with VaultLock(root).acquire(SyncFlags().wait_seconds):
            for name in names:
                vault.disk.unlink(folder / name)
    count = f"{len(names)} {'note' if len(names) == 1 else 'notes'}"
    line = f"{count} removed for good." if empty else f"{count} in {folder}."
    return OperationResult("trash", {"notes": names, "emptied": empty}, (), 0, line)


__all__ = ["Pending", "conflicts", "resolve", "restore", "trash"]
