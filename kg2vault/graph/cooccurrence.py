"""Co-occurrence: (item, tag) pairs → concepts and weighted edges.

Layer 1, pure. The order of the steps is the promise: merge spellings first, then drop rare concepts, then count shared items, then
drop light edges. Merging first matters because it can lift a concept over `min_items` that no single spelling would clear.
An item counts once for a concept, however many of its tags merge into it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter, lt

from kg2vault.graph.aliases import Canonicaliser, clean_spelling
from kg2vault.graph.model import Concept, Item

Pair = tuple[int, int, int]  # index of a concept, index of a later concept, number of shared items

# From here on arrays pay for importing numpy, which a graph of that size needs for its betweenness anyway.
_MANY_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Counted:
    """Concepts sorted by key, and edges between their positions, sorted."""

    concepts: tuple[Concept, ...]
    pairs: tuple[Pair, ...]
    distinct_tags: int
    singleton_tags: int
    tagged_items: int


def count(
    assignments: Sequence[tuple[int, str]],
    canonicaliser: Canonicaliser,
    *,
    min_items: int = 2,
    min_weight: int = 2,
    include_isolated: bool = False,
    items: Mapping[int, Item] | None = None,
) -> Counted:
    """Count concepts and the items they share; `items` gives the dates for the newest-first order of a concept's items.

    Repeated and unsorted assignments are fine; sorted ones without repeats, as a `Reading` has them, are fastest.
    """
    rows = _sorted_once(assignments)
    keys_of = {tag: canonicaliser(tag) for tag in set(map(itemgetter(1), rows))}
    if None in keys_of.values():
        rows = [row for row in rows if keys_of[row[1]] is not None]
    newest = _newest_first(set(map(itemgetter(0), rows)), items or {})
    carried = _places_by_tag(rows, newest)
    spellings = _tags_by_concept(carried, keys_of)
    places = {key: _merged([carried[tag] for tag in tags]) for key, tags in spellings.items()}
    keys = sorted(key for key, of_key in places.items() if len(of_key) >= min_items)
    shared_items = _shared_items_of_many if len(rows) > _MANY_ROWS else _shared_items
    pairs = shared_items([places[key] for key in keys], len(newest), min_weight)
    if not include_isolated:
        keys, pairs = _without_isolated(keys, pairs)
    concepts = []
    for key in keys:
        label, others = _name(key, spellings[key], carried, canonicaliser)
        concepts.append(Concept(key, label, others, tuple([newest[place] for place in places[key]])))
    return Counted(
        concepts=tuple(concepts),
        pairs=tuple(pairs),
        distinct_tags=len(places),
        singleton_tags=sum(len(of_key) == 1 for of_key in places.values()),
        tagged_items=len(newest),
    )


def _sorted_once(rows: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
    return rows if all(map(lt, rows, islice(rows, 1, None))) else sorted(set(rows))


def _newest_first(ids: Iterable[int], items: Mapping[int, Item]) -> list[int]:
    newest = sorted(ids, reverse=True)
    published = {item: items[item].published if item in items else "" for item in newest}
    newest.sort(key=published.__getitem__, reverse=True)  # stable: equal dates stay with the greater id first
    return newest


def _places_by_tag(rows: Iterable[tuple[int, str]], newest: Sequence[int]) -> dict[str, list[int]]:
    """Where in the newest-first list the items of each raw tag stand, ascending."""
    place_of = {item: place for place, item in enumerate(newest)}
    carried: defaultdict[str, list[int]] = defaultdict(list)
    for item, tag in rows:
        carried[tag].append(place_of[item])
    for places in carried.values():
        places.sort()
    return carried


def _tags_by_concept(tags: Iterable[str], keys_of: Mapping[str, str | None]) -> dict[str, list[str]]:
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for tag in tags:
        key = keys_of[tag]
        if key is not None:
            spellings[key].append(tag)
    return spellings


def _merged(lists: Sequence[list[int]]) -> list[int]:
    return lists[0] if len(lists) == 1 else sorted(set().union(*lists))


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


def _shared_items_of_many(places: Sequence[Sequence[int]], item_count: int, min_weight: int) -> list[Pair]:
    """Answer as `_shared_items` does, several times faster on millions of rows: a pair becomes one number, equal ones are counted."""
    import numpy as np

    size = len(places)
    concept = np.repeat(np.arange(size), [len(of_concept) for of_concept in places])
    place = np.fromiter(chain.from_iterable(places), dtype=np.int64, count=len(concept))
    by_item = np.argsort(place, kind="stable")  # stable: within an item the concepts stay in order
    concept, place = concept[by_item], place[by_item]
    codes = []
    onward = np.arange(len(concept) - 1)  # rows whose item has a row that many steps further on
    for step in range(1, len(concept)):
        onward = onward[: np.searchsorted(onward, len(concept) - step)]
        onward = onward[place[onward] == place[onward + step]]
        if not onward.size:
            break
        codes.append(concept[onward] * size + concept[onward + step])
    if not codes:
        return []
    code, weight = np.unique(np.concatenate(codes), return_counts=True)
    heavy = weight >= min_weight
    code, weight = code[heavy], weight[heavy]
    return list(zip((code // size).tolist(), (code % size).tolist(), weight.tolist(), strict=True))


def _without_isolated(keys: list[str], pairs: list[Pair]) -> tuple[list[str], list[Pair]]:
    linked = sorted({end for first, second, _ in pairs for end in (first, second)})
    position = {old: new for new, old in enumerate(linked)}
    return [keys[old] for old in linked], [(position[first], position[second], weight) for first, second, weight in pairs]


def _name(key: str, tags: Sequence[str], carried: Mapping[str, Sequence[int]], canonicaliser: Canonicaliser) -> tuple[str, tuple[str, ...]]:
    """The label (as the alias table has it, else the most used spelling, ties to the smaller code point) and the other spellings."""
    places: defaultdict[str, set[int]] = defaultdict(set)
    if len(tags) > 1:
        for tag in tags:
            places[clean_spelling(tag)].update(carried[tag])
    spellings = list(places) or [clean_spelling(tags[0])]
    label = canonicaliser.named_spelling(key) or min(spellings, key=lambda spelling: (-len(places[spelling]), spelling))
    return label, tuple(sorted(spelling for spelling in spellings if spelling != label))
