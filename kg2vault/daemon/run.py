"""`watch()`: the daemon in this process, from reading the settings to the exit code.

Layer 3. The one place where the loop meets the real clock, real events, real signals and real children.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kg2vault.daemon.child import ChildSync
from kg2vault.daemon.diary import Diary
from kg2vault.daemon.inforce import InForce
from kg2vault.daemon.log import DaemonLog, close_log, open_log
from kg2vault.daemon.loop import RELOAD, Daemon, Ending, Ports, Watcher
from kg2vault.errors import ConfigError, Kg2VaultError, LockHeldError
from kg2vault.settings import Options, Place
from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.hermes import HermesSource
from kg2vault.storage.state_file import DaemonFile
from kg2vault.storage.watcher import SourceWatcher
from kg2vault.unchanged import manifest_stamp


@dataclass(frozen=True, slots=True)
class Manner:
    """How `watch` was called: `log_file` is where to write when the settings name no file.

    A `patient` daemon waits its turn when the vault has one already: a service that ends is only started again, every half minute.
    """

    polling: bool = False
    patient: bool = False
    log_file: Path | None = None
    verbose: int = 0
    quiet: bool = False


def watch(options: Options, place: Place, manner: Manner) -> int:
    """Keep the vault in step until a signal comes; returns the exit code.

    Raises ConfigError when the settings cannot be used at all, and LockHeldError when the vault has a daemon already.
    """
    while True:
        try:
            inforce = InForce(options, place)
            vault = inforce.settings.vault()
            with DaemonLock(vault).hold(_say_that_we_wait(inforce, manner) if manner.patient else None):
                ending = _serve(inforce, vault, manner)
        except ConfigError as error:
            _leave_word(options, error)
            raise
        if ending.upgraded:
            sys.stderr.flush()
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        if not ending.again:
            return int(ending.code)


def _leave_word(options: Options, error: ConfigError) -> None:
    """Let `status` say why there is no daemon, where the command line alone names the vault, as that of a service does."""
    if options.vault is None:
        return
    with suppress(Kg2VaultError), DaemonLock(options.vault).hold():
        diary = Diary(DaemonFile(options.vault), time.monotonic, time.time)
        diary.fault("fault", {"code": error.code, "message": error.message, "hint": error.hint, "path": error.path})
        diary.note(stopped=diary.stamp(), exit_code=int(error.exit_code))


def _log(inforce: InForce, manner: Manner) -> logging.Logger:
    return open_log(inforce.settings.config.watch.log_file or manner.log_file, manner.verbose, manner.quiet)


def _say_that_we_wait(inforce: InForce, manner: Manner) -> Callable[[LockHeldError], None]:
    return lambda error: _log(inforce, manner).warning("%s Waiting for it to end.", error.message)


def _serve(inforce: InForce, vault: Path, manner: Manner) -> Ending:
    logger = _log(inforce, manner)
    child = ChildSync()
    ports = Ports(time.monotonic, time.time, random.random, _watcher, _gate, child, _kept, child.warm, child.cool)
    diary = Diary(DaemonFile(vault), time.monotonic, time.time)
    config = inforce.settings.config.origin
    diary.note(config=str(config) if config is not None else "")
    daemon = Daemon(inforce, ports, diary, DaemonLog(logger, time.monotonic), polling=manner.polling)
    try:
        with _signals(daemon, child):
            return daemon.run()
    except Exception:
        logger.exception("The daemon ended on a bug")
        raise
    finally:
        close_log(logger)


def _watcher(files: Mapping[str, Path], polling: bool) -> Watcher:
    return SourceWatcher(files, polling=polling)


def _gate(path: Path) -> str:
    return HermesSource(path).gate()


def _kept(vault: Path) -> str:
    try:
        return manifest_stamp(str(vault))
    except OSError:
        return ""


@contextmanager
def _signals(daemon: Daemon, child: ChildSync) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the daemon, and SIGHUP reload it, unless it came because the terminal is gone."""
    at_terminal = os.isatty(2)

    def stop(number: int, _frame: object) -> None:
        daemon.ask_to_stop(number)
        child.stop()

    def hang_up(number: int, frame: object) -> None:
        if at_terminal and not os.isatty(2):
            stop(number, frame)
        else:
            daemon.watcher.wake(RELOAD)

    wishes: dict[str, Callable[[int, object], None]] = {"SIGTERM": stop, "SIGINT": stop, "SIGHUP": hang_up}
    before = {name: signal.signal(getattr(signal, name), wish) for name, wish in wishes.items() if hasattr(signal, name)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
