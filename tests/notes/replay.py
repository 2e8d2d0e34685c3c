"""A live reader played back: the newest tenth of a real database, item by item, through the real sync."""

import json
import math
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kg2vault.config import Config, LimitsConfig, VaultSettings
from kg2vault.settings import Place, Settings
from kg2vault.syncing import sync
from kg2vault.verifying import verify

WRITTEN = ("created", "updated", "retired")


class Reader:
    """A hermes.db that gets one item after the other."""

    def __init__(self, db: Path, growth: Path):
        self.db = db
        self._events = iter(growth.read_text(encoding="utf-8").splitlines())
        self._connection = sqlite3.connect(db)
        self.clock = 1_700_000_000

    def next(self):
        """Add the next item and return its tags, None when there is no more."""
        line = next(self._events, None)
        if line is None:
            return None
        item = json.loads(line)
        with self._connection as connection:
            connection.execute("INSERT OR IGNORE INTO feeds(url, title) VALUES (?, ?)", (item["feed_url"], item["feed_title"]))
            (feed,) = connection.execute("SELECT id FROM feeds WHERE url = ?", (item["feed_url"],)).fetchone()
            row = [item[name] for name in ("guid", "title", "url", "summary", "published", "content_hash")]
            connection.execute("INSERT INTO items VALUES (?,?,?,?,?,?,?,?)", (item["id"], feed, *row))
            connection.executemany("INSERT INTO item_tags VALUES (?,?)", [(item["id"], tag) for tag in item["tags"]])
        for path in (self.db, Path(f"{self.db}-wal")):
            if path.exists():
                os.utime(path, (self.clock, self.clock))  # written a while ago: a sync need not fear that more is on its way
        self.clock += 10
        return item["tags"]

    def close(self):
        self._connection.close()


def settings_for(db: Path, vault: Path, aliases: Path, **sections) -> Settings:
    """Return settings as `gather` would, notes counting as settled at once."""
    config = Config(db=db, vault=VaultSettings(path=vault), limits=LimitsConfig(settle_seconds=0))
    place = Place(env={}, cwd=vault.parent, home=vault.parent)
    return Settings(replace(config, **sections), place, aliases, "--db")


@dataclass
class Calm:
    """What one replay wrote: for each item the notes written, of how many, and the ids written."""

    shares: list[float] = field(default_factory=list)
    written: list[tuple[list[str], dict[str, str]]] = field(default_factory=list)  # tags of the item, states by note id
    differences: list[str] = field(default_factory=list)

    def percentile(self, part: float) -> float:
        """Return the smallest share that at least `part` of the items stay within."""
        ranked = sorted(self.shares)
        return ranked[max(0, math.ceil(part * len(ranked)) - 1)]


def play(
    settings: Settings, reader: Reader, *, limit: int | None = None, verify_every: int = 1, after_first: Callable[[], object] = lambda: None
) -> Calm:
    """Sync once, do `after_first`, then sync once more after every item."""
    sync(settings)
    after_first()
    sync(settings)
    calm = Calm()
    while limit is None or len(calm.shares) < limit:
        tags = reader.next()
        if tags is None:
            break
        told = sync(settings).data
        written = {row["id"]: row["state"] for row in told["notes"] if row["state"] in WRITTEN}
        calm.shares.append(len(written) / sum(told["counts"].values()))
        calm.written.append((tags, written))
        if len(calm.shares) % verify_every == 0:
            calm.differences.extend(problem.message for problem in verify(settings).problems)
    reader.close()
    return calm
