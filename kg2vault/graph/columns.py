"""Columns: sorting and counting millions of rows with arrays, with the answers of the plain ways in `cooccurrence`.

Layer 1, pure. Importing numpy takes as long as reading and counting some 40,000 rows, so only large databases come here (`MANY_ROWS`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import eq
from typing import TYPE_CHECKING, Any

from kg2vault.graph.model import Assignments, Pair, Tally

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.int64]]

MANY_ROWS = 100_000


def in_order(item_ids: array[int], numbers: array[int], texts: Sequence[str]) -> Assignments:
    """Return the assignments of items `item_ids[i]` to the tags `texts[numbers[i]]`, rows in any order and perhaps repeated."""
    order = sorted(set(numbers), key=texts.__getitem__)
    tags, place = [texts[number] for number in order], [0] * len(texts)
    for position, number in enumerate(order):
        place[number] = position
    if len(item_ids) > MANY_ROWS:
        return Assignments(*_sorted_once(item_ids, numbers, place), tags)
    rows = sorted(zip(item_ids, map(place.__getitem__, numbers), strict=True))
    if any(map(eq, rows, islice(rows, 1, None))):
        rows = sorted(set(rows))
    return Assignments(array("q", [item for item, _ in rows]), array("q", [tag for _, tag in rows]), tags)


def _sorted_once(item_ids: array[int], numbers: array[int], place: Sequence[int]) -> tuple[array[int], array[int]]:
    import numpy as np

    ids, item = np.unique(np.frombuffer(item_ids, np.int64), return_inverse=True)
    code = item * len(place) + np.array(place, dtype=np.int64)[np.frombuffer(numbers, np.int64)]
    code.sort()
    item, tag = np.divmod(code[_first_of_each(code)], len(place))
    return array("q", ids[item].tobytes()), array("q", tag.tobytes())


def _first_of_each(numbers: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mark the first of equal neighbours. Sorting and this is ten times as fast as `numpy.unique`, which hashes."""
    import numpy as np

    first = np.ones(len(numbers), dtype=bool)
    first[1:] = numbers[1:] != numbers[:-1]
    return first


def tally_of_many(
    rows: Assignments,
    concept_at: Sequence[int],
    newest_first: Callable[[Iterable[int]], list[int]],
    *,
    min_items: int,
    min_weight: int,
) -> Tally:
    """Answer as `cooccurrence.tally` does, several times faster on millions of rows."""
    import numpy as np

    concept = np.array(concept_at, dtype=np.int64)[np.frombuffer(rows.tag_at, np.int64)]
    item = np.frombuffer(rows.item_ids, np.int64)
    concept, item = concept[concept >= 0], item[concept >= 0]
    fresh = _first_of_each(item)  # the rows are sorted by item
    ids = item[fresh]
    newest = np.array(newest_first(ids.tolist()), dtype=np.int64)
    place_of = np.empty_like(newest)
    place_of[np.searchsorted(ids, newest)] = np.arange(len(newest))
    code = concept * len(newest) + place_of[np.cumsum(fresh) - 1]
    code.sort()
    concept, place = np.divmod(code[_first_of_each(code)], max(1, len(newest)))
    uses = np.bincount(concept, minlength=max(concept_at, default=-1) + 1)
    kept = np.flatnonzero(uses >= min_items)
    is_kept = (uses >= min_items)[concept]
    concept, place = np.searchsorted(kept, concept[is_kept]), place[is_kept]
    ends = np.cumsum(uses[kept]).tolist()
    of_concept = newest[place].tolist()
    items = [tuple(of_concept[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return Tally(len(newest), uses.tolist(), kept.tolist(), items, _shared_items(concept, place, len(kept), min_weight))


def _shared_items(concept: Array, place: Array, size: int, min_weight: int) -> list[Pair]:
    """Count the items each pair of concepts shares: a pair becomes one number, equal numbers are counted."""
    import numpy as np

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
    every = np.concatenate(codes)
    every.sort()
    at = np.flatnonzero(_first_of_each(every))
    weight = np.diff(at, append=len(every))
    heavy = weight >= min_weight
    code, weight = every[at[heavy]], weight[heavy]
    return list(zip((code // size).tolist(), (code % size).tolist(), weight.tolist(), strict=True))
