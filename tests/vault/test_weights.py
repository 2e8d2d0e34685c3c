"""Bands, sizes and repetitions follow the weights, coarsely and calmly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.weights import Bands, bands, repeat, size_100

ROW = {first * 10**power for power in range(10) for first in (1, 2, 5)}
WEIGHTS = st.lists(st.integers(1, 2000), max_size=60)


def test_each_band_carries_about_a_third_of_the_weight():
    # 30 * 2 + 6 * 10 + 1 * 60: a third of 180 is on the last, two thirds on the last two kinds.
    weights = [2] * 30 + [10] * 6 + [60]
    found = bands(weights)
    assert found == Bands(medium=10, strong=50)
    assert [found.of(weight) for weight in (2, 9, 10, 49, 50, 60)] == ["weak", "weak", "medium", "medium", "strong", "strong"]


def test_edges_of_one_weight_are_all_weak():
    found = bands([7] * 12)
    assert {found.of(7)} == {"weak"}


def test_no_edges_still_have_bands():
    assert bands([]) == Bands(medium=2, strong=5)


def test_a_step_is_kept_until_the_weights_are_clearly_past_it():
    before = Bands(medium=5, strong=20)
    wavering = [2] * 30 + [10] * 6 + [19] * 4
    assert bands(wavering) == Bands(medium=5, strong=10)
    assert bands(wavering, before) == before
    grown = [2] * 30 + [10] * 6 + [90] * 4
    assert bands(grown, before) == Bands(medium=20, strong=50)


@given(WEIGHTS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_bands_are_round_ordered_and_blind_to_order(weights, shuffle):
    found = bands(weights)
    mixed = list(weights)
    shuffle.shuffle(mixed)
    assert bands(mixed) == found
    assert {found.medium, found.strong} <= ROW
    assert found.medium < found.strong
    assert bands(weights, found) == found


@given(WEIGHTS.filter(bool))
@settings(max_examples=60)
def test_the_lightest_edge_is_always_weak_so_that_bands_tell_something(weights):
    assert bands(weights).of(min(weights)) == "weak"


def test_node_sizes_grow_with_the_root_of_the_degree_in_steps():
    assert [size_100(degree) for degree in (0, 1, 5, 25, 100, 5000)] == [40, 60, 100, 160, 300, 300]
    sizes = [size_100(degree) for degree in range(300)]
    assert sizes == sorted(sizes)
    assert all(size % 20 == 0 and 40 <= size <= 300 for size in sizes)


def test_one_more_neighbour_seldom_changes_the_size():
    changes = sum(size_100(degree) != size_100(degree + 1) for degree in range(100))
    assert changes == 13


def test_a_link_is_repeated_by_the_logarithm_of_its_weight():
    assert [repeat(weight, 128, 5) for weight in (1, 2, 4, 8, 16, 64, 127, 128, 200)] == [1, 1, 2, 2, 3, 4, 4, 5, 5]
    assert [repeat(weight, 128, 1) for weight in (1, 50, 128)] == [1, 1, 1]


def test_growth_of_the_heaviest_edge_shows_only_when_it_doubles():
    assert {repeat(9, most, 5) for most in range(64, 128)} == {repeat(9, 64, 5)}


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 9))
@settings(max_examples=100)
def test_a_heavier_edge_is_never_repeated_less_and_the_heaviest_most(weight, more, n):
    most = weight + more
    assert 1 <= repeat(weight, most, n) <= repeat(most, most, n) <= n
    assert most == 1 or repeat(most, most, n) == n


def test_no_repetition_at_all_is_refused():
    with pytest.raises(ValueError):
        repeat(3, 9, 0)
