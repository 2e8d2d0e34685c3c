"""When to look again: `SourceWatcher` turns events in the folders of a few files into the names of the files they may be about.

Layer 2. Events are hints: a name says "ask the gate", nothing more, so a lost or superfluous event costs a moment and never a wrong vault.
Folders are watched and not files, because a file that is replaced takes its watch along. The observer's thread only ever puts names into
a queue.
"""

from __future__ import annotations

import os
import queue
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from kg2vault.storage.fingerprint import SIBLINGS

Identity = tuple[int, int]

# Reading a live WAL database opens its -wal for writing and closes it again, and as root sets its owner: measured.
_OUR_OWN_DOING = {"opened", "closed", "closed_no_write", "attrib"}
_NEVER_NEWS = {"opened", "closed_no_write"}
_JOIN_SECONDS = 5.0


class Emitter(Protocol):
    """A thread that watches one folder."""

    def is_alive(self) -> bool:
        """Tell whether it still runs."""
        ...


class Observer(Protocol):
    """The part of watchdog's observers that is used; the seam at which tests script events."""

    @property
    def emitters(self) -> Iterable[Emitter]:
        """The threads that watch, one a folder."""
        ...

    def schedule(self, event_handler: Any, path: str, *, recursive: bool = False) -> Any:
        """Watch a folder and hand its events to `event_handler.dispatch`; raises OSError. Returns the watch."""
        ...

    def unschedule(self, watch: Any) -> None:
        """Forget a watch."""
        ...

    def start(self) -> None:
        """Start the thread that hands out events."""
        ...

    def stop(self) -> None:
        """Ask all threads to end."""
        ...

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end; raises RuntimeError when it was never started."""
        ...

    def is_alive(self) -> bool:
        """Tell whether the thread that hands out events still runs."""
        ...


def system_observer() -> Observer:
    """Return watchdog's observer for this system; imported here because it takes 80 ms."""
    from watchdog.observers import Observer as SystemObserver

    return SystemObserver()


class SourceWatcher:
    """Watches named files, e.g. {"db": …, "config": …, "aliases": …}; "db" stands for its -wal and -journal as well.

    With `polling` there are no events at all: `wait()` sleeps, and the caller asks the gate when it wakes.
    """

    def __init__(self, files: Mapping[str, Path], *, polling: bool = False, observer: Callable[[], Observer] = system_observer) -> None:
        self.files = {name: Path(os.path.abspath(path)) for name, path in files.items()}  # noqa: PTH100 - links are watched themselves
        self.polling = polling
        self._make_observer = observer
        self._observer: Observer | None = None
        self._watches: dict[str, tuple[Identity, Any]] = {}
        self._hints: queue.SimpleQueue[str | _Gone] = queue.SimpleQueue()  # its put() is safe in a signal handler

    def start(self) -> None:
        """Begin to watch; a folder that is not there, or that the system won't watch, is left to `renew()` and the caller's poll."""
        if self.polling or self._observer is not None:
            return
        self._observer = self._make_observer()
        self._observer.start()
        self._watch_folders()

    def stop(self) -> None:
        """End all threads; calling it twice is fine, never raises."""
        observer, self._observer = self._observer, None
        self._watches.clear()
        if observer is None:
            return
        with suppress(Exception):
            observer.stop()
        with suppress(Exception):
            observer.join(_JOIN_SECONDS)

    def restart(self) -> None:
        """Begin anew with fresh threads, and hint at everything: what happened meanwhile was not seen."""
        self.stop()
        self.start()
        for name in self.files:
            self._hints.put(name)

    def alive(self) -> bool:
        """Tell whether the observer and every emitter still run. An exception in a handler ends only the first (measured)."""
        if self.polling:
            return True
        observer = self._observer
        return observer is not None and observer.is_alive() and all(emitter.is_alive() for emitter in list(observer.emitters))

    def watched(self) -> frozenset[str]:
        """Return the names of the files whose folder is watched now; the others depend on the poll."""
        return frozenset(name for name, path in self.files.items() if all(folder in self._watches for folder in _folders(path)))

    def renew(self) -> bool:
        """Follow folders that came, went, were replaced or repointed since; return whether anything changed. Call it at every poll.

        Each file concerned is hinted at.
        """
        if self._observer is None:
            return False
        stale = [folder for folder, (identity, _) in self._watches.items() if identity != _identity(folder)]
        wanted = {folder for path in self.files.values() for folder in _folders(path)}
        stale += [folder for folder in self._watches if folder not in wanted and folder not in stale]
        for folder in stale:
            self._forget(folder)
        changed = {*stale, *self._watch_folders()}
        for name, path in self.files.items():
            if changed.intersection(_folders(path)):
                self._hints.put(name)
        return bool(changed)

    def wake(self, name: str) -> None:
        """Make `wait()` return with `name`; may be called from any thread and from a signal handler."""
        self._hints.put(name)

    def wait(self, timeout: float) -> frozenset[str] | None:
        """Wait up to `timeout` seconds for hints; return the names that came, None when there were none."""
        names: set[str] = set()
        deadline = time.monotonic() + timeout
        while not names:
            with suppress(queue.Empty):
                self._take(self._hints.get(timeout=max(0.0, deadline - time.monotonic())), names)
            with suppress(queue.Empty):
                while True:
                    self._take(self._hints.get_nowait(), names)
            if time.monotonic() >= deadline:
                break
        return frozenset(names) or None

    def _take(self, hint: str | _Gone, names: set[str]) -> None:
        if isinstance(hint, str):
            names.add(hint)
            return
        self._forget(hint.folder)  # its successor may get the same inode, so renew() could not tell
        names.update(name for name, path in self.files.items() if hint.folder in _folders(path))

    def _watch_folders(self) -> set[str]:
        begun: set[str] = set()
        observer = self._observer
        for folder in sorted({folder for path in self.files.values() for folder in _folders(path)}):
            identity = _identity(folder)
            if observer is None or folder in self._watches or identity is None:
                continue
            with suppress(OSError, RuntimeError):  # no permission, no inotify watch left, no thread left: the poll sees to it
                watch = observer.schedule(_Hints(folder, self._names_in(folder), self._hints), folder, recursive=False)
                self._watches[folder] = (identity, watch)
                begun.add(folder)
        return begun

    def _forget(self, folder: str) -> None:
        _, watch = self._watches.pop(folder, (None, None))
        if self._observer is not None and watch is not None:
            with suppress(Exception):  # a watch whose folder is gone may be half forgotten already
                self._observer.unschedule(watch)

    def _names_in(self, folder: str) -> dict[str, str]:
        """Map each file name of interest in a folder to the name of the file it belongs to."""
        names = {}
        for name, path in self.files.items():
            for place in (path, Path(os.path.realpath(path))):
                if str(place.parent) == folder:
                    suffixes = ("", *SIBLINGS) if name == "db" else ("",)
                    names.update({_key(place.name + suffix): name for suffix in suffixes})
        return names


class _Gone:
    """The hint that a watched folder itself was moved or deleted."""

    def __init__(self, folder: str) -> None:
        self.folder = folder


class _Hints:
    """What the observer's thread calls; it must not raise, because that would end the thread."""

    def __init__(self, folder: str, names: Mapping[str, str], hints: queue.SimpleQueue[str | _Gone]) -> None:
        self._folder = folder
        self._names = names
        self._hints = hints

    def dispatch(self, event: Any) -> None:
        """Put the name an event is about into the queue."""
        try:
            kind = event.event_type
            if kind in _NEVER_NEWS:
                return
            for path in (event.src_path, getattr(event, "dest_path", "")):
                self._note(os.fsdecode(path), kind)
        except Exception:  # whatever it was, something happened
            for name in set(self._names.values()):
                self._hints.put(name)

    def _note(self, path: str, kind: str) -> None:
        if path == self._folder:
            if kind in ("deleted", "moved"):
                self._hints.put(_Gone(self._folder))
            return
        file = os.path.basename(path)  # noqa: PTH119 - of an event's path, which may not exist any more
        name = self._names.get(_key(file))
        if name is None or (kind in _OUR_OWN_DOING and file.endswith(SIBLINGS)):
            return
        self._hints.put(name)


def _folders(path: Path) -> tuple[str, ...]:
    """Return the folder of a file and, when it is a link, the folder of the file it points to."""
    return tuple(dict.fromkeys((str(path.parent), str(Path(os.path.realpath(path)).parent))))


def _identity(folder: str) -> Identity | None:
    try:
        found = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()  # macOS reports names in another form than they were given
