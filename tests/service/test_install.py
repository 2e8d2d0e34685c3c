"""Installing, reinstalling and uninstalling, the same story on both systems."""

import os
import subprocess
import sys

import pytest

from kg2vault.errors import ServiceError
from kg2vault.service.base import run_command
from kg2vault.service.install import drift, install, installed_labels, logs_for, manager_for, missing_paths, preview, status, uninstall
from tests.service.conftest import make_spec
from tests.service.systems import Killed


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_installing_twice_writes_the_same_bytes_and_the_second_does_nothing(machine):
    first = install(machine.manager, machine.spec)
    assert (first.action, first.loaded, first.path) == ("installed", True, str(machine.file))
    assert machine.fake.running(machine.spec.label)
    before, commands = machine.file.read_bytes(), machine.fake.changes()
    stamp = machine.file.stat()
    second = install(machine.manager, machine.spec)
    assert (second.action, second.loaded) == ("unchanged", True)
    assert "nothing was done" in second.hints[0]
    assert machine.file.read_bytes() == before == machine.manager.render(machine.spec)
    assert (machine.file.stat().st_mtime_ns, machine.file.stat().st_ino) == (stamp.st_mtime_ns, stamp.st_ino)
    assert machine.fake.changes() == commands


def test_a_changed_setting_rewrites_the_file_and_reloads_the_job(machine):
    install(machine.manager, machine.spec)
    changed = make_spec(machine.home, db=str(machine.home / "other.db"))
    assert drift(machine.manager, changed) is not None
    assert install(machine.manager, changed).action == "updated"
    assert machine.manager.arguments_in(machine.file.read_bytes()) == changed.arguments
    assert machine.fake.running(machine.spec.label)
    assert drift(machine.manager, changed) is None


def test_an_upgrade_is_seen_as_drift_and_restarts_the_daemon(machine):
    install(machine.manager, make_spec(machine.home, version="0.0.9"))
    sentence = drift(machine.manager, machine.spec)
    assert "Environment" in sentence
    assert "ProgramArguments" not in sentence
    assert "ExecStart" not in sentence
    commands = len(machine.fake.changes())
    assert install(machine.manager, machine.spec).action == "updated"
    assert len(machine.fake.changes()) > commands
    assert machine.fake.running(machine.spec.label)


def test_a_file_that_is_not_installed_has_no_drift(machine):
    seen = status(machine.manager, machine.spec)
    assert (seen.installed, seen.drift, seen.missing, seen.job.loaded, seen.unreachable) == (False, None, (), False, None)
    assert machine.fake.changes() == []


def test_a_file_whose_layout_alone_differs_is_drift(machine):
    install(machine.manager, machine.spec)
    machine.file.write_bytes(machine.file.read_bytes() + b"\n")
    assert "its layout" in drift(machine.manager, machine.spec)


def test_a_job_that_has_ended_is_started_by_installing_again(machine):
    install(machine.manager, machine.spec)
    machine.fake.end_job(machine.spec.label, 2)
    outcome = install(machine.manager, machine.spec)
    assert outcome.action == "unchanged"
    assert "had stopped (exit code 2): started" in outcome.hints[0]
    assert machine.fake.running(machine.spec.label)


def test_uninstalling_a_running_job_leaves_the_vault_and_everything_else(machine):
    vault = machine.home / "vault"
    vault.mkdir()
    (vault / "note.md").write_text("mine", encoding="utf-8")
    machine.spec = make_spec(machine.home, vault="vault")
    other = make_spec(machine.home, vault="other")
    install(machine.manager, other)
    before = tree(machine.home)
    install(machine.manager, machine.spec)
    outcome = uninstall(machine.manager, machine.spec.label)
    assert (outcome.action, outcome.loaded) == ("removed", False)
    assert not machine.fake.running(machine.spec.label)
    assert machine.fake.running(other.label)
    assert tree(machine.home) == before


def test_uninstalling_twice_is_fine(machine):
    install(machine.manager, machine.spec)
    uninstall(machine.manager, machine.spec.label)
    commands = machine.fake.changes()
    assert uninstall(machine.manager, machine.spec.label).action == "absent"
    assert machine.fake.changes() == commands


def test_uninstalling_a_file_whose_job_is_gone_removes_the_file(machine):
    install(machine.manager, machine.spec)
    machine.manager.unload(machine.spec.label)
    assert machine.file.exists()
    assert not machine.manager.state(machine.spec.label).loaded, "nothing starts it at the next login"
    assert uninstall(machine.manager, machine.spec.label).action == "removed"
    assert not machine.file.exists()


def test_uninstalling_a_job_whose_file_is_gone_stops_the_job(machine):
    install(machine.manager, machine.spec)
    machine.file.unlink()
    assert uninstall(machine.manager, machine.spec.label).action == "removed"
    assert not machine.fake.running(machine.spec.label)
    assert status(machine.manager, machine.spec).job.loaded is False


def test_an_install_killed_before_any_of_its_commands_is_finished_by_the_next(machine):
    changed = make_spec(machine.home, options=("--polling",))
    install(machine.manager, machine.spec)
    asked = len(machine.fake.calls)
    install(machine.manager, changed)
    steps = len(machine.fake.calls) - asked
    for step in range(steps):
        install(machine.manager, machine.spec)
        machine.fake.die_in = step
        with pytest.raises(Killed):
            install(machine.manager, changed)
        install(machine.manager, changed)
        assert machine.fake.running(machine.spec.label)
        assert machine.file.read_bytes() == machine.manager.render(changed)
        loaded = machine.fake.jobs if machine.manager.system == "launchd" else machine.fake.active
        assert "--polling" in str(loaded), "the job runs from the new file"


def test_what_a_killed_install_left_beside_the_file_does_not_disturb_the_next(machine):
    left = machine.file.with_name(f".{machine.file.name}.new")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half of a fi")
    install(machine.manager, machine.spec)
    assert machine.file.read_bytes() == machine.manager.render(machine.spec)
    assert not left.exists()


def test_the_service_of_a_vault_that_was_moved_is_found_by_its_label(machine):
    moved = make_spec(machine.home, vault="new place")
    install(machine.manager, machine.spec)
    install(machine.manager, moved)
    machine.file.with_name("org.example.other" + machine.file.suffix).touch()
    assert installed_labels(machine.manager) == tuple(sorted((machine.spec.label, moved.label)))
    uninstall(machine.manager, machine.spec.label)
    assert installed_labels(machine.manager) == (moved.label,)


def test_paths_that_are_gone_are_named_and_a_dangling_link_counts_as_gone(machine):
    machine.spec = make_spec(machine.home, vault="v")
    install(machine.manager, machine.spec)
    assert missing_paths(machine.manager, machine.spec.label) == tuple(word for word in machine.spec.arguments if word.startswith("/"))
    (machine.home / "v").mkdir()
    (machine.home / "v" / "config.yaml").touch()
    (machine.home / "v" / "aliases.yaml").touch()
    (machine.home / ".hermes").mkdir()
    (machine.home / ".hermes" / "v.db").touch()
    python = machine.home / "tools" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(machine.home / "Cellar" / "3.12.4" / "python")
    assert status(machine.manager, machine.spec).missing == (str(python),)
    python.unlink()
    python.touch()
    assert missing_paths(machine.manager, machine.spec.label) == ()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_that_may_not_be_entered_does_not_make_its_files_missing(machine):
    machine.spec = make_spec(machine.home, vault="v")
    install(machine.manager, machine.spec)
    (machine.home / ".hermes").mkdir(mode=0o000)
    try:
        assert machine.spec.db not in missing_paths(machine.manager, machine.spec.label)
    finally:
        (machine.home / ".hermes").chmod(0o700)


def test_a_folder_that_cannot_be_made_is_named_and_no_job_is_stopped(machine):
    install(machine.manager, machine.spec)
    before = machine.file.read_bytes()
    (machine.home / "file").touch()
    with pytest.raises(ServiceError, match="cannot be written"):
        install(machine.manager, make_spec(machine.home, logs=str(machine.home / "file" / "logs"), options=("--polling",)))
    assert machine.file.read_bytes() == before
    assert machine.fake.running(machine.spec.label)


def test_printing_asks_and_changes_nothing(machine):
    assert preview(machine.manager, machine.spec).encode("utf-8") == machine.manager.render(machine.spec)
    assert machine.fake.calls == []
    assert list(machine.home.iterdir()) == []


def test_the_platform_decides_unless_a_system_is_named(tmp_path):
    def system(named, platform):
        return manager_for(named, platform=platform, home=tmp_path, uid=1, env={}).system

    assert (system(None, "darwin"), system(None, "linux"), system("launchd", "linux")) == ("launchd", "systemd", "launchd")
    for named, platform in ((None, "win32"), ("upstart", "linux")):
        with pytest.raises(ServiceError, match="only launchd and systemd"):
            system(named, platform)


def test_folders_follow_the_platforms_customs(tmp_path):
    def unit(env):
        return manager_for("systemd", platform="linux", home=tmp_path, uid=1, env=env).file_of("x")

    assert unit({}) == tmp_path / ".config" / "systemd" / "user" / "x.service"
    assert unit({"XDG_CONFIG_HOME": "/elsewhere"}).as_posix() == "/elsewhere/systemd/user/x.service"
    assert unit({"XDG_CONFIG_HOME": "not/absolute"}) == unit({})
    assert logs_for("launchd", tmp_path, {}) == f"{tmp_path}/Library/Logs/kg2vault"
    assert logs_for("systemd", tmp_path, {"XDG_STATE_HOME": "/s"}) == "/s/kg2vault"
    assert logs_for("systemd", tmp_path, {"XDG_STATE_HOME": ""}) == f"{tmp_path}/.local/state/kg2vault"


def test_a_command_is_run_without_a_shell_and_in_english():
    program = "import os, sys; print(sys.argv[1], os.environ['LC_ALL']); sys.stderr.write('bad\\nnews'); sys.exit(5)"
    done = run_command((sys.executable, "-c", program, "$HOME; 'x"))
    assert (done.code, done.out.strip(), done.said) == (5, "$HOME; 'x C", "bad news")
    with pytest.raises(ServiceError, match="There is no launchctl-of-nowhere on this machine"):
        run_command(("launchctl-of-nowhere",))


def test_the_same_spec_gives_the_same_bytes_under_any_hash_seed(machine):
    program = (
        "import sys; from pathlib import Path; from tests.service.conftest import make_spec;"
        "from kg2vault.service.install import manager_for, preview;"
        "m = manager_for(sys.argv[1], platform='', home=Path('/h'), uid=1, env={});"
        "sys.stdout.buffer.write(preview(m, make_spec(Path('/h'), env=(('B', '1'), ('A', '2')))).encode())"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", program, machine.manager.system],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outs) == 1
    assert b"kg2vault" in outs.pop()
