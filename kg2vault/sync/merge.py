"""One note: what the graph wants, put into what the user has. `merge()` returns the new text, or None when nothing is to be written.

Layer 1, pure. Only our regions, our `kg_` properties and our own entries in `aliases` and `tags` change; a region the user edited stays
theirs and is named as a conflict; a region they removed stays removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kg2vault.sync.layout import FilledNote, FilledRegion
from kg2vault.sync.manifest import ManifestEntry
from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.note import ListEdit, Note, Region, edit_note
from kg2vault.vault.wikilinks import Identify, canonical_body


class MergeResult(NamedTuple):
    """The outcome for one note. `conflicts` names the regions in which the user's version was kept."""

    text: str | None
    conflicts: tuple[str, ...]
    regions: tuple[str, ...]  # delivered so far, those the user removed included
    aliases: tuple[str, ...]
    tags: tuple[str, ...]


class Links(NamedTuple):
    """What the links of one note mean: which note each leads to, whether it does today, and whether a region is as we wrote it."""

    identify: Identify
    reaches: Callable[[str], bool]
    untouched: Callable[[Region], bool]


def merge(wanted: FilledNote, note: Note, entry: ManifestEntry, links: Links, *, first: bool) -> MergeResult:
    """Merge an undamaged note. `first` says that the manifest did not know it: then a missing region is new, not removed."""
    conflicts: list[str] = []
    bodies: dict[str, tuple[str, str]] = {}
    removals: list[str] = []
    present = {region.name: region for region in note.regions}
    for name, region in present.items():
        new = wanted.regions.get(name)
        change = _change(new, region, links)
        if change is _CONFLICT:
            conflicts.append(name)
        elif new is None:
            removals.append(name)
        elif change is _REWRITE:
            bodies[name] = (new.body, new.digest)
        elif change is _REFRESH:
            bodies[name] = (region.body, new.digest)
    delivered = () if first else entry.regions
    for name, fresh in wanted.regions.items():
        if name not in present and name not in delivered:
            bodies[name] = (fresh.body, fresh.digest)
    aliases = ListEdit(wanted.aliases, entry.written("aliases", note.entries("aliases")))
    here = note.entries("tags")
    tags = ListEdit(wanted.tags, tuple(tag for tag in here if tag.startswith(_TAGS)) if first else entry.written("tags", here))
    text = edit_note(
        note,
        own=wanted.properties,
        aliases=aliases,
        tags=tags,
        regions=bodies,
        remove_regions=tuple(removals),
    )
    kept = (name for name in delivered if name not in removals)  # what we took away ourselves may come back
    regions = tuple(dict.fromkeys([*wanted.regions, *kept]))
    if first:  # nothing tells our entries from the same ones by the user: taken for ours, or the note could never leave again
        return MergeResult(text, tuple(conflicts), regions, wanted.aliases, wanted.tags)
    return MergeResult(text, tuple(conflicts), regions, note.ours_in("aliases", aliases), note.ours_in("tags", tags))


_TAGS = "kg/"  # below this only we write tags: those of a note whose record was lost are known by it
_SAME, _REWRITE, _REFRESH, _CONFLICT = "same", "rewrite", "refresh", "conflict"


def _change(new: FilledRegion | None, region: Region, links: Links) -> str:
    if new is None or canonical_body(region.body, links.identify) != new.canonical:
        return _REWRITE if links.untouched(region) else _CONFLICT
    if region.body != new.body and not all(links.reaches(link.target) for link in parse_links(region.body)):
        return _REWRITE
    return _REFRESH if region.marker_digest != new.digest else _SAME
