"""`aliases` and `tags` are shared: our entries come and go in the style the user wrote, theirs keep their bytes."""

from __future__ import annotations

import pytest

from kg2vault.vault.frontmatter_edit import edit
from kg2vault.vault.note import ListEdit, parse
from tests.vault.blocks import as_yaml_1_2, block_of, edited

ADDED = {
    "no list": ("a: 1\n", 'a: 1\ntags: ["kg/a", "kg/b"]\n'),
    "a list in brackets": ("tags: [x, 'y z']\n", 'tags: [x, \'y z\', "kg/a", "kg/b"]\n'),
    "empty brackets": ("tags: []\n", 'tags: ["kg/a", "kg/b"]\n'),
    "blank brackets": ("tags: [ ]\n", 'tags: ["kg/a", "kg/b" ]\n'),
    "a comma at the end": ("tags: [x, ]\n", 'tags: [x, "kg/a", "kg/b", ]\n'),
    "brackets over lines": ("tags: [x, # one\n  y # two\n  ]\n", 'tags: [x, # one\n  y, "kg/a", "kg/b" # two\n  ]\n'),
    "hashes": ('tags: ["#x", y]\n', 'tags: ["#x", y, "kg/a", "kg/b"]\n'),
    "a list in lines": ("tags:\n  - x\n  - y # why\na: 1\n", 'tags:\n  - x\n  - y # why\n  - "kg/a"\n  - "kg/b"\na: 1\n'),
    "lines without indent": ("tags:\n- x\n\n# c\na: 1\n", 'tags:\n- x\n- "kg/a"\n- "kg/b"\n\n# c\na: 1\n'),
    "lines with much indent": ("tags:   # mine\n     -   x\n", 'tags:   # mine\n     -   x\n     - "kg/a"\n     - "kg/b"\n'),
    "lines with an empty entry": ("tags:\n  - x\n  -\n", 'tags:\n  - x\n  -\n  - "kg/a"\n  - "kg/b"\n'),
    "lines with a nested list": ("tags:\n  - x\n  - - y\n    - z\n", 'tags:\n  - x\n  - - y\n    - z\n  - "kg/a"\n  - "kg/b"\n'),
    "lines with a map": ("tags:\n  - x: 1\n    y: 2\n", 'tags:\n  - x: 1\n    y: 2\n  - "kg/a"\n  - "kg/b"\n'),
    "no value": ("tags:\na: 1\n", 'tags: ["kg/a", "kg/b"]\na: 1\n'),
    "no value and a comment": ("tags: # why\na: 1\n", 'tags: ["kg/a", "kg/b"] # why\na: 1\n'),
    "null": ("tags: null\n", 'tags: ["kg/a", "kg/b"]\n'),
    "one word": ("tags: x # why\n", 'tags: [x, "kg/a", "kg/b"] # why\n'),
    "one quoted word": ("tags: '#x'\n", 'tags: [\'#x\', "kg/a", "kg/b"]\n'),
    "words with commas": ("tags: x, y\n", 'tags: [x, y, "kg/a", "kg/b"]\n'),
    "a number": ("tags: 2024\n", 'tags: [2024, "kg/a", "kg/b"]\n'),
    "another case": ("Tags: [x]\n", 'Tags: [x, "kg/a", "kg/b"]\n'),
    "a pair in brackets": ("tags: [x: 1]\n", 'tags: [x: 1, "kg/a", "kg/b"]\n'),
    "a text that ends": ("tags:\n  - |\n    x\n\na: 1\n", 'tags:\n  - |\n    x\n  - "kg/a"\n  - "kg/b"\n\na: 1\n'),
    "the singular": ("tag: x\n", 'tag: x\ntags: ["kg/a", "kg/b"]\n'),
    "one of ours": ("tags: [x, KG/A]\n", 'tags: [x, KG/A, "kg/b"]\n'),
    "one of ours with a hash": ('tags:\n  - "#kg/a"\n', 'tags:\n  - "#kg/a"\n  - "kg/b"\n'),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("what", ADDED)
def test_our_tags_are_added_in_the_users_style_to(what, newline):
    source, expected = (text.replace("\n", newline) for text in ADDED[what])
    after = edited(source, {}, tags=("kg/a", "kg/b"), newline=newline)
    assert after == expected
    assert edited(after, {}, tags=("kg/a", "kg/b"), before=((), ("kg/a", "kg/b")), newline=newline) == after
    assert {"kg/a", "kg/b"} <= {str(tag).lstrip("#").lower() for tag in as_yaml_1_2(after).get("tags") or as_yaml_1_2(after)["Tags"]}


ALIASES = {
    "one name": ("aliases: Mine\n", 'aliases: [Mine, "Web"]\n'),
    "one name with a comma": ("aliases: Smith, John # him\n", 'aliases:\n  - "Web"\n  - Smith, John # him\n'),
    "one name with brackets": ("aliases: a [b] {c}\n", 'aliases:\n  - "Web"\n  - a [b] {c}\n'),
    "numbers": ("aliases: [1e3, '007', 2024]\n", "aliases: [1e3, '007', 2024, \"Web\"]\n"),
    "another case is another name": ("aliases: [web]\n", 'aliases: [web, "Web"]\n'),
}


@pytest.mark.parametrize("what", ALIASES)
def test_our_alias_is_added_in_the_users_style_to(what):
    source, expected = ALIASES[what]
    after = edited(source, {}, aliases=("Web",))
    assert after == expected
    before = as_yaml_1_2(source)["aliases"]
    assert set(as_yaml_1_2(after)["aliases"]) == {*(before if isinstance(before, list) else [before]), "Web"}


REMOVED = {
    "from the front": ('tags: ["kg/a", x]\n', "tags: [x]\n"),
    "from the middle": ('tags: [x, "kg/a", y]\n', "tags: [x, y]\n"),
    "from the end": ('tags: [x, "kg/a"]\n', "tags: [x]\n"),
    "from before a last comma": ('tags: [x, "kg/a", ]\n', "tags: [x, ]\n"),
    "whatever its spelling": ("tags: [x, '#KG/A', y]\n", "tags: [x, y]\n"),
    "written twice": ("tags: [kg/a, x, kg/a, kg/a, y, kg/a]\n", "tags: [x, y]\n"),
    "the only one": ("tags: [kg/a, ]\n", "tags: []\n"),
    "a single word": ("tags: kg/a # why\n", "tags: [] # why\n"),
    "over lines": ("tags: [x,\n  kg/a,\n  y]\n", "tags: [x,\n  y]\n"),
    "with a comment behind": ("tags: [x,\n  kg/a, # why\n  y]\n", "tags: [x,\n  # why\n  y]\n"),
    "from lines": ("tags:\n  - x\n  - kg/a\n  - y\n", "tags:\n  - x\n  - y\n"),
    "from lines with a comment": ("tags:\n  - kg/a # why\n  - y\n", "tags:\n  # why\n  - y\n"),
    "the only line": ("tags:\n  - kg/a\na: 1\n", "tags:\na: 1\n"),
    "what we made": ('kg_id: "x"\ntags: ["kg/a"]\na: 1\n', 'kg_id: "x"\na: 1\n'),
    "what we made, as Obsidian writes it": ("kg_id: x\ntags:\n  - kg/a # why\na: 1\n", "kg_id: x\n# why\na: 1\n"),
    "what we made behind the aliases": ("kg_id: x\naliases: [x]\ntags: [kg/a]\n", "kg_id: x\naliases: [x]\n"),
}


@pytest.mark.parametrize("what", REMOVED)
def test_a_tag_of_ours_that_is_no_longer_wanted_is_removed(what):
    source, expected = REMOVED[what]
    own = {"kg_id": "x"} if "kg_id" in source else {}
    assert edited(source, own, before=((), ("kg/a",))) == expected
    assert edited(expected, own, before=((), ())) == expected


def test_a_tag_is_exchanged_where_the_list_is():
    for source, expected in (
        ("tags: [kg/a, x]\n", 'tags: [x, "kg/b"]\n'),
        ("tags: [x, kg/a]\n", 'tags: [x, "kg/b"]\n'),
        ("tags: [kg/a]\n", 'tags: ["kg/b"]\n'),
        ("tags:\n- kg/a\nz: 1\n", 'tags:\n- "kg/b"\nz: 1\n'),
        ("kg_id: x\ntags: [kg/a]\n", 'kg_id: x\ntags: ["kg/b"]\n'),
    ):
        own = {"kg_id": "x"} if "kg_id" in source else {}
        assert edited(source, own, tags=("kg/b",), before=((), ("kg/a",))) == expected


def test_an_entry_of_ours_that_the_user_removed_stays_away():
    for source in ("tags: [x]\n", "a: 1\n", "tags:\n- x\n", "tags:\n", "tags: []\n"):
        assert edited(source, {}, tags=("kg/a",), before=((), ("kg/a",))) == source


def test_what_the_user_had_before_us_is_not_ours_to_remove():
    note = parse("---\ntags: [kg/a]\n---\n")
    assert note.ours_in("tags", ListEdit(("kg/a", "kg/b"))) == ("kg/b",)
    assert note.ours_in("tags", ListEdit(("kg/a", "kg/b"), ("kg/a",))) == ("kg/a", "kg/b")
    assert parse("").ours_in("tags", ListEdit(("kg/a",), ("kg/a",))) == ("kg/a",)


UNSAFE = {
    "a map": "tags: {x: 1}\n",
    "an anchor": "tags: &t [x]\nother: *t\n",
    "an anchored block list": "tags: &t\n  - x\nother: *t\n",
    "an alias": "other: &t [x]\ntags: *t\n",
    "an alias as an entry": "other: &t x\ntags: [*t]\n",
    "a literal text": "tags: |\n  x\n  y\n",
    "a text over lines": "tags: x\n  y\n",
    "two lists": "tags: [x]\ntags: [y]\n",
    "a complex key": "? tags\n: [x]\n",
    "a name with a comma on a line of its own": "tags:\n  x: y, z\n",
    "a type tag": "tags: !!seq [x]\n",
    "a last entry that keeps its end": "tags:\n  - |+\n    x\n\nother: 1\n",
}


@pytest.mark.parametrize("what", UNSAFE)
def test_a_list_that_cannot_be_extended_safely_is_left_alone_and_the_rest_is_written(what):
    source = UNSAFE[what]
    lists = {"aliases": ListEdit(("Web",)), "tags": ListEdit(("kg/a",))}
    result = edit(block_of(source), {"kg_id": "x"}, lists)
    assert result.source == f'{source}kg_id: "x"\naliases: ["Web"]\n'
    assert result.problems == ("The property tags is written in a form to which kg2vault cannot add its entries.",)
