"""Communities: groups of concepts that keep their identity from run to run.

Layer 1, pure. The same graph and the same earlier partition give the same communities; an unchanged graph keeps the earlier ones as
they are. Of a split the larger part keeps id and name, of a merge the larger one's are kept; two communities never share a name.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting

from kg2vault.graph import partition
from kg2vault.graph.metrics import degrees
from kg2vault.graph.model import Community, Concept, KnowledgeGraph, Pair

_ID_LENGTH = 8


@dataclass(frozen=True, slots=True)
class PreviousCommunity:
    """A community as the last run left it."""

    id: str
    name: str
    label: str  # concept key
    members: tuple[str, ...]  # concept keys


@dataclass(frozen=True, slots=True)
class Partition:
    """What a run hands to the next one; `edges_digest` tells whether there is anything to do."""

    edges_digest: str
    communities: tuple[PreviousCommunity, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that decide about communities."""

    min_size: int = 3
    resolution: float = 1.0
    stickiness: float = 0.05


def partition_of(graph: KnowledgeGraph) -> Partition:
    """Return what to store so that the next build keeps these communities."""
    kept = tuple(PreviousCommunity(c.id, c.name, c.label, c.members) for c in sorted(graph.communities, key=lambda c: c.id))
    return Partition(edges_digest=graph.edges_digest, communities=kept)


def modularity(graph: KnowledgeGraph, division: Partition, *, resolution: float = 1.0) -> float:
    """Return the weighted modularity of a partition of this graph; concepts it does not mention count as communities of their own."""
    position = {key: node for node, key in enumerate(graph.concepts)}
    parts = [[position[key] for key in community.members if key in position] for community in division.communities]
    return partition.modularity(_pairs(graph), parts, resolution=resolution)


def fresh_partition(graph: KnowledgeGraph, *, min_size: int = 3, resolution: float = 1.0) -> Partition:
    """Return the partition a first run would find in this graph, to hold the standing one against (`modularity`)."""
    found = find_communities(
        list(graph.concepts.values()), _pairs(graph), Terms(min_size=min_size, resolution=resolution), digest=graph.edges_digest
    )
    return Partition(graph.edges_digest, tuple(PreviousCommunity(c.id, c.name, c.label, c.members) for c in found))


def edges_digest(concepts: Sequence[Concept], pairs: Sequence[Pair], terms: Terms) -> str:
    """Return a digest of the edges, without their weights, and of the settings that change what is found in them.

    Weights grow with every item. Were they in the digest, an item that links nothing anew could move concepts it has nothing to do with;
    so what the weights have become counts when next an edge comes or goes.
    """
    lines = [f"{terms.min_size} {terms.resolution!r}"]
    lines.extend(f"{concepts[first].key}\t{concepts[second].key}" for first, second, _ in pairs)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def find_communities(
    concepts: Sequence[Concept],
    pairs: Sequence[Pair],
    terms: Terms,
    *,
    digest: str,
    previous: Partition | None = None,
    recluster: bool = False,
) -> tuple[Community, ...]:
    """Find communities of at least `min_size` concepts, sorted by size descending, then id.

    `previous` carries identity over and, unless `recluster` starts afresh, is where the search begins.
    """
    degree, strength = degrees(len(concepts), pairs)
    order = sorted(range(len(concepts)), key=lambda node: (-degree[node], -strength[node], concepts[node].key))
    standing = {node: position for position, node in enumerate(order)}
    position = {concept.key: node for node, concept in enumerate(concepts)}
    before = [[position[key] for key in old.members if key in position] for old in previous.communities] if previous else []
    if previous and not recluster and previous.edges_digest == digest:
        parts = [part for part in before if part]
    elif previous and not recluster:
        parts = partition.divide_again(pairs, strength, before, resolution=terms.resolution, stickiness=terms.stickiness)
    else:
        parts = partition.divide(pairs, resolution=terms.resolution)
    large = [sorted(part, key=standing.__getitem__) for part in parts if len(part) >= terms.min_size]
    members = [tuple(concepts[node].key for node in part) for part in large]
    labels = {concept.key: concept.label for concept in concepts}
    return _identify(members, previous.communities if previous else (), labels)


def _pairs(graph: KnowledgeGraph) -> list[Pair]:
    position = {key: node for node, key in enumerate(graph.concepts)}
    return [(position[edge.source], position[edge.target], edge.weight) for edge in graph.edges]


def _identify(found: Sequence[tuple[str, ...]], previous: Sequence[PreviousCommunity], labels: Mapping[str, str]) -> tuple[Community, ...]:
    heirs = _inheritance(found, previous)
    taken_ids = {old.id for old in previous}
    taken_names: set[str] = set()
    communities: list[Community] = []
    for position in sorted(heirs, key=lambda position: heirs[position].id):
        old, members = heirs[position], found[position]
        name = old.name if _name_key(old.name) not in taken_names else _new_name(members, labels, taken_names, old.id)
        taken_names.add(_name_key(name))
        communities.append(Community(old.id, name, old.label if old.label in members else members[0], members))
    born = [members for position, members in enumerate(found) if position not in heirs]
    for members in sorted(born, key=lambda members: (-len(members), min(members))):
        identity = _new_id(members, taken_ids)
        name = _new_name(members, labels, taken_names, identity)
        taken_ids.add(identity)
        taken_names.add(_name_key(name))
        communities.append(Community(identity, name, members[0], members))
    return tuple(sorted(communities, key=lambda community: (-len(community.members), community.id)))


def _inheritance(found: Sequence[tuple[str, ...]], previous: Sequence[PreviousCommunity]) -> dict[int, PreviousCommunity]:
    """Match found communities with earlier ones by the members they share, most shared first.

    A match must be the better half of something: of the earlier community, or of the members in the found one that were in any.
    So a few stragglers never carry a name, and what a person wrote under it, into a different topic.
    """
    home = {key: number for number, old in enumerate(previous) for key in old.members}
    shared = [Counter(home[key] for key in members if key in home) for members in found]
    survivors: Counter[int] = Counter()
    for counts in shared:
        survivors.update(counts)
    claims: list[tuple[int, bool, int, str, str, int, int]] = []
    for position, counts in enumerate(shared):
        for number, together in counts.items():
            if 2 * together >= min(survivors[number], counts.total()):
                old, members = previous[number], found[position]
                claims.append((-together, old.label not in members, -len(members), old.id, min(members), position, number))
    heirs: dict[int, PreviousCommunity] = {}
    given: set[int] = set()
    for *_, position, number in sorted(claims):
        if position not in heirs and number not in given:
            heirs[position] = previous[number]
            given.add(number)
    return heirs


def _new_id(members: Iterable[str], taken: set[str]) -> str:
    """Return a short id made of the founding members; when it is or was somebody else's, the next one of a fixed series."""
    founders = "\n".join(sorted(members))
    for attempt in counting():
        text = founders if attempt == 0 else f"{founders}\n\n{attempt}"
        identity = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]
        if identity not in taken:
            return identity
    raise AssertionError("unreachable: counting does not end")


def _new_name(members: Sequence[str], labels: Mapping[str, str], taken: set[str], identity: str) -> str:
    """Return the label of the first member, followed by as many more as it takes to be nobody else's name."""
    for length in range(1, len(members) + 1):
        name = ", ".join(labels[key] for key in members[:length])
        if _name_key(name) not in taken:
            return name
    return f"{labels[members[0]]}, {identity}"


def _name_key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
