"""The home note: the graph at a glance, and the door to everything else.

Layer 1, pure. It is the only note that speaks of the whole graph, so it is the one that changes most.
"""

from __future__ import annotations

from datetime import date, timedelta

from kg2vault.graph.health import health
from kg2vault.vault import numbers
from kg2vault.vault.note import DesiredNote
from kg2vault.vault.paths import note_stems
from kg2vault.vault.render import HOME, HOME_TAG, Scene, counted, item_line

_TOP = 15
_NEW_DAYS = 30
_NEW_ITEMS = 10


def home_note(scene: Scene) -> DesiredNote:
    """Return the home note."""
    graph = scene.graph
    properties: dict[str, str | int | float] = {
        "kg_id": HOME,
        "kg_type": "home",
        "kg_concepts": len(graph.concepts),
        "kg_edges": len(graph.edges),
        "kg_communities": len(graph.communities),
    }
    sections = [[_totals(scene)], _communities(scene), _connected(scene), _bridges(scene), _new(scene), _health(scene)]
    body = "\n\n".join("\n".join(lines) for lines in sections if lines)
    stems = note_stems(scene.home_stem, HOME, "home", frozenset())
    return DesiredNote(HOME, "home", scene.home_stem, scene.settings.folder, stems, properties, (), (HOME_TAG,), {"home": body})


def _totals(scene: Scene) -> str:
    graph = scene.graph
    parts = [
        counted(len(graph.concepts), "concept"),
        counted(len(graph.edges), "edge"),
        f"{len(graph.communities):d} {'community' if len(graph.communities) == 1 else 'communities'}",
        f"from {counted(graph.tagged_items, 'tagged item')}",
    ]
    return " · ".join(parts)


def _communities(scene: Scene) -> list[str]:
    if not scene.graph.communities:
        return []
    return [
        "## Communities",
        *(f"- {scene.community_link(community)} — {counted(len(community.members), 'concept')}" for community in scene.graph.communities),
    ]


def _connected(scene: Scene) -> list[str]:
    metrics = scene.graph.metrics
    ranked = sorted(metrics, key=lambda key: (-metrics[key].degree, -metrics[key].strength, key))[:_TOP]
    lines = [f"- {scene.concept_link(key)} — {counted(metrics[key].degree, 'link')}" for key in ranked if metrics[key].degree]
    return ["## Most connected", *lines] if lines else []


def _bridges(scene: Scene) -> list[str]:
    metrics = scene.graph.metrics
    shown = {key: numbers.two_digits(metrics[key].betweenness) for key in metrics}
    ranked = sorted(metrics, key=lambda key: (-shown[key], key))[:_TOP]
    lines = [f"- {scene.concept_link(key)} — betweenness {numbers.plain(shown[key])}" for key in ranked if shown[key] > 0]
    return ["## Bridges", *lines] if lines else []


def _new(scene: Scene) -> list[str]:
    """List the newest items of the 30 days before the newest one: a window that moves with the reading, not with the clock."""
    dated = sorted(((item.published, item.id) for item in scene.items.values() if _day(item.published)), reverse=True)
    newest = _day(dated[0][0]) if dated else None
    if newest is None:
        return []
    start = (newest - timedelta(days=_NEW_DAYS)).isoformat()
    recent = [item_id for published, item_id in dated if published[:10] >= start]
    lines = [line for item_id in recent[:_NEW_ITEMS] if (line := item_line(scene, item_id))]
    return [f"## New in the {_NEW_DAYS} days up to {newest.isoformat()}", f"{counted(len(recent), 'item')}", "", *lines] if lines else []


def _day(published: str) -> date | None:
    try:
        return date.fromisoformat(published[:10])
    except ValueError:
        return None


def _health(scene: Scene) -> list[str]:
    facts = health(scene.graph)
    share = numbers.plain(round(float(facts["largest_community_pct"]), 1))
    once = numbers.plain(round(100 * float(facts["singleton_rate"]), 1))
    return [
        f"Health: {once} % of tags are used once · median degree {numbers.plain(float(facts['median_degree']))} · largest community {share} %"
    ]
