"""The ways to read and edit a block agree: line by line, by its tree, with the fast parser and with the slow one, on whatever it holds."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault import yaml_tree
from kg2vault.vault.frontmatter import find, read_lines
from kg2vault.vault.frontmatter_edit import edit, edit_tree
from kg2vault.vault.note import ListEdit
from kg2vault.vault.yaml_scalars import written
from tests.vault.blocks import as_yaml_1_2, block_of
from tests.vault.test_frontmatter import OURS, THEIRS
from tests.vault.test_frontmatter_lists import ADDED, REMOVED

_scalars = st.text(max_size=8) | st.integers(-9, 9) | st.booleans() | st.sampled_from([0.5, 0.12, "#kg/a", "kg/a", "KG/B", "a, b", "x"])
_values = _scalars | st.lists(_scalars, max_size=4).map(tuple)
_blocks = st.dictionaries(st.sampled_from(["kg_id", "kg_x", "kg_y", "mine", "aliases", "tags", "yours"]), _values, max_size=7)
_entries = st.lists(st.sampled_from(["kg/a", "kg/b", "kg/c", "x", "a, b"]), max_size=3, unique=True).map(tuple)
_wanted = st.dictionaries(st.sampled_from(["kg_id", "kg_x", "kg_y", "kg_z"]), _values, max_size=4)


@settings(deadline=None, max_examples=150)
@given(_blocks, _wanted, st.tuples(_entries, _entries), st.tuples(_entries, _entries))
def test_a_block_of_plain_lines_is_edited_as_any_other(values, own, aliases, tags):
    source = "".join(f"{key}: {written(value)}\n" for key, value in values.items())
    block = block_of(source)
    assert block.entries is None
    lists = {"aliases": ListEdit(*aliases), "tags": ListEdit(*tags)}
    by_tree = edit_tree(block, own, lists)
    assert by_tree.problems == ()
    assert edit(block, own, lists).source == by_tree.source


@settings(deadline=None, max_examples=80)
@given(_blocks)
def test_plain_lines_say_what_a_parser_finds(values):
    source = "".join(f"{key}: {written(value)}\n" for key, value in values.items())
    assert read_lines(source) == as_yaml_1_2(source)


@pytest.mark.parametrize(
    "line",
    ["a: 'x'", "a: x", 'a:  "x"', 'a: "x" ', 'a: ["x","y"]', 'a: "\\u0041"', "a: 1.0", "a: 01", "a: +1",
     "a: 1_0", "a: 1e3", "a:", "# x", "", " a: 1",
     'a: "x" # y', "a: [1, [2]]", "a: {}", "a: null", 'a: "x\x07"', "A: 1", "a: NaN", "a: [NaN]", "a: ٣", "a: -0", "a: " + "9" * 5000],
)  # fmt: skip
def test_a_line_that_is_not_quite_as_we_write_it_goes_to_the_parser(line):
    assert read_lines(f"{line}\n") is None


_FRAGMENTS = st.sampled_from(
    ["a", "kg_id", "kg_x", "tags", "aliases", ":", ": ", " ", "\n", "\n", "\r\n", "- ", "  ", "[", "]", "{",
     "}", ",", "#", " # c", '"', "'", "&a ", "*a", "!t ",
     "|", ">-", "|+", "? ", "x", "1", "~", "\t", "kg/a", "\x00", "\udcff", "\u2028", "é🚀", "...", "%"]
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(_FRAGMENTS, max_size=24).map("".join))
def test_whatever_a_block_holds_it_is_damaged_or_edited_and_read_back(source):
    block = find(f"---\n{source}\n---\n")
    if block.damage is not None or not block.start:
        return
    lists = {"aliases": ListEdit(("Web",)), "tags": ListEdit(("kg/b",), ("kg/a",))}
    result = edit(block, {"kg_id": "y", "kg_x": 2}, lists)
    after = find(f"---\n{result.source}---\n")
    assert after.damage is None
    if not any("cannot edit" in problem for problem in result.problems):
        assert (after.values["kg_id"], after.values["kg_x"]) == ("y", 2)
        theirs = [key for key in block.values if not key.startswith("kg_") and key.lower() not in ("tags", "aliases")]
        assert [(key, after.values[key]) for key in theirs] == [(key, block.values[key]) for key in theirs]
    assert edit(after, {"kg_id": "y", "kg_x": 2}, {"aliases": ListEdit((), ()), "tags": ListEdit(())}).source == result.source


class WithoutLibyaml(yaml.SafeLoader):
    yaml_implicit_resolvers = yaml_tree._Core.yaml_implicit_resolvers


@pytest.mark.parametrize("source", [*THEIRS.values(), *OURS.values(), *(pair[0] for pair in (ADDED | REMOVED).values())])
def test_without_libyaml_every_edit_is_the_same(source, monkeypatch):
    lists = {"aliases": ListEdit(("Web",)), "tags": ListEdit(("kg/b",), ("kg/a",))}
    fast = edit_tree(block_of(source), {"kg_id": "y"}, lists)
    monkeypatch.setattr(yaml_tree, "_Core", WithoutLibyaml)
    assert edit_tree(block_of(source), {"kg_id": "y"}, lists) == fast
