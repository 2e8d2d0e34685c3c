"""What the daemon's stories share."""

import pytest

from tests.daemon.world import World


@pytest.fixture
def world(tmp_path):
    (tmp_path / "world").mkdir()
    return World(tmp_path / "world")
