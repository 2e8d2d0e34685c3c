"""The vault read back as a graph: `read_back()` finds the concepts, edges, weights and communities that the notes themselves say.

Layer 1, pure. It knows nothing of the manifest and does not use what wrote the notes: it takes the text of every note that has a `kg_id`,
follows each link as Obsidian does, and takes the first whole number after a related link as its weight.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kg2vault.vault.linkscan import parse_links, property_link
from kg2vault.vault.note import Note, parse
from kg2vault.vault.resolve import Resolver

_NUMBER = re.compile(r"\d+")
_RELATED = "related concepts"
_MEMBERS = "concepts"


@dataclass(slots=True)
class VaultGraph:
    """What the vault says. Edges are kept as seen from each end, so that a link that only one end has shows."""

    concepts: dict[str, str] = field(default_factory=dict)  # concept key → path
    seen_from: dict[tuple[str, str], int] = field(default_factory=dict)  # (this end, other end) → weight
    in_words: dict[tuple[str, str], set[int]] = field(default_factory=dict)  # (concept key, name not linked) → weights beside it
    without_region: set[str] = field(default_factory=set)  # concepts whose list of links the user took away
    communities: dict[str, str] = field(default_factory=dict)  # community id → path
    without_members: set[str] = field(default_factory=set)  # communities whose list of members the user took away
    community_of: dict[str, str] = field(default_factory=dict)  # concept key → community id, as the concept's note says
    community_words: dict[str, str] = field(default_factory=dict)  # concept key → what its note says instead of linking to a community
    members_of: dict[str, tuple[str, ...]] = field(default_factory=dict)  # community id → concept keys, as the community's note says
    ghosts: list[tuple[str, str]] = field(default_factory=list)  # (path, target) of links in our regions that lead nowhere
    copies: list[tuple[str, str]] = field(default_factory=list)  # (path, id) of notes whose id another note has too
    left: set[str] = field(default_factory=set)  # concept keys whose note says that it left the graph


def read_back(texts: Mapping[str, str], paths: Iterable[str]) -> VaultGraph:
    """Read the notes in `texts` (path → text); `paths` is every file of the vault, which links are resolved against."""
    notes = {path: parse(text) for path, text in sorted(texts.items())}
    ids = _ids(notes)
    found, resolver = VaultGraph(), Resolver(paths)
    owners = _owners(ids, notes, resolver)
    found.copies += [(path, note_id) for path, note_id in ids.items() if owners[note_id] != path]
    reader = _Reader(found, resolver, ids)
    for note_id, path in owners.items():
        reader.note(note_id, path, notes[path])
    return found


def _ids(notes: Mapping[str, Note]) -> dict[str, str]:
    return {path: note.kg_id for path, note in notes.items() if note.kg_id}


def _owners(ids: Mapping[str, str], notes: Mapping[str, Note], resolver: Resolver) -> dict[str, str]:
    """Return the path of each id's note: of several, the one that most links lead to, since a copy tells of the day it was made."""
    uses = Counter(ids.values())
    shared = {path for path, note_id in ids.items() if uses[note_id] > 1}
    led: Counter[str] = Counter()
    if shared:
        for path in ids:
            bodies = (region.body for region in notes[path].regions)
            led.update(resolver.resolve(link.target, path) or "" for body in bodies for link in parse_links(body))
    owners: dict[str, str] = {}
    for path in sorted(ids, key=lambda path: (-led[path] if path in shared else 0, path)):
        owners.setdefault(ids[path], path)
    return owners


class _Reader:
    """Reads one note after the other into a VaultGraph."""

    def __init__(self, found: VaultGraph, resolver: Resolver, ids: Mapping[str, str]) -> None:
        self.found = found
        self.resolver = resolver
        self.ids = ids

    def note(self, note_id: str, path: str, note: Note) -> None:
        kind, _, key = note_id.partition("/")
        lines = [line for region in note.regions for line in region.body.splitlines()]
        if kind == "concept" and note.properties.get("kg_status") == "left":
            self.found.left.add(key)
        elif kind == "concept":
            self.found.concepts[key] = path
            self._community(key, path, note.properties.get("kg_community"))
            if not any(region.name == "concept" for region in note.regions):
                self.found.without_region.add(key)
            for other, weight in self._list(path, lines, _RELATED, "concept"):
                self.found.seen_from[key, other] = weight
            for name, weight in _words(lines):
                self.found.in_words.setdefault((key, name), set()).add(weight)
        elif kind == "community" and note.properties.get("kg_status") != "left":
            self.found.communities[key] = path
            if not any(region.name == "community" for region in note.regions):
                self.found.without_members.add(key)
            self.found.members_of[key] = tuple(other for other, _ in self._list(path, lines, _MEMBERS, "concept"))
        self._ghosts(path, lines)

    def _community(self, key: str, path: str, value: object) -> None:
        link = property_link(value) if isinstance(value, str) else None
        if link is None:
            if isinstance(value, str):
                self.found.community_words[key] = value
            return
        kind, _, identity = self._leads_to(link.target, path).partition("/")
        if kind == "community":
            self.found.community_of[key] = identity
        else:
            self.found.ghosts.append((path, link.target))

    def _list(self, path: str, lines: list[str], heading: str, kind: str) -> list[tuple[str, int]]:
        """Return (key, first number after the link) of each list line below a heading."""
        rows = []
        for line in _below(lines, heading):
            links = parse_links(line)
            if not links:
                continue
            target_kind, _, key = self._leads_to(links[0].target, path).partition("/")
            number = _NUMBER.search(line, links[0].end)
            if target_kind == kind:
                rows.append((key, int(number[0]) if number else 0))
        return rows

    def _ghosts(self, path: str, lines: list[str]) -> None:
        for line in lines:
            for link in parse_links(line):
                if not link.markdown and self.resolver.resolve(link.target, path) is None:
                    self.found.ghosts.append((path, link.target))

    def _leads_to(self, target: str, path: str) -> str:
        reached = self.resolver.resolve(target, path)
        return self.ids.get(reached, "") if reached is not None else ""


def _below(lines: Iterable[str], heading: str) -> Iterator[str]:
    """Yield the list lines below a heading."""
    below = False
    for line in lines:
        if line.startswith("#"):
            below = line.lstrip("#").strip().lower() == heading
        elif below and line.lstrip().startswith("- "):
            yield line


def _words(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield (name, weight) of each related concept that is named without a link."""
    for line in _below(lines, _RELATED):
        name, dash, told = line.lstrip()[2:].rpartition(" — ")
        number = _NUMBER.search(told)
        if dash and number and not parse_links(name):
            yield name, int(number[0])
