"""What a note says whose concept or community left the graph, when the user's own text keeps the note in the vault.

Layer 1, pure. The note keeps its identity, says why it is no longer part of the graph, and is picked up again when its subject returns.
"""

from __future__ import annotations

from typing import NamedTuple

from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.scene import shown
from kg2vault.vault.wikilinks import token

_REGIONS = ("concept", "community", "item", "feed")


class Fate(NamedTuple):
    """Why something left. `merged_into` and `moved_to` are (note id, label) of a note in the graph, None where there is none."""

    items: int = 0  # how many items carry the concept now
    last: str = ""  # date of its newest item, as far as is known
    merged_into: tuple[str, str] | None = None
    ignored: bool = False
    moved_to: tuple[str, str] | None = None  # for a community: where most of its members are


def farewell_note(note_id: str, name: str, fate: Fate) -> DesiredNote:
    """Return the note for something that left the graph."""
    kind = note_id.split("/", 1)[0]
    region = kind if kind in _REGIONS else "note"
    properties: dict[str, str | int] = {"kg_id": note_id, "kg_type": kind, "kg_name": shown(name), "kg_status": "left"}
    if fate.last:
        properties["kg_last"] = fate.last
    bodies = {"concept": _concept, "community": _community}
    body = bodies[kind](fate) if kind in bodies else f"This {region} is no longer part of the graph."
    return DesiredNote(note_id, kind, name, "", ("left",), properties, (), ("kg/left",), {region: body})


def _concept(fate: Fate) -> str:
    if fate.merged_into is not None:
        return f"This concept is now part of {token(*fate.merged_into)}: an alias or a spelling rule merges the two."
    if fate.ignored:
        return "This concept left the graph: the alias table ignores it."
    if not fate.items:
        last = f"; its last item was from {fate.last}" if fate.last else ""
        return f"This concept left the graph: no item carries it any more{last}."
    count = "one item" if fate.items == 1 else f"{fate.items} items"
    last = f", the last from {fate.last}" if fate.last else ""
    return f"This concept left the graph: it is on {count}{last}, which is too little to link it to another concept."


def _community(fate: Fate) -> str:
    if fate.moved_to is not None:
        return f"This community dissolved; most of its concepts are now in {token(*fate.moved_to)}."
    return "This community dissolved."
