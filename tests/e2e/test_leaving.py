"""What becomes of a note whose concept left the graph, and of one whose concept comes back."""

import pytest

from tests.e2e.conftest import contents


@pytest.fixture
def topics(topics):
    """Two groups, so large that both stay communities when one concept leaves."""
    for _ in range(2):
        topics.add("rust", "wasm", "compilers", "llvm")
    return topics


def trash(vault):
    folder = vault / ".kg2vault" / "trash"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def add_words(path, words="\nMy own words.\n"):
    path.write_text(path.read_text() + words)


def test_an_untouched_note_goes_to_the_trash_whole_and_nothing_links_to_it(terminal, topics, vault):
    terminal.sync()
    path = terminal.note("compilers")
    before = path.read_bytes()
    topics.untag("compilers")
    assert terminal.counts()["retired"] == 1
    assert trash(vault) == {"compilers.md": before}
    assert not any(b"compilers" in data for path, data in contents(vault).items() if path.endswith(".md"))
    assert terminal.run("verify").exit_code == 0
    assert sum(terminal.counts()[state] for state in ("created", "updated", "retired")) == 0


def test_a_trash_that_has_the_name_already_keeps_both(terminal, topics, vault):
    terminal.sync()
    for _ in range(2):
        topics.untag("compilers")
        terminal.sync()
        for _ in range(2):
            topics.add("rust", "compilers")
        terminal.sync()
    topics.untag("compilers")
    terminal.sync()
    assert len(trash(vault)) == 3
    assert all(b'kg_id: "concept/compilers"' in data for data in trash(vault).values())


WAYS = {
    "words below": lambda text: text + "\nMine.\n",
    "words above": lambda text: text.replace("\n---\n", "\n---\nMine.\n", 1),
    "words between": lambda text: text.replace("%% kg2vault:begin items", "Mine.\n%% kg2vault:begin items", 1),
    "a property": lambda text: text.replace("\n---\n", "\nMine: x\n---\n", 1),
    "a comment in the frontmatter": lambda text: text.replace("\n---\n", "\n# Mine.\n---\n", 1),
    "a tag": lambda text: text.replace("tags: [", 'tags: ["Mine", ', 1),
    "an alias": lambda text: text.replace("\n---\n", '\naliases: ["Mine"]\n---\n', 1),
    "an edit in a region": lambda text: text.replace("## Related concepts", "## Related concepts\nMine."),
}


@pytest.mark.parametrize("what", WAYS)
def test_a_note_stays_that_holds(what, terminal, topics, vault):
    terminal.sync()
    path = terminal.note("compilers")
    path.write_text(WAYS[what](path.read_text()))
    topics.untag("compilers")
    for _ in range(3):
        terminal.run("sync")
        assert "Mine" in path.read_text()
        assert trash(vault) == {}
        assert 'kg_status: "left"' in path.read_text()
        topics.add("web", "python")
    terminal.run("sync")
    assert "|compilers]]" not in terminal.note("rust").read_text()
    assert terminal.run("verify").exit_code == 0


def test_white_space_is_no_user_text(terminal, topics, vault):
    terminal.sync()
    add_words(terminal.note("compilers"), "\n \n\t\n")
    topics.untag("compilers")
    assert terminal.counts()["retired"] == 1


def test_a_note_that_stays_says_that_no_item_carries_its_concept_and_when_the_last_was(terminal, topics):
    terminal.sync()
    path = terminal.note("compilers")
    add_words(path)
    topics.untag("compilers")
    terminal.sync()
    text = path.read_text()
    assert "no item carries it any more; its last item was from 2026-01-08" in text
    assert "Recent items" not in text
    assert "kg_items" not in text
    assert "kg_degree" not in text
    assert "kg/concept" not in text
    assert text.endswith("My own words.\n")


def test_a_note_that_stays_says_that_too_few_items_carry_its_concept(terminal, topics):
    terminal.sync()
    path = terminal.note("compilers")
    add_words(path)
    topics.run("DELETE FROM item_tags WHERE tag = 'compilers' AND item_id != 4")
    terminal.sync()
    assert "it is on one item, the last from 2026-01-04" in path.read_text()


def test_a_note_whose_concept_an_alias_merges_says_so_and_links_to_where_it_went(terminal, topics, vault):
    terminal.sync()
    path = terminal.note("django")
    add_words(path)
    table = terminal.cwd / "aliases.yaml"
    table.write_text("aliases:\n  django: python\n")
    terminal.more = (*terminal.more, "--aliases", str(table))
    terminal.sync()
    assert "now part of [[Knowledge Graph/Concepts/python|python]]" in path.read_text()
    assert 'aliases: ["django"]' in terminal.note("python").read_text()
    assert path.read_text().endswith("My own words.\n")
    table.write_text("aliases: {}\n")
    terminal.sync()
    assert "## Related concepts" in path.read_text()
    assert 'aliases: ["django"]' not in terminal.note("python").read_text()


def test_a_note_whose_concept_the_alias_table_ignores_says_so(terminal, topics):
    terminal.sync()
    path = terminal.note("django")
    add_words(path)
    table = terminal.cwd / "aliases.yaml"
    table.write_text("ignore: [django]\n")
    terminal.more = (*terminal.more, "--aliases", str(table))
    terminal.sync()
    assert "the alias table ignores it" in path.read_text()


def test_a_concept_that_returns_finds_its_note_with_every_region_and_the_users_words(terminal, topics, vault):
    terminal.sync()
    path = terminal.note("compilers")
    pristine = path.read_text()
    add_words(path)
    rows = [(number, "compilers") for number in (2, 4, 7, 8)]
    topics.untag("compilers")
    terminal.sync()
    for row in rows:
        topics.run("INSERT INTO item_tags VALUES (?, ?)", row)
    terminal.sync()
    text = path.read_text()
    assert text.endswith("My own words.\n")
    for line in pristine.splitlines():
        assert line in text
    assert "left" not in text
    assert "[[Knowledge Graph/Concepts/compilers|compilers]]" in terminal.note("rust").read_text()
    assert terminal.run("verify").exit_code == 0


def test_a_region_that_the_user_removed_stays_away_when_the_concept_returns(terminal, topics):
    terminal.sync()
    path = terminal.note("compilers")
    text = path.read_text()
    start = text.index("%% kg2vault:begin items")
    path.write_text(text[:start] + "\nMine.\n")
    topics.add("rust", "web")
    terminal.sync()
    topics.untag("compilers")
    terminal.sync()
    for _ in range(2):
        topics.add("rust", "compilers")
    terminal.sync()
    assert "Related concepts" in path.read_text()
    assert "Recent items" not in path.read_text()


def test_a_concept_that_returns_after_its_note_went_to_the_trash_gets_a_new_one(terminal, topics, vault):
    terminal.sync()
    before = contents(vault)
    rows = [(number, "compilers") for number in (2, 4, 7, 8)]
    topics.untag("compilers")
    terminal.sync()
    for row in rows:
        topics.run("INSERT INTO item_tags VALUES (?, ?)", row)
    assert terminal.counts()["created"] == 1
    assert contents(vault) == before


def test_a_note_that_left_and_was_then_deleted_by_the_user_stays_deleted(terminal, topics):
    terminal.sync()
    path = terminal.note("compilers")
    add_words(path)
    topics.untag("compilers")
    terminal.sync()
    path.unlink()
    terminal.sync()
    for _ in range(2):
        topics.add("rust", "compilers")
    assert terminal.counts()["created"] == 0
    assert not path.exists()


def test_a_community_that_dissolves_leaves_with_its_note(terminal, topics, vault):
    terminal.sync()
    folder = vault / "Knowledge Graph" / "Communities"
    assert len(list(folder.iterdir())) == 2
    for _ in range(9):
        topics.add("rust", "wasm", "compilers", "python", "django", "web")
    terminal.sync("--recluster")
    assert len(list(folder.iterdir())) == 1
    assert len(trash(vault)) == 1
    assert terminal.run("verify").exit_code == 0


def test_a_community_note_with_words_stays_and_says_where_its_concepts_are(terminal, topics, vault):
    terminal.sync()
    folder = vault / "Knowledge Graph" / "Communities"
    for path in folder.iterdir():
        add_words(path)
    for _ in range(9):
        topics.add("rust", "wasm", "compilers", "python", "django", "web")
    terminal.sync("--recluster")
    texts = [path.read_text() for path in folder.iterdir()]
    assert len(texts) == 2
    assert sum("This community dissolved; most of its concepts are now in [[" in text for text in texts) == 1
    assert all(text.endswith("My own words.\n") for text in texts)
    terminal.sync()
    assert [path.read_text() for path in folder.iterdir()] == texts
    assert terminal.run("verify").exit_code == 0
