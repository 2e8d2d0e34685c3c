"""`Knowledge Graph.base`: the tables people want of the concept notes, for Obsidian's Bases (1.9 and later).

Layer 1, pure. The file depends on nothing but the folder, so it is written once and then the user's to change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

_NAMES: Mapping[str, str] = {
    "file.name": "Concept",
    "kg_items": "Items",
    "kg_recent": "Items in its last year",
    "kg_degree": "Linked concepts",
    "kg_strength": "Shared items",
    "kg_betweenness": "Betweenness",
    "kg_pagerank": "PageRank",
    "kg_community": "Community",
    "kg_first": "First seen",
    "kg_last": "Last seen",
    "formula.recent_share": "Share of all (%)",
}
_FORMULAS: Mapping[str, str] = {"recent_share": "(kg_recent * 100 / kg_items).round()"}
PROPERTIES = frozenset(name for name in _NAMES if name.startswith("kg_")) | {"kg_type"}  # every property the base reads

_Lines = list[str]


def knowledge_graph_base(folder: str | None = None) -> str:
    """Return the text of the base: YAML, as https://help.obsidian.md/bases/syntax describes it, plus `sort` as the app writes it.

    Without a folder it lists the concept notes wherever the user moved them; with one, only those below it.
    """
    filters = ['kg_type == "concept"']
    if folder is not None:
        filters.append(f"file.inFolder({json.dumps(folder, ensure_ascii=False)})")
    lines = ["filters:", "  and:", *(f"    - {_quoted(line)}" for line in filters)]
    lines += ["formulas:", *(f"  {name}: {_quoted(formula)}" for name, formula in _FORMULAS.items())]
    lines.append("properties:")
    for name, shown in _NAMES.items():
        lines += [f"  {name}:", f"    displayName: {_quoted(shown)}"]
    lines.append("views:")
    lines += _view("All concepts", ["kg_items", "kg_degree", "kg_strength", "kg_community", "kg_last"], ["kg_items", "kg_degree"])
    lines += _view(
        "Bridges", ["kg_betweenness", "kg_degree", "kg_community", "kg_items"], ["kg_betweenness"], "kg_betweenness > 0", limit=50
    )
    lines += _view(
        "By community",
        ["kg_degree", "kg_items", "kg_pagerank"],
        ["kg_degree", "kg_items"],
        'file.hasProperty("kg_community")',
        group="kg_community",
    )
    rising = ["kg_recent", "formula.recent_share", "kg_items", "kg_first", "kg_last", "kg_community"]
    # A note counts the year up to its own newest item, so that it does not change with every month; which years are recent is asked here.
    lines += _view("Rising", rising, ["kg_recent", "formula.recent_share"], 'kg_recent > 1 && kg_last > today() - "2y"', limit=50)
    return "\n".join(lines) + "\n"


def _view(name: str, columns: Sequence[str], descending: Sequence[str], condition: str = "", *, group: str = "", limit: int = 0) -> _Lines:
    """Return one table: concepts that meet the condition, greatest first, ties by name."""
    lines = ["  - type: table", f"    name: {_quoted(name)}"]
    if condition:
        lines += ["    filters:", "      and:", f"        - {_quoted(condition)}"]
    if group:
        lines += ["    groupBy:", f"      property: {group}", "      direction: ASC"]
    lines += ["    order:", *(f"      - {column}" for column in ("file.name", *columns)), "    sort:"]
    for column, direction in [*((column, "DESC") for column in descending), ("file.name", "ASC")]:
        lines += [f"      - property: {column}", f"        direction: {direction}"]
    if limit:
        lines.append(f"    limit: {limit}")
    return lines


def _quoted(text: str) -> str:
    """Write a YAML string in double quotes; JSON's escapes mean the same there."""
    return json.dumps(text, ensure_ascii=False)
