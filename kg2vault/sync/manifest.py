"""What we wrote last time: `Manifest`, one `ManifestEntry` per note, and its JSON form.

Layer 1, pure. The manifest is a memory, not the truth: notes are found by their `kg_id`, and whether a region was edited is answered by its
own marker, so a lost manifest costs only the tombstones. A corrupt one stops the run; it is never mistaken for a new vault.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from kg2vault.errors import ManifestError

VERSION = 1
_encode = json.JSONEncoder(ensure_ascii=False).encode
REBUILD_HINT = "Run `kg2vault sync --rebuild-manifest`: it adopts the notes in the vault by their ids."


class EntryState(StrEnum):
    """What we believe about a note. While it comes or goes, it may be there or not, and that it is not says nothing about the user."""

    LIVE = "live"  # on disk and wanted
    ORPHANED = "orphaned"  # its concept left the graph, the user's text keeps it
    COMING = "coming"  # we are about to create it
    RETIRING = "retiring"  # we are about to move it to the trash
    TOMBSTONE = "tombstone"  # the user deleted it; never written again unasked


UNSURE = frozenset({EntryState.COMING, EntryState.RETIRING})


class ManifestEntry(NamedTuple):
    """One note as we last left it. `size` and `mtime_ns` are the file's, `content` the digest of our own parts as delivered."""

    id: str
    path: str
    state: EntryState = EntryState.LIVE
    size: int = -1
    mtime_ns: int = -1
    content: str = ""  # "" forces a fresh look
    label: str = ""
    last: str = ""  # date of the newest item, for the day the concept leaves
    regions: tuple[str, ...] = ()  # names of the regions delivered so far
    aliases: tuple[str, ...] = ()  # entries we put into the shared lists
    tags: tuple[str, ...] = ()
    trouble: str = ""  # "" or why a person must decide: conflict, damaged, duplicate…
    since: str = ""  # when the trouble was first seen, ISO UTC
    kept: Mapping[str, str] = {}  # DesiredNote.kept: what the next run starts from
    pending: tuple[str, ...] = ()  # "tags:kg/left": what an update was about to put into the shared lists or take out, not known to be done

    def written(self, name: str, present: Collection[str]) -> tuple[str, ...]:
        """Return the entries of `aliases` or `tags` that we wrote, given those in the note: a pending one is ours where it is there.

        One that is settled and not there was removed by the user; of a pending one that cannot be said.
        """
        settled = self.aliases if name == "aliases" else self.tags
        return (*settled, *(text for text in present if text not in settled and f"{name}:{text}" in self.pending))

    def intending(self, after: ManifestEntry) -> ManifestEntry:
        """Return what to record before the note is changed to what `after` says: right whether that is done or not.

        A region that is about to go is not counted on any more, and entries about to come or go are pending.
        """
        pending = dict.fromkeys(self.pending)
        for name, now, then in (("aliases", self.aliases, after.aliases), ("tags", self.tags, after.tags)):
            pending.update(dict.fromkeys(f"{name}:{text}" for text in [*now, *then] if text not in now or text not in then))
        return self._replace(
            regions=tuple(name for name in self.regions if name in after.regions),
            aliases=tuple(text for text in self.aliases if text in after.aliases),
            tags=tuple(text for text in self.tags if text in after.tags),
            pending=tuple(pending),
        )


class SavedCommunity(NamedTuple):
    """A community as the last partition had it."""

    id: str
    name: str
    label: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything we remember of a vault."""

    entries: Mapping[str, ManifestEntry] = field(default_factory=dict)
    edges_digest: str = ""  # of the edges the partition was made for, without their weights
    communities: tuple[SavedCommunity, ...] = ()
    fingerprint: str = ""  # of the source at the last complete sync
    settings: str = ""  # digest of everything else that shapes the notes
    colors: Mapping[str, int] = field(default_factory=dict)  # community id → rgb
    files: Mapping[str, str] = field(default_factory=dict)  # digests of Obsidian's own files as we last left them
    bands: tuple[int, int] | None = None  # the weights from which on an edge is medium, and strong


def dump_manifest(manifest: Manifest) -> str:
    """Return the manifest as JSON text, the same bytes for the same manifest."""
    lines = [_encode(_entry_row(manifest.entries[key])) for key in sorted(manifest.entries)]
    head = {
        "version": VERSION,
        "fingerprint": manifest.fingerprint,
        "settings": manifest.settings,
        "edges_digest": manifest.edges_digest,
        "communities": [[c.id, c.name, c.label, list(c.members)] for c in manifest.communities],
        "colors": dict(sorted(manifest.colors.items())),
        "files": dict(sorted(manifest.files.items())),
        "bands": manifest.bands,
    }
    text = _encode(head)
    return text[:-1] + ', "entries": [' + ",\n".join(lines) + "]}\n"


def load_manifest(text: str, origin: str) -> Manifest:
    """Parse what `dump_manifest` wrote; raises ManifestError for anything else, naming the file and the way out."""
    try:
        raw = json.loads(text)
        version = raw["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise ManifestError(f"{origin} is damaged ({error}).", path=origin, hint=REBUILD_HINT) from error
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        reason = "was written by a newer kg2vault; upgrade, or" if newer else "has an unknown version;"
        raise ManifestError(f"{origin} {reason} rebuild it.", path=origin, hint=REBUILD_HINT)
    try:
        return _manifest(raw)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ManifestError(f"{origin} is damaged ({error!r}).", path=origin, hint=REBUILD_HINT) from error


def _manifest(raw: dict[str, Any]) -> Manifest:
    if not isinstance(raw["entries"], list) or not isinstance(raw["communities"], list):
        raise TypeError("entries and communities must be lists")
    entries = {entry.id: entry for entry in map(_entry, raw["entries"])}
    communities = tuple(SavedCommunity(_text(row[0]), _text(row[1]), _text(row[2]), _texts(row[3])) for row in raw["communities"])
    return Manifest(
        entries,
        str(raw["edges_digest"]),
        communities,
        str(raw["fingerprint"]),
        str(raw["settings"]),
        {str(key): int(value) for key, value in raw["colors"].items()},
        {str(key): str(value) for key, value in raw["files"].items()},
        None if raw["bands"] is None else (int(raw["bands"][0]), int(raw["bands"][1])),
    )


_STATES = {state.value: state for state in EntryState}
_TYPES = [str, str, str, int, int, str, str, str, list, list, list, str, str, dict, list]  # of what _entry_row returns


def _entry(row: list[Any]) -> ManifestEntry:
    """Read what `_entry_row` returned; raises ValueError or TypeError for anything else."""
    if [*map(type, row)] != _TYPES:
        raise ValueError(f"expected an entry, found {row!r}")
    note_id, path, state, size, mtime_ns, content, label, last, regions, aliases, tags, trouble, since, kept, pending = row
    "".join((*regions, *aliases, *tags, *pending, *kept.values()))  # a TypeError if one is no text; asking each takes three times as long
    return ManifestEntry(
        note_id,
        path,
        _STATES[state],
        size,
        mtime_ns,
        content,
        label,
        last,
        tuple(regions),
        tuple(aliases),
        tuple(tags),
        trouble,
        since,
        kept,
        tuple(pending),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {value!r}")
    return value


def _texts(values: list[object]) -> tuple[str, ...]:
    return tuple(map(_text, values))


def _entry_row(e: ManifestEntry) -> list[Any]:
    rest = [list(e.regions), list(e.aliases), list(e.tags), e.trouble, e.since, dict(sorted(e.kept.items())), list(e.pending)]
    return [e.id, e.path, e.state.value, e.size, e.mtime_ns, e.content, e.label, e.last, *rest]
