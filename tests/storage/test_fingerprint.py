"""The two questions of whether the source changed: the gate, which costs nothing, and the digest, which decides."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from kg2vault.storage.fingerprint import content_digest, file_token, is_fresh
from kg2vault.storage.hermes import HermesSource
from tests.storage.other_programs import open_elsewhere

LONG_AGO_NS = 1_600_000_000_123_456_789


def run(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def age(path):
    """Date the files back, so that their tokens are final without waiting for a clock to tick."""
    for file in path.parent.glob(f"{path.name}*"):
        os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))


@pytest.fixture
def source(database):
    database.add("python", "web", title="One", item_id=1)
    database.add("python", "django", title="Two", item_id=2)
    database.add(title="Untagged", item_id=3)
    run(
        database.path,
        "CREATE TABLE clicks(id INTEGER PRIMARY KEY, item_id)",
        "INSERT INTO feeds VALUES (2, 'https://example.org/other', 'Other', NULL), (3, 'https://example.org/idle', 'Idle', NULL)",
    )
    return HermesSource(database.path)


CHANGES = {
    "a tag is added": "INSERT INTO item_tags VALUES (1, 'new')",
    "a tag is removed": "DELETE FROM item_tags WHERE item_id = 1 AND tag = 'web'",
    "a tag is updated in place": "UPDATE item_tags SET tag = 'Web' WHERE tag = 'web'",
    "two tags change places": "UPDATE item_tags SET item_id = 3 - item_id WHERE tag IN ('web', 'django')",
    "a tag moves to another item": "UPDATE item_tags SET item_id = 2 WHERE tag = 'web'",
    "a title changes": "UPDATE items SET title = 'Uno' WHERE id = 1",
    "two titles change places": "UPDATE items SET title = CASE id WHEN 1 THEN 'Two' ELSE 'One' END WHERE id < 3",
    "an address changes": "UPDATE items SET url = 'https://example.org/moved' WHERE id = 1",
    "an address goes": "UPDATE items SET url = NULL WHERE id = 1",
    "a date changes": "UPDATE items SET published = '2026-03-01 00:00:00' WHERE id = 1",
    "an item moves to another feed": "UPDATE items SET feed_id = 2 WHERE id = 1",
    "an item leaves its feed": "UPDATE items SET feed_id = NULL WHERE id = 1",
    "an item goes and its tags stay": "DELETE FROM items WHERE id = 1",
    "a feed is renamed": "UPDATE feeds SET title = 'Renamed' WHERE id = 1",
    "a feed moves": "UPDATE feeds SET url = 'https://example.org/new' WHERE id = 1",
    "an untagged item is tagged": "INSERT INTO item_tags VALUES (3, 'python')",
}

NO_CHANGES = {
    "VACUUM": "VACUUM",
    "a click": "INSERT INTO clicks(item_id) VALUES (1)",
    "a fetch that brought nothing": "UPDATE feeds SET last_fetched = '2026-05-05'",
    "an untagged item": "INSERT INTO items VALUES (9, 1, 'g9', 'Nine', NULL, '', '2026-04-04', 'x')",
    "a title of an untagged item": "UPDATE items SET title = 'Other' WHERE id = 3",
    "a feed nothing came from": "UPDATE feeds SET title = 'Still idle' WHERE id = 3",
    "a summary nobody asked for": "UPDATE items SET summary = 'Long' WHERE id = 1",
    "a new table": "CREATE TABLE kg_nodes(name TEXT)",
    "a new index": "CREATE INDEX by_tag ON item_tags(tag)",
    "another journal mode": "PRAGMA journal_mode = WAL",
    "a checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)",
    "a blank tag": "INSERT INTO item_tags VALUES (1, '  ')",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_fingerprint_moves_when(change, source):
    age(source.path)
    gate, before = source.gate(), source.fingerprint()
    run(source.path, change)
    assert source.gate() != gate
    assert source.fingerprint() != before


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES.keys())
def test_the_fingerprint_stays_over(change, source):
    before = source.fingerprint()
    run(source.path, change)
    assert source.fingerprint() == before


def test_the_fingerprint_goes_back_with_the_content(source):
    before = source.fingerprint()
    run(source.path, "DELETE FROM item_tags WHERE tag = 'web'")
    run(source.path, "INSERT INTO item_tags VALUES (1, 'web')")
    assert source.fingerprint() == before


def test_the_fingerprint_is_the_one_of_the_reading(source):
    assert source.fingerprint() == source.read().fingerprint
    assert source.fingerprint(summaries=True) == source.read(summaries=True).fingerprint


def test_a_summary_counts_where_summaries_are_read(source):
    before = source.fingerprint(summaries=True)
    run(source.path, "UPDATE items SET summary = 'Long' WHERE id = 1")
    assert source.fingerprint(summaries=True) != before


def test_equal_content_in_another_file_with_other_rowids_has_the_same_fingerprint(source, tmp_path):
    other = tmp_path / "other.db"
    run(
        other,
        f"ATTACH '{source.path}' AS old",
        "CREATE TABLE item_tags(tag TEXT, noise, item_id)",
        "CREATE TABLE items AS SELECT * FROM old.items ORDER BY id DESC",
        "CREATE TABLE feeds AS SELECT title, id, url FROM old.feeds ORDER BY title",
        "INSERT INTO item_tags SELECT tag, 'x', item_id FROM old.item_tags ORDER BY random()",
    )
    assert HermesSource(other).fingerprint() == source.fingerprint()


def test_the_fingerprint_is_one_in_every_process_and_under_every_hash_seed(source):
    program = (
        "import sys, pathlib; from kg2vault.storage.hermes import HermesSource as S; print(S(pathlib.Path(sys.argv[1])).fingerprint())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, source.path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "12345")
    }
    assert found == {source.fingerprint()}


def test_the_fingerprint_is_a_known_value():
    pairs = [(1, "café"), (2, "a\udc80")]
    items = [(1, "T", "u", "2026", None, ""), (2, "T2", "", "", 7, ""), (3, "never tagged", "", "", 8, "")]
    assert content_digest(pairs, items, [(7, "f", "F"), (8, "g", "G")]) == "17695a0e1bae2451d23acea195ede861"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(1, "ab"), (1, "c")], [(1, "a"), (1, "bc")]),
        ([(1, "a"), (2, "a")], [(1, "a"), (12, "a")]),
        ([(1, "a\n"), (1, "b")], [(1, "a"), (1, "\nb")]),
        ([(1, "")], []),
    ],
)
def test_no_text_can_imitate_a_boundary(one, other):
    assert content_digest(one, [], []) != content_digest(other, [], [])


def test_no_feed_and_a_feed_of_any_number_are_told_apart():
    tokens = {content_digest([(1, "a")], [(1, "", "", "", feed, "")], []) for feed in (None, 0, -1, 1)}
    assert len(tokens) == 4


# --- The gate ----------------------------------------------------------------------------------------------------------


def test_the_gate_is_steady_while_nothing_is_written(source):
    age(source.path)
    assert source.gate() == source.gate()


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_our_own_reading_does_not_move_the_gate(mode, source):
    run(source.path, f"PRAGMA journal_mode = {mode}")
    age(source.path)
    before = source.gate()
    source.read()
    assert source.gate() == before


def test_our_own_reading_of_a_live_database_does_not_move_the_gate(source):
    run(source.path, "PRAGMA journal_mode = WAL")
    with open_elsewhere(source.path, "INSERT INTO item_tags VALUES (1, 'new')"):
        age(source.path)
        before = source.gate()
        assert (1, "new") in source.read().assignments
        assert source.gate() == before


def test_a_commit_that_only_touches_the_wal_moves_the_gate(source):
    run(source.path, "PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(source.path)) as writer:
        writer.execute("INSERT INTO clicks(item_id) VALUES (1)")
        writer.commit()
        age(source.path)
        before, size = source.gate(), source.path.stat().st_size
        writer.execute("INSERT INTO item_tags VALUES (1, 'new')")
        writer.commit()
        assert source.path.stat().st_size == size
        assert source.gate() != before


def test_a_database_put_in_its_place_with_the_same_size_and_date_moves_the_gate(source, tmp_path):
    age(source.path)
    before = source.gate()
    shutil.copy2(source.path, tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(source.path)
    assert source.gate() != before


def test_a_database_overwritten_in_place_and_dated_back_moves_the_gate(source):
    age(source.path)
    before = source.gate()
    with source.path.open("r+b") as handle:
        handle.write(b"SQLite")
    age(source.path)
    assert source.gate() != before


def test_an_empty_wal_is_as_good_as_none(source):
    age(source.path)
    before = source.gate()
    source.path.with_name("hermes.db-wal").touch()
    source.path.with_name("hermes.db-shm").write_bytes(b"anything")
    assert source.gate() == before


def test_files_written_a_moment_ago_have_no_final_token(source):
    run(source.path, "INSERT INTO clicks(item_id) VALUES (1)")
    first = source.gate()
    assert is_fresh(first)
    assert source.gate() != first


@pytest.mark.parametrize(("stamp", "fresh"), [("fine, 0.2 s ago", False), ("coarse, 0.2 s ago", True), ("coarse, 5 s ago", False)])
def test_how_long_a_token_waits_depends_on_the_resolution_of_the_time_stamps(stamp, fresh, tmp_path, monkeypatch):
    path = tmp_path / "h.db"
    path.write_bytes(b"x")
    at = 1_700_000_000_000_000_000 + (7 if stamp.startswith("fine") else 0)
    os.utime(path, ns=(at, at))
    monkeypatch.setattr(time, "time_ns", lambda: at + (5_000_000_000 if "5 s" in stamp else 200_000_000))
    assert is_fresh(file_token(path)) == fresh


def test_a_missing_database_has_a_token_too_and_is_not_created(tmp_path):
    source = HermesSource(tmp_path / "gone" / "hermes.db")
    assert source.gate() == source.gate() == "- - -"
    assert not source.path.parent.exists()


def test_a_database_behind_a_link_is_the_one_that_is_looked_at(source, tmp_path):
    (tmp_path / "link.db").symlink_to(source.path)
    age(source.path)
    assert HermesSource(tmp_path / "link.db").gate() == source.gate()
