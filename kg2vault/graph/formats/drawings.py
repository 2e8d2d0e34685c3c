"""DOT for Graphviz and Mermaid for Markdown: graphs to be drawn.

Layer 1, pure. Mermaid draws in the reader's browser and refuses more than 500 edges: the strongest concepts and edges are taken, and the
first line says how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kg2vault.graph.formats.facts import Fact, distinct_ids, node_facts
from kg2vault.graph.model import Edge, KnowledgeGraph

MERMAID_CONCEPTS = 60
MERMAID_EDGES = 200
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PLAIN = frozenset(" -_./+,")


def dot(graph: KnowledgeGraph) -> str:
    """Return the graph in the DOT language (https://graphviz.org/doc/info/lang.html), undirected."""
    ids = distinct_ids(graph, _clean)
    lines = ["graph knowledge {", "  graph [overlap=false];", "  node [shape=ellipse];"]
    for key, facts in node_facts(graph):
        attributes = ", ".join(f"{name}={_dot(value)}" for name, value in facts.items())
        lines.append(f"  {_dot(ids[key])} [{attributes}];")
    lines.extend(f"  {_dot(ids[edge.source])} -- {_dot(ids[edge.target])} [weight={edge.weight}];" for edge in graph.edges)
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(graph: KnowledgeGraph, concepts: int = MERMAID_CONCEPTS, edges: int = MERMAID_EDGES) -> str:
    """Return the strongest concepts and edges as a Mermaid flowchart (https://mermaid.js.org/syntax/flowchart.html)."""
    return "\n".join(_mermaid(graph, concepts, edges)) + "\n"


def _mermaid(graph: KnowledgeGraph, concepts: int, edges: int) -> Iterator[str]:
    ranked = sorted(graph.concepts, key=lambda key: (-graph.metrics[key].strength, key))[:concepts]
    number = {key: place for place, key in enumerate(ranked)}
    kept = sorted((edge for edge in graph.edges if edge.source in number and edge.target in number), key=_heaviest_first)[:edges]
    yield f"%% {len(ranked)} of {len(graph.concepts)} concepts, {len(kept)} of {len(graph.edges)} edges"
    yield "graph LR"
    for key in ranked:
        yield f'  n{number[key]}["{_mermaid_text(graph.concepts[key].label)}"]'
    for edge in kept:
        yield f"  n{number[edge.source]} ---|{edge.weight}| n{number[edge.target]}"
    community_of = graph.community_of()
    for place, community in enumerate(graph.communities):
        members = [f"n{number[key]}" for key in ranked if community_of.get(key) is community]
        if members:
            yield f"  class {','.join(members)} community{place}"


def _heaviest_first(edge: Edge) -> tuple[int, str, str]:
    return -edge.weight, edge.source, edge.target


def _dot(value: Fact) -> str:
    r"""In double quotes only `\"` is an escape to the lexer, but labels know more of them, so every backslash is doubled."""
    if not isinstance(value, str):
        return repr(value)
    text = _clean(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _mermaid_text(label: str) -> str:
    """Letters and digits as they are, everything else as Mermaid's `#<code point>;`: no label can end its quotes or be markup."""
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in _clean(label))


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)
