"""Faults that somebody found who knew the promises and not the source: each the smallest story that shows it."""

import pytest

from tests.e2e.conftest import tree


def rewrite(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8", newline="")


def in_trash(terminal, name):
    return (terminal.vault / ".kg2vault" / "trash" / f"{name}.md").exists()


@pytest.mark.parametrize(
    "tags",
    ['tags: [mine]\ntags: ["kg/concept"]', "tags: {mine: 1}", "tags: [{mine: 1}]", "tags: [[kg/concept, mine]]"],
    ids=["a key that is there twice", "a mapping", "a mapping in a list", "a list in a list"],
)
def test_words_in_tags_of_any_shape_keep_a_note_out_of_the_trash(terminal, topics, tags):
    terminal.sync()
    note = terminal.note("python")
    line = next(line for line in note.read_text(encoding="utf-8").splitlines() if line.startswith("tags: "))
    rewrite(note, line, tags)
    terminal.sync()
    topics.untag("python")
    terminal.run("sync")
    assert not in_trash(terminal, "python")
    assert "mine" in note.read_text(encoding="utf-8")


def move_out_and_link(terminal, folder):
    """Put one of our folders elsewhere and leave a link in its place, as people do who share notes between vaults."""
    inside, outside = terminal.vault / "Knowledge Graph" / folder, terminal.vault.parent / "elsewhere"
    inside.rename(outside)
    inside.symlink_to(outside, target_is_directory=True)
    return outside


def test_no_note_is_written_through_a_link_that_leads_out_of_the_vault(terminal, topics):
    terminal.sync()
    outside = move_out_and_link(terminal, "Concepts")
    before = tree(outside)
    for _ in range(2):
        topics.add("zig", "wasm", "rust")
    result = terminal.run("sync")
    assert tree(outside) == before
    assert result.exit_code == 1
    assert "leads out of the vault" in result.output


def test_notes_behind_a_link_are_out_of_reach_and_not_deleted(terminal):
    terminal.sync()
    outside = move_out_and_link(terminal, "Concepts")
    terminal.run("sync")
    (terminal.vault / "Knowledge Graph" / "Concepts").unlink()
    outside.rename(terminal.vault / "Knowledge Graph" / "Concepts")
    terminal.sync()
    assert terminal.run("verify").exit_code == 0
    assert "rust|rust]]" in terminal.note("wasm").read_text(encoding="utf-8")
