"""When to look again: with a scripted observer, which can do what a system does only on bad days."""

import os
import signal
import threading
from types import SimpleNamespace

import pytest

from kg2vault.storage.watcher import SourceWatcher

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


def next_hints(watcher):
    return watcher.wait(PATIENCE)


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
