"""The reading behind the graph as notes: items that mention concepts and are published in feeds."""

import re
import sqlite3

import pytest

from kg2vault.vault.item_notes import SUMMARY_LIMIT, inert_summary
from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.note import parse
from tests.e2e.conftest import tree

BOTH = "notes:\n  items: true\n  feeds: true\n"


@pytest.fixture
def reading(topics):
    topics.run("UPDATE items SET summary = '<p>On <b>web</b> frameworks &amp; more</p>' WHERE id = 1")
    topics.add("python", "web", title="An old one", published="2019-03-04 08:00:00")
    topics.add("python", "web", title="Undated", published="soon", url=None)
    return topics


def notes(vault, below):
    return sorted(path.relative_to(vault / "Knowledge Graph").as_posix() for path in (vault / "Knowledge Graph" / below).rglob("*.md"))


def the(vault, pattern):
    found = [path for path in vault.rglob("*.md") if re.fullmatch(pattern, path.name)]
    assert len(found) == 1, found
    return found[0]


def test_there_are_none_unless_they_are_asked_for(reading, with_settings, vault):
    with_settings("").sync()
    assert notes(vault, "Items") == notes(vault, "Feeds") == []


def test_items_are_in_folders_by_year_and_mention_their_concepts(reading, with_settings, vault):
    terminal = with_settings(BOTH)
    terminal.sync()
    folders = {path.split("/")[1] for path in notes(vault, "Items")}
    assert folders == {"2019", "2026", "undated"}
    path = the(vault, r"Item 1 \w{6}\.md")
    note = parse(path.read_text(encoding="utf-8"))
    assert note.properties["kg_mentions"] == [f"[[Knowledge Graph/Concepts/{name}|{name}]]" for name in ("django", "python", "web")]
    assert note.properties["kg_published_in"] == f"[[{the(vault, 'Example feed .*').relative_to(vault).as_posix()[:-3]}|Example feed]]"
    assert (note.properties["kg_url"], note.properties["kg_published"]) == ("https://example.org/1", "2026-01-01")
    body = note.regions[0].body
    assert body.startswith("[Item 1](https://example.org/1)\n[[Knowledge Graph/Feeds/Example feed")
    assert "## Mentions\n- [[Knowledge Graph/Concepts/django|django]]\n" in body
    assert body.endswith("## Summary\nOn web frameworks & more")
    assert terminal.run("verify").exit_code == 0


def test_concepts_and_feeds_lead_to_the_items_and_no_link_is_a_ghost(reading, with_settings, vault):
    with_settings(BOTH).sync()
    everything = {path.relative_to(vault).as_posix().removesuffix(".md") for path in vault.rglob("*.md")}
    for path in (vault / "Knowledge Graph").rglob("*.md"):
        for link in parse_links(path.read_text(encoding="utf-8")):
            assert link.markdown or link.target.removesuffix(".md") in everything
    feed = the(vault, "Example feed .*").read_text(encoding="utf-8")
    assert "\nkg_items: 8\n" in feed
    assert "Mostly about web (6), python (4), wasm (4)" in feed
    assert "|An old one]] — 2019-03-04" in feed
    assert "Feeds/Example feed" not in feed  # a line of a feed's own note does not name it once more
    assert "|Item 1]] — [[" in the(vault, r"django\.md").read_text(encoding="utf-8")


def test_a_second_sync_writes_nothing_and_turning_them_off_retires_them_without_a_flag(reading, with_settings, vault):
    terminal = with_settings(BOTH)
    terminal.sync()
    before = tree(vault)
    terminal.sync()
    assert tree(vault) == before
    counts = with_settings("").counts()
    assert (counts["retired"], counts["failed"]) == (9, 0)
    assert notes(vault, "Items") == notes(vault, "Feeds") == []


def test_an_item_that_left_the_database_leaves_the_vault_but_words_in_its_note_stay(reading, with_settings, vault):
    terminal = with_settings(BOTH)
    terminal.sync()
    kept = the(vault, r"An old one \w{6}\.md")
    kept.write_text(kept.read_text(encoding="utf-8") + "\nMy summary.\n", encoding="utf-8")
    connection = sqlite3.connect(reading.path)
    with connection:
        connection.execute("DELETE FROM item_tags WHERE item_id IN (7, 8)")
        connection.execute("DELETE FROM items WHERE id IN (7, 8)")
    connection.close()
    assert terminal.counts()["retired"] == 1
    text = kept.read_text(encoding="utf-8")
    assert "This item is no longer part of the graph." in text
    assert text.endswith("\nMy summary.\n")
    assert terminal.run("verify").exit_code == 0


def test_many_items_leaving_is_not_taken_for_an_accident_but_a_few_concepts_would_be(database, with_settings, vault):
    for number in range(60):
        database.add("a", "b", f"only-{number}")
    terminal = with_settings("notes:\n  items: true\n")
    terminal.sync()
    database.run("DELETE FROM item_tags WHERE item_id > 2")
    assert terminal.counts()["retired"] == 58


def test_items_without_feeds_name_their_feed_in_words(reading, with_settings, vault):
    with_settings("notes:\n  items: true\n").sync()
    text = the(vault, r"Item 1 \w{6}\.md").read_text(encoding="utf-8")
    assert "\nExample feed · 2026-01-01\n" in text
    assert "kg_published_in" not in text


def test_an_item_without_tags_has_no_note_since_the_source_counts_as_unchanged_by_it(reading, with_settings, vault):
    reading.add(title="Not tagged yet")
    terminal = with_settings(BOTH)
    terminal.sync()
    assert not [path for path in vault.rglob("*.md") if path.name.startswith("Not tagged")]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("<script>alert(1)</script>Text<!-- hidden -->", "Text"),
        ("a<br/>b", "a b"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<% tp.system.prompt() %>", "&lt;% tp.system.prompt() %>"),
        ("&lt;img src=x onerror=alert(1)&gt;", "&lt;img src=x onerror=alert(1)>"),
        ("[[Diary]] ![x](https://e.org/p.png) `= 1` #tag", r"\[\[Diary\]\] !\[x\](https:\//e.org/p.png) \`= 1\` \#tag"),
        ("line\n\n# heading\n- list", r"line \# heading - list"),
        ("%% kg2vault:end item %%", r"\%\% kg2vault:end item \%\%"),
    ],
)
def test_a_summary_is_one_paragraph_of_inert_text(raw, shown):
    assert inert_summary(raw) == shown


def test_a_summary_as_long_as_a_book_is_cut():
    assert len(inert_summary("word " * 100_000)) <= SUMMARY_LIMIT
