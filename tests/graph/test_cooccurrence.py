"""Merge first, then drop rare concepts, then count shared items: the orders that matter."""

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.graph import columns
from kg2vault.graph.aliases import Canonicaliser
from kg2vault.graph.cooccurrence import count
from kg2vault.graph.model import Assignments, Item
from tests.graph.small import build, reading, table


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


TAGS = ["a", "b", "c", "d", "A", "B ", "ab", "a-b", "once", "\u200b", "misc"]
TABLE = table("aliases: {c: d}\nfold_canonical: [ab]\nignore: [misc]")
tag_rows = st.lists(st.tuples(st.sampled_from([-3, 0, 1, 2, 3, 4, 5, 7, 2**62]), st.sampled_from(TAGS)), max_size=60)


@settings(max_examples=150)
@given(tag_rows, st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_counting_with_arrays_gives_the_same_answer(rows, min_items, min_weight, include_isolated):
    items = {number: Item(number, published=f"2026-01-0{abs(number) % 3}") for number in (-3, 1, 2, 3, 7)}
    chosen = {"min_items": min_items, "min_weight": min_weight, "include_isolated": include_isolated, "items": items}
    plain = count(rows, Canonicaliser(TABLE), **chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MANY_ROWS", -1)
        assert count(rows, Canonicaliser(TABLE), **chosen) == plain
    on = {concept.key: set(concept.item_ids) for concept in plain.concepts}
    names = [concept.key for concept in plain.concepts]
    shared = {(i, j): len(on[names[i]] & on[names[j]]) for i in range(len(names)) for j in range(i + 1, len(names))}
    assert list(plain.pairs) == [(i, j, weight) for (i, j), weight in shared.items() if weight >= min_weight]


@settings(max_examples=100)
@given(tag_rows, st.randoms(use_true_random=False))
def test_sorting_with_arrays_gives_the_same_assignments(rows, random):
    texts = [*TAGS, "on no row"]
    random.shuffle(texts)
    item_ids, numbers = array("q", [item for item, _ in rows]), array("q", [texts.index(tag) for _, tag in rows])
    plain = columns.in_order(item_ids, numbers, texts)
    assert list(plain) == sorted(set(rows))
    assert plain == Assignments.of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MANY_ROWS", -1)
        assert columns.in_order(item_ids, numbers, texts) == plain


def test_assignments_are_a_sequence_of_pairs():
    rows = Assignments.of([(2, "b"), (1, "b"), (1, "a"), (1, "a")])
    assert list(rows) == [rows[0], rows[1], rows[2]] == rows[:] == [(1, "a"), (1, "b"), (2, "b")]
    assert (rows[-1], rows[1:2], len(rows)) == ((2, "b"), [(1, "b")], 3)
    assert (2, "b") in rows
    assert (2, "a") not in rows
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize("rows", [reading(), reading((), ()), reading(("a",)), reading(("a",), ("b",))])
def test_nothing_to_link_is_an_empty_graph(rows):
    graph = build(rows)
    assert (graph.concepts, graph.edges, graph.communities, graph.metrics) == ({}, (), (), {})
