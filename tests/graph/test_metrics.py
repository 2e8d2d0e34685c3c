"""Metrics against answers worked out on paper."""

import pytest

from kg2vault.graph.metrics import BetweennessCache, betweenness_cache_of
from tests.graph.small import build, linked, reading, windmill

PATH_OF_FOUR = [("a", "b"), ("b", "c"), ("c", "d")]


def of(graph, name):
    return {key: getattr(metrics, name) for key, metrics in graph.metrics.items()}


def pairs_passed(graph):
    """Betweenness before normalising."""
    size = len(graph.concepts)
    return {key: pytest.approx(value * (size - 1) * (size - 2) / 2, abs=1e-8) for key, value in of(graph, "betweenness").items()}


def test_path_of_four():
    graph = build(linked(*PATH_OF_FOUR))
    assert pairs_passed(graph) == {"a": 0, "b": 2, "c": 2, "d": 0}
    assert of(graph, "degree") == {"a": 1, "b": 2, "c": 2, "d": 1}


def test_star_has_all_its_paths_through_the_centre():
    graph = build(linked(*[("hub", leaf) for leaf in "abcde"]))
    assert of(graph, "betweenness") == {"hub": 1.0} | dict.fromkeys("abcde", 0.0)


def test_cycle_of_five_shares_evenly():
    graph = build(linked(*zip("abcde", "bcdea", strict=True)))
    assert pairs_passed(graph) == dict.fromkeys("abcde", 1)


def test_two_equally_short_ways_count_half_each():
    graph = build(linked(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")))
    assert pairs_passed(graph) == dict.fromkeys("abcd", 0.5)


def test_betweenness_ignores_weights_and_strength_adds_them():
    heavy = build(linked(("a", "b", 9), ("b", "c", 2), ("c", "d", 5)))
    assert pairs_passed(heavy) == {"a": 0, "b": 2, "c": 2, "d": 0}
    assert of(heavy, "strength") == {"a": 9, "b": 11, "c": 7, "d": 5}


def test_betweenness_counts_every_concept_of_the_graph_even_across_components():
    graph = build(linked(("a", "b"), ("b", "c"), ("x", "y")))
    assert of(graph, "betweenness")["b"] == pytest.approx(1 / 6)  # one pair of the 4 * 3 / 2 others


def test_pagerank_of_a_weighted_path_solves_its_equations():
    """On a -2- b -6- c: with damping d, p(a) = (1-d)/3 + d p(b) 2/8, p(b) = (1-d)/3 + d (p(a) + p(c)), p(c) = (1-d)/3 + d p(b) 6/8."""
    rank = of(build(linked(("a", "b", 2), ("b", "c", 6))), "pagerank")
    middle = (0.05 + 0.85 * 0.1) / (1 - 0.85**2)
    assert rank["b"] == pytest.approx(middle, rel=1e-8)
    assert rank["a"] == pytest.approx(0.05 + 0.85 * middle / 4, rel=1e-8)
    assert rank["c"] == pytest.approx(0.05 + 0.85 * middle * 3 / 4, rel=1e-8)


def test_pagerank_sums_to_one_with_isolated_concepts_too():
    graph = build(reading(*[("a", "b")] * 2, *[("b", "c")] * 3, ("alone",), ("alone",)), include_isolated=True)
    assert sum(of(graph, "pagerank").values()) == pytest.approx(1)
    assert of(graph, "pagerank")["alone"] > 0


def test_components_are_numbered_by_size_and_then_by_the_smallest_key():
    graph = build(linked(("x", "y"), ("y", "z"), ("m", "n"), ("a", "b")))
    assert of(graph, "component") == {"x": 0, "y": 0, "z": 0, "a": 1, "b": 1, "m": 2, "n": 2}


@pytest.mark.parametrize("exact_up_to", [5000, 0])
@pytest.mark.parametrize(
    "rows",
    [
        reading(),
        reading(("a",), ("a",)),
        reading(("a", "b"), ("a", "b")),
        reading(("a",), ("a",), ("b",), ("b",), ("c",), ("c",)),
    ],
    ids=["nothing", "one", "two", "all isolated"],
)
def test_small_graphs_have_defined_values(rows, exact_up_to):
    graph = build(rows, include_isolated=True, betweenness_exact_up_to=exact_up_to)
    size = len(graph.concepts)
    assert all(metrics.betweenness == 0.0 and metrics.pagerank == pytest.approx(1 / size) for metrics in graph.metrics.values())
    assert [metrics.component for metrics in graph.metrics.values()] == ([0, 0] if graph.edges else list(range(size)))


def test_a_hub_of_triangles_is_on_every_path_between_them():
    graph = build(linked(*windmill(3)))
    assert pairs_passed(graph)["hub"] == 27  # three pairs of triangles, nine pairs of corners each


def test_betweenness_is_taken_over_while_the_unweighted_edges_are_the_same():
    remembered = BetweennessCache(betweenness_cache_of(build(linked(*PATH_OF_FOUR))).edge_set_digest, dict.fromkeys("abcd", 0.125))
    reweighted = build(linked(("a", "b", 7), *PATH_OF_FOUR[1:]), cached=remembered)
    assert of(reweighted, "betweenness") == dict.fromkeys("abcd", 0.125)
    another_edge = build(linked(*PATH_OF_FOUR, ("a", "d")), cached=remembered)
    assert another_edge == build(linked(*PATH_OF_FOUR, ("a", "d")))


def test_betweenness_is_not_taken_over_when_a_concept_or_the_method_differs():
    remembered = BetweennessCache(betweenness_cache_of(build(linked(*PATH_OF_FOUR))).edge_set_digest, dict.fromkeys("abcd", 0.125))
    rows = [("a", "b")] * 2 + [("b", "c")] * 2 + [("c", "d")] * 2 + [("alone",)] * 2
    assert of(build(reading(*rows), cached=remembered, include_isolated=True), "betweenness")["b"] == pytest.approx(2 / 6)
    sampled = build(linked(*PATH_OF_FOUR), cached=remembered, betweenness_exact_up_to=3)
    assert sampled.betweenness_sampled
    assert pairs_passed(sampled) == {"a": 0, "b": 2, "c": 2, "d": 0}


def test_a_damaged_memory_is_computed_anew():
    good = betweenness_cache_of(build(linked(*PATH_OF_FOUR)))
    partial = BetweennessCache(good.edge_set_digest, {"a": 0.5})
    assert build(linked(*PATH_OF_FOUR), cached=partial) == build(linked(*PATH_OF_FOUR))
