"""Regions are found only where every marker is in order, and spliced without moving anything around them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.regions import apply_edits, block, find_regions, line_break, region_edits

ONE = block("concept", "line 1\n\nline 2", "0123abcd")
TWO = block("items", "- [x](https://x.example)", "89abcdef")
MARKERS = [
    "%% kg2vault:begin concept 0123abcd %%",
    "%% kg2vault:end concept %%",
    "%% kg2vault:begin items 89abcdef %%",
    "%% kg2vault:end items %%",
]


def spliced(text, bodies, removals=(), top=0):
    regions, damage = find_regions(text)
    assert damage is None
    return apply_edits(text, region_edits(text, top, regions, bodies, removals))


def test_regions_are_found_with_what_is_around_them():
    text = f"mine\n{ONE}\n\nyours\n{TWO}"
    regions, damage = find_regions(text)
    assert damage is None
    assert [(region.name, region.marker_digest, region.body) for region in regions] == [
        ("concept", "0123abcd", "line 1\n\nline 2"), ("items", "89abcdef", "- [x](https://x.example)"),
    ]  # fmt: skip
    assert [text[region.start : region.end] for region in regions] == [ONE, TWO]


@pytest.mark.parametrize(
    ("inside", "body"),
    [
        ("", ""),
        ("\n", ""),
        ("x\n", "x"),
        ("\n\n", "\n"),
        ("x\r\n", "x"),
        ("x\n\n", "x\n"),
        ("x\ry\n", "x\ry"),
        ("x \x00\udcff\n", "x \x00\udcff"),
    ],
)
def test_a_body_is_what_stands_between_the_marker_lines(inside, body):
    (region,), damage = find_regions(f"%% kg2vault:begin a 00000000 %%\n{inside}%% kg2vault:end a %%")
    assert (region.body, damage) == (body, None)


def test_windows_line_ends_are_line_ends():
    text = f"mine\n{ONE}\n{TWO}\n".replace("\n", "\r\n")
    regions, damage = find_regions(text)
    assert damage is None
    assert [region.body for region in regions] == ["line 1\r\n\r\nline 2", "- [x](https://x.example)"]
    assert all(text[region.start : region.end].endswith(" %%") for region in regions)


BEGIN, END = MARKERS[:2]
DAMAGED = {
    "a beginning without an end": (f"{BEGIN}\nmine\n", "The region “concept” has no end marker."),
    "an end without a beginning": (f"mine\n{END}\n", "The marker on line 2 ends the region “concept”, which has not begun."),
    "the end before the beginning": (f"{END}\nmine\n{BEGIN}\n", "The marker on line 1 ends the region “concept”, which has not begun."),
    "two beginnings and one end": (
        f"{BEGIN}\nmine\n{BEGIN}\n{END}\n",
        "The marker on line 3 begins a region before the region “concept” ends.",
    ),
    "one beginning and two ends": (
        f"{BEGIN}\n{END}\nmine\n{END}\n",
        "The marker on line 4 ends the region “concept”, which has not begun.",
    ),
    "two whole regions of one name": (f"{ONE}\nmine\n{ONE}\n", "The marker on line 7 begins the region “concept” a second time."),
    "a region in a region": (f"{BEGIN}\n{TWO}\n{END}\n", "The marker on line 2 begins a region before the region “concept” ends."),
    "regions that cross": ("\n".join([MARKERS[0], MARKERS[2], MARKERS[1], MARKERS[3]]), "The marker on line 2 begins a region before"),
    "an end of another name": (f"{BEGIN}\nmine\n{MARKERS[3]}\n", "The marker on line 3 ends the region “items”, which has not begun."),
}
for _what, _line in {
    "a blank behind": f"{BEGIN} ", "a tab behind": f"{BEGIN}\t", "a blank before": f" {BEGIN}", "a quote mark before": f"> {BEGIN}",
    "a lone carriage return": f"{BEGIN}\r\r", "another case": BEGIN.upper(), "a capital letter": BEGIN.replace("kg2", "Kg2"),
    "two blanks": BEGIN.replace(" kg2", "  kg2"), "no blank": BEGIN.replace(" kg2", "kg2"), "no digest": "%% kg2vault:begin concept %%",
    "half a digest": BEGIN.replace("abcd", ""), "a long digest": BEGIN.replace("abcd", "abcdef"),
    "a digest in capitals": BEGIN.replace("abcd", "ABCD"),
    "no name": "%% kg2vault:begin %%", "a name of two words": BEGIN.replace("concept", "my concept"),
    "half a fence": BEGIN.removesuffix("%"),
    "words behind": f"{BEGIN} mine", "a fence less": BEGIN.removesuffix(" %%"), "another word": BEGIN.replace("begin", "start"),
}.items():  # fmt: skip
    DAMAGED[f"a marker with {_what}"] = (f"{_line}\nbody\n{END}\nmine\n", "The marker on line 1 is not written as kg2vault writes it.")


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("what", DAMAGED)
def test_markers_are_damaged_by(what, newline):
    text, reason = DAMAGED[what]
    regions, damage = find_regions(text.replace("\n", newline))
    assert regions == ()
    assert damage.startswith(reason)
    assert damage.endswith(".")


def test_a_marker_at_the_end_with_half_a_line_break_is_damaged():
    assert find_regions(f"{BEGIN}\n{END}\r") == ((), "The marker on line 2 is not written as kg2vault writes it.")


@pytest.mark.parametrize(
    "text",
    ["", "kg2vault: begin here", "The line `%% kg2vault:begin concept 0123abcd %%` is a marker.",
     "%% a comment about kg2vault:begin %%", "100 %%",
     "kg2vault:begin concept 0123abcd", "- \\%\\% kg2vault:end concept \\%\\%"],
)  # fmt: skip
def test_words_about_markers_are_no_markers(text):
    assert find_regions(text) == ((), None)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from([*MARKERS, "mine", "", " ", MARKERS[0] + " ", MARKERS[1].upper(), "\r"]), max_size=9),
    st.sampled_from(["\n", "\r\n"]),
)
def test_lines_in_any_order_are_regions_or_damage_and_never_something_between(lines, newline):
    text = newline.join(lines)
    regions, damage = find_regions(text)
    markers = sum("kg2vault" in line.lower() for line in lines)
    assert len(regions) * 2 == (0 if damage else markers)
    at = 0
    for region in regions:
        assert region.start >= at
        assert text[region.start : region.end].splitlines()[0] == f"%% kg2vault:begin {region.name} {region.marker_digest} %%"
        assert text[region.start : region.end].splitlines()[-1] == f"%% kg2vault:end {region.name} %%"
        assert "kg2vault" not in region.body
        at = region.end
    assert "kg2vault" not in text[at:].lower() or damage


# --- splicing -----------------------------------------------------------------------------------------------------------------------

AROUND = ["", "mine", "mine\n\n", "\n\n", " \t\n", "a\r\nb\n", "%% comment %%\n", "---\n\x00\udcff\u2028\n"]


@pytest.mark.parametrize("below", AROUND)
@pytest.mark.parametrize("above", AROUND)
def test_a_new_body_moves_nothing_around_it(above, below):
    above, below = above and f"{above}\n", below and f"\n{below}"
    text = f"{above}{ONE}{below}"
    newline = line_break(text)
    assert spliced(text, {"concept": ("new\nbody", "ffffffff")}) == above + block("concept", "new\nbody", "ffffffff", newline) + below


def test_new_bodies_have_the_line_ends_of_the_note():
    text = f"mine\n{ONE}\n".replace("\n", "\r\n")
    after = spliced(text, {"concept": ("new\nbody", "ffffffff")})
    assert after == f"mine\n{block('concept', 'new@body', 'ffffffff')}\n".replace("\n", "\r\n").replace("@", "\r\n")
    assert spliced(after, {"concept": ("line 1\n\nline 2", "0123abcd")}) == text


def test_a_body_that_stays_keeps_its_bytes_and_gets_its_digest():
    text = f"{BEGIN}\r\none\ntwo\r\n\r\n{END}\n\n"
    (region,), _ = find_regions(text)
    assert spliced(text, {"concept": (region.body, "ffffffff")}) == text.replace("0123abcd", "ffffffff")


def test_a_body_can_become_empty_and_be_filled_again():
    text = f"mine\n{ONE}\nyours\n"
    empty = spliced(text, {"concept": ("", "00000000")})
    assert empty == f"mine\n%% kg2vault:begin concept 00000000 %%\n{END}\nyours\n"
    assert spliced(empty, {"concept": ("line 1\n\nline 2", "0123abcd")}) == text


def test_a_new_region_goes_below_the_last_one_and_leaves_without_a_trace():
    for text in (f"mine\n{ONE}\nyours", f"{ONE}", f"{ONE}\n", f"{ONE}\n\n\nyours\n"):
        after = spliced(text, {"items": ("- [x](https://x.example)", "89abcdef")})
        assert after == text.replace(ONE, f"{ONE}\n\n{TWO}")
        assert spliced(after, {}, ["items"]) == text


def test_a_new_region_goes_to_the_top_when_there_is_none():
    for text, expected in (
        ("", f"{ONE}\n"),
        ("\n", f"{ONE}\n\n"),
        ("mine", f"{ONE}\n\nmine"),
        ("\r\nmine\r\n", f"{ONE}\n\n\nmine\n".replace("\n", "\r\n")),
    ):
        assert spliced(text, {"concept": ("line 1\n\nline 2", "0123abcd")}) == expected


def test_removed_regions_take_only_the_line_that_kept_them_apart():
    text = f"above\n\n{ONE}\n\n{TWO}\n\nbelow\n"
    assert spliced(text, {}, ["concept"]) == f"above\n\n{TWO}\n\nbelow\n"
    assert spliced(text, {}, ["items"]) == f"above\n\n{ONE}\n\nbelow\n"
    assert spliced(f"above\n{ONE}\nbelow\n", {}, ["concept"]) == "above\nbelow\n"
    assert spliced(f"{ONE}\n\nbetween\n\n{TWO}", {}, ["concept", "items"]) == "\nbetween\n\n"


def test_a_region_that_takes_the_place_of_another_stands_where_it_stood():
    new = block("home", "h", "aaaaaaaa")
    for text in (f"above\n{ONE}\nbelow\n", f"above\n{ONE}\n\n{TWO}\nbelow\n", f"above\n{ONE}\nbetween\n{TWO}\nbelow\n"):
        names = [region.name for region in find_regions(text)[0]]
        after = spliced(text, {"home": ("h", "aaaaaaaa")}, names)
        assert [region.name for region in find_regions(after)[0]] == ["home"]
        assert new in after
        assert [line for line in after.replace(new, "").split("\n") if line] == [
            line for line in ("above", "between", "below") if line in text
        ]
    assert spliced(f"{ONE}\n\n{TWO}\n", {"home": ("h", "aaaaaaaa")}, ["concept"]) == f"{TWO}\n\n{new}\n"


_user = st.text(alphabet=st.sampled_from(list("ab \t\n\r%-#\x00\udcff\u2028é")), max_size=12).filter(lambda text: "%%" not in text)
_body = st.text(alphabet=st.sampled_from(list("ab \n[]|é")), max_size=12).map(lambda text: text.rstrip("\n"))
_names = st.sampled_from(["concept", "items", "home"])
_bodies = st.dictionaries(_names, st.tuples(_body, st.sampled_from(["00000000", "ffffffff"])), max_size=3)
_parts = st.lists(st.tuples(_user, _names, _body), max_size=3, unique_by=lambda part: part[1])


@settings(deadline=None, max_examples=150)
@given(_parts, _user, _bodies, st.sets(_names))
def test_whatever_is_written_or_removed_the_users_words_stay_and_the_regions_are_those_wanted(parts, last, bodies, removals):
    text = "".join(f"{user}\n{block(name, body, '12345678')}\n" for user, name, body in parts) + last
    removals = removals - bodies.keys()
    before, damage = find_regions(text)
    assert damage is None
    after = apply_edits(text, region_edits(text, 0, before, bodies, removals))
    found, damage = find_regions(after)
    assert damage is None
    expected = {region.name: (region.body, region.marker_digest) for region in before if region.name not in removals} | bodies
    newline = line_break(text)
    assert {region.name: (region.body.replace(newline, "\n"), region.marker_digest) for region in found} == {
        name: (body.replace(newline, "\n"), marker) for name, (body, marker) in expected.items()
    }
    assert words_outside(after, found) == words_outside(text, before)
    again = apply_edits(
        after, region_edits(after, 0, found, {region.name: (region.body, region.marker_digest) for region in found}, removals)
    )
    assert again == after


def words_outside(text, regions):
    at, pieces = 0, []
    for region in regions:
        pieces.append(text[at : region.start])
        at = region.end
    return [line for piece in [*pieces, text[at:]] for line in piece.replace("\r\n", "\n").split("\n") if line]
