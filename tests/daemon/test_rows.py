"""Which writes to the database become a sync: real files, made-up time."""

import sqlite3
from contextlib import closing

import pytest

from tests.e2e.conftest import tree

QUIET = {
    "VACUUM": "VACUUM",
    "a checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)",
    "another journal mode": "PRAGMA journal_mode = WAL",
    "a click": "INSERT INTO clicks(item_id) VALUES (1)",
    "a fetch that brought nothing": "UPDATE feeds SET last_fetched = '2026-05-05'",
    "an item without tags": "INSERT INTO items VALUES (9, 1, 'g9', 'Nine', NULL, '', '2026-04-04', 'x')",
    "a new index": "CREATE INDEX by_tag ON item_tags(tag)",
}
LOUD = {
    "a tag is updated in place": "UPDATE item_tags SET tag = 'async' WHERE tag = 'django'",
    "two tags change places": "UPDATE item_tags SET item_id = 3 - item_id WHERE item_id < 3 AND tag IN ('web', 'wasm')",
    "a title changes": "UPDATE items SET title = 'Uno' WHERE id = 1",
    "two titles change places": "UPDATE items SET title = CASE id WHEN 5 THEN 'Item 6' ELSE 'Item 5' END WHERE id IN (5, 6)",
    "an item moves to another feed": "UPDATE items SET feed_id = 2 WHERE id = 1",
    "a feed is renamed": "UPDATE feeds SET title = 'Renamed' WHERE id = 1",
}


@pytest.fixture
def world(real_world):
    reader = real_world.reader
    reader.run("CREATE TABLE clicks(id INTEGER PRIMARY KEY, item_id)")
    reader.run("INSERT INTO feeds VALUES (2, 'https://example.org/other', 'Other', NULL), (3, 'https://example.org/idle', 'Idle', NULL)")
    return real_world


def execute(world, statement):
    """Run one statement outside a transaction, as VACUUM wants it, and close the database."""
    with closing(sqlite3.connect(world.reader.path, isolation_level=None)) as connection:
        connection.execute(statement)
    world.hint("db")


@pytest.mark.parametrize("change", QUIET)
def test_no_note_is_touched_after(change, world):
    trees = []
    world.at(50, lambda: trees.append(tree(world.vault)))
    world.at(51, lambda: execute(world, QUIET[change]))
    world.run(600)
    assert tree(world.vault) == trees[0]
    assert world.state.syncs == 1
    assert world.state.looks <= 1, "once it was found that nothing changed, nobody looks again"


@pytest.mark.parametrize("change", LOUD)
def test_one_sync_comes_of_a_commit_in_which(change, world):
    world.at(51, lambda: execute(world, LOUD[change]))
    world.run(600)
    assert (world.state.syncs, world.state.looks) == (2, 0)


def test_our_own_reading_is_no_reason_to_read_again(world):
    world.at(51, lambda: world.add("One commit"))
    world.run(3600)
    assert (world.state.syncs, world.state.looks) == (2, 0)
