"""The related concepts of a concept, as lines and as properties: what makes the notes the graph.

Layer 1, pure. Every neighbour is listed, heaviest first; those in the backbone are links, the others words. The first whole number after a
neighbour's name is the weight, whatever else is asked for.
"""

from __future__ import annotations

from kg2vault.vault import weights
from kg2vault.vault.scene import Scene, counted

HEADING = "## Related concepts"


def related_lines(scene: Scene, key: str) -> list[str]:
    """Return heading and list of a concept's neighbours, and the hidden line that repeats links; nothing when it has none."""
    near = scene.graph.neighbours[key]
    if not near:
        return []
    lines = ["", HEADING]
    told = _as_field if scene.settings.links.dataview else _in_words
    for other, weight in near:
        name = scene.concept_link(other) if scene.is_link(key, other) else scene.concept_name(other)
        lines.append(f"- {name} — {told(weight)}")
    repeated = _repeated(scene, key)
    return [*lines, "", f"%% {' '.join(repeated)} %%"] if repeated else lines


def _in_words(weight: int) -> str:
    return counted(weight, "shared item")


def _as_field(weight: int) -> str:
    # In round brackets Dataview shows the value alone, so that the line reads the same with it and nearly the same without.
    return f"(weight:: {weight}){_in_words(weight).removeprefix(str(weight))}"


def _repeated(scene: Scene, key: str) -> list[str]:
    """Return the further links to neighbours, for views that count them; in a comment they count and do not show."""
    most = scene.settings.links.repeat
    if most < 2:
        return []
    links = []
    for other, weight in scene.graph.neighbours[key]:
        if scene.is_link(key, other):
            links += [scene.concept_link(other)] * (weights.repeat(weight, scene.heaviest, most) - 1)
    return links


def band_properties(scene: Scene, key: str) -> dict[str, tuple[str, ...]]:
    """Return the links of a concept by the band of their weight, as properties; no property for an empty band."""
    if scene.bands is None:
        return {}
    found: dict[str, list[str]] = {"kg_strong": [], "kg_medium": [], "kg_weak": []}
    for other, weight in scene.graph.neighbours[key]:
        if scene.is_link(key, other):
            found[f"kg_{scene.bands.of(weight)}"].append(scene.concept_link(other))
    return {name: tuple(links) for name, links in found.items() if links}
