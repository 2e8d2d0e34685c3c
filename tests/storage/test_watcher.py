"""When to look again: with watchdog's real observer on real folders, and with a scripted one for what a system does only on bad days."""

import os
import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from kg2vault.storage.hermes import HermesSource
from kg2vault.storage.watcher import SourceWatcher
from tests.storage.other_programs import open_elsewhere

PATIENCE = 20.0  # seconds until a test gives up; nothing waits that long when all is well


def event(kind, path, to=None, folder=False):
    extra = {} if to is None else {"dest_path": str(to)}
    return SimpleNamespace(event_type=kind, src_path=path if isinstance(path, bytes) else str(path), is_directory=folder, **extra)


class ScriptedObserver:
    """Stands where watchdog's observer stands; `tell` delivers an event the way its thread does."""

    def __init__(self):
        self.handlers = {}
        self.living = False
        self.refused = {}
        self.emitter_alive = {}
        self.log = []

    @property
    def emitters(self):
        return [SimpleNamespace(is_alive=lambda alive=alive: alive) for alive in self.emitter_alive.values()]

    def schedule(self, event_handler, path, *, recursive=False):
        assert not recursive, "a vault below the source's folder would flood the queue"
        if path in self.refused:
            raise self.refused[path]
        self.log.append(("schedule", path))
        self.handlers[path] = event_handler
        self.emitter_alive[path] = True
        return path

    def unschedule(self, watch):
        self.log.append(("unschedule", watch))
        del self.handlers[watch]
        del self.emitter_alive[watch]

    def start(self):
        self.living = True

    def stop(self):
        self.living = False
        self.log.append(("stop", None))

    def join(self, timeout=None):
        self.log.append(("join", timeout))

    def is_alive(self):
        return self.living

    def tell(self, folder, happening):
        try:
            self.handlers[str(folder)].dispatch(happening)
        except Exception:
            self.living = False  # as watchdog's thread dies of it


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
def observer():
    return ScriptedObserver()


@pytest.fixture
def scripted(files, observer):
    watcher = SourceWatcher(files, observer=lambda: observer)
    watcher.start()
    yield watcher
    watcher.stop()


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


# --- Scripted ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hermes.db", "hermes.db-wal", "hermes.db-journal"])
@pytest.mark.parametrize("kind", ["created", "modified", "deleted"])
def test_the_database_and_its_logs_are_the_database(name, kind, scripted, observer, files):
    folder = files["db"].parent
    observer.tell(folder, event(kind, folder / name))
    assert scripted.wait(0) == {"db"}
    assert scripted.wait(0) is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("modified", "hermes.db-shm"),
        ("created", "hermes.db-shm"),
        ("modified", "other.db"),
        ("modified", "hermes.db.bak"),
        ("opened", "hermes.db"),
        ("closed_no_write", "hermes.db"),
        ("attrib", "hermes.db-wal"),
        ("closed", "hermes.db-wal"),
        ("opened", "hermes.db-wal"),
    ],
)
def test_what_a_read_does_and_what_others_do_is_no_hint(kind, name, scripted, observer, files):
    folder = files["db"].parent
    observer.tell(folder, event(kind, folder / name))
    observer.tell(folder, event("modified", folder, folder=True))
    assert scripted.wait(0) is None


def test_a_file_that_is_moved_into_place_or_away_is_a_hint(scripted, observer, files):
    folder = files["config"].parent
    observer.tell(folder, event("moved", folder / ".tmp1", to=files["config"]))
    assert scripted.wait(0) == {"config"}
    observer.tell(folder, event("moved", files["aliases"], to=folder / "aliases.old"))
    assert scripted.wait(0) == {"aliases"}


def test_a_permission_that_came_back_is_a_hint(scripted, observer, files):
    observer.tell(files["db"].parent, event("attrib", files["db"]))
    assert scripted.wait(0) == {"db"}


def test_many_events_are_one_answer_with_every_name_once(scripted, observer, files):
    for _ in range(500):
        observer.tell(files["db"].parent, event("modified", files["db"]))
    observer.tell(files["config"].parent, event("modified", files["config"]))
    assert scripted.wait(0) == {"db", "config"}
    assert scripted.wait(0) is None


def test_names_match_in_whatever_form_the_system_reports_them(tmp_path, observer):
    watcher = SourceWatcher({"db": tmp_path / "H\u00e9rm\u00e8s.db"}, observer=lambda: observer)
    watcher.start()
    observer.tell(tmp_path, event("modified", tmp_path / "He\u0301rme\u0300s.db-wal"))
    assert watcher.wait(0) == {"db"}
    observer.tell(tmp_path, event("modified", os.fsencode(tmp_path / "H\u00e9rm\u00e8s.db")))
    assert watcher.wait(0) == {"db"}


def test_an_event_that_makes_no_sense_is_a_hint_at_everything_and_kills_nothing(scripted, observer, files):
    for nonsense in (None, event("modified", "x").__class__(event_type="modified"), event("modified", "\0"), object()):
        observer.tell(files["db"].parent, nonsense)
    assert scripted.alive()
    assert "db" in scripted.wait(0)


def test_a_dead_observer_or_emitter_is_noticed_and_a_restart_hints_at_everything(files):
    made = []

    def make():
        made.append(ScriptedObserver())
        return made[-1]

    watcher = SourceWatcher(files, observer=make)
    assert not watcher.alive()
    watcher.start()
    assert watcher.alive()
    made[0].emitter_alive[str(files["db"].parent)] = False
    assert not watcher.alive()
    watcher.restart()
    assert watcher.alive()
    assert len(made) == 2
    assert ("stop", None) in made[0].log
    assert watcher.wait(0) == set(files)
    made[1].living = False
    assert not watcher.alive()
    watcher.restart()
    assert watcher.alive()
    watcher.stop()
    assert not watcher.alive()


def test_a_folder_the_system_will_not_watch_is_left_to_the_poll(files, observer):
    observer.refused[str(files["db"].parent)] = OSError(28, "inotify watch limit reached")
    watcher = SourceWatcher(files, observer=lambda: observer)
    watcher.start()
    assert watcher.alive()
    assert watcher.watched() == {"config", "aliases"}
    assert not watcher.renew()
    observer.refused.clear()
    assert watcher.renew()
    assert watcher.watched() == set(files)
    assert watcher.wait(0) == {"db"}


def test_a_folder_that_comes_later_is_watched_from_then_on(tmp_path, observer):
    db = tmp_path / "drive" / "hermes.db"
    watcher = SourceWatcher({"db": db}, observer=lambda: observer)
    watcher.start()
    assert watcher.alive()
    assert watcher.watched() == set()
    assert not watcher.renew()
    db.parent.mkdir()
    assert watcher.renew()
    assert watcher.watched() == {"db"}
    assert watcher.wait(0) == {"db"}
    assert not watcher.renew()


def test_a_folder_that_is_replaced_by_another_is_watched_anew(scripted, observer, files, tmp_path):
    folder = files["db"].parent
    folder.rename(tmp_path / "moved away")
    assert scripted.renew()
    assert scripted.watched() == {"config", "aliases"}
    folder.mkdir()
    assert scripted.renew()
    assert scripted.wait(0) == {"db"}
    assert observer.log[-2:] == [("unschedule", str(folder)), ("schedule", str(folder))]


def test_a_folder_that_was_deleted_is_forgotten_even_if_its_successor_looks_the_same(scripted, observer, files):
    folder = files["db"].parent
    observer.tell(folder, event("deleted", folder, folder=True))
    assert scripted.wait(0) == {"db"}
    assert scripted.watched() == {"config", "aliases"}
    assert scripted.renew()
    assert scripted.watched() == set(files)


def test_a_link_is_watched_where_it_lies_and_where_it_leads(tmp_path, observer):
    for name in ("here", "dotfiles", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "aliases.yaml").touch()
    link = tmp_path / "here" / "aliases.yaml"
    link.unlink()
    link.symlink_to(tmp_path / "dotfiles" / "aliases.yaml")
    watcher = SourceWatcher({"aliases": link}, observer=lambda: observer)
    watcher.start()
    for folder in ("here", "dotfiles"):
        observer.tell(tmp_path / folder, event("modified", tmp_path / folder / "aliases.yaml"))
        assert watcher.wait(0) == {"aliases"}
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere" / "aliases.yaml")
    assert watcher.renew()
    assert watcher.wait(0) == {"aliases"}
    assert sorted(observer.handlers) == [str(tmp_path / "elsewhere"), str(tmp_path / "here")]


def test_polling_watches_nothing_and_can_still_be_woken(files):
    watcher = SourceWatcher(files, polling=True, observer=lambda: pytest.fail("no observer is wanted"))
    watcher.start()
    assert watcher.alive()
    assert watcher.watched() == set()
    assert watcher.wait(0) is None
    assert not watcher.renew()
    watcher.wake("stop")
    assert next_hints(watcher) == {"stop"}
    watcher.restart()
    assert watcher.wait(0) == set(files)
    watcher.stop()


def test_a_signal_that_arrives_during_the_wait_ends_it(files):
    watcher = SourceWatcher(files, polling=True)
    before = signal.signal(signal.SIGUSR1, lambda *_: watcher.wake("reload"))
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        timer.start()
        assert next_hints(watcher) == {"reload"}
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


# --- Real ----------------------------------------------------------------------------------------------------------------


def test_a_commit_to_the_wal_of_a_live_database_is_seen(real, files):
    with open_elsewhere(files["db"], "INSERT INTO item_tags VALUES (1, 'x')"):
        assert next_hints(real) == {"db"}


def test_our_own_reading_gives_no_hint(real, files):
    with open_elsewhere(files["db"], "INSERT INTO item_tags VALUES (1, 'x')"):
        assert next_hints(real) == {"db"}
        files["config"].write_text("first")
        seen = {"db"}
        while "config" not in seen:  # everything the writer's start brought is behind us now
            seen |= next_hints(real)
        HermesSource(files["db"]).read()
        files["aliases"].write_text("after the read")
        hints = set()
        while "aliases" not in hints:
            hints |= next_hints(real)
        assert "db" not in hints


def test_reading_a_resting_database_gives_no_hint(real, files):
    HermesSource(files["db"]).read()
    files["aliases"].write_text("after the read")
    assert next_hints(real) == {"aliases"}


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
    assert set(threading.enumerate()) - before
    watcher.stop()
    watcher.stop()
    assert not [thread for thread in set(threading.enumerate()) - before if "inotify" not in thread.name.lower() and not thread.daemon]


def test_the_real_observer_outlives_a_handler_that_fails(real, files, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda self: 1 / 0)
    monkeypatch.setattr("kg2vault.storage.watcher._key", lambda name: 1 / 0)
    files["db"].write_bytes(b"x")
    assert "db" in next_hints(real)
    monkeypatch.undo()
    assert real.alive()
    files["config"].write_text("still there")
    assert "config" in next_hints(real)
