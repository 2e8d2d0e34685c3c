"""JSON in node-link form, and CSV: for scripts, notebooks and spreadsheets.

Layer 1, pure.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from kg2vault.graph.formats.facts import COLUMNS, Fact, distinct_ids, node_facts
from kg2vault.graph.model import KnowledgeGraph

# A cell that begins like this is a formula to spreadsheets, whoever wrote the tag (OWASP, CSV injection); it gets an apostrophe in front,
# as does one that has an apostrophe already, so that different keys stay different.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%", "'")


def node_link(graph: KnowledgeGraph) -> str:
    """Return the graph as networkx's node_link_graph reads it; `aliases` is a list here. Pure ASCII, one node or edge a line."""
    nodes = [{"id": key, **facts, "aliases": list(graph.concepts[key].spellings)} for key, facts in node_facts(graph)]
    edges = [{"source": edge.source, "target": edge.target, "weight": edge.weight} for edge in graph.edges]
    communities = [{"id": c.id, "name": c.name, "label": graph.concepts[c.label].label, "size": len(c.members)} for c in graph.communities]
    about = {"name": "knowledge graph", "betweenness": "sampled" if graph.betweenness_sampled else "exact", "communities": communities}
    head = f'{{"directed": false, "multigraph": false, "graph": {json.dumps(about)}'
    return f'{head},\n"nodes": [{_lines(nodes)}],\n"edges": [{_lines(edges)}]}}\n'


def nodes_csv(graph: KnowledgeGraph) -> str:
    """Return the concepts as RFC 4180 CSV with a header; `id` is what `edges_csv` refers to."""
    ids = distinct_ids(graph, _clean)
    return _csv(["id", *COLUMNS], ([ids[key], *facts.values()] for key, facts in node_facts(graph)))


def edges_csv(graph: KnowledgeGraph) -> str:
    """Return the edges as RFC 4180 CSV with a header."""
    ids = distinct_ids(graph, _clean)
    return _csv(["source", "target", "weight"], ([ids[edge.source], ids[edge.target], edge.weight] for edge in graph.edges))


def _lines(rows: Iterable[object]) -> str:
    return ",\n".join(map(json.dumps, rows))


def _csv(header: Sequence[str], rows: Iterable[Sequence[Fact]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Fact) -> Fact:
    if not isinstance(value, str):
        return value
    text = _clean(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd")
