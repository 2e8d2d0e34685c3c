"""A vault that stays calm: what one new item may touch, measured on real reading played back item by item."""

import os
import re
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from kg2vault.syncing import SyncFlags, sync
from tests.conftest import CORPORA, corpus
from tests.e2e.conftest import contents
from tests.notes.replay import Reader, play, settings_for

WHOLE = pytest.mark.skipif(not os.environ.get("KG2VAULT_WHOLE_REPLAY"), reason="an hour; KG2VAULT_WHOLE_REPLAY=1 asks for it")
LIMITS = [
    pytest.param(8, id="8 items"),
    pytest.param(60, id="60 items", marks=pytest.mark.slow),
    pytest.param(None, id="the last tenth", marks=[pytest.mark.slow, WHOLE]),
]
MEDIAN, WORST_OF_TWENTY = 0.01, 0.05  # share of the notes that one item may rewrite


def live_reader(name, tmp_path):
    db = corpus(name, tmp_path, "base.db")
    return db, Reader(db, CORPORA / name / "growth.jsonl")


def write_into_community_notes(vault):
    """Write a sentence into every community note that names its members of today; return path → (sentence, members)."""
    written = {}
    for path in sorted((vault / "Knowledge Graph" / "Communities").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        sentence = f"I read this for {path.stem}."
        path.write_text(text + f"\n{sentence}\n", encoding="utf-8")
        written[path] = (sentence, members(text))
    return written


def members(text):
    listed = text.partition("## Concepts\n")[2].partition("\n\n")[0]
    return set(re.findall(r"^- \[\[([^|\]]+)\|", listed, re.MULTILINE))


def own_notes(tags):
    return {f"concept/{tag.strip().lower()}" for tag in tags}


def assert_calm(calm, *, median):
    assert calm.differences == []
    assert calm.percentile(0.5) <= median
    assert calm.percentile(0.95) <= WORST_OF_TWENTY
    others = sorted(sum(note.startswith("concept/") and note not in own_notes(tags) for note in written) for tags, written in calm.written)
    assert others[len(others) // 2] == 0


def assert_words_stayed_with_their_members(written):
    for path, (sentence, before) in written.items():
        assert path.exists(), f"{path.name} was renamed or left"
        text = path.read_text(encoding="utf-8")
        assert sentence in text
        after = members(text)
        assert 2 * len(before & after) > min(len(before), len(after)), f"{path.name} is about something else now"


# In jser an item has three tags and the vault 320 notes, so its own concepts, their communities and the home note are more than a percent.
@pytest.mark.parametrize(("name", "median"), [("pyvideo", MEDIAN), ("jser", 0.02)])
@pytest.mark.parametrize("limit", LIMITS)
def test_reading_on_rewrites_few_notes_and_the_vault_stays_the_graph(limit, name, median, tmp_path, vault, no_aliases):
    db, reader = live_reader(name, tmp_path)
    settings = settings_for(db, vault, no_aliases)
    told = {}

    def write_words():
        told.update(write_into_community_notes(vault))

    calm = play(settings, reader, limit=limit, verify_every=4 if limit == 8 else 1, after_first=write_words)
    assert_calm(calm, median=median)
    assert_words_stayed_with_their_members(told)
    before = contents(vault)
    sync(settings, SyncFlags(full=True))
    assert contents(vault) == before, "a note that was not made again would have come out another"
    shares = [calm.percentile(part) for part in (0.5, 0.95, 1)]
    print(f"\n{name}: {len(calm.shares)} items; median, 95th percentile, worst: {', '.join(f'{share:.2%}' for share in shares)}")
    tags, worst = max(calm.written, key=lambda step: len(step[1]))
    print(f"the worst, {', '.join(tags)}: {dict(Counter(note.partition('/')[0] + ' ' + state for note, state in worst.items()))}")


def changed(before, after):
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def test_an_item_whose_tags_already_share_items_touches_its_concepts_their_communities_and_home(tmp_path, vault, no_aliases):
    db, reader = live_reader("pyvideo", tmp_path)
    reader.close()
    settings = settings_for(db, vault, no_aliases)
    sync(settings)
    before = contents(vault)
    with sqlite3.connect(db) as connection:
        connection.execute("INSERT INTO items(feed_id, guid, title, content_hash) VALUES (1, 'new', 'New', 'x')")
        number = connection.execute("SELECT max(id) FROM items").fetchone()[0]
        connection.executemany("INSERT INTO item_tags VALUES (?, ?)", [(number, "django"), (number, "testing")])
    connection.close()
    sync(settings)
    touched = {Path(path).stem for path in changed(before, contents(vault))}
    concepts = {name for name in touched if not name.endswith("(community)")}
    assert concepts == {"django", "testing", "Knowledge Graph"}
    assert len(touched) - len(concepts) <= 2


def test_a_month_and_a_year_may_pass_without_a_note_of_another_subject_being_rewritten(topics, terminal, vault):
    terminal.sync()
    before = contents(vault)
    topics.add("python", "web", published="2031-07-01 00:00:00")
    terminal.sync()
    assert {Path(path).stem for path in changed(before, contents(vault)) if "/Concepts/" in path} == {"python", "web"}
