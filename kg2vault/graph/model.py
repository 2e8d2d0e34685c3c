"""The nouns of the knowledge graph: what the reader's rows become, as frozen values.

Layer 1, pure. `KnowledgeGraph` is the one everybody comes for: concepts, weighted edges, metrics and communities, every collection sorted
so that the same rows give the same bytes whatever order they came in.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload


class Item(NamedTuple):  # half a million of these are made of rows: a tuple is
    """One row of `items`; a fact the database does not have is an empty string (or None for the feed)."""

    id: int
    title: str = ""
    url: str = ""
    published: str = ""  # as stored, usually "YYYY-MM-DD HH:MM:SS"; compared as text, newest = greatest
    feed_id: int | None = None
    summary: str = ""  # read only on request: nothing but item notes needs it


class Feed(NamedTuple):
    """One row of `feeds`."""

    id: int
    url: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Assignments(Sequence[tuple[int, str]]):
    """Which item carries which tag, sorted and each pair once: a sequence of (item id, tag) kept as columns, for there are millions.

    Row i says that item `item_ids[i]` carries `tags[tag_at[i]]`. Both arrays hold 64-bit numbers; every tag is on some row.
    """

    item_ids: array[int]
    tag_at: array[int]
    tags: Sequence[str]  # sorted

    @staticmethod
    def of(rows: Iterable[tuple[int, str]]) -> Assignments:
        """Return assignments of pairs in any order; repeated ones count once."""
        if isinstance(rows, Assignments):
            return rows
        pairs = sorted(set(rows))
        tags = sorted({tag for _, tag in pairs})
        place = {tag: number for number, tag in enumerate(tags)}
        return Assignments(array("q", [item for item, _ in pairs]), array("q", [place[tag] for _, tag in pairs]), tags)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.item_ids)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Iterate over the pairs."""
        return zip(self.item_ids, map(self.tags.__getitem__, self.tag_at), strict=True)

    @overload
    def __getitem__(self, place: int) -> tuple[int, str]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[int, str]]: ...
    def __getitem__(self, place: int | slice) -> tuple[int, str] | Sequence[tuple[int, str]]:
        """Return one pair, or a list of pairs."""
        if isinstance(place, slice):
            return list(zip(self.item_ids[place], map(self.tags.__getitem__, self.tag_at[place]), strict=True))
        return self.item_ids[place], self.tags[self.tag_at[place]]


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything one read transaction took from hermes.db.

    `assignments` are (item id, tag text) pairs, sorted, each pair once (`Assignments`). `skipped` counts rows left out by reason
    (`blank`, `null`, `orphan`…), `decoded` how many values were not valid UTF-8 text and were read with replacement.
    """

    assignments: Sequence[tuple[int, str]]
    items: Mapping[int, Item]
    feeds: Mapping[int, Feed]
    fingerprint: str = ""
    skipped: Mapping[str, int] = field(default_factory=dict)
    decoded: int = 0


@dataclass(frozen=True, slots=True)
class Concept:
    """A canonical node: one spelling key, the label people see, every other spelling that was merged into it."""

    key: str
    label: str
    spellings: tuple[str, ...]  # the other spellings, sorted, without the label
    item_ids: tuple[int, ...]  # distinct items, newest first (published descending, then id descending)

    @property
    def items(self) -> int:
        """Number of distinct items that carry the concept."""
        return len(self.item_ids)


Pair = tuple[int, int, int]  # index of a concept, index of a later concept, number of shared items


@dataclass(frozen=True, slots=True)
class Tally:
    """What counting finds out, with concepts as numbers in the order of their keys; `items` and `pairs` are of those in `kept`."""

    tagged_items: int
    uses: list[int]  # items that each concept is on
    kept: list[int]  # concepts on enough of them
    items: list[tuple[int, ...]]  # newest first
    pairs: list[Pair]  # sorted


class Edge(NamedTuple):
    """An undirected edge, `source` < `target` by key; `weight` is the number of items both concepts are on."""

    source: str
    target: str
    weight: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the graph says of one concept."""

    degree: int  # number of neighbours
    strength: int  # summed weight of its edges
    betweenness: float  # unweighted, normalised to 0..1 (Brandes 2001)
    pagerank: float  # weighted, sums to 1 over the graph
    component: int  # 0 is the largest component


@dataclass(frozen=True, slots=True)
class Community:
    """A group of concepts. `id` and `name` (the label at birth: file and tag are made from it) live as long as its identity."""

    id: str  # short and stable, e.g. "4f1c2a9e"
    name: str
    label: str  # the concept key whose label is shown now
    members: tuple[str, ...]  # concept keys, by degree descending, then strength descending, then key


@dataclass(frozen=True, slots=True)
class KnowledgeGraph:
    """The whole graph. Concepts and edges are sorted by key; `communities` by size descending, then id."""

    concepts: Mapping[str, Concept]  # by key, in sorted order
    edges: tuple[Edge, ...]
    metrics: Mapping[str, Metrics]
    communities: tuple[Community, ...]
    neighbours: Mapping[str, tuple[tuple[str, int], ...]]  # key → (neighbour key, weight), heaviest first, then by label, then key
    betweenness_sampled: bool = False  # True when betweenness was estimated from a sample of sources
    distinct_tags: int = 0  # canonical tags before the frequency filter
    singleton_tags: int = 0  # of those, how many are on one item only
    tagged_items: int = 0  # items that carry at least one tag
    edges_digest: str = ""  # of the edges, not their weights, and the community settings: while it is the same, communities stay

    def community_of(self) -> dict[str, Community]:
        """Map each concept key to its community; concepts of communities below the minimum size are absent."""
        return {key: community for community in self.communities for key in community.members}
