"""The map of communities: valid, legible, calm, and the user's as soon as he touches it."""

import itertools
import json
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.canvas import LINES, Card, canvas_digest, community_canvas
from kg2vault.vault.canvas_layout import GAP, GRID, Box, arrange

CARDS = [Card(f"c{i}", f"KG/Communities/c{i}.md", 60 - 5 * i, 0x0072B2 + i) for i in range(9)]
EDGES = [(f"c{i}", f"c{j}", 1 + (7 * i + 3 * j) % 23) for i in range(8) for j in range(i)]  # c8 touches none
HEX = re.compile(r"#[0-9a-f]{6}")


def first(cards=CARDS, edges=EDGES):
    return community_canvas(cards, edges, None, None)


def nodes(text):
    return {node["id"].removeprefix("kg2vault-"): node for node in json.loads(text)["nodes"]}


def lines(text):
    return {
        (edge["fromNode"].removeprefix("kg2vault-"), edge["toNode"].removeprefix("kg2vault-")): edge for edge in json.loads(text)["edges"]
    }


def box(node):
    return Box(node["x"], node["y"], node["width"], node["height"])


def places(text):
    return {key: (node["x"], node["y"]) for key, node in nodes(text).items()}


def assert_apart(found, gap=0):
    assert not [(a, b) for a, b in itertools.combinations(found, 2) if a.touches(b, gap)]


def changed(text, change):
    data = json.loads(text)
    change(data)
    return json.dumps(data)


def test_a_canvas_is_json_canvas_as_the_specification_has_it():
    canvas = json.loads(first().text)
    assert set(canvas) == {"nodes", "edges"}
    for node in canvas["nodes"]:
        assert set(node) == {"id", "type", "file", "x", "y", "width", "height", "color"}
        assert node["type"] == "file"
        assert all(type(node[side]) is int for side in ("x", "y", "width", "height"))
        assert HEX.fullmatch(node["color"])
    ids = [part["id"] for part in canvas["nodes"] + canvas["edges"]]
    assert len(ids) == len(set(ids))
    for edge in canvas["edges"]:
        assert {edge["fromNode"], edge["toNode"]} <= {node["id"] for node in canvas["nodes"]}
        assert {edge["fromSide"], edge["toSide"]} in ({"left", "right"}, {"top", "bottom"})
        assert edge["toEnd"] == "none"


def test_every_community_has_a_card_that_shows_its_note_in_its_colour_and_size():
    found = nodes(first().text)
    assert {key: node["file"] for key, node in found.items()} == {card.id: card.file for card in CARDS}
    assert found["c0"]["color"] == "#0072b2"
    widths = [found[card.id]["width"] for card in CARDS]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1]


def test_cards_stand_on_the_grid_and_leave_room_for_the_lines():
    found = [box(node) for node in nodes(first().text).values()]
    assert_apart(found, GAP)
    assert all(value % GRID == 0 for one in found for value in (one.x, one.y, one.width, one.height))


def test_each_community_shows_its_heaviest_lines_with_their_summed_weight():
    drawn = lines(first([*CARDS], [*EDGES, ("c1", "c0", 100), ("c0", "c1", 20)]).text)
    assert drawn[("c0", "c1")]["label"] == str(100 + 20 + 1 + 7 % 23)
    assert len(drawn) <= LINES * len(CARDS) < len(EDGES)
    weights = {tuple(sorted((a, b))): weight for a, b, weight in EDGES}
    for card in CARDS[2:8]:
        near = sorted((weight for pair, weight in weights.items() if card.id in pair), reverse=True)
        shown = [int(edge["label"]) for pair, edge in drawn.items() if card.id in pair]
        assert max(near[0], *shown) == max(shown)


def test_a_line_leaves_a_card_on_the_side_of_the_other():
    found, drawn = nodes(first().text), lines(first().text)
    for (one, other), edge in drawn.items():
        (x1, y1), (x2, y2) = box(found[one]).centre, box(found[other]).centre
        if edge["fromSide"] in ("left", "right"):
            assert (edge["fromSide"] == "right") == (x2 >= x1)
        else:
            assert (edge["fromSide"] == "bottom") == (y2 >= y1)


def test_a_second_run_writes_nothing():
    one = first()
    again = community_canvas(CARDS, EDGES, one.text, one.digest)
    assert (again.text, again.digest, again.reason) == (None, one.digest, None)
    assert canvas_digest(one.text) == one.digest


def test_cards_stay_where_they_are_when_communities_come_and_go():
    one = first()
    cards = [card for card in CARDS if card.id != "c3"] + [Card("new", "KG/new.md", 30)]
    two = community_canvas(cards, [*EDGES, ("new", "c5", 50)], one.text, one.digest)
    before, after = places(one.text), places(two.text)
    assert {key: place for key, place in after.items() if key != "new"} == {key: place for key, place in before.items() if key != "c3"}
    assert_apart([box(node) for node in nodes(two.text).values()])


def test_a_newcomer_comes_near_its_heaviest_neighbour():
    one = first()
    for home in ("c5", "c0", "c7"):
        two = community_canvas([*CARDS, Card("new", "KG/new.md", 4)], [*EDGES, ("new", home, 50)], one.text, one.digest)
        found = {key: box(node).centre for key, node in nodes(two.text).items()}
        x, y = found.pop("new")
        nearest = sorted(found, key=lambda key: (found[key][0] - x) ** 2 + (found[key][1] - y) ** 2)
        assert home in nearest[:2]


def test_a_community_that_touches_none_stands_below_the_others():
    found = {key: box(node) for key, node in nodes(first().text).items()}
    alone = found.pop("c8")
    assert alone.y > max(other.y + other.height for other in found.values())


def test_a_card_grows_where_there_is_room_and_only_there():
    sizes = {"a": (240, 140), "b": (240, 140)}
    side_by_side = {"a": Box(0, 0, 240, 140), "b": Box(260, 0, 240, 140)}
    assert arrange({**sizes, "a": (400, 240)}, {}, side_by_side) == side_by_side
    assert arrange({**sizes, "b": (400, 240)}, {}, side_by_side) == {**side_by_side, "b": Box(260, 0, 400, 240)}


def test_new_weights_change_labels_and_move_nothing():
    one = first()
    two = community_canvas(CARDS, [(a, b, 10 * weight) for a, b, weight in EDGES], one.text, one.digest)
    assert two.text is not None
    assert nodes(two.text) == nodes(one.text)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["nodes"][0].update(x=data["nodes"][0]["x"] + 20),
        lambda data: data["nodes"][0].update(color="1"),
        lambda data: data["nodes"].append({"id": "t", "type": "text", "text": "mine", "x": 0, "y": 0, "width": 9, "height": 9}),
        lambda data: data["edges"].pop(),
        lambda data: data["edges"][0].update(label="so what"),
        lambda data: data.update(background="x"),
    ],
)
def test_a_canvas_the_user_changed_is_left_alone_until_he_takes_it_back(change):
    one = first()
    theirs = changed(one.text, change)
    result = community_canvas(CARDS[:3], EDGES, theirs, one.digest)
    assert result.text is None
    assert "yours" in result.reason
    assert result.digest == one.digest
    assert community_canvas(CARDS[:3], EDGES, one.text, result.digest).text is not None


def test_what_obsidian_does_to_a_canvas_by_itself_is_not_a_change():
    one = first()
    moved = changed(one.text, lambda data: data["nodes"][0].update(file="Elsewhere/renamed.md"))
    cards = [Card("c0", "Elsewhere/renamed.md", 60, CARDS[0].rgb), *CARDS[1:]]
    result = community_canvas(cards, EDGES, moved, one.digest)
    assert (result.text, result.reason) == (None, None)
    assert nodes(community_canvas(CARDS, EDGES, moved, one.digest).text) == nodes(one.text)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"nodes": {}}', '{"nodes": [1]}', '{"edges": [{"x": 1}]}', "[" * 100_000])
def test_a_file_that_is_no_canvas_is_left_alone(text):
    result = community_canvas(CARDS, EDGES, text, "0123456789abcdef")
    assert result.text is None
    assert result.reason.startswith("The canvas was left alone: it")


def test_a_strangers_canvas_at_our_path_is_left_alone():
    result = community_canvas(CARDS, EDGES, '{"nodes":[],"edges":[]}', None)
    assert (result.text, result.digest) == (None, None)
    assert result.reason


def test_a_deleted_canvas_stays_deleted():
    result = community_canvas(CARDS, EDGES, None, first().digest)
    assert result.text is None
    assert result.digest == first().digest
    assert "deleted" in result.reason


def test_no_communities_make_no_canvas_and_empty_an_old_one():
    assert first([], []).text is None
    one = first()
    assert json.loads(community_canvas([], [], one.text, one.digest).text) == {"nodes": [], "edges": []}


def test_one_community_makes_one_card_without_lines():
    canvas = json.loads(first(CARDS[:1], []).text)
    assert len(canvas["nodes"]) == 1
    assert canvas["edges"] == []


def test_file_names_and_ids_of_any_kind_arrive_whole():
    name = 'KG/机器 "x" \\ \u2028.md'
    assert nodes(first([Card("x", name, 3)], []).text)["x"]["file"] == name


@given(st.permutations(range(9)), st.permutations(range(len(EDGES))))
@settings(max_examples=15)
def test_the_order_of_the_input_does_not_matter(cards, edges):
    mixed = [(b, a, weight) for a, b, weight in (EDGES[i] for i in edges)]
    assert first([CARDS[i] for i in cards], mixed) == first()


def test_hash_seed_and_threads_do_not_matter():
    code = (
        "from kg2vault.vault.canvas import Card, community_canvas;"
        "cards = [Card(str(i), f'{i}.md', 3 + i) for i in range(25)];"
        "edges = [(str(i), str(j), 1 + i * j % 11) for i in range(25) for j in range(i) if (i + j) % 3];"
        "print(community_canvas(cards, edges, None, None).text)"
    )
    runs = [{**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads} for seed, threads in (("0", "1"), ("1", "2"), ("2", "4"))]
    assert len({subprocess.check_output([sys.executable, "-c", code], env=env) for env in runs}) == 1


@given(
    st.lists(st.tuples(st.integers(1, 400), st.booleans()), min_size=1, max_size=14),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13), st.integers(1, 90)), max_size=30),
)
@settings(max_examples=40)
def test_cards_never_overlap_and_old_ones_never_move(sizes, links):
    cards = [Card(f"{i:02}", f"{i}.md", members) for i, (members, _) in enumerate(sizes)]
    edges = [(f"{a:02}", f"{b:02}", weight) for a, b, weight in links]
    old = [card for card, (_, there) in zip(cards, sizes, strict=True) if there]
    one = first(old, edges)
    two = community_canvas([Card(card.id, card.file, card.members + 9) for card in cards], edges, one.text, one.digest)
    end = two.text or one.text  # None: the sizes are so coarse that nothing changed
    assert_apart([box(node) for node in nodes(end).values()])
    if old:
        before, after = places(one.text), places(end)
        assert {key: after[key] for key in before} == before
