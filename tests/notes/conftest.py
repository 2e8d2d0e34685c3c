"""A terminal with settings of one's own."""

import pytest

from tests.e2e.conftest import Terminal, no_aliases, vault

__all__ = ["no_aliases", "vault"]


@pytest.fixture
def with_settings(tmp_path, vault, database):
    """Return a function that gives a terminal whose settings file holds a text."""

    def make(text, db=None):
        config = tmp_path / "settings.yaml"
        config.write_text(f"limits:\n  settle_seconds: 0\n{text}", encoding="utf-8")
        return Terminal(db or database.path, vault, tmp_path, "--config", str(config))

    return make
