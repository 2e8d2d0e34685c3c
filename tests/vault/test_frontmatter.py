"""Our properties are set and every byte of the user stays where it was, read back with a parser of YAML 1.2 that wrote nothing of it."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.desired import compose_block
from kg2vault.vault.frontmatter import find
from kg2vault.vault.frontmatter_edit import edit
from kg2vault.vault.note import parse
from kg2vault.vault.yaml_scalars import quoted, read_written, same, written
from tests.vault.blocks import NOTHING, OWN, as_yaml_1_2, block_of, edited

# --- the user's bytes -------------------------------------------------------------------------------------------------------------

THEIRS = {
    "a time": "time: 10:00\n",
    "numbers that are none": "zip: 007\nver: 1.10\nhex: 0x1F\nbig: 1_000\nexp: 1e3\n",
    "words of YAML 1.1": "ans: no\non: yes\n",
    "a date": "date: 2012-10-11T23:39:45-04:00\n",
    "comments": "# alone\nzeta: 1   # behind\n\n# and below\n",
    "quotes": "single: 'it''s'\ndouble: \"a \\\"b\\\" \\u263a\"\nplain: it's\n",
    "blank lines": "a: 1\n\n\nb: 2\n\n",
    "a block list": "list:\n- one\n-   two # why\n  # between\n- three\n",
    "a literal text": "text: |\n  first\n\n   second  \n",
    "a folded text that keeps its end": "folded: >+\n  a\n  b\n\n",
    "brackets and braces": "map: {a: 1, b: [x, y]}\nlinks: [\"[[One]]\",  '[[Two|2]]']\n",
    "brackets over several lines": "many: [a, # one\n  b,\n  c]\n",
    "an unquoted link": "up: [[Home]]\n",
    "nothing": "empty:\nnothing: ~\n",
    "an anchor": "base: &b\n  x: 1\nsame: *b\n",
    "a nested map": "map:\n  a:\n    - b: 1\n      c: 2\n",
    "keys that are no words": '2024: year\n"quoted key": 1\nwith space: 2\nüñí: 3\n日本: 4\ntrue: 5\n',
    "emoji": "mood: 🚀 😀é\n",
    "odd spacing": "wide :    1\ntrailing: 2   \n",
    "a long line": f"long: {'word ' * 60}end\n",
    "a plain text over lines": "plain: one\n  two\n  three\n",
    "a quoted text over lines": 'quoted: "one\n  two # no comment\n\n  three"\n',
    "names like ours": "my_kg_id: x\nkg: y\nkgid: z\n",
    "singular names": "tag: kg/concept\nalias: Web\n",
    "a complex key": "? [a, b]\n: 1\n",
    "a tagged value": "tagged: !!str x\nstring: !!str 1\n",
    "a key written twice": "twice: 1\ntwice: 2\n",
    "our names deeper down": "map:\n  kg_name: mine\n  tags: [x]\n",
    "control characters": "bell: \x07\nline: a\u2028b\x85c\n",
}  # fmt: skip

OURS = {
    "as we write it": 'kg_id: "concept/web"\nkg_name: "Old"\nkg_items: 4\nkg_list: ["a"]\n',
    "as Obsidian writes it": "kg_id: concept/web\nkg_name: Old\nkg_items: 4\nkg_list:\n  - a\n  - b, c\n",
    "without indent": "kg_id: 'concept/web'\nkg_list:\n- a\nkg_name: 'Old'\n",
    "over lines": 'kg_id: concept/web\nkg_name: Old\n  and long\nkg_list: ["a",\n  "b"]\nkg_items:\n  4\n',
    "block texts": "kg_id: concept/web\nkg_name: >-\n  Old\n  and long\nkg_share: |\n  x\n\n",
    "empty": "kg_id: concept/web\nkg_name:\nkg_list: []\nkg_items: ~\n",
    "with properties that went": 'kg_id: "concept/web"\nkg_gone: "x"\nkg_gone_list:\n  - 1\n  - 2\nkg_name: "Web"\n',
    "quoted keys": '"kg_id": "concept/web"\n\'kg_name\': Old\n',
}


def pieces_in_order(source: str, pieces: list[str]) -> list[str]:
    """What stands before, between and behind the pieces, each of which must occur as it is."""
    between, at = [], 0
    for piece in pieces:
        found = source.find(piece, at)
        assert found >= 0, f"{piece!r} is not in {source!r} behind {at}"
        between.append(source[at:found])
        at = found + len(piece)
    return [*between, source[at:]]


def check_edit(source: str, pieces: list[str], newline: str = "\n") -> None:
    before = as_yaml_1_2(re.sub("[\x07\x85\u2028]", "x", source))
    after = edited(source, aliases=("Die Web",), tags=("kg/concept",), newline=newline)
    for rest in pieces_in_order(after, pieces):
        for line in rest.splitlines():
            assert re.fullmatch(r"""["']?(kg_\w+|aliases|tags)["']?\s*:.*|\s*(- (a|b, c))?""", line), f"{line!r} in {after!r}"
    now = as_yaml_1_2(re.sub("[\x07\x85\u2028]", "x", after))
    own = {key: list(value) if isinstance(value, tuple) else value for key, value in OWN.items()}
    assert {key: value for key, value in now.items() if str(key).startswith("kg_")} == own
    assert {key: now[key] for key in before if not str(key).startswith("kg_")} == {
        key: value for key, value in before.items() if not str(key).startswith("kg_")
    }
    assert (now["aliases"], now["tags"]) == (["Die Web"], ["kg/concept"])
    again = edited(after, aliases=("Die Web",), tags=("kg/concept",), before=(("Die Web",), ("kg/concept",)), newline=newline)
    assert again == after


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize("theirs", THEIRS)
def test_only_our_lines_change(theirs, ours, newline):
    user, own = THEIRS[theirs].replace("\n", newline), OURS[ours].replace("\n", newline)
    check_edit(own + user if newline == "\n" else user + own, [user], newline)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(sorted(THEIRS)), unique=True, max_size=6), st.sampled_from(sorted(OURS)), st.integers(0, 6), st.booleans())
def test_only_our_lines_change_among_many(names, ours, place, windows):
    newline = "\r\n" if windows else "\n"
    users = [THEIRS[name].replace("\n", newline) for name in names]
    place = min(place, len(users))
    source = "".join([*users[:place], OURS[ours].replace("\n", newline), *users[place:]])
    check_edit(source, users, newline)


@pytest.mark.parametrize("theirs", THEIRS)
def test_a_block_without_anything_of_ours_gets_it_at_its_end(theirs):
    after = edited(THEIRS[theirs])
    assert after.startswith(THEIRS[theirs])
    assert after[len(THEIRS[theirs]) :] == compose_block(OWN, (), ())


def test_an_edit_that_would_change_what_the_user_says_is_not_made():
    source = "mine: |+\n  text\nkg_gone: 1\n\nyours: 1\n"  # without our line the blank one would be part of the text
    result = edit(block_of(source), {}, NOTHING)
    assert result.source == source
    assert result.problems == ("The frontmatter is written in a form that kg2vault cannot edit.",)


def test_an_indented_block_gets_indented_properties():
    assert edited("  mine: 1\n  kg_items: 4\n", {"kg_items": 5, "kg_id": "x"}) == '  mine: 1\n  kg_items: 5\n  kg_id: "x"\n'


@pytest.mark.parametrize(("source", "expected"), [("", ""), ("\n", "\n"), ("# mine\n", "# mine\n")])
def test_a_block_that_says_nothing_is_filled(source, expected):
    assert edited(source, {"kg_id": "x"}) == f'{expected}kg_id: "x"\n'


# --- values of ours ---------------------------------------------------------------------------------------------------------------

SAME = {
    "a string without quotes": ("kg_a: web", "web"),
    "a date without quotes": ("kg_a: 2024-01-31", "2024-01-31"),
    "a word that YAML 1.1 takes for a boolean": ("kg_a: yes", "yes"),
    "a time": ("kg_a: 12:30", "12:30"),
    "a number with underscores": ("kg_a: 1_000", "1_000"),
    "a whole number as a decimal": ("kg_a: 4.0", 4),
    "a whole number that was a decimal": ("kg_a: 1", 1.0),
    "a number with an exponent": ("kg_a: 1e-7", 0.0000001),
    "a number without a zero": ("kg_a: .5", 0.5),
    "a list in lines": ("kg_a:\n  - x\n  - y", ("x", "y")),
    "a folded string": ("kg_a: one\n  two", "one two"),
    "an empty list": ("kg_a: []", ()),
    "true": ("kg_a: True", True),
    "a comment behind": ("kg_a: web # mine", "web"),
}


@pytest.mark.parametrize("what", SAME)
def test_a_value_that_says_the_same_is_left_as_it_is_written_as(what):
    line, value = SAME[what]
    assert edited(f"{line}\nmine: 1\n", {"kg_a": value}) == f"{line}\nmine: 1\n"


DIFFERENT = {
    "a number where a string is wanted": ("kg_a: 2024", "2024", 'kg_a: "2024"'),
    "a string where a number is wanted": ('kg_a: "4"', 4, "kg_a: 4"),
    "a boolean where a number is wanted": ("kg_a: true", 1, "kg_a: 1"),
    "a number where a boolean is wanted": ("kg_a: 1", True, "kg_a: true"),
    "no value": ("kg_a:", "x", 'kg_a: "x"'),
    "no value and a comment": ("kg_a: # why", "x", 'kg_a: "x" # why'),
    "a comment behind": ("kg_a: old   # why", "x", 'kg_a: "x"   # why'),
    "no blank before the value": ('"kg_a":', "x", '"kg_a": "x"'),
    "a value on its own line": ("kg_a:\n  old # why", "x", 'kg_a: "x"\n# why'),
    "a list with comments": ("kg_a:\n  # first\n  - a # one\n  - b", ("c",), 'kg_a: ["c"]\n# first\n# one'),
    "a list in brackets with comments": ("kg_a: [a, # one\n  b] # all", ("c",), 'kg_a: ["c"]\n# one\n# all'),
    "a map": ("kg_a:\n  b: 1\n  c: [d]", 1, "kg_a: 1"),
    "a literal text": ("kg_a: |\n  old\n  text", "x", 'kg_a: "x"'),
    "a list that became longer": ("kg_a: [x]", ("x", "y"), 'kg_a: ["x", "y"]'),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_value_that_differs_is_written_and_comments_stay_where_there_was(what):
    line, value, expected = DIFFERENT[what]
    assert edited(f"mine: 1\n{line}\nyours: 2\n", {"kg_a": value}) == f"mine: 1\n{expected}\nyours: 2\n"


def test_a_property_that_is_no_longer_wanted_goes_and_its_comments_stay():
    source = "a: 1\nkg_x: 1 # mine\n# above\nkg_y:\n  - 1 # one\n  - 2\nb: 2\n"
    assert edited(source, {}) == "a: 1\n# mine\n# above\n# one\nb: 2\n"


HOSTILE = [
    "1e3", "0o17", "2024", "1.0", "null", "~", "yes", "0x1F", ".5", "+1", "=", "<<", "", " ", "a: b", '"q"',
    "'q'", "#x", "x # y", "@x", "`x",
    "- x", "x\ny: injected", "---", "...", "\t", "a\u2028b", "a\u2029b", "a\x85b", "\\", "\\\\n", "%x",
    "<% tp.file.delete() %>", "<%", "{x", "[x",
    "[[AI]]", "[[Knowledge Graph/AI|AI]]", "key:: value", "\x00", "\x07", "\x7f", "\x9f", "\ufeff", "\ufffe",
    "\uffff", "🚀", "𝔘", "日本語", "e\u0301",
    "a" * 120 + " " + "b" * 120, "&x", "*x", "!x", "|", ">", "?", ":", ",", "]", "true", "\r\n", "/", "\u200b",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_read_back_by_three_parsers_as_it_was(text):
    source = edited("mine: 1\n", {"kg_a": text, "kg_b": (text, "x")}, aliases=(text,))
    assert source.count("\n") == 4
    assert "<%" not in source
    expected = {"mine": 1, "kg_a": text, "kg_b": [text, "x"], "aliases": [text]}
    assert as_yaml_1_2(source) == expected
    assert yaml.load(source, Loader=yaml.SafeLoader) == expected
    assert yaml.load(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) == expected


@settings(deadline=None, max_examples=100)
@given(st.text())
def test_any_text_is_read_back_as_it_was(text):
    line = f"kg_a: {quoted(text)}\n"
    assert line.count("\n") == 1
    assert as_yaml_1_2(line) == {"kg_a": text}
    assert read_written(quoted(text)) == text
    assert find(f"---\n{line}---\n").values == {"kg_a": text}


def test_a_lone_surrogate_is_replaced_and_not_written_again():
    source = edited("", {"kg_a": "x\udcff"})
    assert source == 'kg_a: "x\ufffd"\n'
    assert edited(source, {"kg_a": "x\udcff"}) == source


@settings(deadline=None, max_examples=100)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans())
def test_any_number_is_a_plain_decimal_and_read_back_as_it_was(number):
    text = written(number)
    assert re.fullmatch(r"-?\d+(\.\d+)?|true|false", text)
    assert type(number)(as_yaml_1_2(f"kg_a: {text}\n")["kg_a"]) == number
    assert same(find(f"---\nkg_a: {text}\n---\n").values["kg_a"], number)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), (1.0, float("nan"))])
def test_numbers_that_are_none_are_refused(value):
    with pytest.raises(ValueError, match="cannot be a property"):
        edited("", {"kg_a": value})


@pytest.mark.parametrize("value", [None, {"a": 1}, (None,), (("a",),), b"x"])
def test_values_that_are_no_scalars_are_refused(value):
    with pytest.raises(TypeError, match="cannot be a property"):
        edited("", {"kg_a": value})


# --- what is damaged --------------------------------------------------------------------------------------------------------------

DAMAGED = {
    "a rule and words": ("---\nfoo\n---\nbar", "not a list of properties"),
    "a list": ("---\n- foo\n---\n", "not a list of properties"),
    "nested colons": ("---\nok: 1\na: b: c\n---\n", "not valid YAML on line 3"),
    "a tab for indent": ("---\na:\n\t- b\n---\n", "not valid YAML"),
    "a quote that never ends": ('---\na: "b\n---\n', "not valid YAML"),
    "an alias of nothing": ("---\na: *b\n---\n", "not valid YAML"),
    "two documents": ("---\na: 1\n...\nb: 2\n---\n", "not valid YAML"),
    "braces": ("---\n{kg_id: 1}\n---\n", "in braces"),
    "no end": ("---\na: 1\n", "no closing line"),
    "an end with words": ("---\na: 1\n---- x\n", "more than `---`"),
    "a text that hides the end": ("---\na: |\n  x\n--- y\n---\n", "more than `---`"),
    "a key of ours twice": ("---\nkg_id: a\nb: 1\nkg_id: a\n---\n", "kg_id is there twice"),
    "an anchor on a value of ours": ("---\nkg_id: &a x\nb: *a\n---\n", "kg_id is written in a form"),
    "an alias as a value of ours": ("---\nb: &a x\nkg_id: *a\n---\n", "kg_id is written in a form"),
    "an alias in a list of ours": ("---\nb: &a x\nkg_x: [y, *a]\n---\n", "kg_x is written in a form"),
    "an anchored key of ours": ("---\n&a kg_id: x\n---\n", "kg_id is written in a form"),
    "a tagged value of ours": ("---\nkg_id: !!str x\n---\n", "kg_id is written in a form"),
    "a complex key of ours": ("---\n? kg_id\n: x\n---\n", "kg_id is written in a form"),
    "thousands of brackets": (f"---\na: {'[' * 5000}\n---\n", "not valid YAML"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_block_is_damaged_that_has(what):
    text, reason = DAMAGED[what]
    for note in (parse(text), parse("\ufeff" + text)):
        assert reason in note.damage
        assert note.damage.endswith(".")
        assert note.damage.count(". ") == 0
        with pytest.raises(ValueError, match=re.escape(note.damage)):
            edit(note.frontmatter, OWN, NOTHING)


NOT_DAMAGED = {
    "no block": "words\n---\na: b: c\n---\n",
    "an empty block": "---\n---\nwords",
    "an empty block at the end": "---\n---",
    "a longer rule": "----\na: b: c\n---\n",
    "a rule in a rule": "---x\n---\n",
    "a blank line first": "\n---\na: b: c\n---\n",
    "a block at the end": "---\na: 1\n---",
    "blanks behind the rules": "---  \na: 1\n---\t\nwords",
    "windows line ends": "---\r\na: 1\r\n---\r\nwords",
    "a user's key twice": "---\na: 1\na: 2\n---\n",
    "a user's list twice": "---\ntags: [a]\ntags: [b]\n---\n",
    "a bomb": "---\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n---\n",
    "a large bomb": "---\na0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)) + "---\n",
    "a list in itself": "---\na: &a [*a]\n---\n",
    "bytes that are not UTF-8": "---\na: caf\udce9\n---\n",
    "control characters": "---\na: \x00\x07\x7f\n---\n",
    "nothing at all": "",
    "a rule alone": "---",
}


EMPTY = {"an empty block at the end", "nothing at all"}


@pytest.mark.parametrize("what", NOT_DAMAGED)
def test_a_block_is_not_damaged_that_has(what):
    note = parse(NOT_DAMAGED[what])
    assert note.damage is None
    assert note.has_user_text((), ()) == (what not in EMPTY)
    if note.frontmatter.start:
        after = edit(note.frontmatter, {"kg_id": "x"}, NOTHING)
        assert after.source == note.frontmatter.source + f'kg_id: "x"{note.frontmatter.newline}'
        assert after.problems == ()
