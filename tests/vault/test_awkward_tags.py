"""The table of awkward tags: what it says is what comes out, and what comes out is legal, unique and reached by its link."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kg2vault.graph.spelling import spelling_key
from kg2vault.vault.escape import display
from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.paths import name_key, note_stems, obsidian_tag
from kg2vault.vault.resolve import Resolver
from kg2vault.vault.wikilinks import link
from tests.vault.obsidian_rules import active_in_raw_text, faults_of_stem, faults_of_tag

FOLDER = "Knowledge Graph/Concepts"
PREFIX = "kg/community"
RESERVED = frozenset({"Knowledge Graph"})
# What a person may have in the vault beside our notes; none of it may capture a link.
STRANGERS = ["node.js", "Python.md", "Notes/C-sharp.md", "a/Foo 1.2", "Archive/Knowledge Graph/Concepts/Python.md", "txt.exe", "1.0"]


def table() -> list[dict[str, str]]:
    text = Path(__file__).with_name("awkward_tags.yaml").read_text(encoding="utf-8")
    return [{**row, "tag": row["tag"] * row.get("times", 1)} for row in YAML(typ="safe").load(text)]


ROWS = table()
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row["tag"][:30]))


@each_row
def test_a_tag_gives_the_file_link_and_tag_of_the_table(row: dict[str, str]) -> None:
    tag, key = row["tag"], spelling_key(row["tag"])
    stem = note_stems(tag, f"concept/{key}", "concept", RESERVED)[0]
    assert f"{stem}.md" == row["file"]
    assert link(f"{FOLDER}/{stem}.md", tag) == row["link"]
    assert obsidian_tag(PREFIX, tag, key) == row["obsidian_tag"]


@each_row
def test_a_row_is_legal_and_its_link_leads_to_its_file_in_an_ordinary_vault(row: dict[str, str]) -> None:
    assert faults_of_stem(row["file"].removesuffix(".md")) == []
    assert faults_of_tag(row["obsidian_tag"]) == []
    vault = Resolver([*STRANGERS, *(f"{FOLDER}/{other['file']}" for other in ROWS)])
    (found,) = parse_links(f"- {row['link']} — 3 shared items")
    for source in ("Notes/Daily.md", f"{FOLDER}/Python.md", "Archive/Knowledge Graph/Concepts/Python.md"):
        assert vault.resolve(found.target, source) == f"{FOLDER}/{row['file']}"
    assert found.display == display(row["tag"])
    assert [fault for fault in active_in_raw_text(row["link"]) if fault != "[["] == []


def test_the_table_is_long_enough_and_no_two_rows_share_a_file_or_tag() -> None:
    assert len(ROWS) >= 80
    assert len({spelling_key(row["tag"]) for row in ROWS}) == len(ROWS)
    assert len({name_key(row["file"]) for row in ROWS}) == len(ROWS)
    assert len({name_key(row["obsidian_tag"]) for row in ROWS}) == len(ROWS)


def test_every_file_of_the_table_can_lie_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "Concepts"
    folder.mkdir()
    for row in ROWS:
        with (folder / row["file"]).open("x", encoding="utf-8") as note:
            note.write(row["link"])
    assert len(list(folder.iterdir())) == len(ROWS)
