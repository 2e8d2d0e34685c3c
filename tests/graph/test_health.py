"""Whether the graph is usable."""

from kg2vault.graph.communities import fresh_partition
from kg2vault.graph.health import health
from tests.graph.small import build, clique, linked, reading


def test_every_number_on_a_small_graph():
    rows = linked(*clique("a", 3), *clique("b", 3), ("b0", "tail"))
    graph = build(type(rows)(assignments=sorted([*rows.assignments, (1, "once")]), items=rows.items, feeds={}))
    report = health(graph)
    expected = (2 * 3 / 7 + 1 / 7) - ((6 / 14) ** 2 + (8 / 14) ** 2)
    assert report == {
        "nodes": 7,
        "edges": 7,
        "distinct_tags": 8,
        "singleton_rate": 0.125,
        "degree_1_pct": 14.3,
        "median_degree": 2.0,
        "max_degree": 3,
        "hub_dominance_pct": 42.9,
        "communities": 2,
        "largest_community_pct": 57.1,
        "modularity": round(expected, 4),
        "betweenness": "exact",
    }


def test_an_empty_graph_is_reported_and_not_divided_by():
    assert set(health(build(reading())).values()) == {0, "exact"}


def test_merging_spellings_shows_in_the_singleton_rate():
    rows = reading(("ml", "ai"), ("machine-learning", "ai"))
    assert health(build(rows))["singleton_rate"] == 0.6667
    assert health(build(rows, "aliases: {ml: machine-learning}"))["singleton_rate"] == 0.0


def test_sampled_betweenness_is_said():
    assert health(build(linked(("a", "b"), ("b", "c")), betweenness_exact_up_to=2))["betweenness"] == "sampled"


def test_a_standing_partition_is_held_against_a_fresh_one():
    graph = build(linked(*clique("a", 4), *clique("b", 4), ("a0", "b0")))
    report = health(graph, fresh_partition(graph))
    assert report["modularity_fresh"] == report["modularity"] > 0.4
