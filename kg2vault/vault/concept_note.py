"""The note of a concept: what it is linked to, when it was read about, where it leads, and what was read last.

Layer 1, pure. A concept's note depends on its own items and edges; what it says of the rest of the graph (centrality, neighbours of
neighbours) is held to what it said before, until that is no longer about right.
"""

from __future__ import annotations

from collections.abc import Mapping

from kg2vault.graph.model import Community, Concept
from kg2vault.vault import numbers, weights
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.paths import name_key, note_stems
from kg2vault.vault.related import band_properties, related_lines
from kg2vault.vault.scene import CONCEPT_TAG, Scene, community_tag, concept_id, counted, plain_name, recent_items, shown
from kg2vault.vault.sparkline import last_year, timeline
from kg2vault.vault.yaml_scalars import Scalar

_BRIDGES = 5
_FITS = 3
_FITS_LOOKED_AT = 12
_LOYALTY = 1.25  # a concept that is suggested already is left for one that fits better by a quarter


def concept_note(scene: Scene, concept: Concept) -> DesiredNote:
    """Return the note of one concept."""
    community = scene.community_of.get(concept.key)
    note_id = concept_id(concept.key)
    stems = note_stems(concept.label, note_id, "concept", scene.reserved())
    days = [scene.days[number] for number in concept.item_ids if number in scene.days]
    kept = shown_numbers(scene, concept.key)
    fitting = fits(scene, concept.key)
    facts = [line for line in (_facts(scene, concept, community), timeline(days)) if line]
    leads = [line for line in (_bridges(scene, concept.key, community), _fits_line(scene, fitting)) if line]
    regions = {"concept": "\n".join([*facts, *([""] if leads else []), *leads, *related_lines(scene, concept.key)])}
    regions.update(recent_items(scene, concept.item_ids[: scene.settings.recent_items]))
    properties = _properties(scene, concept, community, days, kept)
    tags = (CONCEPT_TAG,) if community is None else (CONCEPT_TAG, community_tag(community))
    kept_text = {name: numbers.plain(value) for name, value in kept.items()}
    kept_text |= {"strength": str(scene.graph.metrics[concept.key].strength)} | ({"fits": "\n".join(fitting)} if fitting else {})
    folder = f"{scene.settings.folder}/Concepts"
    return DesiredNote(
        note_id, "concept", concept.label, folder, stems, properties, _aliases(concept, stems[0]), tags, regions, kept=kept_text
    )


def shown_numbers(scene: Scene, key: str) -> dict[str, float]:
    """Return the numbers as they are shown.

    PageRank counts weights, so every item moves it everywhere. A concept that has no new item itself keeps its number until an edge comes
    or goes in the graph.
    """
    known = scene.shown.get(key)
    if known is not None:
        return known
    metrics, kept = scene.graph.metrics[key], scene.kept(concept_id(key))
    step = numbers.PAGERANK_STEP
    if scene.before.edges_digest == scene.graph.edges_digest and kept.get("strength") == str(metrics.strength):
        step = 1.0
    pagerank = numbers.steady(metrics.pagerank, kept.get("pagerank"), numbers.PAGERANK_STEP, within=step)
    scene.shown[key] = {"betweenness": scene.betweenness[key], "pagerank": pagerank}
    return scene.shown[key]


def _properties(
    scene: Scene, concept: Concept, community: Community | None, days: list[str], kept: Mapping[str, float]
) -> dict[str, Scalar | tuple[Scalar, ...]]:
    metrics = scene.graph.metrics[concept.key]
    properties: dict[str, Scalar | tuple[Scalar, ...]] = {
        "kg_id": concept_id(concept.key),
        "kg_type": "concept",
        "kg_name": shown(concept.label),
        "kg_items": concept.items,
        "kg_degree": metrics.degree,
        "kg_strength": metrics.strength,
        "kg_betweenness": kept["betweenness"],
        "kg_pagerank": kept["pagerank"],
    }
    if scene.settings.links.size:
        properties["kg_size"] = weights.size_100(metrics.degree)
    if days:
        properties |= {"kg_first": min(days), "kg_last": max(days), "kg_recent": last_year(days)}
    if community is not None:
        properties["kg_community"] = scene.community_link(community)
    properties.update(band_properties(scene, concept.key))
    return properties


def _facts(scene: Scene, concept: Concept, community: Community | None) -> str:
    facts = [counted(concept.items, "item"), f"linked to {counted(len(scene.graph.neighbours[concept.key]), 'concept')}"]
    if community is not None:
        facts.append(f"community {scene.community_link(community)}")
    return " · ".join(facts)


def _bridges(scene: Scene, key: str, community: Community | None) -> str:
    """Name the heaviest neighbour in each other community; they are in the list below as well, so they are words here."""
    if community is None:
        return ""
    names: dict[str, str] = {}
    for other, _ in scene.graph.neighbours[key]:
        home = scene.community_of.get(other)
        if home is not None and home.id != community.id and home.id not in names:
            there = plain_name(scene.community_label(home))
            name = scene.concept_name(other)
            names[home.id] = name if name == there else f"{name} ({there})"
    return f"Bridges to other communities: {' · '.join([*names.values()][:_BRIDGES])}" if names else ""


def fits(scene: Scene, key: str) -> tuple[str, ...]:
    """Return the concepts that are not linked to this one but share its neighbours, by key."""
    known = scene.fits.get(key)
    if known is not None:
        return known
    before = scene.kept(concept_id(key)).get("fits", "").split("\n")
    scored = scene.closeness.of(key, _FITS_LOOKED_AT)
    ranked = sorted(scored, key=lambda found: (-found[1] * (_LOYALTY if found[0] in before else 1), found[0]))
    scene.fits[key] = tuple(sorted(other for other, _ in ranked[:_FITS]))
    return scene.fits[key]


def _fits_line(scene: Scene, fitting: tuple[str, ...]) -> str:
    return f"Shares neighbours with, but no link yet: {' · '.join(map(scene.concept_name, fitting))}" if fitting else ""


def _aliases(concept: Concept, stem: str) -> tuple[str, ...]:
    """Return the other names a concept should be found under, leaving out those Obsidian's case-blind search finds anyway."""
    seen = {name_key(stem)}
    names = []
    for spelling in (concept.label, *concept.spellings):
        name = shown(spelling)
        if name and name_key(name) not in seen:
            seen.add(name_key(name))
            names.append(name)
    return tuple(names)
