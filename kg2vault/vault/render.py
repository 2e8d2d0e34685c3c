"""What the graph looks like as notes: `render()` turns a KnowledgeGraph into DesiredNotes.

Layer 1, pure. One note per concept, one per community, one home note. Numbers are rounded here and nowhere else; nothing in a note depends
on the clock, on ranks, or on totals of the whole graph, so that a small change touches few notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kg2vault.graph.model import Community, Concept, Feed, Item, KnowledgeGraph
from kg2vault.vault import escape, numbers
from kg2vault.vault.note import DesiredNote
from kg2vault.vault.paths import name_key, note_stems, obsidian_tag
from kg2vault.vault.wikilinks import token

CONCEPT_TAG, COMMUNITIES_TAG, COMMUNITY_TAG, HOME_TAG = "kg/concept", "kg/communities", "kg/community", "kg/home"
HOME = "home"
_ALIAS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class NoteSettings:
    """What a person can decide about the notes."""

    folder: str = "Knowledge Graph"
    recent_items: int = 10


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the notes are made from, with the names they are known by."""

    graph: KnowledgeGraph
    items: Mapping[int, Item]
    feeds: Mapping[int, Feed]
    settings: NoteSettings = field(default_factory=NoteSettings)
    community_of: Mapping[str, Community] = field(default_factory=dict)
    recent_from: str = ""  # first day of the twelve whole months up to the newest item; moves once a month

    @property
    def home_stem(self) -> str:
        """File name of the home note, which is that of the folder."""
        return self.settings.folder.rsplit("/", 1)[-1]

    def concept_link(self, key: str) -> str:
        """Return the link token of a concept's note."""
        return token(concept_id(key), self.graph.concepts[key].label)

    def community_link(self, community: Community) -> str:
        """Return the link token of a community's note."""
        return token(community_id(community.id), self.community_label(community))

    def community_label(self, community: Community) -> str:
        """Return the label of the member a community is named after now."""
        concept = self.graph.concepts.get(community.label)
        return concept.label if concept else community.name

    def reserved(self) -> frozenset[str]:
        """Name keys that no concept may take."""
        return frozenset({name_key(self.home_stem)})


def concept_id(key: str) -> str:
    """Return the note id of a concept."""
    return f"concept/{key}"


def community_id(identity: str) -> str:
    """Return the note id of a community."""
    return f"community/{identity}"


def render(graph: KnowledgeGraph, items: Mapping[int, Item], feeds: Mapping[int, Feed], settings: NoteSettings) -> dict[str, DesiredNote]:
    """Return every note the graph wants, by id."""
    from kg2vault.vault.home import home_note

    scene = Scene(graph, items, feeds, settings, graph.community_of(), _a_year_before(items))
    notes = [concept_note(scene, concept) for concept in graph.concepts.values()]
    notes.extend(community_note(scene, community) for community in graph.communities)
    notes.append(home_note(scene))
    return {note.id: note for note in notes}


def _a_year_before(items: Mapping[int, Item]) -> str:
    newest_day = max((item.published[:10] for item in items.values() if is_day(item.published[:10])), default="")
    return f"{int(newest_day[:4]) - 1:04d}{newest_day[4:8]}01" if newest_day else ""


def concept_note(scene: Scene, concept: Concept) -> DesiredNote:
    """Return the note of one concept."""
    metrics = scene.graph.metrics[concept.key]
    community = scene.community_of.get(concept.key)
    stems = note_stems(concept.label, concept_id(concept.key), "concept", scene.reserved())
    properties: dict[str, str | int | float] = {
        "kg_id": concept_id(concept.key),
        "kg_type": "concept",
        "kg_name": shown(concept.label),
        "kg_items": concept.items,
        "kg_degree": metrics.degree,
        "kg_strength": metrics.strength,
        "kg_betweenness": numbers.two_digits(metrics.betweenness),
        "kg_pagerank": numbers.two_digits(metrics.pagerank),
    }
    properties.update(span(scene, concept.item_ids))
    if scene.recent_from:
        properties["kg_recent"] = sum(scene.items[i].published >= scene.recent_from for i in concept.item_ids if i in scene.items)
    if community is not None:
        properties["kg_community"] = scene.community_link(community)
    tags = [CONCEPT_TAG]
    if community is not None:
        tags.append(community_tag(community))
    regions = {"concept": _concept_region(scene, concept, community)}
    _add_items(scene, regions, concept.item_ids)
    folder = f"{scene.settings.folder}/Concepts"
    return DesiredNote(
        concept_id(concept.key), "concept", concept.label, folder, stems, properties, _aliases(concept, stems[0]), tuple(tags), regions
    )


def _concept_region(scene: Scene, concept: Concept, community: Community | None) -> str:
    near = scene.graph.neighbours[concept.key]
    facts = [counted(concept.items, "item"), f"linked to {counted(len(near), 'concept')}"]
    if community is not None:
        facts.append(f"community {scene.community_link(community)}")
    lines = [" · ".join(facts)]
    if near:
        lines += ["", "## Related concepts"]
        lines += [f"- {scene.concept_link(key)} — {counted(weight, 'shared item')}" for key, weight in near]
    return "\n".join(lines)


def community_note(scene: Scene, community: Community) -> DesiredNote:
    """Return the note of one community."""
    name = scene.community_label(community)
    note_id = community_id(community.id)
    stems = note_stems(community.name, note_id, "community", scene.reserved())
    inside, outside = _edges_of(scene, community)
    size = len(community.members)
    density = inside / (size * (size - 1) / 2) if size > 1 else 0.0
    properties: dict[str, str | int | float] = {
        "kg_id": note_id,
        "kg_type": "community",
        "kg_name": shown(name),
        "kg_size": size,
        "kg_density": numbers.two_digits(density),
    }
    lines = [f"{counted(size, 'concept')} · density {numbers.plain(numbers.two_digits(density))}", "", "## Concepts"]
    lines += [f"- {scene.concept_link(key)} — {counted(scene.graph.metrics[key].degree, 'link')}" for key in community.members]
    if outside:
        lines += ["", "## Touches"]
        lines += [f"- {scene.community_link(other)} — {counted(weight, 'shared item')}" for other, weight in outside]
    regions = {"community": "\n".join(lines)}
    found = {item for key in community.members for item in scene.graph.concepts[key].item_ids}
    _add_items(scene, regions, newest(scene, found))
    folder = f"{scene.settings.folder}/Communities"
    tags = (COMMUNITIES_TAG, community_tag(community))
    return DesiredNote(note_id, "community", name, folder, stems, properties, (), tags, regions)


def _edges_of(scene: Scene, community: Community) -> tuple[int, list[tuple[Community, int]]]:
    """Return the number of edges inside a community, and the communities it touches with the summed weight, heaviest first."""
    inside = 0
    weights: dict[str, int] = {}
    touched: dict[str, Community] = {}
    for key in community.members:
        for other, weight in scene.graph.neighbours[key]:
            there = scene.community_of.get(other)
            if there is None:
                continue
            if there.id == community.id:
                inside += 1
            else:
                touched[there.id] = there
                weights[there.id] = weights.get(there.id, 0) + weight
    order = sorted(weights, key=lambda identity: (-weights[identity], scene.community_label(touched[identity]), identity))
    return inside // 2, [(touched[identity], weights[identity]) for identity in order]


def span(scene: Scene, item_ids: tuple[int, ...]) -> dict[str, str]:
    """Return the dates of the oldest and the newest dated item of a list that is newest first."""
    days = [item.published[:10] for item_id in item_ids if (item := scene.items.get(item_id)) is not None and is_day(item.published[:10])]
    return {"kg_first": days[-1], "kg_last": days[0]} if days else {}


def is_day(text: str) -> bool:
    """Return whether a text is a date, YYYY-MM-DD."""
    return len(text) == 10 and text[4] == text[7] == "-" and (text[:4] + text[5:7] + text[8:]).isascii() and text.replace("-", "").isdigit()


def newest(scene: Scene, found: set[int]) -> tuple[int, ...]:
    """Return the newest items of a set, as many as a note lists."""
    import heapq

    def age(item_id: int) -> tuple[str, int]:
        item = scene.items.get(item_id)
        return (item.published if item else "", item_id)

    return tuple(heapq.nlargest(scene.settings.recent_items, found, key=age))


def _add_items(scene: Scene, regions: dict[str, str], item_ids: tuple[int, ...]) -> None:
    lines = [line for item_id in item_ids[: scene.settings.recent_items] if (line := item_line(scene, item_id))]
    if lines:
        regions["items"] = "\n".join(["## Recent items", *lines])


def item_line(scene: Scene, item_id: int) -> str:
    """Return one list line about an item, "" when the database tells nothing of it."""
    item = scene.items.get(item_id)
    if item is None or not (item.title or item.url):
        return ""
    feed = scene.feeds.get(item.feed_id) if item.feed_id is not None else None
    facts = [escape.inline(part, limit=100) for part in ((feed.title or feed.url) if feed else "", item.published[:10]) if part.strip()]
    line = f"- {escape.link(item.title, item.url)}"
    return f"{line} — {', '.join(facts)}" if facts else line


def _aliases(concept: Concept, stem: str) -> tuple[str, ...]:
    """Return the other names a concept should be found under, leaving out those Obsidian's case-blind search finds anyway."""
    seen = {name_key(stem)}
    names = []
    for spelling in (concept.label, *concept.spellings):
        name = shown(spelling)
        if name and name_key(name) not in seen:
            seen.add(name_key(name))
            names.append(name)
    return tuple(names)


def community_tag(community: Community) -> str:
    """Return the tag that the concepts of a community carry; it lives as long as the community's identity."""
    return obsidian_tag(COMMUNITY_TAG, community.name, community.id)


def shown(name: str) -> str:
    """Return a name as one capped line of plain text."""
    text = escape.plain(name)
    return text if len(text) <= _ALIAS_LIMIT else text[: _ALIAS_LIMIT - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Return "1 item" or "2 items"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
