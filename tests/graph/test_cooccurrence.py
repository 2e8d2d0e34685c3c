"""Merge first, then drop rare concepts, then count shared items: the orders that matter."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.graph import cooccurrence
from tests.graph.small import build, reading


def edges(graph):
    return {(edge.source, edge.target): edge.weight for edge in graph.edges}


def test_aliases_merge_before_filtering():
    """Two spellings used once each are one concept used twice."""
    graph = build(reading(("ml", "ai"), ("machine learning", "ai")), "aliases: {ml: machine learning}")
    assert graph.concepts["machine learning"].items == 2
    assert edges(graph) == {("ai", "machine learning"): 2}


def test_an_item_with_both_spellings_counts_once_and_has_no_edge_to_itself():
    both = ("ML", "machine learning", "ml", "ai")
    graph = build(reading(both, ("ai",)), "aliases: {ml: machine learning}", include_isolated=True, min_items=1)
    assert graph.concepts["machine learning"].items == 1
    assert edges(graph) == {}
    graph = build(reading(both, both), "aliases: {ml: machine learning}")
    assert edges(graph) == {("ai", "machine learning"): 2}


def test_a_tag_used_once_is_absent_and_one_used_twice_is_present():
    graph = build(reading(("a", "b", "once"), ("a", "b")))
    assert list(graph.concepts) == ["a", "b"]
    assert (graph.distinct_tags, graph.singleton_tags, graph.tagged_items) == (3, 1, 2)


def test_a_pair_that_shares_one_item_is_absent():
    graph = build(reading(("a", "b"), ("a", "b"), ("a", "c"), ("c", "b")))
    assert edges(graph) == {("a", "b"): 2}


def test_concepts_without_an_edge_are_in_the_graph_only_on_request():
    rows = reading(("a", "b"), ("a", "b"), ("alone",), ("alone",))
    assert list(build(rows).concepts) == ["a", "b"]
    graph = build(rows, include_isolated=True)
    assert list(graph.concepts) == ["a", "alone", "b"]
    assert graph.neighbours["alone"] == ()


def test_blank_and_ignored_tags_do_not_make_an_item_tagged():
    graph = build(reading(("a", "misc"), ("misc",), ("\u200b",), ("a",)), "ignore: [misc]")
    assert (graph.distinct_tags, graph.tagged_items) == (1, 2)


def test_both_thresholds_can_be_moved():
    rows = reading(("a", "b"), ("a", "c"))
    assert edges(build(rows, min_items=1, min_weight=1)) == {("a", "b"): 1, ("a", "c"): 1}
    assert edges(build(reading(*[("a", "b")] * 3, *[("a", "c")] * 4), min_weight=4)) == {("a", "c"): 4}


def test_items_of_a_concept_are_newest_first_and_same_dates_by_the_greater_id():
    dates = {1: "2026-03-01", 2: "2026-01-01", 3: "2026-03-01", 4: ""}
    graph = build(reading(*[("a", "b")] * 4, published=dates))
    assert graph.concepts["a"].item_ids == (3, 1, 2, 4)


def test_neighbours_are_heaviest_first_then_by_label():
    rows = reading(*[("hub", "Zebra")] * 2, *[("hub", "apple")] * 2, *[("hub", "heavy")] * 3)
    assert build(rows).neighbours["hub"] == (("heavy", 3), ("zebra", 2), ("apple", 2))  # "Z" comes before "a"


def test_repeated_rows_of_one_item_count_once():
    rows = reading(("a", "b"), ("a", "b"))
    doubled = type(rows)(assignments=[*rows.assignments, *reversed(rows.assignments)], items=rows.items, feeds={})
    assert build(doubled) == build(rows)


@settings(max_examples=60)
@given(st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=6), max_size=25))
def test_counting_with_arrays_gives_the_same_pairs(items):
    places = [[number for number, tags in enumerate(items) if tag in tags] for tag in "abcdefgh"]
    plain = cooccurrence._shared_items(places, len(items), 2)
    assert cooccurrence._shared_items_of_many(places, len(items), 2) == plain
    expected = {(i, j): len(set(places[i]) & set(places[j])) for i in range(8) for j in range(i + 1, 8)}
    assert plain == [(i, j, weight) for (i, j), weight in expected.items() if weight >= 2]


@pytest.mark.parametrize("rows", [reading(), reading((), ()), reading(("a",)), reading(("a",), ("b",))])
def test_nothing_to_link_is_an_empty_graph(rows):
    graph = build(rows)
    assert (graph.concepts, graph.edges, graph.communities, graph.metrics) == ({}, (), (), {})
