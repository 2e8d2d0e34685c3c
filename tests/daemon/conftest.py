"""What the daemon's stories share."""

import pytest

from tests.daemon.real_world import RealWorld
from tests.daemon.world import World


@pytest.fixture
def world(tmp_path):
    (tmp_path / "world").mkdir()
    return World(tmp_path / "world")


@pytest.fixture
def real_world(tmp_path, topics):
    (tmp_path / "world").mkdir()
    return RealWorld(tmp_path / "world", topics)
