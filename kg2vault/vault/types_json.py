"""The types of our properties in `.obsidian/types.json`: `merge()` adds those that are missing and touches nothing else.

Layer 1, pure. Without a type Obsidian guesses one from the values; a number it took for text sorts wrongly in a Base. A type that is there,
whoever chose it, stays; keys that are not ours are never added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kg2vault.vault.json_spans import insert_member, last, members, opening_of

OUR_PREFIX = "kg_"
TYPES: Mapping[str, str] = {
    "kg_id": "text",
    "kg_type": "text",
    "kg_name": "text",
    "kg_items": "number",
    "kg_degree": "number",
    "kg_strength": "number",
    "kg_betweenness": "number",
    "kg_pagerank": "number",
    "kg_community": "text",
    "kg_first": "date",
    "kg_last": "date",
    "kg_recent": "number",
    "kg_size": "number",
    "kg_members": "number",
    "kg_density": "number",
    "kg_concepts": "number",
    "kg_edges": "number",
    "kg_communities": "number",
    "kg_strong": "multitext",
    "kg_medium": "multitext",
    "kg_weak": "multitext",
    "kg_url": "text",
    "kg_published": "date",
    "kg_published_in": "text",
    "kg_mentions": "multitext",
    "kg_status": "text",
}
_KEY = "types"


@dataclass(frozen=True, slots=True)
class Merge:
    """The new text, None when nothing changes; why the file was left alone, if it was."""

    text: str | None
    problem: str | None = None


def merge(text: str | None, types: Mapping[str, str] = TYPES) -> Merge:
    """Add the types of properties the file does not name yet, in the order given; `text` None means that there is no file.

    Names are compared without regard to case, as Obsidian does. Raises ValueError for a property that is not ours.
    """
    strangers = [name for name in types if not name.startswith(OUR_PREFIX)]
    if strangers:
        raise ValueError(f"not properties of ours: {', '.join(strangers)}")
    if text is None:
        return Merge(json.dumps({_KEY: dict(types)}, indent=2, ensure_ascii=False) if types else None)
    try:
        new = _added(text, types)
    except ValueError as error:
        return Merge(None, f"types.json was left alone: {error}.")
    return Merge(new if new != text else None)


def _added(text: str, types: Mapping[str, str]) -> str:
    top = members(text)
    registry = last(top, _KEY)
    if registry is None:
        return insert_member(text, opening_of(text), top, _KEY, dict(types)) if types else text
    if not isinstance(registry.value, dict):
        raise ValueError(f"its {_KEY} is not an object")
    named = {name.lower() for name in registry.value}
    for name, kind in types.items():
        if name not in named:
            text = insert_member(text, registry.start, members(text, registry.start), name, kind)
    return text
