"""Cypher, for Neo4j and other graph databases that speak it.

Layer 1, pure. The statements may be run again: nodes and edges are merged by key, facts replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kg2vault.graph.formats.facts import Fact, distinct_ids, node_facts
from kg2vault.graph.model import KnowledgeGraph

_BATCH = 500  # rows a statement
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r"[\\'\n\r\t]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNICODE_ESCAPE = re.compile(r"\\(?=[uU])")


def cypher(graph: KnowledgeGraph) -> str:
    """Return statements that create `(:Concept)` nodes and one `[:CO_OCCURS]` relationship a pair."""
    return "\n".join(_statements(graph)) + "\n"


def _statements(graph: KnowledgeGraph) -> Iterator[str]:
    yield "CREATE CONSTRAINT kg2vault_concept IF NOT EXISTS FOR (c:Concept) REQUIRE c.key IS UNIQUE;"
    ids = distinct_ids(graph, _clean)
    nodes = [_map({"key": ids[key], **facts}, graph.concepts[key].spellings) for key, facts in node_facts(graph)]
    for batch in _batches(nodes):
        yield f"UNWIND [\n{batch}\n] AS row MERGE (c:Concept {{key: row.key}}) SET c += row;"
    edges = [_map({"source": ids[edge.source], "target": ids[edge.target], "weight": edge.weight}) for edge in graph.edges]
    for batch in _batches(edges):
        yield (
            f"UNWIND [\n{batch}\n] AS row MATCH (a:Concept {{key: row.source}}), (b:Concept {{key: row.target}}) "
            "MERGE (a)-[r:CO_OCCURS]->(b) SET r.weight = row.weight;"
        )


def _batches(rows: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(rows), _BATCH):
        yield ",\n".join(rows[start : start + _BATCH])


def _map(facts: dict[str, Fact], aliases: Sequence[str] | None = None) -> str:
    entries = [f"{name}: {_literal(value)}" for name, value in facts.items() if name != "aliases"]
    if aliases is not None:
        entries.append(f"aliases: [{', '.join(map(_literal, aliases))}]")
    return "{" + ", ".join(entries) + "}"


def _literal(value: Fact) -> str:
    r"""Return a number or a quoted string.

    Neo4j decodes `\u0027` before it looks at anything else, also behind another backslash: a tag that spells it would end the string.
    So the string is cut there in two.
    """
    if not isinstance(value, str):
        return repr(value)
    pieces = _UNICODE_ESCAPE.sub("\\\\\0", _clean(value)).split("\0")
    return " + ".join("'" + _ESCAPED.sub(lambda match: _ESCAPES[match[0]], piece) + "'" for piece in pieces)


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)
