"""What a note is made from, as a digest: `Inputs`. Equal inputs give an equal note, so it need not be made again to know that.

Layer 1, pure. Whatever `concept_note` and `community_note` look at must be in here; a test changes graphs at random and holds the two
together. What a note kept from the last run is not: kept numbers are here as they are shown, and kept suggestions never change a note that
is made anew from what it was made from before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from itertools import repeat

from kg2vault import __version__
from kg2vault.graph.model import Community, Concept, Item
from kg2vault.vault.concept_note import shown_numbers
from kg2vault.vault.scene import Scene, community_id, concept_id, feed_id, item_id


class Inputs:
    """The inputs of the notes of concepts and communities in one scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._items = _Items(scene)
        self._concepts: dict[str, bytes] = {}

    def of(self, concept: Concept) -> bytes:
        """Return the digest of everything a concept's note depends on but the paths of the notes it links to."""
        known = self._concepts.get(concept.key)
        if known is None:
            known = self._concepts[concept.key] = self._of(concept)
        return known

    def of_community(self, community: Community) -> bytes:
        """Return the same for a community's note, which says nothing but what is made from its name and what its members' notes are."""
        concepts = self._scene.graph.concepts
        state = hashlib.blake2b(_digest(community.id, community.name, self._scene.community_label(community)), digest_size=12)
        state.update(b"".join([self.of(concepts[key]) for key in community.members]))
        return state.digest()

    def _of(self, concept: Concept) -> bytes:
        scene, key = self._scene, concept.key
        metrics = scene.graph.metrics[key]
        facts = (key, concept.label, concept.spellings, metrics.degree, metrics.strength, shown_numbers(scene, key))
        near = scene.graph.neighbours[key]
        if self._all_are_links:
            weights = [weight for _, weight in near]
        else:
            weights = [weight if scene.is_link(key, other) else -weight for other, weight in near]
        days = "|".join(map(scene.days.get, concept.item_ids, repeat("")))
        parts = [
            f"{facts!r}{weights!r}{days}".encode("utf-8", "surrogatepass"),
            self._settings,
            self._cards[key],
            *[self._beside[other] for other, _ in near],
            *map(self._items.__getitem__, concept.item_ids[: scene.settings.recent_items]),
        ]
        return hashlib.blake2b(b"".join(parts), digest_size=12).digest()

    def linked(self, concept: Concept) -> list[str]:
        """Return the ids of the notes to which a concept's note links, or would if they had a path."""
        scene = self._scene
        ids = [self._ids[other] for other, _ in scene.graph.neighbours[concept.key]]
        if concept.key in scene.community_of:
            ids.append(community_id(scene.community_of[concept.key].id))
        return [*ids, *self._reading(concept)]

    def linked_from_community(self, community: Community) -> list[str]:
        """Return the ids of the notes to which a community's note links, and of more that its members link to."""
        concepts, home_of = self._scene.graph.concepts, self._scene.community_of
        ids = dict.fromkeys(map(self._ids.__getitem__, community.members))
        for key in community.members:
            near = self._scene.graph.neighbours[key]
            ids.update(dict.fromkeys(community_id(home_of[other].id) for other, _ in near if other in home_of))
            ids.update(dict.fromkeys(self._reading(concepts[key])))
        return [*ids]

    def _reading(self, concept: Concept) -> Iterator[str]:
        """Yield the ids of the notes of items and feeds that are linked to."""
        scene = self._scene
        if scene.settings.items or scene.settings.feeds:
            for number in concept.item_ids[: scene.settings.recent_items]:
                item = scene.items.get(number)
                yield item_id(number)
                if item is not None and item.feed_id is not None:
                    yield feed_id(item.feed_id)

    @cached_property
    def _settings(self) -> bytes:
        """What all notes depend on."""
        scene = self._scene
        heaviest = scene.heaviest if scene.settings.links.repeat > 1 else 0
        return _digest(__version__, scene.settings, scene.bands, heaviest)

    @cached_property
    def _cards(self) -> dict[str, bytes]:
        """What a note says of a concept it names: its label and its community."""
        scene, cards = self._scene, {}
        told = {community.id: (community.id, community.name, scene.community_label(community)) for community in scene.graph.communities}
        for key, concept in scene.graph.concepts.items():
            home = scene.community_of.get(key)
            cards[key] = _digest(key, concept.label, told[home.id] if home is not None else None)
        return cards

    @cached_property
    def _beside(self) -> dict[str, bytes]:
        """What a note depends on in each of its neighbours: its card, and what that is next to itself, from which the suggestions come."""
        graph, cards = self._scene.graph, self._cards
        names = {key: _digest(key, concept.label) for key, concept in graph.concepts.items()}
        return {
            key: cards[key] + hashlib.blake2b(b"".join(sorted([names[other] for other, _ in near])), digest_size=8).digest()
            for key, near in graph.neighbours.items()
        }

    @cached_property
    def _ids(self) -> dict[str, str]:
        return {key: concept_id(key) for key in self._scene.graph.concepts}

    @cached_property
    def _all_are_links(self) -> bool:
        return len(self._scene.linked) == len(self._scene.graph.edges)


class _Items(dict[int, bytes]):
    """What a note says of an item it lists, as far as it was asked for."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._items = scene.items
        self._feeds = {feed.id: _digest(feed.id, feed.title, feed.url) for feed in scene.feeds.values()}

    def __missing__(self, number: int) -> bytes:
        item = self._items.get(number)
        feed = self._feeds.get(item.feed_id, b"") if item is not None and item.feed_id is not None else b""
        known = self[number] = _item_text(number, item).encode("utf-8", "surrogatepass") + feed
        return known


def _item_text(number: int, item: Item | None) -> str:
    """Return what is known of an item, in a form in which no title can imitate a boundary."""
    if item is None:
        return f"{number} "
    return f"{number} {len(item.title)} {len(item.url)} {len(item.published)} {item.title}{item.url}{item.published}"


def _digest(*facts: object) -> bytes:
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
