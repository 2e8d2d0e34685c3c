"""What every note is made from, and how things are named in all of them: `Scene`, set once a run by `set_scene()`.

Layer 1, pure. Nothing here depends on the clock. What would change too often by itself (rounded numbers, choices among near equals) is held
to what the note said before, which comes in as `Before` and goes back as `DesiredNote.kept`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import NamedTuple, cast

from kg2vault.config import LinksConfig
from kg2vault.graph.backbone import Mode, Pair, backbone
from kg2vault.graph.closeness import Closeness
from kg2vault.graph.model import Community, Feed, Item, KnowledgeGraph
from kg2vault.vault import escape, numbers, weights
from kg2vault.vault.paths import name_key, obsidian_tag
from kg2vault.vault.wikilinks import token

CONCEPT_TAG, COMMUNITIES_TAG, COMMUNITY_TAG, HOME_TAG = "kg/concept", "kg/communities", "kg/community", "kg/home"
ITEM_TAG, FEED_TAG = "kg/item", "kg/feed"
HOME = "home"
_NAME_LIMIT = 200


class NoteSettings(NamedTuple):
    """What a person can decide about the notes."""

    folder: str = "Knowledge Graph"
    recent_items: int = 10
    items: bool = False  # a note for each item as well
    feeds: bool = False  # a note for each feed as well
    links: LinksConfig = LinksConfig()


class Before(NamedTuple):
    """What the last run chose: what each note kept, by its id, and the bands."""

    kept: Mapping[str, Mapping[str, str]] = {}
    bands: weights.Bands | None = None
    edges_digest: str = ""  # KnowledgeGraph.edges_digest of that run


class Scene(NamedTuple):
    """Everything the notes are made from, with the names they are known by."""

    graph: KnowledgeGraph
    items: Mapping[int, Item]
    feeds: Mapping[int, Feed]
    settings: NoteSettings
    before: Before
    community_of: Mapping[str, Community]
    days: Mapping[int, str]  # date of each item that has one
    linked: frozenset[Pair]  # edges that are links
    betweenness: Mapping[str, float]  # as shown
    bands: weights.Bands | None
    heaviest: int
    closeness: Closeness
    # Kept as far as they were asked for: most items, links and numbers are in several notes.
    lines: dict[int, str]  # of items
    links: dict[str, str]  # to concepts
    shown: dict[str, dict[str, float]]  # numbers of concepts (concept_note.shown_numbers)
    fits: dict[str, tuple[str, ...]]  # suggestions for concepts (concept_note.fits)

    @property
    def home_stem(self) -> str:
        """File name of the home note, which is that of the folder."""
        return self.settings.folder.rsplit("/", 1)[-1]

    def concept_link(self, key: str) -> str:
        """Return the link token of a concept's note."""
        link = self.links.get(key)
        if link is None:
            link = self.links[key] = token(concept_id(key), self.graph.concepts[key].label)
        return link

    def concept_name(self, key: str) -> str:
        """Return a concept's label as inert text, for where it must not be a link."""
        return plain_name(self.graph.concepts[key].label)

    def community_link(self, community: Community) -> str:
        """Return the link token of a community's note."""
        return token(community_id(community.id), self.community_label(community))

    def community_label(self, community: Community) -> str:
        """Return the label of the member a community is named after now."""
        concept = self.graph.concepts.get(community.label)
        return concept.label if concept else community.name

    def is_link(self, one: str, other: str) -> bool:
        """Return whether the edge between two concepts is a link in the notes."""
        return ((one, other) if one < other else (other, one)) in self.linked

    def kept(self, note_id: str) -> Mapping[str, str]:
        """Return what a note kept from the last run."""
        return self.before.kept.get(note_id, {})

    def reserved(self) -> frozenset[str]:
        """Name keys that no concept may take."""
        return frozenset({name_key(self.home_stem)})


def set_scene(
    graph: KnowledgeGraph, items: Mapping[int, Item], feeds: Mapping[int, Feed], settings: NoteSettings, before: Before | None = None
) -> Scene:
    """Gather what the notes need."""
    before, links = before or Before(), settings.links
    return Scene(
        graph=graph,
        items=items,
        feeds=feeds,
        settings=settings,
        before=before,
        community_of=graph.community_of(),
        days={item.id: day for item in items.values() if (day := _day(item.published[:10]))},
        linked=linked_edges(graph, links),
        betweenness={
            key: numbers.steady(metrics.betweenness, before.kept.get(concept_id(key), {}).get("betweenness"), numbers.BETWEENNESS_STEP)
            for key, metrics in graph.metrics.items()
        },
        bands=bands_of(graph, links, before.bands),
        heaviest=max((edge.weight for edge in graph.edges), default=1),
        closeness=Closeness(graph.neighbours),
        lines={},
        links={},
        shown={},
        fits={},
    )


def linked_edges(graph: KnowledgeGraph, links: LinksConfig) -> frozenset[Pair]:
    """Return the edges that are links in the notes, as (source, target); the others are there in words."""
    return backbone(graph, mode=cast("Mode", links.backbone), k=links.top_k, alpha=links.alpha)


def bands_of(graph: KnowledgeGraph, links: LinksConfig, previous: weights.Bands | None) -> weights.Bands | None:
    """Return the bands of the graph's weights, None when they are not wanted."""
    return weights.bands((edge.weight for edge in graph.edges), previous) if links.bands else None


def concept_id(key: str) -> str:
    """Return the note id of a concept."""
    return f"concept/{key}"


def community_id(identity: str) -> str:
    """Return the note id of a community."""
    return f"community/{identity}"


def item_id(number: int) -> str:
    """Return the note id of an item."""
    return f"item/{number}"


def feed_id(number: int) -> str:
    """Return the note id of a feed."""
    return f"feed/{number}"


def community_tag(community: Community) -> str:
    """Return the tag that the concepts of a community carry; it lives as long as the community's identity."""
    return obsidian_tag(COMMUNITY_TAG, community.name, community.id)


def shown(name: str) -> str:
    """Return a name as one capped line of plain text."""
    text = escape.plain(name)
    return text if len(text) <= _NAME_LIMIT else text[: _NAME_LIMIT - 1] + "…"


@lru_cache(maxsize=50_000)
def plain_name(name: str) -> str:
    """Return a name as inert text."""
    return escape.inline(shown(name)) or escape.UNTITLED


def counted(number: int, noun: str) -> str:
    """Return "1 item" or "2 items"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Iterable[str]) -> str:
    """Return "a, b and c"."""
    parts = list(names)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def newest(scene: Scene, found: Iterable[int]) -> tuple[int, ...]:
    """Return the newest items of a set, as many as a note lists."""
    items = scene.items
    dated = [(items[number].published if number in items else "", number) for number in found]
    return tuple(number for _, number in heapq.nlargest(scene.settings.recent_items, dated))


def item_line(scene: Scene, number: int) -> str:
    """Return one list line about an item, "" when the database tells nothing of it.

    With notes of their own, item and feed are linked, and the address moves to the item's note.
    """
    if number not in scene.lines:
        scene.lines[number] = _item_line(scene, number, names_feed=True)
    return scene.lines[number]


def _item_line(scene: Scene, number: int, *, names_feed: bool) -> str:
    item = scene.items.get(number)
    if item is None or not (item.title or item.url):
        return ""
    title = token(item_id(number), item_name(item)) if scene.settings.items else escape.link(item.title, item.url)
    facts = [feed_name(scene, item.feed_id) if names_feed else "", escape.inline(item.published[:10], limit=100)]
    told = ", ".join(fact for fact in facts if fact)
    return f"- {title} — {told}" if told else f"- {title}"


def feed_name(scene: Scene, number: int | None) -> str:
    """Return a feed's name for a line, as a link when feeds have notes, "" when it has no name."""
    feed = scene.feeds.get(number) if number is not None else None
    name = (feed.title.strip() or feed.url) if feed is not None else ""
    if feed is None or not name.strip():
        return ""
    return token(feed_id(feed.id), escape.shorten(escape.plain(name), 100)) if scene.settings.feeds else escape.inline(name, limit=100)


def recent_items(scene: Scene, numbers_: Iterable[int], *, of_one_feed: bool = False) -> dict[str, str]:
    """Return the region that lists items, none when there is nothing to list; in a feed's own note no line says the feed again."""
    found = (_item_line(scene, number, names_feed=False) if of_one_feed else item_line(scene, number) for number in numbers_)
    lines = [line for line in found if line]
    return {"items": "\n".join(["## Recent items", *lines])} if lines else {}


@lru_cache(maxsize=50_000)
def _day(day: str) -> str:
    """Return a text of ten characters if it is a date, "" otherwise."""
    if len(day) != 10 or day[4] != "-" or day[7] != "-":
        return ""
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return ""


def item_name(item: Item) -> str:
    """Return an item's title, or its address without scheme and password; "" when neither can be shown."""
    return item.title if item.title.strip() else (escape.safe_url(item.url) or "").partition("://")[2]
