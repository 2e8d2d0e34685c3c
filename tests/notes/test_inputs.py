"""A note that is made from the same is the same, so it need not be made again; and what it is made from changes only when it must."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kg2vault.config import LinksConfig
from kg2vault.graph.model import Feed, Item, Reading
from kg2vault.vault.render import Before, NoteSettings
from tests.graph.small import clique, linked
from tests.notes.desk import notes_of

TAGS = ("a", "b", "c", "d", "e", "f", "g")
PATHS = {f"concept/{tag}": f"KG/{tag}.md" for tag in TAGS} | {"item/1": "KG/one.md", "feed/1": "KG/feed.md"}
ASKED = (
    NoteSettings(),
    NoteSettings(recent_items=1),
    NoteSettings(items=True, feeds=True),
    NoteSettings(links=LinksConfig(bands=True, repeat=4, dataview=True, size=True)),
    NoteSettings(links=LinksConfig(backbone="topk", top_k=1)),
    NoteSettings(links=LinksConfig(backbone="disparity", alpha=0.4)),
)

tags = st.lists(st.sampled_from([*TAGS, "A", "B"]), min_size=1, max_size=4, unique=True)
rows = st.lists(st.tuples(tags, st.sampled_from(["", "2025-01-02", "2026-03-04 10:00:00"])), min_size=4, max_size=12)


def world(rows, titles=None, feed="A feed"):
    """Return a reading of such rows, as (reading, feeds)."""
    titles = titles or {}
    items = {n: Item(n, titles.get(n, f"Title {n}"), f"https://e.org/{n}", day, 1 + n % 2) for n, (_, day) in enumerate(rows, 1)}
    pairs = sorted({(n, tag) for n, (tags, _) in enumerate(rows, 1) for tag in tags})
    return Reading(tuple(pairs), items, {}), {1: Feed(1, "https://e.org/feed", feed), 2: Feed(2, "https://e.org/other", "Other")}


@st.composite
def two_worlds(draw):
    """A world, and one in which something is different."""
    first = draw(rows)
    other, titles, feed = list(first), {}, "A feed"
    kind = draw(st.sampled_from(["tags", "case", "day", "title", "feed", "added", "removed"]))
    place = draw(st.integers(0, len(first) - 1))
    if kind == "tags":
        other[place] = (draw(tags), first[place][1])
    elif kind == "case":
        other[place] = ([tag.swapcase() for tag in first[place][0]], first[place][1])
    elif kind == "day":
        other[place] = (first[place][0], "2024-07-08")
    elif kind == "title":
        titles = {place + 1: "Another title"}
    elif kind == "feed":
        feed = "Renamed"
    elif kind == "added":
        other.append((draw(tags), "2026-05-06"))
    else:
        del other[place]
    return (first, {}, "A feed"), (other, titles, feed)


@settings(deadline=None, max_examples=300)
@given(two_worlds(), st.sampled_from(ASKED), st.sampled_from(ASKED), st.booleans())
@example((([(["a", "b"], "")] * 4, {}, "A feed"), ([(["a", "b"], "")] * 5, {}, "A feed")), ASKED[3], ASKED[3], True)
def test_notes_that_are_made_from_the_same_are_the_same(worlds, asked, asked_later, same_settings):
    made = []
    for (rows, titles, feed), wish in zip(worlds, (asked, asked if same_settings else asked_later), strict=True):
        source, feeds = world(rows, titles, feed)
        made.append(notes_of(source, settings=wish, feeds=feeds))
    one, other = made
    for note_id in one.keys() & other.keys():
        source = one.made_from(note_id, PATHS)
        if source and source == other.made_from(note_id, PATHS):
            assert one[note_id] == other[note_id]


@settings(deadline=None, max_examples=60)
@given(rows, st.sampled_from(ASKED))
def test_every_note_that_is_linked_to_is_among_those_whose_path_counts(rows, asked):
    source, feeds = world(rows)
    notes = notes_of(source, settings=asked, feeds=feeds)
    for note_id in notes:
        text = "".join([*notes[note_id].regions.values(), *map(str, notes[note_id].properties.values())])
        for linked_id in notes:
            if notes.made_from(note_id, {}) and f"\x1e{linked_id}\x1f" in text:
                moved = {linked_id: "elsewhere.md"}
                assert notes.made_from(note_id, moved) != notes.made_from(note_id, {})


@settings(deadline=None, max_examples=60)
@given(rows, st.sampled_from(ASKED))
def test_what_a_note_kept_changes_neither_it_nor_what_it_is_made_from(rows, asked):
    source, feeds = world(rows)
    first = notes_of(source, settings=asked, feeds=feeds)
    kept = Before({key: note.kept for key, note in first.items()})
    again = notes_of(source, settings=asked, feeds=feeds, before=kept)
    for note_id in first:
        assert again[note_id] == first[note_id]
        assert again.made_from(note_id, PATHS) == first.made_from(note_id, PATHS)


@pytest.mark.parametrize("note_id", ["home", "community/x", "nobody"])
def test_other_notes_are_always_made(note_id):
    assert notes_of(linked(*clique("a", 3))).made_from(note_id, {}) == ""


def test_a_community_is_made_again_when_one_of_its_members_is():
    before = linked(*clique("a", 4), *clique("b", 4), ("a0", "b0", 2))
    after = linked(*clique("a", 4), *clique("b", 4), ("a0", "b0", 2), ("a0", "a1", 1))
    one, other = notes_of(before), notes_of(after, before=Before({key: note.kept for key, note in notes_of(before).items()}))
    communities = [key for key in one if key.startswith("community/")]
    changed = [key for key in communities if one.made_from(key, {}) != other.made_from(key, {})]
    assert (len(communities), len(changed)) == (2, 1)


def test_one_more_shared_item_is_the_business_of_two_concepts():
    before = linked(*clique("a", 4), *clique("b", 4), ("a0", "b0", 2))
    after = linked(*clique("a", 4), *clique("b", 4), ("a0", "b0", 2), ("a0", "a1", 1))
    one, other = notes_of(before), notes_of(after, before=Before({key: note.kept for key, note in notes_of(before).items()}))
    changed = {key for key in one if one.made_from(key, {}) != other.made_from(key, {})}
    assert {"concept/a0", "concept/a1"} <= changed
    assert not changed & {"concept/b1", "concept/b2", "concept/b3"}


def test_notes_are_made_when_they_are_asked_for_and_once():
    notes = notes_of(linked(*clique("a", 3)))
    assert len(notes) == 5
    assert "concept/a0" in notes
    assert "concept/zz" not in notes
    assert notes["concept/a0"] is notes["concept/a0"]
    assert [*notes] == [note.id for note in notes.values()]
    with pytest.raises(KeyError):
        notes["concept/zz"]
