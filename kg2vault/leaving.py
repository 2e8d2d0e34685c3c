"""What became of concepts and communities that the manifest knows and the graph does not want any more.

Layer 3. `fates()` answers for one manifest entry at a time; the rows are gone through once, and only when something did leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

from kg2vault.graphs import Built
from kg2vault.sync.manifest import Manifest, ManifestEntry
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.farewell import Fate, farewell_note
from kg2vault.vault.scene import community_id, concept_id

_MOVED_TO = "moved_to"


def fates(built: Built, manifest: Manifest) -> Callable[[ManifestEntry], DesiredNote]:
    """Return a function that gives the farewell note of an entry."""
    items_of = _items_by_concept(built)

    def farewell(entry: ManifestEntry) -> DesiredNote:
        kind, _, key = entry.id.partition("/")
        fate = Fate(last=entry.last)
        if kind == "concept":
            fate = _concept_fate(built, key, items_of().get(key, ()), entry.last)
        elif kind == "community":
            fate = _community_fate(built, manifest, entry)
        note = farewell_note(entry.id, entry.label or key, fate)
        return note._replace(kept={_MOVED_TO: fate.moved_to[0]}) if fate.moved_to is not None else note

    return farewell


def _items_by_concept(built: Built) -> Callable[[], dict[str, list[int]]]:
    @cache
    def gather() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for item_id, tag in built.reading.assignments:
            key = built.canonicaliser(tag)
            if key is not None:
                found.setdefault(key, []).append(item_id)
        return found

    return gather


def _concept_fate(built: Built, key: str, item_ids: list[int] | tuple[int, ...], last: str) -> Fate:
    canonical = built.canonicaliser(key)
    target = built.graph.concepts.get(canonical) if canonical is not None and canonical != key else None
    days = [item.published[:10] for item_id in item_ids if (item := built.reading.items.get(item_id)) is not None]
    return Fate(
        items=len(set(item_ids)),
        last=max(days, default="") or last,
        merged_into=(concept_id(target.key), target.label) if target is not None else None,
        ignored=canonical is None,
    )


def _community_fate(built: Built, manifest: Manifest, entry: ManifestEntry) -> Fate:
    """Say where most members went: counted in the run in which the community leaves, remembered by its entry ever after."""
    members = next((saved.members for saved in manifest.communities if community_id(saved.id) == entry.id), ())
    homes = built.graph.community_of()
    counts = Counter(community_id(homes[key].id) for key in members if key in homes)
    chosen = min(counts, key=lambda found: (-counts[found], found)) if counts else entry.kept.get(_MOVED_TO)
    community = next((c for c in built.graph.communities if community_id(c.id) == chosen), None)
    if community is None:
        return Fate()
    label = built.graph.concepts[community.label].label if community.label in built.graph.concepts else community.name
    return Fate(moved_to=(community_id(community.id), label))
