"""Co-occurrence: (item, tag) pairs → concepts and weighted edges.

Layer 1, pure. The order of the steps is the promise: merge spellings first, then drop rare concepts, then count shared items, then
drop light edges. Merging first matters because it can lift a concept over `min_items` that no single spelling would clear.
An item counts once for a concept, however many of its tags merge into it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress

from kg2vault.graph import columns
from kg2vault.graph.aliases import Canonicaliser, clean_spelling
from kg2vault.graph.model import Assignments, Concept, Item, Pair, Tally


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
    """Count concepts and the items they share; `items` gives the dates for the newest-first order of a concept's items.

    Repeated and unsorted assignments are fine; those of a `Reading` are fastest.
    """
    rows = Assignments.of(assignments)
    key_at = list(map(canonicaliser, rows.tags))
    keys = sorted(dict.fromkeys(key for key in key_at if key is not None))  # much as the tags are sorted already
    number = {key: position for position, key in enumerate(keys)}
    concept_at = [number[key] if key is not None else -1 for key in key_at]
    counting = columns.tally_of_many if len(rows) > columns.MANY_ROWS else tally
    found = counting(rows, concept_at, lambda ids: _newest_first(ids, items or {}), min_items=min_items, min_weight=min_weight)
    kept, pairs = range(len(found.kept)), found.pairs
    linked, pairs = (kept, pairs) if include_isolated else _without_isolated(pairs)
    name = _names(rows, concept_at, canonicaliser)
    concepts = []
    for position in linked:
        of_keys = found.kept[position]
        label, others = name(of_keys, keys[of_keys])
        concepts.append(Concept(keys[of_keys], label, others, found.items[position]))
    return Counted(
        concepts=tuple(concepts),
        pairs=tuple(pairs),
        distinct_tags=len(keys),
        singleton_tags=found.uses.count(1),
        tagged_items=found.tagged_items,
    )


def tally(
    rows: Assignments,
    concept_at: Sequence[int],
    newest_first: Callable[[Iterable[int]], list[int]],
    *,
    min_items: int,
    min_weight: int,
) -> Tally:
    """Count what each concept is on, and what those that are on `min_items` items share.

    `concept_at` gives the number of the concept that a tag of `rows.tags` belongs to, -1 for none.
    """
    places: list[list[int]] = [[] for _ in range(max(concept_at, default=-1) + 1)]
    concepts = list(map(concept_at.__getitem__, rows.tag_at))
    newest = newest_first({item for item, concept in zip(rows.item_ids, concepts, strict=True) if concept >= 0})
    place_of = {item: place for place, item in enumerate(newest)}
    for item, concept in zip(rows.item_ids, concepts, strict=True):
        if concept >= 0:
            places[concept].append(place_of[item])
    several = {concept for concept, tags in Counter(concept_at).items() if tags > 1}
    places = [sorted(set(of_one)) if concept in several else sorted(of_one) for concept, of_one in enumerate(places)]
    kept = [concept for concept, of_one in enumerate(places) if len(of_one) >= min_items]
    return Tally(
        tagged_items=len(newest),
        uses=list(map(len, places)),
        kept=kept,
        items=[tuple([newest[place] for place in places[concept]]) for concept in kept],
        pairs=_shared_items([places[concept] for concept in kept], len(newest), min_weight),
    )


def _newest_first(ids: Iterable[int], items: Mapping[int, Item]) -> list[int]:
    newest = sorted(ids, reverse=True)
    published = {item: items[item].published if item in items else "" for item in newest}
    newest.sort(key=published.__getitem__, reverse=True)  # stable: equal dates stay with the greater id first
    return newest


def _shared_items(places: Sequence[Sequence[int]], item_count: int, min_weight: int) -> list[Pair]:
    """Count the items each pair of concepts shares, from the last concept to the first.

    When a concept's turn comes, each of its items lists the later concepts it carries, so one counter over those lists holds all the
    concept's edges. Every pair is counted once, and only one concept's counter is alive at a time: the many pairs that share a single
    item never pile up in one table.
    """
    later: list[list[int]] = [[] for _ in range(item_count)]
    groups: list[list[Pair]] = []
    for first in range(len(places) - 1, -1, -1):
        lists = [later[place] for place in places[first]]
        shared = Counter(chain.from_iterable(lists))
        groups.append(sorted([(first, second, weight) for second, weight in shared.items() if weight >= min_weight]))
        for carried in lists:
            carried.append(first)
    return list(chain.from_iterable(reversed(groups)))


def _without_isolated(pairs: Sequence[Pair]) -> tuple[list[int], list[Pair]]:
    """Return which positions have an edge, and the pairs between positions in that list."""
    linked = sorted({first for first, _, _ in pairs} | {second for _, second, _ in pairs})
    if linked and len(linked) == linked[-1] + 1:
        return linked, list(pairs)
    position = [0] * (linked[-1] + 1 if linked else 0)
    for new, old in enumerate(linked):
        position[old] = new
    return linked, [(position[first], position[second], weight) for first, second, weight in pairs]


def _names(rows: Assignments, concept_at: Sequence[int], canonicaliser: Canonicaliser) -> Callable[[int, str], tuple[str, tuple[str, ...]]]:
    """Return the function that names a concept, given by its number and its key.

    That is the label (as the alias table has it, else the most used spelling, ties to the smaller code point) and the other spellings.
    """
    tag_of = dict(zip(concept_at, range(len(concept_at)), strict=True))
    several = {concept for concept, tags in Counter(concept_at).items() if tags > 1 and concept >= 0}
    tags_of: defaultdict[int, list[int]] = defaultdict(list)
    for at, concept in compress(enumerate(concept_at), map(several.__contains__, concept_at)):
        tags_of[concept].append(at)
    merged = set(chain.from_iterable(tags_of.values()))
    carried: defaultdict[int, set[int]] = defaultdict(set)
    for at, item in compress(zip(rows.tag_at, rows.item_ids, strict=True), map(merged.__contains__, rows.tag_at)):
        carried[at].add(item)

    def name(concept: int, key: str) -> tuple[str, tuple[str, ...]]:
        named = canonicaliser.named_spelling(key)
        if concept not in several:
            spelling = clean_spelling(rows.tags[tag_of[concept]])
            return (named, (spelling,)) if named and named != spelling else (spelling, ())
        items: defaultdict[str, set[int]] = defaultdict(set)
        for at in tags_of[concept]:
            items[clean_spelling(rows.tags[at])] |= carried[at]
        label = named or min(items, key=lambda spelling: (-len(items[spelling]), spelling))
        return label, tuple(sorted(spelling for spelling in items if spelling != label))

    return name
