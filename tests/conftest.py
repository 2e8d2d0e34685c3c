"""What every test may use: databases with the reader's schema, the real corpora, and a home folder of one's own."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "kg2vault",
    deadline=None,
    derandomize=not os.environ.get("KG2VAULT_RANDOM"),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("kg2vault")

CORPORA = Path(__file__).resolve().parents[2] / "shared" / "corpora"

SCHEMA = """
CREATE TABLE feeds(id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, title TEXT, last_fetched TEXT);
CREATE TABLE items(id INTEGER PRIMARY KEY, feed_id INTEGER REFERENCES feeds(id), guid TEXT, title TEXT NOT NULL, url TEXT,
    summary TEXT NOT NULL DEFAULT '', published TEXT NOT NULL DEFAULT (datetime('now')), content_hash TEXT NOT NULL, UNIQUE(feed_id, guid));
CREATE TABLE item_tags(item_id INTEGER NOT NULL REFERENCES items(id), tag TEXT NOT NULL, PRIMARY KEY (item_id, tag));
"""


class Database:
    """A hermes.db that a story can write to."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(path) as connection:
            connection.executescript(SCHEMA)
            connection.execute("INSERT INTO feeds VALUES (1, 'https://example.org/feed', 'Example feed', NULL)")
        connection.close()

    def run(self, sql, parameters=()):
        connection = sqlite3.connect(self.path)
        with connection:
            connection.execute(sql, parameters)
        connection.close()

    def add(self, *tags, title=None, url="https://example.org/{id}", published=None, item_id=None):
        """Add an item with tags and return its id."""
        connection = sqlite3.connect(self.path)
        with connection:
            number = item_id or connection.execute("SELECT coalesce(max(id), 0) + 1 FROM items").fetchone()[0]
            connection.execute(
                "INSERT INTO items VALUES (?, 1, ?, ?, ?, '', ?, 'x')",
                (
                    number,
                    f"g{number}",
                    title if title is not None else f"Item {number}",
                    url.format(id=number) if url is not None else None,
                    published or f"2026-01-{(number - 1) % 28 + 1:02d} 10:00:00",
                ),
            )
            connection.executemany("INSERT OR IGNORE INTO item_tags VALUES (?, ?)", [(number, tag) for tag in tags])
        connection.close()
        return number

    def untag(self, tag):
        self.run("DELETE FROM item_tags WHERE tag = ?", (tag,))


@pytest.fixture
def database(tmp_path):
    """An empty hermes.db."""
    return Database(tmp_path / "reader" / "hermes.db")


@pytest.fixture
def topics(database):
    """A hermes.db with two groups of three concepts that touch."""
    for _ in range(2):
        database.add("python", "django", "web")
        database.add("rust", "wasm", "compilers")
    for _ in range(2):
        database.add("web", "wasm")
    return database


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Keep every test, and every process it starts, out of the real home folder."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in [key for key in os.environ if key.startswith("XDG_")] + ["ATTEST_DB", "RSS_DB", "KG2VAULT_CONFIG"]:
        monkeypatch.delenv(name, raising=False)


def corpus(name, tmp_path, file="hermes.db"):
    """Return a writable copy of a real database, or skip."""
    source = CORPORA / name / file
    if not source.exists():
        pytest.skip("the real corpora are not here")
    copy = tmp_path / f"{name}-{file}"
    shutil.copyfile(source, copy)
    copy.chmod(0o644)
    return copy
