"""The service's commands, over stand-ins of launchd and systemd; and what the doctor says of a service."""

import json
import os
import plistlib
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kg2vault import __version__
from kg2vault.cli import command_group, services
from kg2vault.cli.services import log_file, service_checks, spec_of
from kg2vault.errors import SourceMissing
from kg2vault.settings import Options, Place, gather
from kg2vault.status import look
from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.state_file import DaemonFile, DaemonState
from tests.service.conftest import make_machine

NAME = 'R&D <"notes"> 100% é'


@pytest.fixture(params=["launchd", "systemd"])
def machine(request, tmp_path, monkeypatch):
    made = make_machine(tmp_path / "home", request.param)
    monkeypatch.setattr(services, "manager", lambda system, place: made.manager)
    return made


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / NAME
    (folder / ".obsidian").mkdir(parents=True)
    return folder


@pytest.fixture
def options(topics, vault):
    return Options(db=topics.path, vault=vault)


@pytest.fixture
def ask(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        given = ["--db", str(options.db), "--vault", str(options.vault), "--json", *words]
        result = CliRunner().invoke(command_group, given)
        return json.loads(result.stdout)

    return run


def test_installing_twice_does_nothing_the_second_time_and_uninstalling_leaves_the_vault(machine, ask, vault):
    first, second = ask("service", "install"), ask("service", "install")
    assert (first["data"]["did"], second["data"]["did"]) == ("installed", "unchanged")
    assert machine.fake.running(first["data"]["label"])
    before = sorted(vault.rglob("*"))
    assert ask("service", "uninstall")["data"]["did"] == "removed"
    assert ask("service", "uninstall")["data"]["did"] == "absent"
    assert sorted(vault.rglob("*")) == before


def test_the_service_runs_watch_with_absolute_paths_and_the_same_database_and_vault(machine, ask, options):
    path = ask("service", "install")["data"]["path"]
    words = machine.manager.arguments_in(Path(path).read_bytes())
    assert words[1:] == ("-m", "kg2vault", "--db", str(options.db), "--vault", str(options.vault), "watch")
    assert Path(words[0]).exists()


def test_printing_shows_the_file_and_writes_none(machine, ask):
    printed = ask("service", "print")["data"]
    assert not Path(printed["path"]).exists()
    assert ask("service", "install")["data"]["path"] == printed["path"]
    assert Path(printed["path"]).read_text() == printed["text"]


def test_either_systems_file_can_be_printed_anywhere(ask):
    plist = plistlib.loads(ask("service", "print", "--system", "launchd")["data"]["text"].encode())
    assert plist["ProgramArguments"][-1] == "watch"
    assert "ExecStart=" in ask("service", "print", "--system", "systemd")["data"]["text"]


def test_status_is_1_until_a_service_is_installed_and_as_it_should_be(machine, ask):
    assert ask("service", "status")["exit_code"] == 1
    ask("service", "install")
    assert ask("service", "status")["exit_code"] == 0


def test_polling_that_was_asked_for_at_installing_is_no_drift(machine, ask):
    path = ask("service", "install", "--polling")["data"]["path"]
    assert machine.manager.arguments_in(Path(path).read_bytes())[-1] == "--polling"
    assert ask("service", "status")["exit_code"] == 0


def test_a_service_of_a_vault_that_is_gone_from_the_config_is_found_by_its_label(machine, ask, tmp_path, monkeypatch):
    ask("service", "install")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command_group, ["--json", "service", "uninstall"])
    assert json.loads(result.stdout)["data"]["did"] == "removed"


def test_a_database_that_only_this_shell_or_folder_knows_is_named_in_the_service(topics, vault, tmp_path):
    by_variable = Place(env={"ATTEST_DB": str(topics.path)}, cwd=tmp_path, home=tmp_path)
    options = Options(vault=vault)
    assert spec_of(options, gather(options, by_variable), by_variable, "systemd").db == str(topics.path)
    by_folder = Place(env={}, cwd=topics.path.parent, home=tmp_path)
    assert spec_of(options, gather(options, by_folder), by_folder, "systemd").db == str(topics.path)
    nowhere = Place(env={}, cwd=tmp_path, home=tmp_path)
    with pytest.raises(SourceMissing):
        spec_of(options, gather(options, nowhere), nowhere, "systemd")
    unmounted = Options(vault=vault, db=tmp_path / "unmounted" / "hermes.db")
    assert spec_of(unmounted, gather(unmounted, nowhere), nowhere, "systemd").db == str(unmounted.db)


def test_what_the_config_says_is_left_to_the_config_so_that_changing_it_is_no_drift(topics, vault, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(f"db: {topics.path}\nvault:\n  path: {json.dumps(str(vault), ensure_ascii=False)}\n")
    (tmp_path / "aliases.yaml").write_text("aliases: {}\n")
    place = Place(env={"XDG_STATE_HOME": "/elsewhere/state"}, cwd=tmp_path, home=tmp_path)
    spec = spec_of(Options(), gather(Options(), place), place, "systemd")
    assert (spec.config, spec.db, spec.aliases) == (str(config), None, None)
    assert spec.env == (("XDG_STATE_HOME", "/elsewhere/state"),), "else status would look for the state somewhere else"


def test_under_launchd_the_daemon_rotates_its_log_itself_and_elsewhere_it_does_not(tmp_path):
    found = log_file({"KG2VAULT_SERVICE": "launchd"}, "/vault", tmp_path)
    assert found is not None
    assert found.parent == tmp_path / "Library" / "Logs" / "kg2vault"
    assert log_file({"KG2VAULT_SERVICE": "systemd"}, "/vault", tmp_path) is None
    assert log_file({}, "/vault", tmp_path) is None


# --- the doctor


@pytest.fixture
def checks(options, tmp_path, machine):
    place = Place(cwd=tmp_path, home=tmp_path / "home")

    def found():
        made = {check.name: check for check in service_checks(options, place)(look(gather(options, place)))}
        assert all(check.hint for check in made.values() if check.level != "green")
        return made

    return found


def test_no_service_is_a_piece_of_advice(checks):
    assert {name: check.level for name, check in checks().items()} == {"service": "yellow"}


def test_a_service_that_is_well_is_green(checks, ask):
    ask("service", "install")
    assert {name: check.level for name, check in checks().items()} == dict.fromkeys(("service", "service file", "service paths"), "green")


def test_a_service_that_has_ended_is_red(checks, ask, machine):
    label = ask("service", "install")["data"]["label"]
    machine.fake.end_job(label, 0)
    assert checks()["service"].level == "red"


def test_a_service_file_of_an_older_version_is_yellow_and_names_what_differs(checks, ask):
    path = Path(ask("service", "install")["data"]["path"])
    path.write_bytes(path.read_bytes().replace(__version__.encode(), b"0.0.1"))
    found = checks()["service file"]
    assert found.level == "yellow"
    assert "Environment" in found.message


def test_an_interpreter_that_an_upgrade_removed_is_red(checks, ask, machine):
    path = Path(ask("service", "install")["data"]["path"])
    data = path.read_bytes()
    path.write_bytes(data.replace(machine.manager.arguments_in(data)[0].encode(), b"/opt/gone/bin/python3"))
    found = checks()
    assert found["service paths"].level == "red"
    assert "/opt/gone/bin/python3" in found["service paths"].message


def test_access_that_was_denied_to_the_daemon_alone_names_the_program_to_allow(checks, ask, vault, monkeypatch):
    ask("service", "install")
    monkeypatch.setattr(sys, "platform", "darwin")
    fault = {
        "code": "vault", "message": f"The vault {vault} cannot be opened: Operation not permitted.", "hint": None, "path": None,
        "since": "2026-11-01T10:00:00+00:00", "tries": 3,
    }  # fmt: skip
    with DaemonLock(vault).hold():
        DaemonFile(vault).save(DaemonState(pid=os.getpid(), fault=fault))
        found = checks()["access"]
    assert found.level == "red"
    assert os.path.realpath(sys.executable) in found.hint
    assert "Full Disk Access" in found.hint
