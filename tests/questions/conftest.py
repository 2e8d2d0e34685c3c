r"""A small zoo whose graph can be worked out on paper.

    ant --3-- bee        elk --2-- fox        gnu --2-- hen
      \       /            \       /
      2\     /2            4\     /2
        \   /                \   /
         cat ------- 2 ------- dog

And what is in no graph: yak, on one item only, and the pair of ant and fox, which share one item.
"""

import sqlite3
import threading
from contextlib import closing

import pytest

from kg2vault.mcp_server import Tools
from kg2vault.settings import Options, Place, gather
from kg2vault.standing import Follower
from tests.e2e.conftest import Terminal

ZOO = {
    ("ant", "bee"): 3,
    ("ant", "cat"): 2,
    ("bee", "cat"): 2,
    ("cat", "dog"): 2,
    ("dog", "elk"): 4,
    ("dog", "fox"): 2,
    ("elk", "fox"): 2,
    ("gnu", "hen"): 2,
}


def fill(database, pairs):
    """Add an item for every pair of tags, all in one transaction."""
    with closing(sqlite3.connect(database.path)) as connection, connection:
        start = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM items").fetchone()[0]
        for number, pair in enumerate(pairs, start):
            connection.execute(
                "INSERT INTO items VALUES (?, 1, ?, ?, '', '', '2026-01-01 10:00:00', 'x')", (number, f"g{number}", f"Item {number}")
            )
            connection.executemany("INSERT INTO item_tags VALUES (?, ?)", [(number, tag) for tag in pair])
    return database


def add_twice(database, pairs):
    return fill(database, [pair for pair in pairs for _ in range(2)])


@pytest.fixture
def zoo(database):
    return fill(database, [*(pair for pair, weight in ZOO.items() for _ in range(weight)), ("ant", "fox"), ("yak", "dog")])


@pytest.fixture
def keeper(zoo, vault, tmp_path):
    """A terminal on the zoo, with a vault that was never synced."""
    return make_terminal(zoo.path, vault, tmp_path)


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    return folder


def make_terminal(path, vault, tmp_path):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "settings.yaml").write_text("limits:\n  settle_seconds: 0\n", encoding="utf-8")
    return Terminal(path, vault, work, "--config", str(work / "settings.yaml"))


def settings_for(path, cwd, vault=None, **options):
    return gather(Options(db=path, vault=vault, **options), Place(env={}, cwd=cwd, home=cwd))


def tools_for(settings):
    return Tools(lambda: settings, Follower(), threading.Lock())


@pytest.fixture
def tools(zoo, tmp_path):
    """The MCP tools, called without a client."""
    return tools_for(settings_for(zoo.path, tmp_path))


@pytest.fixture
def conn(zoo):
    with closing(sqlite3.connect(zoo.path)) as connection:
        yield connection


def rows(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def table_dump(path):
    """Return the contents of the three tables, in the order in which they lie."""
    return {name: rows(path, f"SELECT * FROM {name}") for name in ("kg_nodes", "kg_edges", "kg_meta")}


@pytest.fixture
def terminal(topics, vault, tmp_path):
    """A terminal on the database of the story."""
    return make_terminal(topics.path, vault, tmp_path)
