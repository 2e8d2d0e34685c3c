"""What the graph looks like as notes: `render()` turns a KnowledgeGraph into DesiredNotes.

Layer 1, pure. One note per concept, one per community, one home note, and when asked for one per item and feed. Nothing in a note depends
on the clock, on ranks, or (but in the home note) on totals of the whole graph, so that a small change touches few notes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import repeat

from kg2vault.graph.model import Feed, Item, KnowledgeGraph
from kg2vault.vault.community_note import community_note
from kg2vault.vault.concept_note import concept_note, fits
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.home import home_note
from kg2vault.vault.inputs import Inputs
from kg2vault.vault.scene import HOME, Before, NoteSettings, Scene, community_id, concept_id, set_scene

__all__ = ["Before", "DesiredNotes", "NoteSettings", "render"]


class DesiredNotes(Mapping[str, DesiredNote]):
    """The notes the graph wants, by id; each is made when it is asked for."""

    def __init__(self, scene: Scene) -> None:
        graph = scene.graph
        self._scene = scene
        self._makers: dict[str, Callable[[], DesiredNote]] = {}
        self._concepts = {concept_id(key): concept for key, concept in graph.concepts.items()}
        for note_id, concept in self._concepts.items():
            self._makers[note_id] = partial(concept_note, scene, concept)
        for community in graph.communities:
            self._makers[community_id(community.id)] = partial(community_note, scene, community)
        self._makers[HOME] = partial(home_note, scene)
        self._made = _reading_notes(scene)
        self._communities = {community_id(community.id): community for community in graph.communities}
        self._order = [*self._makers, *self._made]
        self._inputs = Inputs(scene)

    def expect(self, note_ids: Iterable[str]) -> None:
        """Be told of notes that will be asked for.

        Their suggestions are found in one go: that goes through much of the graph, and in turns with writing, each pushes what the other
        needs out of the processor's caches, which took a fifth of the time of rendering.
        """
        for note_id in note_ids:
            concept = self._concepts.get(note_id)
            if concept is not None:
                fits(self._scene, concept.key)

    def __getitem__(self, note_id: str) -> DesiredNote:
        note = self._made.get(note_id)
        if note is None:
            note = self._made[note_id] = self._makers[note_id]()
        return note

    def __contains__(self, note_id: object) -> bool:
        return note_id in self._makers or note_id in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def made_from(self, note_id: str, paths: Mapping[str, str]) -> str:
        """Return a digest of all that a note depends on, the paths of the notes it links to included; "" where nobody keeps account."""
        concept, community = self._concepts.get(note_id), self._communities.get(note_id)
        if concept is not None:
            inputs, linked = self._inputs.of(concept), self._inputs.linked(concept)
        elif community is not None:
            inputs, linked = self._inputs.of_community(community), self._inputs.linked_from_community(community)
        else:
            return ""
        state = hashlib.blake2b(inputs, digest_size=12)
        state.update("\0".join(map(paths.get, linked, repeat(""))).encode("utf-8", "surrogatepass"))
        return state.hexdigest()


def _reading_notes(scene: Scene) -> dict[str, DesiredNote]:
    if not (scene.settings.items or scene.settings.feeds):
        return {}
    from kg2vault.vault.item_notes import reading_notes

    return {note.id: note for note in reading_notes(scene)}


def render(
    graph: KnowledgeGraph, items: Mapping[int, Item], feeds: Mapping[int, Feed], settings: NoteSettings, before: Before | None = None
) -> DesiredNotes:
    """Return every note the graph wants, by id; `before` is what the notes of the last run kept."""
    return DesiredNotes(set_scene(graph, items, feeds, settings, before))
