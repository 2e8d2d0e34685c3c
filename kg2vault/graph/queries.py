"""Queries: the questions people ask of a finished graph.

Layer 1, pure. Answers are exact and the same every time: neighbours are direct ones only, of several shortest paths the first in
the order of keys is taken, and ties in a ranking go to the smaller key.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches

from kg2vault.graph.aliases import AliasTable, Canonicaliser, clean_spelling, fold_key, spelling_key
from kg2vault.graph.closeness import Closeness
from kg2vault.graph.model import Concept, KnowledgeGraph

METRICS = ("degree", "betweenness", "strength", "pagerank")
_MOST_OFFERED = 5
_LIKENESS = 0.72  # of difflib: one or two wrong letters in a word, not another word


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a typed name means: the key of one concept, or None and the labels of concepts that look like it."""

    key: str | None
    offered: tuple[str, ...] = ()


def resolve(graph: KnowledgeGraph, text: str, table: AliasTable | None = None, *, fold_case: bool = True) -> Resolved:
    """Find the concept a person means by `reinforcement learning`, `Reinforcement Learning`, `LLM` or `large_language_models`.

    Tried in order: the name as it stands, the alias table, spaces written as hyphens, as underscores or not at all, every spelling that
    was merged into a concept, as it shows without its control characters, and last the fold key. A name that fits several concepts is not
    resolved; they are offered instead.
    """
    if text in graph.concepts:
        return Resolved(text)
    typed = clean_spelling(text)
    canonicaliser = Canonicaliser(table or AliasTable.empty(), fold_case=fold_case)
    variants = [typed, *(typed.replace(" ", joint) for joint in ("-", "_", ""))]
    for variant in variants:
        key = canonicaliser(variant)
        if key is not None and key in graph.concepts:
            return Resolved(key)
    lowered = {_visible(variant).lower() for variant in variants} - {""}
    fitting = [concept for concept in graph.concepts.values() if any(_visible(name).lower() in lowered for name in _names(concept))]
    if not fitting and typed:
        folded = _loose_key(typed)
        fitting = [concept for concept in graph.concepts.values() if any(_loose_key(name) == folded for name in _names(concept))]
    if len(fitting) == 1:
        return Resolved(fitting[0].key)
    return Resolved(None, tuple(concept.label for concept in fitting[:_MOST_OFFERED]) or _close_spellings(graph, typed))


def neighbors(graph: KnowledgeGraph, key: str, limit: int = 20) -> tuple[tuple[str, int], ...]:
    """Return direct neighbours with the weight of their edge, heaviest first; none for a key the graph does not have."""
    return graph.neighbours.get(key, ())[: max(0, limit)]


def shortest_path(graph: KnowledgeGraph, source: str, target: str) -> tuple[str, ...] | None:
    """Return a path with the fewest edges, of several the first in the order of keys; None when the two are not connected.

    Raises ValueError for a key the graph does not have: "no path" is said only about two real concepts.
    """
    for key in (source, target):
        if key not in graph.concepts:
            raise ValueError(f"no concept {key!r} in the graph")
    distance = _distances(graph, target, until=source)
    if source not in distance:
        return None
    path = [source]
    while path[-1] != target:
        nearer = distance[path[-1]] - 1
        path.append(min(key for key, _ in graph.neighbours[path[-1]] if distance.get(key) == nearer))
    return tuple(path)


def central(graph: KnowledgeGraph, metric: str = "degree", limit: int = 10) -> tuple[tuple[str, float], ...]:
    """Return the concepts that score highest on a metric, ties by key. Raises ValueError naming the metrics there are."""
    if metric not in METRICS:
        raise ValueError(f"unknown metric {metric!r}; choose one of {', '.join(METRICS)}")
    scores = [(key, getattr(metrics, metric)) for key, metrics in graph.metrics.items()]
    return tuple(sorted(scores, key=lambda score: (-score[1], score[0]))[: max(0, limit)])


def suggestions(graph: KnowledgeGraph, key: str, limit: int = 3) -> tuple[tuple[str, float], ...]:
    """Return concepts that are not linked to this one but share neighbours with it, best first, scored as `Closeness` tells."""
    return Closeness(graph.neighbours).of(key, limit)


def _names(concept: Concept) -> tuple[str, ...]:
    return (concept.key, concept.label, *concept.spellings)


def _visible(name: str) -> str:
    """A name as people see it and can type it: control and format characters do not show."""
    if name.isprintable():
        return name
    return " ".join("".join(char for char in name if unicodedata.category(char) not in ("Cc", "Cf")).split())


def _loose_key(name: str) -> str:
    return fold_key(spelling_key(name).replace(" ", ""))


def _close_spellings(graph: KnowledgeGraph, typed: str) -> tuple[str, ...]:
    """Labels that look or begin like what was typed; ties in likeness go by how connected a concept is, so the order is fixed."""
    wanted = spelling_key(typed)
    ranked = sorted(graph.concepts, key=lambda key: (-graph.metrics[key].degree, key))
    found = get_close_matches(wanted, ranked, n=_MOST_OFFERED, cutoff=_LIKENESS) if wanted else []
    found += [key for key in ranked if wanted and wanted in key]
    return tuple(graph.concepts[key].label for key in dict.fromkeys(found))[:_MOST_OFFERED]


def _distances(graph: KnowledgeGraph, start: str, *, until: str) -> dict[str, int]:
    """Edges from the start to every concept at most as far away as `until`."""
    distance = {start: 0}
    frontier = [start]
    while frontier and until not in distance:
        following: list[str] = []
        for key in frontier:
            for other, _ in graph.neighbours[key]:
                if other not in distance:
                    distance[other] = distance[key] + 1
                    following.append(other)
        frontier = following
    return distance
