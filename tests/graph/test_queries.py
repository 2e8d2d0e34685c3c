"""Questions to the graph, as people type them."""

import math

import pytest

from kg2vault.graph.queries import Resolved, central, neighbors, resolve, shortest_path, suggestions
from tests.graph.small import build, linked, reading, table

TAGS = ("reinforcement-learning", "large-language-models", "deep_learning", "C++", "knowledge graph")
RULES = "aliases: {llm: large-language-models}"


@pytest.fixture
def topics_graph():
    return build(reading(TAGS, (*TAGS, "LLM")), RULES)


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("reinforcement-learning", "reinforcement-learning"),
        ("reinforcement learning", "reinforcement-learning"),
        ("  Reinforcement   Learning ", "reinforcement-learning"),
        ("ReinforcementLearning", "reinforcement-learning"),
        ("LLM", "large-language-models"),
        ("llms", "large-language-models"),
        ("Large Language Model", "large-language-models"),
        ("large_language_models", "large-language-models"),
        ("Deep Learning", "deep_learning"),
        ("deep-learning", "deep_learning"),
        ("c++", "c++"),
        ("knowledge-graphs", "knowledge graph"),
    ],
)
def test_a_name_is_understood_as_a_person_types_it(topics_graph, typed, key):
    assert resolve(topics_graph, typed, table(RULES)) == Resolved(key)


def test_a_merged_spelling_is_known_without_the_table(topics_graph):
    assert resolve(topics_graph, "llm").key == "large-language-models"


def test_an_unknown_name_is_refused_and_close_spellings_are_offered(topics_graph):
    assert resolve(topics_graph, "reinforcment lerning") == Resolved(None, ("reinforcement-learning",))
    assert resolve(topics_graph, "learning") == Resolved(None, ("deep_learning", "reinforcement-learning"))


@pytest.mark.parametrize("typed", ["", "  ", "\u200b", "quantum chemistry", "C", "C#"])
def test_a_name_that_is_like_nothing_is_refused(topics_graph, typed):
    assert resolve(topics_graph, typed).key is None


def test_a_name_that_fits_two_concepts_is_not_guessed():
    graph = build(reading(("dataset", "data-sets"), ("dataset", "data-sets")))
    assert resolve(graph, "data_set") == Resolved(None, ("data-sets", "dataset"))


def test_neighbours_are_direct_and_heaviest_first():
    graph = build(linked(("a", "b", 3), ("a", "c", 5), ("c", "d", 9), ("a", "e", 3)))
    assert neighbors(graph, "a") == (("c", 5), ("b", 3), ("e", 3))
    assert neighbors(graph, "a", limit=1) == (("c", 5),)
    assert neighbors(graph, "nobody") == neighbors(graph, "a", limit=-1) == ()


def test_of_several_shortest_paths_the_first_in_order_is_taken():
    graph = build(linked(("s", "b"), ("s", "a"), ("a", "y"), ("a", "z"), ("b", "x"), ("x", "t"), ("y", "t"), ("z", "t"), ("s", "q", 9)))
    assert shortest_path(graph, "s", "t") == ("s", "a", "y", "t")
    assert shortest_path(graph, "t", "s") == ("t", "x", "b", "s")


def test_a_path_to_itself_is_the_concept_alone_and_there_is_none_between_components():
    graph = build(linked(("a", "b"), ("x", "y")))
    assert shortest_path(graph, "a", "a") == ("a",)
    assert shortest_path(graph, "a", "y") is None


@pytest.mark.parametrize(("source", "target"), [("a", "nobody"), ("nobody", "a"), ("nobody", "nobody")])
def test_no_path_is_only_said_about_real_concepts(source, target):
    with pytest.raises(ValueError, match="no concept 'nobody'"):
        shortest_path(build(linked(("a", "b"))), source, target)


def test_central_ranks_by_each_metric_with_ties_by_key():
    graph = build(linked(("a", "b", 9), ("b", "c"), ("c", "d"), ("c", "e")))
    assert [key for key, _ in central(graph)] == ["c", "b", "a", "d", "e"]
    assert central(graph, "strength", 2) == (("b", 11), ("a", 9))
    assert central(graph, "betweenness", 1) == (("c", pytest.approx(5 / 6)),)
    assert central(graph, "pagerank", 1)[0][0] == "b"


def test_an_unknown_metric_is_refused_with_the_ones_there_are():
    with pytest.raises(ValueError, match=r"unknown metric 'closeness'; choose one of degree, betweenness, strength, pagerank"):
        central(build(linked(("a", "b"))), "closeness")


def test_suggestions_share_neighbours_but_no_edge_and_a_hub_counts_little():
    graph = build(linked(("a", "x"), ("x", "b"), ("a", "y"), ("y", "b"), ("y", "c"), ("a", "d"), ("d", "b"), ("a", "z"), ("y", "z")))
    # b is reached over x and d (degree 2) and y (degree 4); c over y alone.
    assert suggestions(graph, "a") == (
        ("b", pytest.approx(2 / math.log(2) + 1 / math.log(4))),
        ("c", pytest.approx(1 / math.log(4))),
    )
    assert suggestions(graph, "a", limit=1)[0][0] == "b"
    assert suggestions(graph, "nobody") == ()
