"""The typed graph: concepts, papers and sources as rows of kg_nodes and kg_edges.

Layer 1, pure. Node types: `concept` (its degree is the number of concepts it co-occurs with), `paper` (an item; the number of concepts it
mentions), `source` (a feed; the number of its papers). Edge types: `MENTIONS` paper → concept, `CO_OCCURS` between two concepts (one row
a pair, the smaller name first, weight = shared items) and `PUBLISHED_IN` paper → source. No edge ends in a node that is not there.

Names never collide across types, although kg_nodes has one name space: a paper is `paper:<item id>`, a source `source:<feed id>`, a
concept its label, which is written `concept:<label>` when the label itself begins with one of these three prefixes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kg2vault.graph.cooccurrence import Counted
from kg2vault.graph.metrics import degrees
from kg2vault.graph.model import Reading

NODE_TYPES = ("concept", "paper", "source")
EDGE_TYPES = ("CO_OCCURS", "MENTIONS", "PUBLISHED_IN")
_PREFIXES = ("concept:", "paper:", "source:")

NodeRow = tuple[str, str, int]  # name, node_type, degree
EdgeRow = tuple[str, str, str, int]  # source, target, edge_type, weight


@dataclass(frozen=True, slots=True)
class TypedGraph:
    """Sorted rows, each once."""

    nodes: Sequence[NodeRow]
    edges: Sequence[EdgeRow]


def concept_name(label: str) -> str:
    """Return the node name of a concept: its label, unless that could be another node's name."""
    return f"concept:{label}" if label.startswith(_PREFIXES) else label


def typed_graph(counted: Counted, reading: Reading) -> TypedGraph:
    """Return the rows that say what was read and counted; papers and sources are all items and feeds, tagged or not."""
    names = [concept_name(concept.label) for concept in counted.concepts]
    edges: list[EdgeRow] = []
    for first, second, weight in counted.pairs:
        smaller, greater = sorted((names[first], names[second]))
        edges.append((smaller, greater, "CO_OCCURS", weight))
    mentions: Counter[int] = Counter()
    for name, concept in zip(names, counted.concepts, strict=True):
        known = [item for item in concept.item_ids if item in reading.items]
        mentions.update(known)
        edges.extend((f"paper:{item}", name, "MENTIONS", 1) for item in known)
    papers: Counter[int] = Counter()
    for number, item in reading.items.items():
        if item.feed_id is not None and item.feed_id in reading.feeds:
            papers[item.feed_id] += 1
            edges.append((f"paper:{number}", f"source:{item.feed_id}", "PUBLISHED_IN", 1))
    degree, _ = degrees(len(names), counted.pairs)
    nodes = [(name, "concept", count) for name, count in zip(names, degree, strict=True)]
    nodes.extend((f"paper:{number}", "paper", mentions[number]) for number in reading.items)
    nodes.extend((f"source:{number}", "source", papers[number]) for number in reading.feeds)
    return TypedGraph(sorted(nodes), sorted(edges))
