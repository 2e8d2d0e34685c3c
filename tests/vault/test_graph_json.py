"""Our colour groups come into graph.json without moving a byte that is not ours."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.graph_json import Merge, Written, as_data, below, colours_of, from_data, initial, matches, merge, query_for
from kg2vault.vault.paths import obsidian_tag

OURS = below("kg/community")
PYTHON, RUST, WEB = (f"tag:#kg/community/{name}" for name in ("python", "rust", "web"))
USERS = """{
  "collapse-filter": false,
  "search": "-path:Archive",
  "showOrphans": false,
  "colorGroups": [
    {
      "query": "path:Projects",
      "color": {
        "a": 0.5,
        "rgb": 14701138
      }
    },
    {
      "query": "tag:#todo OR tag:#kg/community/python",
      "color": { "rgb": 5431378, "a": 1 }, "note": "mine"
    }
  ],
  "centerStrength": 0.518713248970312,
  "repelStrength": 10.0,
  "scale": 1e-1,
  "futureKey": {"a": [1, 2.50]},
  "close": true
}"""


def groups(text):
    return [(group["query"], group["color"]["rgb"]) for group in json.loads(text.removeprefix("\ufeff"))["colorGroups"]]


def around(text):
    """Everything before and after the list of groups."""
    start = text.index('"colorGroups": [')
    return text[:start], text[text.index("]", start) :]


def by_obsidian(text, change):
    """The file as Obsidian writes it again after a change in a graph that is open."""
    data = json.loads(text)
    change(data)
    return json.dumps(data, indent=2)


def test_ours_come_after_the_users_and_nothing_else_moves():
    result = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS)
    assert result.problem is None
    assert groups(result.text) == [*groups(USERS), (PYTHON, 1), (RUST, 2)]
    assert around(result.text) == around(USERS)
    assert result.text.startswith(USERS[: USERS.index('"note": "mine"\n    }') + len('"note": "mine"\n    }')] + ",\n    {\n")


def test_what_is_added_looks_like_what_obsidian_writes():
    plain = json.dumps({"search": "", "colorGroups": [{"query": "x", "color": {"a": 1, "rgb": 5}}], "scale": 1}, indent=2)
    expected = json.loads(plain)
    expected["colorGroups"].append({"query": PYTHON, "color": {"a": 1, "rgb": 77}})
    assert merge(plain, [(PYTHON, 77)], OURS).text == json.dumps(expected, indent=2)


def test_a_second_merge_changes_nothing():
    first = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS)
    second = merge(first.text, [(PYTHON, 1), (RUST, 2)], OURS, first.written)
    assert second == Merge(None, None, first.written)


@settings(max_examples=100)
@given(st.lists(st.sampled_from([PYTHON, RUST, WEB]), unique=True), st.lists(st.sampled_from([PYTHON, RUST, WEB]), unique=True), st.data())
def test_whatever_is_on_record_a_second_merge_changes_nothing_and_remembers_nothing_new(there, wanted, data):
    """A record that was lost, rolled back or cut short says other groups and other generations than the file has."""
    born = st.dictionaries(st.sampled_from([PYTHON, RUST, WEB]), st.tuples(st.just(1), st.integers(0, 3)))
    text = merge(USERS, [(query, 1) for query in there], OURS).text or USERS
    before = Written(
        data.draw(st.sampled_from(["", "another", *[merge(text, [], OURS).written.digest]])), data.draw(born), data.draw(st.integers(0, 3))
    )
    first = merge(text, [(query, 1) for query in wanted], OURS, before)
    second = merge(first.text or text, [(query, 1) for query in wanted], OURS, first.written)
    assert second == Merge(None, None, first.written)


def test_without_communities_a_file_of_the_users_alone_is_not_touched():
    assert merge(USERS, [], OURS).text is None


def test_a_new_colour_changes_the_digits_of_that_colour_only():
    first = merge(USERS, [(PYTHON, 111), (RUST, 222)], OURS)
    second = merge(first.text, [(PYTHON, 111), (RUST, 333)], OURS, first.written)
    assert second.text == first.text.replace("222", "333")


def test_the_group_of_a_dead_community_goes_and_takes_nothing_along():
    first = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS)
    second = merge(first.text, [(RUST, 2)], OURS, first.written)
    assert second.text == merge(USERS, [(RUST, 2)], OURS).text
    assert merge(second.text, [], OURS, second.written).text == USERS


def test_a_colour_the_user_gave_to_one_of_ours_stays():
    first = merge(USERS, [(PYTHON, 111), (RUST, 222)], OURS)
    recoloured = first.text.replace("222", "999")
    second = merge(recoloured, [(PYTHON, 111), (RUST, 444)], OURS, first.written)
    assert second.text is None
    assert colours_of(recoloured, OURS) == {PYTHON: 111, RUST: 999}
    assert merge(recoloured, [(PYTHON, 111), (RUST, 555)], OURS, second.written).text is None


def test_without_a_record_the_colours_in_the_file_stand():
    first = merge(USERS, [(PYTHON, 111)], OURS)
    again = merge(first.text, [(PYTHON, 222)], OURS)
    assert again.text is None
    assert merge(first.text, [(PYTHON, 222)], OURS, again.written).text is None


def test_a_group_the_user_deleted_stays_deleted():
    first = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS)
    without = by_obsidian(first.text, lambda data: data["colorGroups"].pop())
    wanted = [(PYTHON, 1), (RUST, 2)]
    second = merge(without, wanted, OURS, first.written)
    assert second.text is None
    third = merge(without, [*wanted, (WEB, 3)], OURS, second.written)
    assert [query for query, _ in groups(third.text)[2:]] == [PYTHON, WEB]
    assert merge(third.text, [*wanted, (WEB, 3)], OURS, third.written).text is None


def test_groups_that_obsidian_never_read_and_wrote_over_come_back():
    first = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS)
    slider = by_obsidian(USERS, lambda data: data.update(scale=2))  # the graph was open while we wrote
    second = merge(slider, [(PYTHON, 1), (RUST, 2)], OURS, first.written)
    assert groups(second.text)[2:] == [(PYTHON, 1), (RUST, 2)]


def test_a_later_group_lost_in_an_open_graph_comes_back_while_an_older_deleted_one_does_not():
    first = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS)
    second = merge(first.text, [(PYTHON, 1), (RUST, 2), (WEB, 3)], OURS, first.written)
    old_without_rust = by_obsidian(first.text, lambda data: data["colorGroups"].pop())  # opened before the second write
    third = merge(old_without_rust, [(PYTHON, 1), (RUST, 2), (WEB, 3)], OURS, second.written)
    assert groups(third.text)[2:] == [(PYTHON, 1), (WEB, 3)]


def test_a_group_the_user_put_behind_ours_comes_to_stand_before_them():
    first = merge(USERS, [(PYTHON, 1)], OURS)
    added = by_obsidian(first.text, lambda data: data["colorGroups"].append({"query": "file:x", "color": {"a": 1, "rgb": 9}}))
    second = merge(added, [(PYTHON, 1)], OURS, first.written)
    assert groups(second.text) == [*groups(USERS), ("file:x", 9), (PYTHON, 1)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Expecting value"),
        ("{", "name is missing|Expecting"),
        ('{"colorGroups": [}', "Expecting"),
        ('{"colorGroups": []} x', "after its end"),
        ('{"colorGroups": {}}', "not a list"),
        ('{"colorGroups": null}', "not a list"),
        ("[]", "not an object"),
        ("null", "not an object"),
        ('{"scale": NaN}', "NaN"),
        ('{"a": 1,}', "Expecting|name is missing"),
        ('{"a" 1}', "expecting ':'"),
        ("{1: 1}", "name is missing"),
        ("<<<<<<< HEAD", "Expecting"),
        ("[" * 100_000, "nested"),
        ('{"a": ' + "[" * 100_000, "nested"),
    ],
)
def test_a_file_that_is_not_what_obsidian_writes_is_left_alone_and_reported(text, says):
    record = Written("d", {PYTHON: (1, 1)}, 1)
    result = merge(text, [(PYTHON, 1)], OURS, record)
    assert result.text is None
    assert result.written == record
    assert result.problem.startswith("graph.json was left alone: ")
    assert any(part in result.problem for part in says.split("|"))
    assert colours_of(text, OURS) == {}


def test_line_ends_the_byte_order_mark_and_the_margin_are_kept():
    text = "\ufeff" + USERS.replace("  ", "\t").replace("\n", "\r\n")
    new = merge(text, [(PYTHON, 1)], OURS).text
    assert new.startswith("\ufeff{\r\n\t")
    assert "\n" not in new.replace("\r\n", "")
    assert '\r\n\t\t{\r\n\t\t\t"query": "tag:#kg/community/python"' in new
    assert merge(new, [], OURS).text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", json.dumps({"colorGroups": [{"query": "q", "color": {"a": 1, "rgb": 7}}]}, indent=2)),
        ('{"scale":1}', '{"scale":1,"colorGroups":[{"query":"q","color":{"a":1,"rgb":7}}]}'),
        ('{"scale": 1, "colorGroups": [] }', '{"scale": 1, "colorGroups": [{"query":"q","color":{"a":1,"rgb":7}}] }'),
        ('{\n  "colorGroups": []\n}', json.dumps({"colorGroups": [{"query": "q", "color": {"a": 1, "rgb": 7}}]}, indent=2)),
        ('{\n  "scale": 1\n}\n', json.dumps({"scale": 1, "colorGroups": [{"query": "q", "color": {"a": 1, "rgb": 7}}]}, indent=2) + "\n"),
    ],
)
def test_a_missing_or_empty_list_is_filled_in_the_style_of_the_file(text, expected):
    new = merge(text, [("q", 7)], lambda query: query == "q").text
    assert new == expected


def test_of_a_name_that_stands_twice_the_last_counts_as_in_obsidian():
    text = '{"colorGroups": [{"query": "a"}], "colorGroups": [{"query": "b"}]}'
    new = merge(text, [(PYTHON, 1)], OURS).text
    assert new.startswith('{"colorGroups": [{"query": "a"}], "colorGroups": [{"query": "b"},')
    assert [group["query"] for group in json.loads(new)["colorGroups"]] == ["b", PYTHON]


def test_odd_groups_are_the_users():
    text = '{"colorGroups": [1, null, {"query": 5}, {"color": "red"}, {"query": "tag:#kg/community/python", "color": "red"}]}'
    result = merge(text, [(PYTHON, 1)], OURS, Written("", {PYTHON: (1, 1)}, 0))
    assert result.text is None  # the last one is ours by its query, with a colour that somebody else gave it
    assert result.problem is None


def test_only_an_exact_query_of_ours_is_ours():
    assert OURS(PYTHON)
    assert OURS("tag:#kg/community/机器学习")
    for query in (
        "tag:#kg/community",
        "tag:#kg/community/",
        "tag:#kg/community/a/b",
        f"{PYTHON} OR x",
        f"({PYTHON})",
        f"-{PYTHON}",
        "tag:#kg",
    ):
        assert not OURS(query)


@pytest.mark.parametrize("name", ["A & B", "Foo 1.2", "机器", "C#", "C++", "2024", "🎉", "a/b", 'say "hi"', "x) OR (y", "Émile", "ﬀ"])
def test_every_query_finds_the_notes_that_carry_its_tag_and_no_other_communitys(name):
    names = ["A & B", "Foo 1.2", "机器", "C#", "C++", "2024", "🎉", "a/b", 'say "hi"', "x) OR (y", "Émile", "ﬀ"]
    tags = {other: obsidian_tag("kg/community", other, other) for other in names}
    query = query_for(tags[name])
    assert OURS(query)
    assert [other for other in names if matches(query, ["kg/concept", tags[other]])] == [name]


def test_a_query_finds_tags_as_obsidian_does():
    assert matches("tag:#kg/community/Web", ["kg/community/web"])
    assert matches("tag:#kg", ["x", "kg/community/web"])
    assert not matches("tag:#kg/community/web", ["kg/community/web2"])
    with pytest.raises(ValueError):
        matches("path:x", ["x"])


def test_the_first_graph_json_shows_the_users_notes_unless_told_otherwise():
    shared = json.loads(initial([(PYTHON, 5)], "Knowledge Graph", hidden_tags=["kg/home"]).text)
    assert shared["search"] == "-tag:#kg/home"
    assert shared["colorGroups"] == [{"query": PYTHON, "color": {"a": 1, "rgb": 5}}]
    alone = json.loads(initial([], 'My "KG"', only_folder=True, hidden_tags=["kg/home"]).text)
    assert alone["search"] == 'path:"My \\"KG\\"/" -tag:#kg/home'


def test_the_first_graph_json_is_settled():
    first = initial([(PYTHON, 5)], "Knowledge Graph")
    assert merge(first.text, [(PYTHON, 5)], OURS, first.written).text is None
    deleted = by_obsidian(first.text, lambda data: data.update(scale=2))
    seen = merge(deleted, [(PYTHON, 5)], OURS, first.written)
    gone = by_obsidian(deleted, lambda data: data["colorGroups"].clear())
    assert merge(gone, [(PYTHON, 5)], OURS, seen.written).text is None


def test_where_there_is_no_file_our_groups_can_stand_alone():
    result = merge(None, [(PYTHON, 5)], OURS)
    assert groups(result.text) == [(PYTHON, 5)]
    assert merge(result.text, [(PYTHON, 5)], OURS, result.written).text is None
    assert merge(None, [], OURS) == Merge(None)


def test_the_record_survives_the_manifest():
    written = merge(USERS, [(PYTHON, 1), (RUST, 2)], OURS).written
    assert from_data(json.loads(json.dumps(as_data(written)))) == written


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), lambda inner: st.lists(inner, max_size=3)
)
USER_GROUP = st.fixed_dictionaries({"query": st.text(max_size=8)}, optional={"color": JSON, "extra": JSON})
WANTED = st.dictionaries(st.sampled_from([PYTHON, RUST, WEB, "tag:#kg/community/x"]), st.integers(0, 0xFFFFFF)).map(
    lambda found: list(found.items())
)


@given(
    st.dictionaries(st.text(max_size=5), JSON, max_size=3),
    st.none() | st.lists(USER_GROUP, max_size=3),
    WANTED,
    WANTED,
    st.sampled_from([None, 1, "\t"]),
)
@settings(max_examples=150)
def test_whatever_the_user_has_stays_and_ours_are_exactly_the_wanted_ones(options, theirs, before, wanted, indent):
    options = {key: value for key, value in options.items() if key != "colorGroups"}
    data = options if theirs is None else {**options, "colorGroups": theirs}
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    first = merge(text, before, OURS)
    middle = first.text if first.text is not None else text
    second = merge(middle, wanted, OURS, first.written)
    end = second.text if second.text is not None else middle
    result = json.loads(end)
    assert {key: value for key, value in result.items() if key != "colorGroups"} == options
    assert result.get("colorGroups", [])[: len(theirs or [])] == (theirs or [])
    assert colours_of(end, OURS) == dict(wanted)
    assert merge(end, wanted, OURS, second.written) == Merge(None, None, second.written)
