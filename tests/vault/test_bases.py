"""The base is YAML that an independent reader understands, and asks only for properties our notes have."""

import json
import re

import pytest
from ruamel.yaml import YAML

from kg2vault.vault.bases import PROPERTIES, knowledge_graph_base
from kg2vault.vault.types_json import TYPES

EXPRESSION = re.compile(r'"(?:[^"\\]|\\.)*"')


def read(text):
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(text)


def expressions(base):
    yield from base["filters"]["and"]
    yield from base["formulas"].values()
    for view in base["views"]:
        yield from view.get("filters", {"and": []})["and"]


def columns(base):
    yield from base["properties"]
    for view in base["views"]:
        yield from view["order"]
        yield from (entry["property"] for entry in view["sort"])
        if "groupBy" in view:
            yield view["groupBy"]["property"]


def test_there_are_the_four_tables_people_want():
    base = read(knowledge_graph_base())
    assert [view["name"] for view in base["views"]] == ["All concepts", "Bridges", "By community", "Rising"]
    assert {view["type"] for view in base["views"]} == {"table"}
    first_sorts = {view["name"]: view["sort"][0] for view in base["views"]}
    assert first_sorts["All concepts"] == {"property": "kg_items", "direction": "DESC"}
    assert first_sorts["Bridges"]["property"] == "kg_betweenness"
    assert base["views"][2]["groupBy"] == {"property": "kg_community", "direction": "ASC"}
    assert first_sorts["Rising"]["property"] == "kg_recent"


def test_only_keys_obsidians_help_and_app_know_are_used():
    base = read(knowledge_graph_base("KG"))
    assert set(base) <= {"filters", "formulas", "properties", "summaries", "views"}
    for view in base["views"]:
        assert set(view) <= {"type", "name", "limit", "filters", "groupBy", "order", "sort", "summaries"}
        assert set(view["order"]) >= {entry["property"] for entry in view["sort"]}
    assert all(set(entry) == {"displayName"} for entry in base["properties"].values())


def test_every_property_used_is_one_of_ours():
    base = read(knowledge_graph_base("KG"))
    names = {name for text in expressions(base) for name in re.findall(r"\bkg_\w+", EXPRESSION.sub("", text))}
    for column in columns(base):
        if column.startswith("formula."):
            assert column.removeprefix("formula.") in base["formulas"]
        elif column != "file.name":
            names.add(column)
    assert names == PROPERTIES
    assert set(TYPES) >= PROPERTIES


@pytest.mark.parametrize(
    "folder", ["Knowledge Graph", 'My "KG"', "it's: #1", "a\\b", "机器/学习", "- x", "{{x}}", "%x", "[[y]]", "a\tb", "100%"]
)
def test_any_folder_name_arrives_whole_in_the_filter(folder):
    conditions = read(knowledge_graph_base(folder))["filters"]["and"]
    assert conditions[0] == 'kg_type == "concept"'
    argument = re.fullmatch(r"file\.inFolder\((.*)\)", conditions[1], re.DOTALL).group(1)
    assert EXPRESSION.fullmatch(argument)
    assert json.loads(argument) == folder


def test_without_a_folder_moved_notes_are_listed_too():
    assert read(knowledge_graph_base())["filters"]["and"] == ['kg_type == "concept"']
