"""The estimate of betweenness for graphs too large for the exact answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.graph import sampling
from kg2vault.graph.metrics import betweenness, components


def estimate(size, pairs, sources, keys=None):
    return sampling.estimate(keys or [f"k{node:05d}" for node in range(size)], pairs, sources, components(size, pairs))


def scale_free(size, links=2):
    """Every newcomer links to `links` earlier nodes, mostly to popular ones; the same graph every time."""
    ends = [0, 1]
    pairs = {(0, 1)}
    state = 1
    for node in range(2, size):
        for _ in range(links if node % 3 else 1):
            state = (state * 48271) % 2147483647
            other = ends[state % len(ends)]
            if other != node:
                pairs.add((other, node))
                ends += [other, node]
    return sorted((a, b, 2) for a, b in pairs)


@settings(max_examples=80)
@given(st.integers(3, 14), st.sets(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=30))
def test_with_every_source_the_estimate_is_the_exact_answer(size, ends):
    pairs = sorted({(min(pair), max(pair), 2) for pair in ends if pair[0] != pair[1] and max(pair) < size})
    assert estimate(size, pairs, size) == pytest.approx(betweenness(size, pairs), abs=1e-9)


def test_a_tree_needs_no_luck():
    pairs = [(0, 1, 2), (1, 2, 2), (2, 3, 2), (1, 4, 2), (4, 5, 2), (4, 6, 2)]
    assert estimate(7, pairs, 1) == pytest.approx(betweenness(7, pairs), abs=1e-9)


def test_the_estimate_ranks_as_the_exact_answer_does():
    pairs = scale_free(1500)
    exact, sampled = betweenness(1500, pairs), estimate(1500, pairs, 256)
    best = sorted(range(1500), key=lambda node: -exact[node])
    guessed = sorted(range(1500), key=lambda node: -sampled[node])
    assert len(set(best[:50]) & set(guessed[:50])) >= 42
    errors = sorted(abs(sampled[node] - exact[node]) / exact[node] for node in best[:30])
    assert errors[15] < 0.1


def test_one_more_concept_moves_the_estimates_a_little_only():
    pairs = scale_free(1500)
    before, after = estimate(1500, pairs, 256), estimate(1501, [*pairs, (7, 1500, 2)], 256)
    best = sorted(range(1500), key=lambda node: -before[node])[:30]
    assert max(abs(after[node] - before[node]) / before[node] for node in best) < 0.1


def test_larger_graphs_get_fewer_sources():
    sizes = [sampling.sample_size(concepts, edges) for concepts, edges in [(10_000, 20_000), (30_000, 500_000), (300_000, 9_000_000)]]
    assert sizes == [512, 128, 64]
