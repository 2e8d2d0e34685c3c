"""What to do about the differences: `plan()` compares the notes the graph wants with the manifest and the vault.

Layer 1, pure. D = the graph wants the note, M = the manifest has it, O = a file with its id is in the vault.

    D  M  O   further                                           action
    ✓  –  –                                                     Create at a free path
    ✓  –  ✓   manifest lost, or a crash before the record       merge, else adopt
    ·  ·  ✓   damaged markers or frontmatter                    Keep DAMAGED: not one byte changes
    ✓  ✓  ✓   region pristine, body differs                     Update: splice, keep every other byte
    ✓  ✓  ✓   region pristine, body same                        Keep IDENTICAL: no write
    ✓  ✓  ✓   region edited, body equals theirs                 Update: the marker digest only
    ✓  ✓  ✓   region edited, body differs                       Keep CONFLICT: the user's version stays
    ✓  ✓  ✓   region delivered before, now missing              respect the removal
    ✓  ✓  –   live or orphaned                                  the user deleted it: tombstone
    ✓  ✓  –   coming or retiring                                our own unfinished business: Create
    –  ✓  ✓   no user text, regions pristine                    Retire to the trash
    –  ✓  ✓   user text or an edited region                     Keep ORPHANED: our region says the concept left
    –  ✓  –   live or orphaned: tombstone · coming or retiring: forget
    –  –  ✓                                                     leave alone

Several files with one id: see `layout.choose`. A file that cannot be read, or was edited seconds ago, is left for the next run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kg2vault.sync.layout import FilledNote, Layout
from kg2vault.sync.manifest import UNSURE, EntryState, Manifest, ManifestEntry
from kg2vault.sync.observed import ObservedNote, bytes_of, digest_of
from kg2vault.vault.desired import compose_note

if TYPE_CHECKING:
    from kg2vault.vault.note import Note


class KeepReason(StrEnum):
    """Why a note is left as it is."""

    IDENTICAL = "identical"
    CONFLICT = "conflict"
    DAMAGED = "damaged"
    DUPLICATE = "duplicate"
    DELETED = "deleted"  # by the user; stays deleted
    RECENT = "recent"  # edited seconds ago
    UNAVAILABLE = "unavailable"  # cannot be read now
    REMOVED = "removed"  # neither wanted nor there


NO_ID = "its kg_id is not where a property is read; put the frontmatter right, or take the kg_id away to make the note your own"
TROUBLES = frozenset({KeepReason.CONFLICT, KeepReason.DAMAGED, KeepReason.DUPLICATE})


class Create(NamedTuple):
    """Write a new note."""

    path: str
    text: str
    entry: ManifestEntry


class Update(NamedTuple):
    """Replace a note that still has the digest `expected`. A conflict in one region does not stop the others: see `entry.trouble`."""

    path: str
    text: str
    expected: str
    entry: ManifestEntry


class Retire(NamedTuple):
    """Move a note that still has the digest `expected` to the trash."""

    path: str
    expected: str
    entry: ManifestEntry


class Keep(NamedTuple):
    """Write nothing; remember `entry`, or forget the note when it is None."""

    path: str
    reason: KeepReason
    entry: ManifestEntry | None
    id: str
    detail: str = ""


Action = Create | Update | Retire | Keep


class Plan(NamedTuple):
    """Every action, in the order in which they are applied: creations, updates, removals, then what is kept."""

    actions: tuple[Action, ...]

    @property
    def writes(self) -> int:
        """How many files the plan touches."""
        return sum(not isinstance(action, Keep) for action in self.actions)


def plan(layout: Layout, manifest: Manifest, texts: Mapping[str, str], *, now: float, settle_seconds: float) -> Plan:
    """Decide every note. `texts` holds the text of each path in `layout.to_read` that could be read; `now` is seconds since the epoch."""
    decide = _Decider(layout, manifest, texts, now, settle_seconds)
    ids = sorted(layout.wanted.keys() | layout.leaving.keys() | manifest.entries.keys())
    actions: list[Action] = [decide.note(note_id) for note_id in ids]
    actions.extend(decide.duplicates())
    order = {Create: 0, Update: 1, Retire: 2, Keep: 3}
    return Plan(tuple(sorted(actions, key=lambda action: order[type(action)])))


class _Decider:
    """The decision table, one method a block of rows."""

    def __init__(self, layout: Layout, manifest: Manifest, texts: Mapping[str, str], now: float, settle_seconds: float) -> None:
        self.layout = layout
        self.entries = manifest.entries
        self.texts = texts
        self.now = now
        self.settle_seconds = settle_seconds

    def note(self, note_id: str) -> Action:
        entry, found = self.entries.get(note_id), self.layout.winners.get(note_id)
        wanted = self.layout.wanted.get(note_id)
        if found is None:
            return self._absent(note_id, wanted, entry)
        if wanted is not None:
            return self._present(wanted, found, entry)
        if entry is None:
            return Keep(found.path, KeepReason.IDENTICAL, None, note_id)
        return self._leaving(self.layout.leaving[note_id], found, entry)

    def _absent(self, note_id: str, wanted: FilledNote | None, entry: ManifestEntry | None) -> Action:
        path = self.layout.paths.get(note_id, "")
        if entry is not None and note_id in self.layout.unseen:
            return Keep(entry.path, KeepReason.UNAVAILABLE, entry, note_id, self.layout.unseen[note_id])
        gone = entry is not None and entry.state not in UNSURE
        if gone:
            assert entry is not None
            buried = entry._replace(state=EntryState.TOMBSTONE, trouble="", since="") if entry.state is not EntryState.TOMBSTONE else entry
            return Keep(entry.path, KeepReason.DELETED, buried, note_id)
        if wanted is None:
            return Keep("", KeepReason.REMOVED, None, note_id)
        regions = {name: (region.body, region.digest) for name, region in wanted.regions.items()}
        text = compose_note(wanted.properties, wanted.aliases, wanted.tags, regions)
        fresh = ManifestEntry(
            note_id,
            path,
            content=wanted.content,
            label=wanted.name,
            last=wanted.last,
            regions=tuple(wanted.regions),
            aliases=wanted.aliases,
            tags=wanted.tags,
            kept=wanted.kept,
        )
        return Create(path, text, fresh)

    def _present(self, wanted: FilledNote, found: ObservedNote, entry: ManifestEntry | None) -> Action:
        state = EntryState.ORPHANED if wanted.id in self.layout.leaving else EntryState.LIVE
        known = entry or ManifestEntry(wanted.id, found.path)
        last = wanted.last or known.last
        now = (found.path, found.size, found.mtime_ns, state, wanted.name, last, wanted.kept)
        base = known
        if now != (known.path, known.size, known.mtime_ns, known.state, known.label, known.last, known.kept):
            path, size, mtime_ns, state, label, last, kept = now
            base = known._replace(path=path, size=size, mtime_ns=mtime_ns, state=state, label=label, last=last, kept=kept)
        text = found.text if found.text is not None else self.texts.get(found.path)
        if text is None:
            if found.path in self.layout.to_read:
                return Keep(found.path, KeepReason.UNAVAILABLE, entry, wanted.id, "it could not be read")
            reason = KeepReason(base.trouble) if base.trouble else KeepReason.IDENTICAL
            return Keep(found.path, reason, base, wanted.id)
        note = _taken_apart(text)
        if note.damage is not None or note.kg_id != wanted.id:
            return self._damaged(found, base, note.damage or NO_ID)
        return self._merge(wanted, found, base, note, text, first=entry is None)

    def _merge(self, wanted: FilledNote, found: ObservedNote, base: ManifestEntry, note: Note, text: str, *, first: bool) -> Action:
        from kg2vault.sync.merge import Links, merge

        links = Links(self.layout.identify(found.path), self.layout.reaches(found.path), self.layout.untouched(found.path))
        result = merge(wanted, note, base, links, first=first)
        trouble = KeepReason.CONFLICT if result.conflicts else None
        detail = f"edited by you inside our region ({', '.join(result.conflicts)})" if result.conflicts else ""
        after = base._replace(content=wanted.content, regions=result.regions, aliases=result.aliases, tags=result.tags, pending=())
        after = self._troubled(after, trouble)
        if result.text is None or result.text == text:
            return Keep(found.path, trouble or KeepReason.IDENTICAL, after, wanted.id, detail)
        if self._is_recent(found, base):
            return Keep(found.path, KeepReason.RECENT, self.entries.get(wanted.id), wanted.id, "edited a moment ago")
        return Update(found.path, result.text, digest_of(bytes_of(text)), after)

    def _leaving(self, farewell: FilledNote, found: ObservedNote, entry: ManifestEntry) -> Action:
        if entry.state is EntryState.RETIRING and found.path != entry.path:
            return Keep(found.path, KeepReason.REMOVED, None, entry.id)  # the note itself is in the trash; this is a copy of it
        text = found.text if found.text is not None else self.texts.get(found.path)
        if text is None:
            return Keep(found.path, KeepReason.UNAVAILABLE, entry, entry.id, "it could not be read")
        note = _taken_apart(text)
        base = entry._replace(path=found.path, size=found.size, mtime_ns=found.mtime_ns)
        if note.damage is not None or note.kg_id != entry.id:
            return self._damaged(found, base, note.damage or NO_ID)
        pristine = all(map(self.layout.untouched(found.path), note.regions))
        ours = (entry.written(name, note.entries(name)) for name in ("aliases", "tags"))
        if note.has_user_text(*ours) or not pristine:
            return self._present(farewell, found, entry)
        if self._is_recent(found, entry):
            return Keep(found.path, KeepReason.RECENT, entry, entry.id, "edited a moment ago")
        return Retire(found.path, digest_of(bytes_of(text)), base._replace(state=EntryState.RETIRING))

    def _is_recent(self, found: ObservedNote, entry: ManifestEntry) -> bool:
        untouched = self.entries.get(entry.id)
        if untouched is not None and (untouched.size, untouched.mtime_ns) == (found.size, found.mtime_ns):
            return False
        return abs(self.now - found.mtime_ns / 1e9) < self.settle_seconds

    def _damaged(self, found: ObservedNote, base: ManifestEntry, damage: str) -> Keep:
        if self._is_recent(found, base):  # editors save in place: half a note looks like a damaged one
            return Keep(found.path, KeepReason.RECENT, self.entries.get(base.id), base.id, "edited a moment ago")
        entry = self._troubled(base._replace(content=""), KeepReason.DAMAGED)
        return Keep(found.path, KeepReason.DAMAGED, entry, base.id, damage)

    def _troubled(self, entry: ManifestEntry, reason: KeepReason | None) -> ManifestEntry:
        before = self.entries.get(entry.id)
        if reason is None:
            return entry._replace(trouble="", since="")
        since = before.since if before is not None and before.trouble == reason.value else ""
        return entry._replace(trouble=reason.value, since=since)

    def duplicates(self) -> list[Keep]:
        """Report every file that carries an id another file has won."""
        winners = self.layout.winners
        return [
            Keep(found.path, KeepReason.DUPLICATE, None, note_id, f"has the id of {winners[note_id].path}")
            for note_id, losers in sorted(self.layout.losers.items())
            for found in losers
        ]


def _taken_apart(text: str) -> Note:
    from kg2vault.vault.note import parse  # a first sync has no note to take apart

    return parse(text)
