"""The home note: the graph at a glance, and the door to everything else.

Layer 1, pure. It is the only note that speaks of the whole graph, so it is the one that changes most.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

from kg2vault.graph.health import health
from kg2vault.graph.model import Community
from kg2vault.vault import numbers
from kg2vault.vault.community_note import about
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.paths import note_stems
from kg2vault.vault.scene import HOME, HOME_TAG, Scene, counted, item_line, listed, plain_name

_TOP = 10
_NEW_DAYS = 30
_NEW_ITEMS = 10
_ABOUT = 4
_JOINED = 3


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
    sections = [[_totals(scene), _health(scene)], _communities(scene), _new(scene), _connected(scene), _bridges(scene)]
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
    return ["## Communities", *(_community_line(scene, community) for community in scene.graph.communities)]


def _community_line(scene: Scene, community: Community) -> str:
    others = about(scene, community, _ABOUT)[1:]  # the first is the one it is named after
    told = f": {', '.join(others)}" if others else ""
    return f"- {scene.community_link(community)} — {counted(len(community.members), 'concept')}{told}"


def _connected(scene: Scene) -> list[str]:
    metrics = scene.graph.metrics
    ranked = sorted(metrics, key=lambda key: (-metrics[key].degree, -metrics[key].strength, key))[:_TOP]
    lines = [f"- {scene.concept_link(key)} — {counted(metrics[key].degree, 'link')}" for key in ranked if metrics[key].degree]
    return ["## Most connected", *lines] if lines else []


def _bridges(scene: Scene) -> list[str]:
    shown = scene.betweenness
    ranked = sorted(shown, key=lambda key: (-shown[key], key))[:_TOP]
    lines = [
        f"- {scene.concept_link(key)} — betweenness {numbers.plain(shown[key])}{_joined(scene, key)}" for key in ranked if shown[key] > 0
    ]
    return ["## Best bridges", *lines] if lines else []


def _joined(scene: Scene, key: str) -> str:
    """Name the communities between which a concept stands, those with most of its neighbours first."""
    homes = [scene.community_of[other] for other, _ in scene.graph.neighbours[key] if other in scene.community_of]
    counts = Counter(home.id for home in homes)
    labels = {home.id: plain_name(scene.community_label(home)) for home in homes}
    ranked = sorted(counts, key=lambda identity: (-counts[identity], labels[identity], identity))[:_JOINED]
    return f", between {listed(labels[identity] for identity in ranked)}" if len(ranked) > 1 else ""


def _new(scene: Scene) -> list[str]:
    """List the newest items of the 30 days before the newest one: a window that moves with the reading, not with the clock."""
    if not scene.days:
        return []
    newest = date.fromisoformat(max(scene.days.values()))
    start = (newest - timedelta(days=_NEW_DAYS)).isoformat() if newest.toordinal() > _NEW_DAYS else ""
    dated = sorted([(scene.items[number].published, number) for number, day in scene.days.items() if day >= start], reverse=True)
    recent = [number for _, number in dated]
    lines = [line for number in recent[:_NEW_ITEMS] if (line := item_line(scene, number))]
    return [f"## New in the {_NEW_DAYS} days up to {newest.isoformat()}: {counted(len(recent), 'item')}", *lines] if lines else []


def _health(scene: Scene) -> str:
    facts = health(scene.graph)
    share = numbers.plain(round(float(facts["largest_community_pct"]), 1))
    once = numbers.plain(round(100 * float(facts["singleton_rate"]), 1))
    median = numbers.plain(float(facts["median_degree"]))
    return f"Health: {once} % of tags are used once · median degree {median} · largest community {share} %"
