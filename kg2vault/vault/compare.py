"""The graph and the vault, side by side: `differences()` says in words where they are not the same.

Layer 1, pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kg2vault.graph.model import Community, Concept, KnowledgeGraph
from kg2vault.vault.readback import VaultGraph
from kg2vault.vault.scene import community_id, plain_name
from kg2vault.vault.wikilinks import fill, token


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where vault and graph disagree: a stable code, one sentence, and the note it is about."""

    code: str
    message: str
    path: str | None = None


def differences(graph: KnowledgeGraph, vault: VaultGraph, linked: frozenset[tuple[str, str]] | None = None) -> list[Difference]:
    """Compare nodes, edges, weights and membership. `linked` names the edges that are links in the notes, None for all of them."""
    found = list(_nodes(graph, vault))
    found.extend(_edges(graph, vault, linked))
    if linked is not None:
        found.extend(_words(graph, vault, linked))
    found.extend(_membership(graph, vault))
    found.extend(Difference("ghost-link", f"a link leads nowhere: {target}", path) for path, target in vault.ghosts)
    found.extend(Difference("duplicate", f"a second note has the id {note_id}", path) for path, note_id in vault.copies)
    return found


def without_note(subject: Concept | Community) -> str:
    """Return what is said of a concept or community that has no note."""
    return f"the concept {subject.label} has no note" if isinstance(subject, Concept) else f"the community {subject.name} has no note"


def _nodes(graph: KnowledgeGraph, vault: VaultGraph) -> Iterator[Difference]:
    for key, concept in graph.concepts.items():
        if key not in vault.concepts:
            yield Difference("missing-note", without_note(concept))
    for key, path in sorted(vault.concepts.items()):
        if key not in graph.concepts:
            yield Difference("extra-note", f"the note is of {key}, which is not in the graph", path)


def _edges(graph: KnowledgeGraph, vault: VaultGraph, linked: frozenset[tuple[str, str]] | None) -> Iterator[Difference]:
    wanted = {(edge.source, edge.target): edge.weight for edge in graph.edges if linked is None or (edge.source, edge.target) in linked}
    labels: Mapping[str, str] = {key: concept.label for key, concept in graph.concepts.items()}
    for (source, target), weight in wanted.items():
        for here, there in ((source, target), (target, source)):
            if here not in vault.concepts or there not in vault.concepts or here in vault.without_region:
                continue
            seen = vault.seen_from.get((here, there))
            pair = f"{labels[here]} → {labels[there]}"
            if seen is None:
                yield Difference("missing-link", f"the link {pair} is missing", vault.concepts[here])
            elif seen != weight:
                yield Difference("wrong-weight", f"the link {pair} says {seen}, the graph {weight}", vault.concepts[here])
    for here, there in sorted(vault.seen_from):
        if (min(here, there), max(here, there)) not in wanted:
            pair = f"{labels.get(here, here)} → {labels.get(there, there)}"
            yield Difference("extra-link", f"the link {pair} is not an edge of the graph", vault.concepts.get(here))


def _words(graph: KnowledgeGraph, vault: VaultGraph, linked: frozenset[tuple[str, str]]) -> Iterator[Difference]:
    """Check the edges that are no links: their other end is named in words, with the weight."""
    for edge in graph.edges:
        if (edge.source, edge.target) in linked:
            continue
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            if here not in vault.concepts or here in vault.without_region:
                continue
            label = graph.concepts[there].label
            seen = vault.in_words.get((here, plain_name(label)), set())
            pair = f"{graph.concepts[here].label} → {label}"
            if not seen:
                yield Difference("missing-name", f"{pair} is missing, which is named without a link", vault.concepts[here])
            elif edge.weight not in seen:
                says = " and ".join(map(str, sorted(seen)))
                yield Difference("wrong-weight", f"{pair} says {says}, the graph {edge.weight}", vault.concepts[here])


def _names_its_community(graph: KnowledgeGraph, vault: VaultGraph, key: str, home: Community | None) -> bool:
    """Return whether a concept's note leads to its community, or says its name where that has no note to lead to."""
    said = vault.community_of.get(key)
    if home is None or said is not None or home.id in vault.members_of:
        return said == (home.id if home is not None else None)
    named = graph.concepts.get(home.label)
    return vault.community_words.get(key) == fill(token(community_id(home.id), named.label if named else home.name), {})


def _membership(graph: KnowledgeGraph, vault: VaultGraph) -> Iterator[Difference]:
    labels = {key: concept.label for key, concept in graph.concepts.items()}
    homes = graph.community_of()
    for key, path in sorted(vault.concepts.items()):
        if key in graph.concepts and not _names_its_community(graph, vault, key, homes.get(key)):
            yield Difference("wrong-community", f"{labels[key]} names another community than the graph", path)
    for community in graph.communities:
        if community.id not in vault.members_of:
            yield Difference("missing-note", without_note(community))
            continue
        if community.id in vault.without_members:
            continue
        there, path = set(vault.members_of[community.id]), vault.communities[community.id]
        for key in community.members:
            if key not in there and key in vault.concepts:
                yield Difference("missing-member", f"the note of community {community.name} does not list {labels[key]}", path)
        for key in sorted(there - set(community.members)):
            said = f"the note of community {community.name} lists {labels.get(key, key)}, which is not in it"
            yield Difference("extra-member", said, path)
    for identity in sorted(vault.members_of.keys() - {community.id for community in graph.communities}):
        path = vault.communities[identity]
        yield Difference("extra-note", f"the note is of the community {identity}, which is not in the graph", path)
