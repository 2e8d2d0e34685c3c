"""What the graph looks like as notes: `render()` turns a KnowledgeGraph into DesiredNotes.

Layer 1, pure. One note per concept, one per community, one home note, and when asked for one per item and feed. Nothing in a note depends
on the clock, on ranks, or (but in the home note) on totals of the whole graph, so that a small change touches few notes.
"""

from __future__ import annotations

from collections.abc import Mapping

from kg2vault.graph.model import Feed, Item, KnowledgeGraph
from kg2vault.vault.community_note import community_note
from kg2vault.vault.concept_note import concept_note
from kg2vault.vault.home import home_note
from kg2vault.vault.item_notes import reading_notes
from kg2vault.vault.note import DesiredNote
from kg2vault.vault.scene import Before, NoteSettings, set_scene

__all__ = ["Before", "NoteSettings", "render"]


def render(
    graph: KnowledgeGraph, items: Mapping[int, Item], feeds: Mapping[int, Feed], settings: NoteSettings, before: Before | None = None
) -> dict[str, DesiredNote]:
    """Return every note the graph wants, by id; `before` is what the notes of the last run kept."""
    scene = set_scene(graph, items, feeds, settings, before)
    notes = [concept_note(scene, concept) for concept in graph.concepts.values()]
    notes.extend(community_note(scene, community) for community in graph.communities)
    notes.append(home_note(scene))
    notes.extend(reading_notes(scene))
    return {note.id: note for note in notes}
