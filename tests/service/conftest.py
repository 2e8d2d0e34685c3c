"""One vault with a hostile name, and each system with its stand-in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kg2vault.service.install import manager_for
from kg2vault.service.spec import ServiceSpec
from tests.service.systems import FakeLaunchctl, FakeSystemctl, FakeTime

HOSTILE = "R&D <\"'notes'\" > 100% $HOME ${x} $$ \\ é日"


def make_spec(home: Path, vault: str = HOSTILE, **changes) -> ServiceSpec:
    given = {
        "interpreter": str(home / "tools" / "bin" / "python"),
        "vault": str(home / vault),
        "db": str(home / ".hermes" / f"{vault}.db"),
        "config": str(home / vault / "config.yaml"),
        "aliases": str(home / vault / "aliases.yaml"),
        "logs": str(home / "Library" / "Logs" / "kg2vault"),
        "home": str(home),
    }
    return ServiceSpec(**{**given, **changes})


@dataclass
class Machine:
    home: Path
    manager: Any
    fake: Any
    time: FakeTime
    spec: ServiceSpec

    @property
    def file(self) -> Path:
        return self.manager.file_of(self.spec.label)


def make_machine(home: Path, system: str, **habits) -> Machine:
    home.mkdir(exist_ok=True)
    time = FakeTime()
    fake = FakeLaunchctl(time, **habits) if system == "launchd" else FakeSystemctl(home / ".config" / "systemd" / "user", **habits)
    manager = manager_for(system, platform="", home=home, uid=501, env={}, runner=fake, timing=time.timing())
    return Machine(home, manager, fake, time, make_spec(home))


@pytest.fixture(params=["launchd", "systemd"])
def machine(request, tmp_path):
    return make_machine(tmp_path / "me", request.param)


@pytest.fixture
def mac(tmp_path):
    return make_machine(tmp_path / "me", "launchd")


@pytest.fixture
def linux(tmp_path):
    return make_machine(tmp_path / "me", "systemd")
