"""Where every note is: `lay_out()` gives each wanted note its path and fills the links with them.

Layer 1, pure. A path is chosen once: a note that is in the vault stays where it is, wherever a person moved it, and links lead there. A new
note takes the first of its names that nobody in the vault has, compared as Obsidian, macOS and Windows compare (NFC, case folded).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from kg2vault.sync.identify import Identifier
from kg2vault.sync.manifest import UNSURE, EntryState, Manifest, ManifestEntry
from kg2vault.sync.observed import ObservedNote, Scan
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.paths import name_key
from kg2vault.vault.regions import Region
from kg2vault.vault.wikilinks import Identify, canonical_body, digest, fill, fill_both

MadeFrom = Callable[[str, Mapping[str, str]], str]  # id, paths of all notes → digest of what a note is made from, "" if not known


class FilledRegion(NamedTuple):
    """A region with its links filled in, and the digest of its canonical body."""

    body: str
    canonical: str
    digest: str


class FilledNote(NamedTuple):
    """A wanted note in its final words. `content` is the digest of everything in it that is ours."""

    id: str
    kind: str
    name: str
    properties: Mapping[str, object]
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    regions: Mapping[str, FilledRegion]
    content: str
    kept: Mapping[str, str]

    @property
    def last(self) -> str:
        """Date of the newest item, "" where the note has none."""
        return str(self.properties.get("kg_last", ""))


class Layout(NamedTuple):
    """The wanted notes at their places, beside what is in the vault."""

    paths: Mapping[str, str]  # id → path of every note that can be linked
    wanted: Mapping[str, FilledNote]
    leaving: Mapping[str, FilledNote]  # what a note says whose concept left, should it have to stay
    winners: Mapping[str, ObservedNote]
    losers: Mapping[str, tuple[ObservedNote, ...]]
    unseen: Mapping[str, str]  # ids we may not call deleted, with the reason
    missing: tuple[str, ...]  # ids that were live and are not in the vault
    made_from: Mapping[str, str]  # id → digest of what the note is made from, where that is known
    to_read: frozenset[str]  # paths whose text planning needs
    identify: Callable[[str], Identify]  # path of a note → which of our notes its links mean
    untouched: Callable[[str], Callable[[Region], bool]]  # path of a note → whether a region is as we wrote it
    reaches: Callable[[str], Callable[[str], bool]]  # path of a note → whether its links lead to one of our notes today


def lay_out(
    desired: Mapping[str, DesiredNote],
    farewell: Callable[[ManifestEntry], DesiredNote],
    manifest: Manifest,
    scan: Scan,
    *,
    now: float = 0.0,
    settle_seconds: float = 0.0,
    made_from: MadeFrom = lambda _, __: "",
    delivered: Mapping[str, str] | None = None,
) -> Layout:
    """Place the desired notes. `farewell` gives the note for an entry whose concept left the graph.

    `delivered` maps an id to `delivery()` of the note that the last run left in the vault. A note that would be made from the same again,
    and lies there untouched, is not made.
    """
    winners, losers = choose(desired, manifest, scan)
    missing = tuple(
        key
        for key, entry in sorted(manifest.entries.items())
        if key not in winners and entry.state in (EntryState.LIVE, EntryState.ORPHANED)
    )
    unseen = _unseen(missing, manifest, scan, now, settle_seconds)
    paths = _paths(desired, manifest, scan, winners, unseen)
    gone = {key: farewell(entry) for key, entry in sorted(manifest.entries.items()) if key not in desired and key in winners}
    for key in gone:
        paths.setdefault(key, winners[key].path)
    sources = {key: made_from(key, paths) for key in sorted(desired)}
    standing = _standing(sources, delivered or {}, manifest, winners)
    wanted = {key: standing.get(key) or _fill(desired[key], paths) for key in sources}
    leaving = {key: _fill(note, paths) for key, note in gone.items()}
    to_read = {
        found.path
        for key, found in winners.items()
        if found.text is None and (key in leaving or key not in wanted or _must_look(wanted[key], manifest.entries.get(key)))
    }

    def usual() -> dict[str, str]:
        return {f"{note.folder}/{stem}.md": key for key, note in {**desired, **gone}.items() for stem in note.stems}

    labels = {key: note.name for key, note in {**wanted, **leaving}.items()}
    ours = {key: found.path for key, found in winners.items()} | paths  # a note nobody wants or remembers is what links meant all the same
    identify = Identifier(ours, manifest, scan, labels, copies_of(losers), usual)
    return Layout(
        paths,
        wanted,
        leaving,
        winners,
        losers,
        unseen,
        missing,
        sources,
        frozenset(to_read),
        identify.meaning_in,
        identify.untouched_in,
        identify.reaching_from,
    )


def delivery(source: str, content: str) -> str:
    """Return what is remembered of a delivered note: what it was made from, and what became of that."""
    return f"{source} {content}"


def _standing(
    sources: Mapping[str, str], delivered: Mapping[str, str], manifest: Manifest, winners: Mapping[str, ObservedNote]
) -> dict[str, FilledNote]:
    """Return the notes that lie in the vault as they would be made again, with what planning needs of such a note."""
    found = {}
    for key, source in sources.items():
        entry, there = manifest.entries.get(key), winners.get(key)
        if entry is None or there is None or there.text is not None or entry.state is not EntryState.LIVE:
            continue
        if source and entry.content and not entry.trouble and delivered.get(key) == delivery(source, entry.content):
            kind, last = key.partition("/")[0], {"kg_last": entry.last}
            found[key] = FilledNote(key, kind, entry.label, last, entry.aliases, entry.tags, {}, entry.content, entry.kept)
    return found


def choose(
    desired: Mapping[str, DesiredNote], manifest: Manifest, scan: Scan
) -> tuple[dict[str, ObservedNote], dict[str, tuple[ObservedNote, ...]]]:
    """Pick one file for each id: the one at the manifest's path, else one at a path we would have chosen, else the smallest path."""
    winners: dict[str, ObservedNote] = {}
    losers: dict[str, tuple[ObservedNote, ...]] = {}
    for key, found in scan.notes.items():
        if len(found) == 1:
            winners[key] = found[0]
            continue
        entry, note = manifest.entries.get(key), desired.get(key)
        ours = {name_key(f"{note.folder}/{stem}.md") for stem in note.stems} if note else set()
        remembered = name_key(entry.path) if entry else ""
        ranked = sorted(found, key=lambda note: (name_key(note.path) != remembered, name_key(note.path) not in ours, note.path))
        winners[key], losers[key] = ranked[0], tuple(ranked[1:])
    return winners, losers


def copies_of(losers: Mapping[str, tuple[ObservedNote, ...]]) -> dict[str, str]:
    """Return path → id of the files that carry an id which another file has won."""
    return {found.path: key for key, copies in losers.items() for found in copies}


def _unseen(missing: Iterable[str], manifest: Manifest, scan: Scan, now: float, settle_seconds: float) -> dict[str, str]:
    if not scan.complete:
        hidden = next(iter(sorted([*scan.unreadable, *scan.unavailable])))
        return dict.fromkeys(missing, f"the vault could not be read completely ({hidden})")
    half_written = {}
    for key in missing:
        at = scan.strangers.get(manifest.entries[key].path)
        if at is not None and abs(now - at[1] / 1e9) < settle_seconds:
            half_written[key] = "it is being written"
    return half_written


def _paths(
    desired: Mapping[str, DesiredNote], manifest: Manifest, scan: Scan, winners: Mapping[str, ObservedNote], unseen: Mapping[str, str]
) -> dict[str, str]:
    paths: dict[str, str] = {}
    new: list[str] = []
    for key in sorted(desired):
        entry = manifest.entries.get(key)
        if key in winners:
            paths[key] = winners[key].path
        elif entry is None or entry.state in UNSURE:
            new.append(key)
        elif key in unseen:
            paths[key] = entry.path
    if new:
        taken = {name_key(path) for path in scan.paths}
        stems = {name_key(path.rsplit("/", 1)[-1][:-3]) for path in scan.paths if path[-3:].lower() == ".md"}
        spelled = {name_key(path): path for path in sorted(scan.paths, reverse=True)}
        for key in new:
            paths[key] = _free_path(desired[key], _as_spelled(desired[key].folder, scan.paths, spelled), taken, stems)
    return paths


def _as_spelled(folder: str, there: Collection[str], spelled: Mapping[str, str]) -> str:
    """Return a folder as it is spelled in the vault: two that differ in case only would be one on the next machine."""
    path = ""
    for part in folder.split("/"):
        wanted = f"{path}/{part}" if path else part
        path = wanted if wanted in there else spelled.get(name_key(wanted), wanted)
    return path


def _free_path(note: DesiredNote, folder: str, taken: set[str], stems: set[str]) -> str:
    for stem in chain(note.stems, (f"{note.stems[-1]} {number}" for number in range(2, 1000))):
        path = f"{folder}/{stem}.md"
        place, name = name_key(path), name_key(stem)
        if place not in taken and name not in stems:
            taken.add(place)
            stems.add(name)
            return path
    raise AssertionError(f"no free name for {note.id} among a thousand")


def _must_look(wanted: FilledNote, entry: ManifestEntry | None) -> bool:
    return (
        entry is None or bool(entry.trouble) or entry.content != wanted.content or entry.state not in (EntryState.LIVE, EntryState.ORPHANED)
    )


def _fill(note: DesiredNote, paths: Mapping[str, str]) -> FilledNote:
    regions: dict[str, FilledRegion] = {}
    for name, template in note.regions.items():
        body, kept = fill_both(template, paths)
        canonical = canonical_body(kept, None)
        regions[name] = FilledRegion(body, canonical, digest(canonical))
    properties = {key: _fill_value(value, paths) for key, value in note.properties.items()}
    facts = json.dumps([properties, note.aliases, note.tags, [(name, region.body) for name, region in regions.items()]])
    content = hashlib.sha256(facts.encode()).hexdigest()[:20]
    return FilledNote(note.id, note.kind, note.name, properties, note.aliases, note.tags, regions, content, note.kept)


def _fill_value(value: object, paths: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return fill(value, paths)
    if isinstance(value, tuple):
        return tuple(_fill_value(part, paths) for part in value)
    return value
