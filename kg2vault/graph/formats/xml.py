"""GraphML and GEXF, for Gephi, Cytoscape, yEd, networkx and igraph.

Layer 1, pure. XML 1.0 has no way to write most control characters: they become U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

from kg2vault.graph.formats.facts import COLUMNS, Fact, distinct_ids, node_facts
from kg2vault.graph.model import KnowledgeGraph

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTED = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_GRAPHML_TYPES = {str: "string", int: "int", float: "double"}
_GEXF_TYPES = {str: "string", int: "integer", float: "double"}


def graphml(graph: KnowledgeGraph) -> str:
    """Return the graph as GraphML 1.0 (http://graphml.graphdrawing.org/specification.html)."""
    return "\n".join(_graphml(graph)) + "\n"


def gexf(graph: KnowledgeGraph) -> str:
    """Return the graph as GEXF 1.2draft, the version every reader knows (https://gexf.net)."""
    return "\n".join(_gexf(graph)) + "\n"


def _graphml(graph: KnowledgeGraph) -> Iterator[str]:
    ids = distinct_ids(graph, _clean)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">'
    )
    for name, kind in COLUMNS.items():
        yield f'  <key id="{name}" for="node" attr.name="{name}" attr.type="{_GRAPHML_TYPES[kind]}"/>'
    yield '  <key id="weight" for="edge" attr.name="weight" attr.type="int"/>'
    yield '  <graph id="knowledge-graph" edgedefault="undirected">'
    for key, facts in node_facts(graph):
        data = "".join(f'<data key="{name}">{_text(_shown(value))}</data>' for name, value in facts.items())
        yield f"    <node id={_quoted(ids[key])}>{data}</node>"
    for edge in graph.edges:
        ends = f"source={_quoted(ids[edge.source])} target={_quoted(ids[edge.target])}"
        yield f'    <edge {ends}><data key="weight">{edge.weight}</data></edge>'
    yield "  </graph>"
    yield "</graphml>"


def _gexf(graph: KnowledgeGraph) -> Iterator[str]:
    ids = distinct_ids(graph, _clean)
    columns = [name for name in COLUMNS if name != "label"]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
    yield '  <graph mode="static" defaultedgetype="undirected">'
    yield '    <attributes class="node" mode="static">'
    for number, name in enumerate(columns):
        yield f'      <attribute id="{number}" title="{name}" type="{_GEXF_TYPES[COLUMNS[name]]}"/>'
    yield "    </attributes>"
    yield f'    <nodes count="{len(graph.concepts)}">'
    for key, facts in node_facts(graph):
        values = "".join(f'<attvalue for="{number}" value={_quoted(_shown(facts[name]))}/>' for number, name in enumerate(columns))
        yield f"      <node id={_quoted(ids[key])} label={_quoted(_shown(facts['label']))}><attvalues>{values}</attvalues></node>"
    yield "    </nodes>"
    yield f'    <edges count="{len(graph.edges)}">'
    for number, edge in enumerate(graph.edges):
        ends = f"source={_quoted(ids[edge.source])} target={_quoted(ids[edge.target])}"
        yield f'      <edge id="{number}" {ends} weight="{edge.weight}"/>'
    yield "    </edges>"
    yield "  </graph>"
    yield "</gexf>"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _shown(value: Fact) -> str:
    return value if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    return escape(_clean(text), {"\r": "&#13;"})


def _quoted(text: str) -> str:
    return f'"{escape(_clean(text), _QUOTED)}"'
