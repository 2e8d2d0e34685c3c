"""How hermes.db is opened: in every state a living database can be in, without a trace, and with one clear sentence when it can't be."""

import os
import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from kg2vault.errors import SourceBusy
from kg2vault.storage import access
from kg2vault.storage.hermes import HermesSource
from tests.conftest import Database
from tests.storage.other_programs import as_ordinary_user, files_of, open_elsewhere, open_folder

ADD = "INSERT INTO item_tags VALUES (1, 'new')"


def tags(path, **options):
    return [tag for _, tag in HermesSource(path, **options).read().assignments]


def wal(path):
    """Put a database into WAL mode and close it."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    return path


def fill(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO item_tags VALUES (?, ?)", [(number, f"tag {number}") for number in range(2, 2000)])


@pytest.fixture
def filled(database):
    database.add("old", item_id=1)
    return database.path


# --- Nothing is left behind ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_reading_a_resting_database_changes_nothing_in_its_folder(mode, filled):
    if mode == "WAL":
        wal(filled)
    before = files_of(filled.parent)
    assert tags(filled) == ["old"]
    HermesSource(filled).fingerprint()
    assert files_of(filled.parent) == before
    assert list(before) == ["hermes.db"]


def test_reading_a_live_wal_database_sees_the_last_commit_and_adds_no_file(filled):
    wal(filled)
    with open_elsewhere(filled, ADD):
        before = {name: content for name, (_, _, content) in files_of(filled.parent).items() if not name.endswith("-shm")}
        assert tags(filled) == ["new", "old"]
        after = {name: content for name, (_, _, content) in files_of(filled.parent).items() if not name.endswith("-shm")}
        assert after == before
        assert sorted(path.name for path in filled.parent.iterdir()) == ["hermes.db", "hermes.db-shm", "hermes.db-wal"]


def test_an_uncommitted_transaction_is_not_seen(filled):
    wal(filled)
    with open_elsewhere(filled, "BEGIN IMMEDIATE", ADD):
        assert tags(filled) == ["old"]
    assert tags(filled) == ["old"]


def test_what_a_killed_writer_committed_to_its_wal_is_read_from_a_copy(filled):
    wal(filled)
    with open_elsewhere(filled, ADD):
        pass  # killed: nobody checkpoints
    (filled.parent / "hermes.db-shm").unlink()  # a restored backup has none
    before = files_of(filled.parent)
    assert tags(filled) == ["new", "old"]
    assert files_of(filled.parent) == before


def test_a_transaction_that_died_halfway_is_rolled_back_in_a_copy_only(filled):
    fill(filled)
    with open_elsewhere(filled, "PRAGMA cache_size = 1", "PRAGMA cache_spill = 1", "BEGIN", "UPDATE item_tags SET tag = tag || ' half'"):
        pass  # killed with its changes half in the file
    before = files_of(filled.parent)
    assert "hermes.db-journal" in before
    found = tags(filled)
    assert len(found) == 1999
    assert not [tag for tag in found if tag.endswith("half")]
    assert files_of(filled.parent) == before


@pytest.mark.parametrize("name", ["a?b#c%41 d&e=f.db", "läse 库 ' \".db", "%2e%2e.db", "file:x?mode=memory"])
def test_any_file_name_names_exactly_that_file(name, tmp_path):
    database = Database(tmp_path / "q?mode=rwc#" / name)
    database.add("here")
    wal(database.path)
    assert tags(database.path) == ["here"]
    assert [path.name for path in database.path.parent.iterdir()] == [name]


def test_a_link_is_followed_to_the_database_and_its_wal(filled, tmp_path):
    wal(filled)
    link = tmp_path / "link.db"
    link.symlink_to(filled)
    with open_elsewhere(filled, ADD):
        assert tags(link) == ["new", "old"]
    assert not list(tmp_path.glob("link.db-*"))


def test_a_replaced_database_is_simply_read_anew(filled, tmp_path):
    source = HermesSource(filled)
    source.read()
    other = Database(tmp_path / "backup.db")
    other.add("restored", item_id=1)
    other.path.replace(filled)
    assert [tag for _, tag in source.read().assignments] == ["restored"]


def test_the_database_is_closed_before_the_reading_is_returned(filled):
    reading = HermesSource(filled).read()
    with closing(sqlite3.connect(filled, timeout=0)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
    assert len(reading.assignments) == 1


def test_a_resting_database_that_wakes_up_during_the_read_is_read_again(filled):
    wal(filled)
    seen, writers = [], []

    def work(connection):
        found = connection.execute("SELECT count(*) FROM item_tags").fetchone()[0]
        if not seen:
            writers.append(sqlite3.connect(filled))
            writers[0].execute(ADD)
            writers[0].commit()
        seen.append(found)
        return found

    assert access.read_in_peace(filled, 1.0, work) == 2
    assert seen == [1, 2]
    writers[0].close()


def test_an_error_that_only_a_moving_file_explains_is_not_reported(filled):
    wal(filled)
    calls = []

    def work(connection):
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        calls.append(1)
        if len(calls) == 1:
            with closing(sqlite3.connect(filled)) as writer, writer:
                writer.execute(ADD)
            raise sqlite3.DatabaseError("torn page")
        return "read"

    assert access.read_in_peace(filled, 1.0, work) == "read"


def test_a_commit_between_two_queries_of_one_read_is_seen_by_neither(filled):
    wal(filled)
    with closing(sqlite3.connect(filled)) as writer:
        writer.execute("UPDATE items SET title = 'x'")
        writer.commit()

        def work(connection):
            before = connection.execute("SELECT count(*) FROM item_tags").fetchone()
            writer.execute(ADD)
            writer.commit()
            return before, connection.execute("SELECT count(*) FROM item_tags").fetchone()

        assert access.read_in_peace(filled, 1.0, work) == ((1,), (1,))
        assert tags(filled) == ["new", "old"]


# --- Locked ----------------------------------------------------------------------------------------------------------------


def test_an_exclusive_lock_is_waited_for_and_then_named(filled):
    with open_elsewhere(filled, "BEGIN EXCLUSIVE"):
        started = time.monotonic()
        with pytest.raises(SourceBusy) as caught:
            HermesSource(filled, busy_timeout=0.2).read()
        assert 0.15 < time.monotonic() - started < 5
    assert caught.value.retryable
    assert str(filled) in str(caught.value)
    assert tags(filled) == ["old"]


def test_a_lock_that_goes_in_time_is_not_even_noticed(filled):
    with open_elsewhere(filled, "BEGIN EXCLUSIVE", ADD, "COMMIT"):
        assert tags(filled, busy_timeout=0.2) == ["new", "old"]


def test_an_exclusive_wal_connection_is_read_around_or_named_busy(filled):
    wal(filled)
    with open_elsewhere(filled, "PRAGMA locking_mode = EXCLUSIVE", ADD):
        before = sorted(path.name for path in filled.parent.iterdir())
        assert tags(filled, busy_timeout=0.1) == ["new", "old"]
        assert sorted(path.name for path in filled.parent.iterdir()) == before


@pytest.mark.parametrize("state", ["rollback", "resting", "half closed", "live"])
def test_a_database_in_a_folder_one_may_not_write_is_read_all_the_same(state):
    with open_folder() as folder:
        database = Database(folder / "reader" / "hermes.db")
        database.add("old", item_id=1)
        expected = ["old"]
        holder = None
        if state != "rollback":
            wal(database.path)
        if state in ("half closed", "live"):
            expected = ["new", "old"]
            holder = open_elsewhere(database.path, ADD)
            holder.__enter__()
        if state == "half closed":
            copy = folder / "copy"
            copy.mkdir()
            for name in ("hermes.db", "hermes.db-wal"):
                shutil.copyfile(database.path.with_name(name), copy / name)
            path = copy / "hermes.db"
        else:
            path = database.path
        for file in path.parent.iterdir():
            file.chmod(0o444)
        path.parent.chmod(0o555)
        before = {name: row for name, row in files_of(path.parent).items() if not name.endswith("-shm")}
        assert as_ordinary_user(tags, path) == expected
        assert {name: row for name, row in files_of(path.parent).items() if not name.endswith("-shm")} == before
        path.parent.chmod(0o755)
        if holder is not None:
            holder.__exit__(None, None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes two users")
@pytest.mark.parametrize("state", ["resting", "half closed"])
def test_another_user_never_leaves_a_file_that_locks_the_owner_out(state):
    with open_folder() as folder:
        folder.chmod(0o777)
        database = Database(folder / "hermes.db")
        database.add("old", item_id=1)
        wal(database.path)
        if state == "half closed":
            with open_elsewhere(database.path, ADD):
                pass
            (folder / "hermes.db-shm").unlink()
            (folder / "hermes.db-wal").chmod(0o666)
        database.path.chmod(0o666)
        before = files_of(folder)
        assert "old" in as_ordinary_user(tags, database.path)
        assert files_of(folder) == before


def test_no_temporary_copy_outlives_the_read(filled, tmp_path, monkeypatch):
    wal(filled)
    with open_elsewhere(filled, ADD):
        pass
    (filled.parent / "hermes.db-shm").unlink()
    room = tmp_path / "temporary"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    assert tags(filled) == ["new", "old"]
    assert list(room.iterdir()) == []
