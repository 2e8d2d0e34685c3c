"""Faults that somebody found who knew the promises and not the source: each the smallest story that shows it."""

import pytest


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
