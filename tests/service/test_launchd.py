"""The launch agent, and a launchctl with the real one's habits."""

import plistlib

import pytest

from kg2vault.errors import ServiceError
from kg2vault.service.base import Completed
from kg2vault.service.install import install, status, uninstall
from tests.service.conftest import make_machine, make_spec


def test_the_plist_is_read_back_as_it_was_meant_whatever_the_path_holds(mac):
    plist = plistlib.loads(mac.manager.render(mac.spec))
    log = f"{mac.home}/Library/Logs/kg2vault/{mac.spec.label}.log"
    assert plist == {
        "Label": mac.spec.label,
        "ProgramArguments": list(mac.spec.arguments),
        "EnvironmentVariables": dict(mac.spec.environment("launchd")),
        "WorkingDirectory": "/",
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": 30,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    assert str(mac.home / mac.spec.vault) in plist["ProgramArguments"]


def test_no_path_needs_a_shell_or_a_home_to_be_understood(mac):
    plist = plistlib.loads(mac.manager.render(make_spec(mac.home, vault="v")))
    paths = [*plist["ProgramArguments"], plist["StandardOutPath"], plist["WorkingDirectory"], *plist["EnvironmentVariables"].values()]
    assert not [path for path in paths if "~" in path or "$" in path]
    assert plist["ProgramArguments"][0] == f"{mac.home}/tools/bin/python"


def test_the_folders_that_a_new_mac_does_not_have_are_made(mac):
    assert not (mac.home / "Library").exists()
    install(mac.manager, mac.spec)
    assert mac.file.parent == mac.home / "Library" / "LaunchAgents"
    assert mac.file.stat().st_mode & 0o777 == 0o644, "launchd refuses a plist that others can write"
    assert [entry.name for entry in mac.file.parent.iterdir()] == [mac.file.name]


def test_a_label_that_lingers_after_bootout_is_waited_for(tmp_path):
    mac = make_machine(tmp_path / "me", "launchd", lingers=2.0)
    install(mac.manager, mac.spec)
    changed = make_spec(mac.home, options=("--polling",))
    outcome = install(mac.manager, changed)
    assert (outcome.action, outcome.loaded) == ("updated", True)
    assert 2.0 <= sum(mac.time.slept) < 3.5
    assert mac.fake.jobs[mac.spec.label]["ProgramArguments"][-1] == "--polling"
    assert mac.fake.changes() == ["enable", "bootstrap", "bootout", "enable", "bootstrap"]


def test_error_5_once_is_tried_again(tmp_path):
    mac = make_machine(tmp_path / "me", "launchd", io_errors=1)
    assert install(mac.manager, mac.spec).loaded
    assert mac.fake.changes() == ["enable", "bootstrap", "bootstrap"]


def test_error_5_twice_is_reported_and_the_next_install_finishes_the_work(tmp_path):
    mac = make_machine(tmp_path / "me", "launchd", io_errors=2)
    with pytest.raises(ServiceError, match="Bootstrap failed: 5: Input/output error") as caught:
        install(mac.manager, mac.spec)
    assert caught.value.exit_code == 8
    assert mac.fake.changes() == ["enable", "bootstrap", "bootstrap"]
    assert install(mac.manager, mac.spec).action == "installed"
    assert mac.fake.running(mac.spec.label)


def test_a_label_that_never_goes_ends_in_an_error_and_the_old_file_stays(tmp_path):
    mac = make_machine(tmp_path / "me", "launchd", lingers=1e9)
    install(mac.manager, mac.spec)
    before = mac.file.read_bytes()
    with pytest.raises(ServiceError, match=r"still holds .* 45 s after"):
        install(mac.manager, make_spec(mac.home, options=("--polling",)))
    assert mac.file.read_bytes() == before
    assert [entry.name for entry in mac.file.parent.iterdir()] == [mac.file.name]
    assert sum(mac.time.slept) < 60


def test_a_label_the_user_once_disabled_is_enabled_before_it_is_loaded(mac):
    mac.fake.disabled.add(mac.spec.label)
    assert install(mac.manager, mac.spec).loaded


@pytest.mark.parametrize("act", [lambda mac: install(mac.manager, mac.spec), lambda mac: uninstall(mac.manager, mac.spec.label)])
def test_over_ssh_without_a_session_it_says_so_and_writes_nothing(tmp_path, act):
    mac = make_machine(tmp_path / "me", "launchd", session=False)
    with pytest.raises(ServiceError, match="no graphical session") as caught:
        act(mac)
    assert caught.value.code == "service-no-session"
    assert not (mac.home / "Library").exists()


def test_status_over_ssh_still_says_what_is_on_disk(mac):
    install(mac.manager, mac.spec)
    mac.fake.session = False
    seen = status(mac.manager, mac.spec)
    assert (seen.installed, seen.job.loaded, seen.drift) == (True, False, None)
    assert "no graphical session" in seen.unreachable


def test_status_reads_the_jobs_own_lines_not_those_of_its_endpoints(mac):
    install(mac.manager, mac.spec)
    job = status(mac.manager, mac.spec).job
    assert (job.loaded, job.running, job.pid, job.last_exit) == (True, True, 4711, None)
    mac.fake.end_job(mac.spec.label, 78)
    job = status(mac.manager, mac.spec).job
    assert (job.loaded, job.running, job.pid, job.last_exit, job.detail) == (True, False, None, 78, "not running")


def test_an_unknown_complaint_of_launchctl_is_passed_on(mac):
    mac.fake._print = lambda _target: Completed(64, "", "Unrecognized target specifier.\n")
    with pytest.raises(ServiceError, match=r"Unrecognized target specifier\. \(exit code 64\)"):
        install(mac.manager, mac.spec)


@pytest.mark.parametrize("data", [b"", b"not xml", b"<plist><dict>", b"<plist><array/></plist>", b"bplist00garbage"])
def test_a_damaged_plist_is_drift_not_a_crash(mac, data):
    install(mac.manager, mac.spec)
    mac.file.write_bytes(data)
    seen = status(mac.manager, mac.spec)
    assert "cannot be read" in seen.drift
    assert seen.missing == ()
    assert install(mac.manager, mac.spec).action == "updated"
