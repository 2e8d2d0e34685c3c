"""Co-occurrence: (item, tag) pairs → concepts and weighted edges.

Layer 1, pure. The order of the steps is the promise: merge spellings first, then drop rare concepts, then count shared items, then
drop light edges. Merging first matters because it can lift a concept over `min_items` that no single spelling would clear.
An item counts once for a concept, however many of its tags merge into it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from kg2vault.graph.aliases import Canonicaliser, clean_spelling
from kg2vault.graph.model import Concept, Item

Pair = tuple[int, int, int]  # index of a concept, index of a later concept, number of shared items


@dataclass(frozen=True, slots=True)
class Counted:
    """Concepts sorted by key, and edges between their positions, sorted."""

    concepts: tuple[Concept, ...]
    pairs: tuple[Pair, ...]
    distinct_tags: int
    singleton_tags: int
    tagged_items: int


def count(
    assignments: Iterable[tuple[int, str]],
    canonicaliser: Canonicaliser,
    *,
    min_items: int = 2,
    min_weight: int = 2,
    include_isolated: bool = False,
    items: Mapping[int, Item] | None = None,
) -> Counted:
    """Count concepts and the items they share; `items` gives the dates for the newest-first order of a concept's items."""
    carried = _items_by_tag(assignments)
    tags_of = _tags_by_concept(carried, canonicaliser)
    ranked = _newest_first({item for tags in tags_of.values() for tag in tags for item in carried[tag]}, items or {})
    rank = {item: position for position, item in enumerate(ranked)}
    members = {key: sorted({rank[item] for tag in tags for item in carried[tag]}) for key, tags in tags_of.items()}
    keys = sorted(key for key, ranks in members.items() if len(ranks) >= min_items)
    pairs = _shared_items([members[key] for key in keys], len(ranked), min_weight)
    if not include_isolated:
        keys, pairs = _without_isolated(keys, pairs)
    return Counted(
        concepts=tuple(_concept(key, tags_of[key], carried, members[key], ranked, canonicaliser) for key in keys),
        pairs=tuple(pairs),
        distinct_tags=len(members),
        singleton_tags=sum(len(ranks) == 1 for ranks in members.values()),
        tagged_items=len(ranked),
    )


def _items_by_tag(assignments: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    carried: defaultdict[str, list[int]] = defaultdict(list)
    for item, tag in assignments:
        carried[tag].append(item)
    return carried


def _tags_by_concept(carried: Iterable[str], canonicaliser: Canonicaliser) -> dict[str, list[str]]:
    tags_of: defaultdict[str, list[str]] = defaultdict(list)
    for tag in carried:
        key = canonicaliser(tag)
        if key is not None:
            tags_of[key].append(tag)
    return tags_of


def _newest_first(ids: Iterable[int], items: Mapping[int, Item]) -> list[int]:
    unknown = Item(0)
    return sorted(ids, key=lambda item: (items.get(item, unknown).published, item), reverse=True)


def _shared_items(members: Sequence[Sequence[int]], item_count: int, min_weight: int) -> list[Pair]:
    """Count the items each pair of concepts shares, concept by concept.

    When a concept's turn comes, each of its items lists the concepts that came before it, so one counter over those lists holds all
    its edges backwards. Every pair is counted once, and only one concept's counter is alive at a time: the many pairs that share a
    single item never pile up in one table.
    """
    earlier: list[list[int]] = [[] for _ in range(item_count)]
    pairs: list[Pair] = []
    for later, ranks in enumerate(members):
        shared = Counter(chain.from_iterable([earlier[rank] for rank in ranks]))
        pairs.extend((first, later, weight) for first, weight in shared.items() if weight >= min_weight)
        for rank in ranks:
            earlier[rank].append(later)
    pairs.sort()
    return pairs


def _without_isolated(keys: list[str], pairs: list[Pair]) -> tuple[list[str], list[Pair]]:
    linked = sorted({end for first, second, _ in pairs for end in (first, second)})
    position = {old: new for new, old in enumerate(linked)}
    return [keys[old] for old in linked], [(position[first], position[second], weight) for first, second, weight in pairs]


def _concept(
    key: str,
    tags: Sequence[str],
    carried: Mapping[str, Sequence[int]],
    ranks: Sequence[int],
    ranked: Sequence[int],
    canonicaliser: Canonicaliser,
) -> Concept:
    spellings: defaultdict[str, set[int]] = defaultdict(set)
    for tag in tags:
        spellings[clean_spelling(tag)].update(carried[tag])
    label = canonicaliser.named_spelling(key) or min(spellings, key=lambda spelling: (-len(spellings[spelling]), spelling))
    return Concept(
        key=key,
        label=label,
        spellings=tuple(sorted(spelling for spelling in spellings if spelling != label)),
        item_ids=tuple([ranked[rank] for rank in ranks]),
    )
