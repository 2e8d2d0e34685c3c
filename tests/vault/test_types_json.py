"""Property types are added to types.json where they are missing, and nothing else happens to it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.vault.types_json import OUR_PREFIX, TYPES, Merge, merge

USERS = """{
  "types": {
    "rating": "number",
    "KG_items": "text",
    "due":   "date"
  },
  "other": 1.0
}
"""
TWO = {"kg_items": "number", "kg_first": "date"}


def test_missing_types_are_added_and_a_type_that_is_there_stays_whatever_its_case():
    assert merge(USERS, TWO).text == USERS.replace('"due":   "date"', '"due":   "date",\n    "kg_first": "date"')


def test_a_second_merge_changes_nothing():
    assert merge(merge(USERS).text) == Merge(None)


def test_the_first_file_looks_like_obsidians():
    assert merge(None, TWO).text == json.dumps({"types": TWO}, indent=2)
    assert merge(None, {}) == Merge(None)


@pytest.mark.parametrize(
    "text", ["{}", '{"types": {}}', '{\n  "types": {}\n}', '{"x": 1}', '{"types":{"a":"text"}}', '\ufeff{\r\n\t"types": {}\r\n}']
)
def test_empty_and_compact_files_are_filled(text):
    new = merge(text, TWO).text
    assert {**TWO, **json.loads(text.removeprefix("\ufeff")).get("types", {})} == json.loads(new.removeprefix("\ufeff"))["types"]
    assert ("\r\n" in text) == ("\r\n" in new)
    assert "\n" not in new.replace("\r\n", "") or "\r\n" not in text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"types": []}', '{"types": null}', '{"types": {"a": "text",}}'])
def test_a_file_that_is_not_what_obsidian_writes_is_left_alone_and_reported(text):
    result = merge(text, TWO)
    assert result.text is None
    assert result.problem.startswith("types.json was left alone: ")


def test_a_property_that_is_not_ours_is_refused():
    with pytest.raises(ValueError, match="tags"):
        merge("{}", {"kg_items": "number", "tags": "tags"})


def test_only_types_obsidian_knows_are_given_and_only_to_our_own_keys():
    assert set(TYPES.values()) <= {"text", "multitext", "number", "checkbox", "date", "datetime"}
    assert all(name.startswith(OUR_PREFIX) and name == name.lower() for name in TYPES)


@given(st.dictionaries(st.text(max_size=6), st.sampled_from(["text", "number"]), max_size=4), st.sampled_from([None, 2, 4, "\t"]))
@settings(max_examples=80)
def test_whatever_the_user_has_stays_in_its_order(theirs, indent):
    text = json.dumps({"types": theirs, "z": theirs}, indent=indent, ensure_ascii=False)
    result = json.loads(merge(text, TWO).text)
    assert list(result["types"].items())[: len(theirs)] == list(theirs.items())
    assert result["z"] == theirs
    assert {**TWO, **theirs} == result["types"]
