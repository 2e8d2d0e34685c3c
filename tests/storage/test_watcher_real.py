"""When to look again, with watchdog's own observer: what commits, backups, lost folders and our own reading really bring."""

import shutil
import sqlite3
import threading
from contextlib import closing

import pytest

from kg2vault.storage.hermes import HermesSource
from kg2vault.storage.watcher import SourceWatcher
from tests.storage.other_programs import open_elsewhere

PATIENCE = 20.0  # seconds until a test gives up; nothing waits that long when all is well


@pytest.fixture
def files(tmp_path):
    for name in ("reader", "settings"):
        (tmp_path / name).mkdir()
    return {
        "db": tmp_path / "reader" / "hermes.db",
        "config": tmp_path / "settings" / "config.yaml",
        "aliases": tmp_path / "settings" / "aliases.yaml",
    }


@pytest.fixture
def real(files):
    with closing(sqlite3.connect(files["db"])) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE item_tags(item_id, tag)")
    watcher = SourceWatcher(files)
    watcher.start()
    yield watcher
    watcher.stop()


def next_hints(watcher):
    return watcher.wait(PATIENCE)


def test_a_commit_to_the_wal_of_a_live_database_is_seen(real, files):
    with open_elsewhere(files["db"], "INSERT INTO item_tags VALUES (1, 'x')"):
        assert next_hints(real) == {"db"}


def hints_up_to(watcher, path):
    """Write a file of the same folder, whose event comes after all that happened before, and return every hint until then."""
    path.write_text("marker")
    hints = set()
    while path.name not in hints:
        hints |= next_hints(watcher)
    return hints


def test_our_own_reading_gives_no_hint(real, files):
    folder = files["db"].parent
    watcher = SourceWatcher({"db": files["db"], "before": folder / "before", "after": folder / "after"})
    watcher.start()
    with open_elsewhere(files["db"], "INSERT INTO item_tags VALUES (1, 'x')"):
        assert "db" in hints_up_to(watcher, folder / "before")
        HermesSource(files["db"]).read()
        assert "db" not in hints_up_to(watcher, folder / "after")
    watcher.stop()


def test_reading_a_resting_database_gives_no_hint(real, files):
    folder = files["db"].parent
    watcher = SourceWatcher({"db": files["db"], "after": folder / "after"})
    watcher.start()
    HermesSource(files["db"]).read()
    assert hints_up_to(watcher, folder / "after") == {"after"}
    watcher.stop()


def test_a_database_replaced_by_a_backup_and_then_written_is_seen_both_times(real, files, tmp_path):
    shutil.copyfile(files["db"], tmp_path / "backup.db")
    (tmp_path / "backup.db").replace(files["db"])
    assert next_hints(real) == {"db"}
    with closing(sqlite3.connect(files["db"])) as connection, connection:
        connection.execute("INSERT INTO item_tags VALUES (2, 'after')")
    assert "db" in next_hints(real)


def test_a_folder_deleted_and_made_again_is_watched_again(real, files):
    shutil.rmtree(files["db"].parent)
    while "db" in real.watched():
        assert "db" in next_hints(real)
    assert real.alive()
    files["db"].parent.mkdir()
    assert real.renew()
    while real.wait(0.05):
        pass
    files["db"].write_bytes(b"new")
    assert next_hints(real) == {"db"}


def test_a_folder_renamed_and_back_is_still_watched(real, files, tmp_path):
    folder = files["db"].parent
    folder.rename(tmp_path / "away")
    real.renew()
    (tmp_path / "away").rename(folder)
    real.renew()
    while real.wait(0.05):
        pass
    files["db"].write_bytes(b"new")
    assert next_hints(real) == {"db"}


def test_stopping_ends_every_thread(files):
    before = set(threading.enumerate())
    watcher = SourceWatcher(files)
    watcher.start()
    watcher.start()
    begun = set(threading.enumerate()) - before
    assert begun
    watcher.stop()
    watcher.stop()
    for thread in begun:
        thread.join(PATIENCE)
    assert not [thread for thread in begun if thread.is_alive()]


def test_the_real_observer_outlives_a_handler_that_fails(real, files, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr("kg2vault.storage.watcher._key", lambda name: 1 / 0)
        files["db"].write_bytes(b"x")
        assert next_hints(real) == {"db"}
    assert real.alive()
    hints = set()
    files["config"].write_text("still there")
    while "config" not in hints:
        hints |= next_hints(real)
