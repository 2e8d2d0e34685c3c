"""The whole build: the same rows give the same graph, and the real corpora give the numbers they are known for."""

import json
import os
import random
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kg2vault.graph.aliases import AliasTable
from kg2vault.graph.build import GraphSettings, build_graph
from kg2vault.graph.communities import fresh_partition, modularity, partition_of
from kg2vault.graph.metrics import betweenness_cache_of
from kg2vault.graph.model import Item, Reading
from tests.conftest import CORPORA, corpus
from tests.graph.small import build, clique, linked, windmill

ROWS = [*windmill(4), *clique("k", 5), ("k0", "hub"), ("Zürich", "k1"), ("zürich", "k2"), ("日本語", "a0")]

IN_A_PROCESS = """
import sys
from tests.graph.small import build
from tests.graph.test_build import shuffled
print(build(shuffled(int(sys.argv[1])), "aliases: {a1: a2}\\nfold_canonical: [k1]", betweenness_exact_up_to=int(sys.argv[2])))
"""


def shuffled(seed):
    rows = linked(*ROWS)
    order = random.Random(seed)
    assignments, items = list(rows.assignments), list(rows.items.items())
    order.shuffle(assignments)
    order.shuffle(items)
    return Reading(assignments=assignments, items=dict(items), feeds={})


def read(path):
    connection = sqlite3.connect(path)
    rows = sorted(set(connection.execute("SELECT item_id, tag FROM item_tags")))
    items = {number: Item(number, published=published) for number, published in connection.execute("SELECT id, published FROM items")}
    connection.close()
    return Reading(assignments=rows, items=items, feeds={})


def test_the_order_of_rows_changes_nothing():
    graphs = [build(shuffled(seed)) for seed in range(4)]
    assert all(repr(graph) == repr(graphs[0]) for graph in graphs)


@pytest.mark.parametrize("exact_up_to", [5000, 5])
def test_the_hash_seed_changes_nothing(exact_up_to):
    outputs = set()
    for seed in ("0", "1", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", IN_A_PROCESS, seed, str(exact_up_to)]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True, cwd=Path(__file__).parents[2]).stdout)
    assert len(outputs) == 1


def test_everything_is_sorted():
    graph = build(shuffled(7))
    assert list(graph.concepts) == sorted(graph.concepts) == list(graph.metrics) == list(graph.neighbours)
    assert [(edge.source, edge.target) for edge in graph.edges] == sorted((edge.source, edge.target) for edge in graph.edges)
    assert all(edge.source < edge.target for edge in graph.edges)
    assert [(-len(c.members), c.id) for c in graph.communities] == sorted((-len(c.members), c.id) for c in graph.communities)


def test_a_second_build_with_what_the_first_one_left_is_the_same():
    first = build(shuffled(1))
    assert build(shuffled(2), previous=partition_of(first), cached=betweenness_cache_of(first)) == first


@pytest.mark.parametrize(("name", "concepts", "edges"), [("pyvideo", 752, 3077), ("jser", 329, 2299)])
def test_the_real_corpora_have_the_concepts_and_edges_they_are_known_for(tmp_path, name, concepts, edges):
    reading = read(corpus(name, tmp_path))
    graph = build_graph(reading, AliasTable.empty(), GraphSettings())
    assert (len(graph.concepts), len(graph.edges)) == (concepts, edges)
    assert modularity(graph, partition_of(graph)) > 0.15
    backwards = replace(reading, assignments=list(reversed(reading.assignments)))
    assert build_graph(backwards, AliasTable.empty(), GraphSettings()) == graph


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_communities_hardly_move_while_a_real_corpus_grows(tmp_path, name):
    """Ten steps of one per cent each: under 2 % of concepts change community a step, at little cost in modularity."""
    reading = read(corpus(name, tmp_path, "base.db"))
    events = [json.loads(line) for line in (CORPORA / name / "growth.jsonl").read_text(encoding="utf-8").splitlines()]
    graph = build_graph(reading, AliasTable.empty(), GraphSettings())
    step = len(events) // 10
    moved = []
    for start in range(0, step * 10, step):
        rows = [(event["id"], tag) for event in events[start : start + step] for tag in event["tags"]]
        reading = replace(reading, assignments=sorted({*reading.assignments, *rows}))
        grown = build_graph(reading, AliasTable.empty(), GraphSettings(), previous=partition_of(graph), cached=betweenness_cache_of(graph))
        was = {key: community.id for key, community in graph.community_of().items()}
        now = {key: community.id for key, community in grown.community_of().items()}
        common = graph.concepts.keys() & grown.concepts.keys()
        moved.append(sum(was.get(key) != now.get(key) for key in common) / len(common))
        graph = grown
    assert sum(moved) / len(moved) < 0.02
    assert modularity(graph, partition_of(graph)) > 0.97 * modularity(graph, fresh_partition(graph))
