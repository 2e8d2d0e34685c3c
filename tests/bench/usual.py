"""The usual way, for comparison: `python -m tests.bench.usual DB FOLDER` makes about the same vault with the tools everyone knows.

SQLite, a dictionary of pairs, networkx for betweenness (exact) and Louvain communities, python-frontmatter for the notes, plain writes.
Nothing is held back that a careful author would do, and nothing added: no merge with what is in the vault, no check of names beyond
characters that files can't have, no PageRank, no suggestions. Prints a JSON object: seconds by stage, and how much it wrote.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import frontmatter
import networkx as nx

_FORBIDDEN = re.compile(r'[\\/:*?"<>|#^\[\]]')
_FOLDER = "Knowledge Graph"
_RECENT = 10

Article = tuple[str, str, str, str]  # title, url, day, feed


@dataclass
class Corpus:
    """What was read and counted."""

    articles: dict[int, Article]
    items: dict[str, list[int]]  # of each concept, newest first
    labels: dict[str, str]
    spellings: dict[str, list[str]]
    weights: dict[tuple[str, str], int]


@dataclass
class Graph:
    """What was worked out."""

    network: Any
    betweenness: dict[str, float]
    members: dict[str, list[str]] = field(default_factory=dict)  # by the label of the community
    home: dict[str, str] = field(default_factory=dict)


def main(database: Path, folder: Path) -> None:
    """Read, count, measure, and write a note for everything."""
    stages: dict[str, float] = {}
    at = time.perf_counter()

    def done(stage: str) -> None:
        nonlocal at
        now = time.perf_counter()
        stages[stage], at = now - at, now

    corpus = read(database)
    done("read and count")
    network = nx.Graph()
    network.add_weighted_edges_from((first, second, weight) for (first, second), weight in corpus.weights.items())
    graph = Graph(network, nx.betweenness_centrality(network))
    done("betweenness")
    _communities(graph)
    done("communities")
    notes = dict(_notes(corpus, graph))
    done("notes")
    for path, text in notes.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    done("write")
    print(json.dumps({"stages": stages, "files": len(notes), "bytes": sum(len(text.encode()) for text in notes.values())}))


def read(database: Path) -> Corpus:
    """Read the tables and count how often two concepts share an item: concepts and edges on two items at least."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        query = "SELECT i.id, i.title, i.url, i.published, f.title FROM items i LEFT JOIN feeds f ON f.id = i.feed_id"
        articles = {number: (title, url or "", day[:10], feed or "") for number, title, url, day, feed in connection.execute(query)}
        rows = connection.execute("SELECT item_id, tag FROM item_tags").fetchall()
    tags: defaultdict[int, set[str]] = defaultdict(set)
    spelt: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number, tag in rows:
        key = "-".join(tag.casefold().replace("_", " ").split())
        if key:
            tags[number].add(key)
            spelt[key][tag.strip()] += 1
    items: defaultdict[str, list[int]] = defaultdict(list)
    for number in sorted(tags, key=lambda number: (articles[number][2], number), reverse=True):
        for key in tags[number]:
            items[key].append(number)
    common = {key for key, numbers in items.items() if len(numbers) >= 2}
    weights: defaultdict[tuple[str, str], int] = defaultdict(int)
    for keys in tags.values():
        for pair in combinations(sorted(keys & common), 2):
            weights[pair] += 1
    labels = {key: max(spelt[key], key=spelt[key].__getitem__) for key in common}
    others = {key: sorted(set(spelt[key]) - {labels[key]}) for key in common}
    return Corpus(articles, items, labels, others, {pair: weight for pair, weight in weights.items() if weight >= 2})


def _communities(graph: Graph) -> None:
    strength = dict(graph.network.degree(weight="weight"))
    for found in nx.community.louvain_communities(graph.network, weight="weight", seed=1):
        if len(found) >= 3:
            label = max(sorted(found), key=strength.__getitem__)
            graph.members[label] = sorted(found)
            graph.home.update(dict.fromkeys(found, label))


def _notes(corpus: Corpus, graph: Graph) -> Any:
    for key in graph.network:
        yield _path("Concepts", key), _concept(corpus, graph, key)
    for label in graph.members:
        yield _path("Communities", label), _community(corpus, graph, label)
    lines = [f"- {_link('Communities', label)} — {len(members)} concepts" for label, members in graph.members.items()]
    first = sorted(graph.betweenness, key=lambda key: -graph.betweenness[key])[:20]
    lines += ["", "## Bridges", *(f"- {_link('Concepts', key)}" for key in first)]
    yield f"{_FOLDER}/{_FOLDER}.md", _dumped("\n".join(lines), {"kg_id": "home", "kg_type": "home"})


def _concept(corpus: Corpus, graph: Graph, key: str) -> str:
    numbers, near = corpus.items[key], graph.network[key]
    days = sorted(corpus.articles[number][2] for number in numbers)
    home = graph.home.get(key)
    properties: dict[str, Any] = {
        "kg_id": f"concept/{key}",
        "kg_type": "concept",
        "kg_name": corpus.labels[key],
        "kg_items": len(numbers),
        "kg_degree": len(near),
        "kg_strength": sum(tie["weight"] for tie in near.values()),
        "kg_betweenness": round(graph.betweenness[key], 4),
        "kg_first": days[0],
        "kg_last": days[-1],
        "aliases": corpus.spellings[key],
        "tags": ["kg/concept"],
    }
    facts = f"{len(numbers)} items · linked to {len(near)} concepts"
    if home is not None:
        properties["kg_community"] = _link("Communities", home)
        properties["tags"].append(f"kg/community/{home}")
        facts += f" · community {_link('Communities', home)}"
    ties = sorted(near.items(), key=lambda tie: (-tie[1]["weight"], tie[0]))
    lines = [facts, f"Seen from {days[0]} to {days[-1]}", "", "## Related concepts"]
    lines += [f"- {_link('Concepts', other)} — {tie['weight']} shared items" for other, tie in ties]
    return _dumped("\n".join([*lines, "", *_recent(corpus, numbers)]), properties)


def _community(corpus: Corpus, graph: Graph, label: str) -> str:
    members = graph.members[label]
    inside = graph.network.subgraph(members)
    ties = sorted(inside.edges(data="weight"), key=lambda tie: -tie[2])[:5]
    lines = [f"{len(members)} concepts", "", "## Concepts"]
    lines += [f"- {_link('Concepts', key)} — {graph.network.degree(key)} links" for key in members]
    lines += ["", "## Strongest ties"]
    lines += [f"- {_link('Concepts', one)} – {_link('Concepts', other)} — {weight} shared items" for one, other, weight in ties]
    found = sorted({number for key in members for number in corpus.items[key]}, key=lambda number: corpus.articles[number][2], reverse=True)
    properties = {"kg_id": f"community/{label}", "kg_type": "community", "kg_members": len(members), "tags": [f"kg/community/{label}"]}
    return _dumped("\n".join([*lines, "", *_recent(corpus, found)]), properties)


def _recent(corpus: Corpus, numbers: list[int]) -> list[str]:
    lines = ["## Recent items"]
    for number in numbers[:_RECENT]:
        title, url, day, feed = corpus.articles[number]
        lines.append(f"- [{title.replace('[', '(').replace(']', ')')}]({url}) — {feed}, {day}")
    return lines


def _dumped(body: str, properties: dict[str, Any]) -> str:
    return str(frontmatter.dumps(frontmatter.Post(body, **properties)))


def _path(kind: str, key: str) -> str:
    return f"{_FOLDER}/{kind}/{_FORBIDDEN.sub('-', key)}.md"


def _link(kind: str, key: str) -> str:
    return f"[[{_path(kind, key)[:-3]}|{key}]]"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
