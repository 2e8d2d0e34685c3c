"""What every format says of a concept and of an edge: `node_facts` and `COLUMNS`.

Layer 1, pure. A concept is identified by its key, which is its label in lower case; `community` is empty outside of communities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kg2vault.graph.model import KnowledgeGraph

Fact = str | int | float

COLUMNS: dict[str, type[Fact]] = {
    "label": str,
    "items": int,
    "degree": int,
    "strength": int,
    "betweenness": float,  # unweighted, 0..1
    "pagerank": float,
    "component": int,
    "community": str,  # id
    "community_name": str,
    "aliases": str,  # the other spellings, separated by " | "
}


def node_facts(graph: KnowledgeGraph) -> Iterator[tuple[str, dict[str, Fact]]]:
    """Yield each concept's key and facts, in the order of keys; the facts are in the order of COLUMNS."""
    community_of = graph.community_of()
    for key, concept in graph.concepts.items():
        metrics, community = graph.metrics[key], community_of.get(key)
        yield (
            key,
            {
                "label": concept.label,
                "items": concept.items,
                "degree": metrics.degree,
                "strength": metrics.strength,
                "betweenness": metrics.betweenness,
                "pagerank": metrics.pagerank,
                "component": metrics.component,
                "community": community.id if community is not None else "",
                "community_name": community.name if community is not None else "",
                "aliases": " | ".join(concept.spellings),
            },
        )


def distinct_ids(graph: KnowledgeGraph, clean: Callable[[str], str]) -> Mapping[str, str]:
    """Map each key to what a format can write of it; keys that would become equal are told apart by a number, so that no node is lost."""
    ids: dict[str, str] = {}
    taken = {key for key in graph.concepts if clean(key) == key}
    for key in graph.concepts:
        cleaned = identity = clean(key)
        number = 1
        while key != identity and identity in taken:
            number += 1
            identity = f"{cleaned} {number}"
        taken.add(identity)
        ids[key] = identity
    return ids
