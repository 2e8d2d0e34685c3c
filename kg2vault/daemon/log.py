"""What the daemon writes down: `DaemonLog`, to standard error or to a file that is rotated, with repeated errors collapsed.

Layer 3. No note content: messages are counts, durations, paths and reasons. One and the same complaint is written once an hour, and its
count when it ends.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from kg2vault.errors import ConfigError

MAX_BYTES, BACKUPS = 1_000_000, 3
AGAIN_SECONDS = 3600.0
_FORMAT = "%(asctime)s %(levelname)s %(message)s"


class DaemonLog:
    """Says each fact once; `now` is a clock that never goes back, in seconds."""

    def __init__(self, logger: logging.Logger, now: Callable[[], float]) -> None:
        self._logger, self._now = logger, now
        self._said: dict[str, tuple[str, float, int]] = {}  # topic → complaint, when it was written, how often it came since

    def fact(self, message: str, *values: object) -> None:
        """Write something that went as it should."""
        self._logger.info(message, *values)

    def complain(self, topic: str, complaint: str) -> None:
        """Write what is wrong with `topic`, unless that stands there already."""
        now = self._now()
        before, at, count = self._said.get(topic, ("", 0.0, 0))
        if before == complaint and now - at < AGAIN_SECONDS:
            self._said[topic] = (before, at, count + 1)
            return
        if before == complaint:
            self._logger.warning("%s (%d times in the last hour)", complaint, count + 1)
        else:
            self.settle(topic)
            self._logger.warning("%s", complaint)
        self._said[topic] = (complaint, now, 0)

    def settle(self, topic: str) -> None:
        """Write that a complaint is over, and how often it came without being written."""
        said = self._said.pop(topic, None)
        if said is not None and said[2]:
            self._logger.info("Over after %d more %s: %s", said[2], "time" if said[2] == 1 else "times", said[0])

    def keep_to(self, topics: set[str], prefix: str) -> None:
        """Settle every topic that begins with `prefix` and is not among `topics`."""
        for topic in [topic for topic in self._said if topic.startswith(prefix) and topic not in topics]:
            self.settle(topic)


def open_log(file: Path | None, verbose: int = 0, quiet: bool = False) -> logging.Logger:
    """Return the daemon's logger, anew for each call; raises ConfigError when the file can't be written."""
    logger = logging.getLogger("kg2vault.daemon")
    close_log(logger)
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handler = RotatingFileHandler(file, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise ConfigError(f"The log {file} cannot be written: {error.strerror or error}.", path=str(file)) from error
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose > 1 else logging.INFO)
    logger.propagate = False
    return logger


def close_log(logger: logging.Logger) -> None:
    """Let go of the logger's file."""
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
