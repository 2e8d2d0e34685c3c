"""Notes rendered from small graphs, without a vault."""

from kg2vault.vault.render import NoteSettings, render
from tests.graph.small import build, reading


def notes_of(source, *, settings=None, before=None, feeds=None, **graph):
    """Return the notes of a reading, by id."""
    built = build(source, **graph)
    return render(built, source.items, feeds or {}, settings or NoteSettings(), before)


def lines_of(note, region=None):
    """Return the lines of a region (the note's own), links as words in double brackets."""
    text = note.regions[region or note.kind]
    for char, shown in (("\x1e", "[["), ("\x1f", "|"), ("\x1d", "]]")):
        text = text.replace(char, shown)
    return text.split("\n")


__all__ = ["lines_of", "notes_of", "reading"]
