"""The backbone keeps what stands out, the same whatever the order, and strands nobody."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.graph.aliases import AliasTable
from kg2vault.graph.backbone import backbone, significant, strongest
from kg2vault.graph.build import GraphSettings, build_graph
from kg2vault.graph.model import Edge, KnowledgeGraph
from kg2vault.storage.hermes import HermesSource
from tests.conftest import corpus


def graph_of(weights):
    """A graph of edges alone: {"ab": 3} is an edge between a and b."""
    edges = tuple(sorted((Edge(*sorted(pair), weight) for pair, weight in weights.items()), key=lambda edge: (edge.source, edge.target)))
    near = {}
    for edge in edges:
        near.setdefault(edge.source, []).append((edge.target, edge.weight))
        near.setdefault(edge.target, []).append((edge.source, edge.weight))
    ordered = {key: tuple(sorted(near[key], key=lambda item: (-item[1], item[0]))) for key in sorted(near)}
    return KnowledgeGraph({}, edges, {}, (), ordered)


def drawn(graph, **settings):
    return {"".join(pair) for pair in backbone(graph, **settings)}


STAR = {"ab": 8, "ac": 1, "ad": 1}


def test_all_is_the_graph_itself():
    assert drawn(graph_of(STAR)) == {"ab", "ac", "ad"}
    assert backbone(graph_of({}), mode="all") == frozenset()


def test_an_edge_stays_when_it_is_among_the_top_of_either_end():
    # top 1: a-b for a and b; c and d have a alone; e prefers b, and b-e is not b's first.
    graph = graph_of({**STAR, "be": 5, "ce": 2, "de": 1})
    assert drawn(graph, mode="topk", k=1) == {"ab", "be", "ce", "ad"}
    assert drawn(graph, mode="topk", k=3) == {"ab", "ac", "ad", "be", "ce", "de"}


def test_equal_weights_are_kept_in_the_order_the_notes_list_them():
    graph = graph_of({"ab": 2, "ac": 2, "ad": 2, "bc": 9, "cd": 9, "bd": 9})
    assert graph.neighbours["a"] == (("b", 2), ("c", 2), ("d", 2))
    assert drawn(graph, mode="topk", k=1) == {"ab", "bc", "bd"}
    assert ("a", "b") in strongest(graph.neighbours, 1)


def test_the_disparity_filter_agrees_with_the_formula_worked_by_hand():
    # At a: k = 3, s = 10. a-b: (1 - 0.8) ** 2 = 0.04. a-c and a-d: (1 - 0.1) ** 2 = 0.81. b, c, d have one edge each: 1.
    edges = graph_of(STAR).edges
    assert significant(edges, 0.05) == {("a", "b")}
    assert significant(edges, 0.04) == frozenset()
    assert significant(edges, 0.82) == {("a", "b"), ("a", "c"), ("a", "d")}


def test_one_significant_end_is_enough():
    # At e: k = 2, s = 10, a-e: (1 - 0.9) ** 1 = 0.1; at a: k = 4, s = 19, a-e: (1 - 9/19) ** 3 = 0.146, a-b: (11/19) ** 3 = 0.194.
    edges = graph_of({**STAR, "ae": 9, "ef": 1}).edges
    assert significant(edges, 0.12) == {("a", "e")}
    assert significant(edges, 0.15) == {("a", "e")}
    assert significant(edges, 0.20) == {("a", "b"), ("a", "e")}


def test_equal_weights_say_nothing_so_the_filter_keeps_none_of_them():
    # At every end k = 3, p = 1/3: (2/3) ** 2 = 0.44.
    square = graph_of(dict.fromkeys(("ab", "ac", "ad", "bc", "bd", "cd"), 7))
    assert significant(square.edges, 0.05) == frozenset()
    assert drawn(square, mode="disparity", alpha=0.05) == {"ab", "ac", "ad"}  # each keeps its first: b, c and d list a first


def test_a_concept_that_would_be_stranded_keeps_its_heaviest_edge():
    assert drawn(graph_of(STAR), mode="disparity", alpha=0.05) == {"ab", "ac", "ad"}
    graph = graph_of({**STAR, "cd": 3})  # at c and d: k = 2, s = 4, c-d: 0.25; each prefers the other to a
    assert drawn(graph, mode="disparity", alpha=0.05) == {"ab", "cd"}


@pytest.mark.parametrize(
    "settings", [{"mode": "topk", "k": 0}, {"mode": "disparity", "alpha": 1.5}, {"mode": "disparity", "alpha": -0.1}, {"mode": "x"}]
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError):
        backbone(graph_of(STAR), **settings)


WEIGHTS = st.dictionaries(st.sampled_from([a + b for a in "abcdefgh" for b in "abcdefgh" if a < b]), st.integers(1, 60), max_size=28)


@given(WEIGHTS, st.integers(1, 4), st.floats(0, 1), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_no_concept_is_stranded_and_the_order_does_not_matter(weights, k, alpha, shuffle):
    graph = graph_of(weights)
    mixed = list(graph.edges)
    shuffle.shuffle(mixed)
    assert significant(mixed, alpha) == significant(graph.edges, alpha)
    every = backbone(graph)
    for kept in (backbone(graph, mode="topk", k=k), backbone(graph, mode="disparity", alpha=alpha)):
        assert kept <= every
        assert {key for pair in kept for key in pair} == set(graph.neighbours)


def test_a_stricter_level_keeps_fewer_edges():
    dice = random.Random(5)
    graph = graph_of({a + b: dice.randint(1, 40) for a in "abcdefgh" for b in "abcdefgh" if a < b})
    sizes = [len(significant(graph.edges, alpha)) for alpha in (0.01, 0.1, 0.3, 1.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_real_graph_becomes_legible_and_loses_no_concept(tmp_path):
    reading = HermesSource(corpus("pyvideo", tmp_path)).read()
    graph = build_graph(reading, AliasTable.empty(), GraphSettings())
    for chosen in ({"mode": "topk", "k": 3}, {"mode": "disparity", "alpha": 0.05}):
        kept = backbone(graph, **chosen)
        assert len(kept) < len(graph.edges) / 2
        assert {key for pair in kept for key in pair} == {key for key, near in graph.neighbours.items() if near}
