"""Colours stay with their community, differ between neighbours, and are seen by everybody on both grounds."""

import itertools
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.colour_space import contrast, distance, luminance
from kg2vault.vault.colours import DARK_GROUND, LEAST_CONTRAST, LIGHT_GROUND, PALETTE, Touching, assign, hexadecimal


def ring(size):
    """Communities of falling size, each touching the one before and the one after it."""
    return [Touching(f"c{i}", size - i, ((f"c{(i - 1) % size}", 5), (f"c{(i + 1) % size}", 5))) for i in range(size)]


def everyone(size):
    """Communities that all touch each other."""
    return [Touching(f"c{i}", size - i, tuple((f"c{j}", 1 + i * j % 7) for j in range(size) if j != i)) for i in range(size)]


def closest(colours):
    return min(distance(a, b) for a, b in itertools.combinations(colours, 2))


def test_black_and_white_are_as_far_apart_as_colours_get():
    assert distance(0x000000, 0xFFFFFF) == pytest.approx(1.0, abs=1e-4)
    assert contrast(0x000000, 0xFFFFFF) == pytest.approx(21.0)
    assert luminance(0xFFFFFF) == pytest.approx(1.0)
    assert distance(0x123456, 0x123456) == 0


def test_red_and_green_of_one_lightness_are_close_for_eyes_that_lack_a_cone():
    assert distance(0xC06050, 0x858A40) < 0.06 < distance(0xC06050, 0x5070C0)


@pytest.mark.parametrize("rgb", PALETTE, ids=hexadecimal)
def test_a_palette_colour_is_seen_on_the_light_and_the_dark_ground(rgb):
    assert contrast(rgb, LIGHT_GROUND) >= LEAST_CONTRAST
    assert contrast(rgb, DARK_GROUND) >= LEAST_CONTRAST


def test_no_two_palette_colours_look_alike_even_without_red_or_green_cones():
    assert closest(PALETTE) > 0.07  # more than three times what is just noticeable


def test_a_community_keeps_its_colour_while_it_lives():
    before = assign(everyone(9), {})
    after = assign(everyone(14), before)
    assert {key: after[key] for key in before} == before
    assert len(set(after.values())) == 14


def test_a_colour_the_user_chose_is_kept_and_kept_clear_of():
    pink = 0xFF00AA
    colours = assign(everyone(5), {"c3": pink})
    assert colours["c3"] == pink
    assert min(distance(pink, rgb) for key, rgb in colours.items() if key != "c3") > closest(PALETTE)


def test_the_colour_of_a_dead_community_is_free_again():
    gone = {f"dead{i}": rgb for i, rgb in enumerate(PALETTE)}
    assert set(assign(everyone(16), gone).values()) == set(PALETTE)


def test_neighbours_differ_more_than_the_palette_as_a_whole():
    colours = assign(ring(12), {})
    assert min(distance(colours[f"c{i}"], colours[f"c{(i + 1) % 12}"]) for i in range(12)) > 1.5 * closest(PALETTE)


def test_a_newcomer_stands_out_from_its_heaviest_neighbour():
    old = {"blue": 0x0072B2, "orange": 0xE69F00}
    communities = [Touching("blue", 9), Touching("orange", 9)]
    at_blue = assign([*communities, Touching("new", 3, (("blue", 90), ("orange", 1)))], old)["new"]
    at_orange = assign([*communities, Touching("new", 3, (("blue", 1), ("orange", 90)))], old)["new"]
    assert distance(at_blue, 0x0072B2) > distance(at_orange, 0x0072B2)
    assert distance(at_orange, 0xE69F00) > distance(at_blue, 0xE69F00)


@pytest.mark.parametrize("size", [17, 40, 150])
def test_more_communities_than_palette_colours_still_get_one_each(size):
    colours = assign(everyone(size), {}).values()
    assert len(set(colours)) == size
    assert all(min(contrast(rgb, LIGHT_GROUND), contrast(rgb, DARK_GROUND)) >= LEAST_CONTRAST for rgb in colours)


def test_colours_made_up_earlier_do_not_run_out_the_choice():
    first = assign(everyone(120), {})
    second = assign(everyone(240), first)
    assert {key: second[key] for key in first} == first
    assert len(set(second.values())) == 240


@given(st.permutations(range(20)), st.integers(0, 20))
@settings(max_examples=25)
def test_the_order_of_the_input_does_not_matter(order, known):
    communities = everyone(20)
    previous = {f"c{i}": PALETTE[i % 16] for i in range(known)}
    mixed = [Touching(communities[i].id, communities[i].size, tuple(reversed(communities[i].neighbours))) for i in order]
    assert list(assign(mixed, dict(reversed(previous.items()))).items()) == list(assign(communities, previous).items())


def test_the_hash_seed_does_not_matter():
    code = (
        "import json; from kg2vault.vault.colours import Touching, assign;"
        "print(json.dumps(assign([Touching(str(i), 40 - i, ((str(i - 1), 3),)) for i in range(30)], {})))"
    )
    answers = {subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}) for seed in "012"}
    assert len(answers) == 1
    assert len(json.loads(answers.pop())) == 30


def test_nothing_gets_nothing_and_one_gets_the_first():
    assert assign([], {"x": 1}) == {}
    assert assign([Touching("a", 3)], {}) == {"a": PALETTE[0]}
    assert hexadecimal(0x05556F) == "#05556f"
