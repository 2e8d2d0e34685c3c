"""The note of a community: what it is about, who is in it, what holds it together, and what it leads to.

Layer 1, pure.
"""

from __future__ import annotations

from typing import NamedTuple

from kg2vault.graph.model import Community
from kg2vault.vault import numbers
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.paths import note_stems
from kg2vault.vault.scene import (
    COMMUNITIES_TAG,
    Scene,
    community_id,
    community_tag,
    counted,
    listed,
    newest,
    recent_items,
    shown,
)

_ABOUT = 5
_TIES = 5
_TOUCHED = 10

Tie = tuple[int, str, str]  # weight, one key, the other


class _Ties(NamedTuple):
    """The edges of a community: those inside, and for each community it touches the summed weight and the heaviest edge."""

    inside: list[Tie]
    touched: list[tuple[Community, int, Tie]]


def community_note(scene: Scene, community: Community) -> DesiredNote:
    """Return the note of one community."""
    name, note_id = scene.community_label(community), community_id(community.id)
    stems = note_stems(community.name, note_id, "community", scene.reserved())
    ties = _ties(scene, community)
    size = len(community.members)
    density = numbers.two_digits(len(ties.inside) / (size * (size - 1) / 2)) if size > 1 else 0.0
    properties: dict[str, str | int | float] = {
        "kg_id": note_id,
        "kg_type": "community",
        "kg_name": shown(name),
        "kg_members": size,
        "kg_density": density,
    }
    head = [f"{counted(size, 'concept')} · density {numbers.plain(density)}", f"About {listed(about(scene, community))}."]
    sections = [head, _members(scene, community), _strongest(scene, ties), _touched(scene, ties)]
    regions = {"community": "\n\n".join("\n".join(lines) for lines in sections if lines)}
    found = {item for key in community.members for item in scene.graph.concepts[key].item_ids}
    regions.update(recent_items(scene, newest(scene, found)))
    tags = (COMMUNITIES_TAG, community_tag(community))
    return DesiredNote(note_id, "community", name, f"{scene.settings.folder}/Communities", stems, properties, (), tags, regions)


def about(scene: Scene, community: Community, most: int = _ABOUT) -> list[str]:
    """Return the names of the members that say what a community is about: those with the most shared items inside it."""
    inside = dict.fromkeys(community.members, 0)
    for key in community.members:
        inside[key] = sum(weight for other, weight in scene.graph.neighbours[key] if other in inside)
    ranked = sorted(inside, key=lambda key: (key != community.label, -inside[key], key))
    return [scene.concept_name(key) for key in ranked[:most]]


def _ties(scene: Scene, community: Community) -> _Ties:
    inside: list[Tie] = []
    across: dict[str, list[Tie]] = {}
    homes: dict[str, Community] = {}
    for key in community.members:
        for other, weight in scene.graph.neighbours[key]:
            home = scene.community_of.get(other)
            if home is not None and home.id == community.id:
                inside += [(weight, key, other)] if key < other else []
            elif home is not None:
                homes[home.id] = home
                across.setdefault(home.id, []).append((weight, key, other))
    sums = {identity: sum(tie[0] for tie in ties) for identity, ties in across.items()}
    order = sorted(sums, key=lambda identity: (-sums[identity], scene.community_label(homes[identity]), identity))
    return _Ties(sorted(inside, key=_heaviest), [(homes[one], sums[one], min(across[one], key=_heaviest)) for one in order])


def _heaviest(tie: Tie) -> tuple[int, str, str]:
    return -tie[0], tie[1], tie[2]


def _members(scene: Scene, community: Community) -> list[str]:
    degree = {key: scene.graph.metrics[key].degree for key in community.members}
    return ["## Concepts", *(f"- {scene.concept_link(key)} — {counted(degree[key], 'link')}" for key in community.members)]


def _strongest(scene: Scene, ties: _Ties) -> list[str]:
    lines = [
        f"- {scene.concept_link(one)} – {scene.concept_link(other)} — {counted(weight, 'shared item')}"
        for weight, one, other in ties.inside[:_TIES]
    ]
    return ["## Strongest ties", *lines] if lines else []


def _touched(scene: Scene, ties: _Ties) -> list[str]:
    """List the communities this one touches. The concepts in between are words: a link would tie this note to another community's."""
    lines = [
        f"- {scene.community_link(other)} — {counted(total, 'shared item')}, "
        f"{_share(weight, total)} between {scene.concept_name(here)} and {scene.concept_name(there)}"
        for other, total, (weight, here, there) in ties.touched[:_TOUCHED]
    ]
    return ["## Bridges to other communities", *lines] if lines else []


def _share(weight: int, total: int) -> str:
    return "all" if weight == total else "most" if 2 * weight > total else "strongest"
