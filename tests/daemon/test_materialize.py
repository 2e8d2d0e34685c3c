"""`watch.materialize`: the daemon's job also writes the kg_ tables, and its own write never wakes it."""

import sqlite3

import pytest

from kg2vault.daemon.job import after_sync
from kg2vault.settings import Options, Place, gather
from kg2vault.storage.hermes import HermesSource


@pytest.mark.parametrize("wanted", [True, False])
def test_the_tables_are_written_only_when_asked_for_and_wake_nobody(wanted, topics, tmp_path):
    config = tmp_path / "settings.yaml"
    config.write_text(f"watch:\n  materialize: {str(wanted).lower()}\n")
    settings = gather(Options(config=config, db=topics.path, vault=tmp_path), Place(env={}, cwd=tmp_path, home=tmp_path))
    before = HermesSource(topics.path).fingerprint()
    after_sync(settings)
    connection = sqlite3.connect(topics.path)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'kg!_%' ESCAPE '!'")}
    connection.close()
    assert ("kg_edges" in tables) is wanted
    assert HermesSource(topics.path).fingerprint() == before
