"""The daemon's parts, each with the real thing behind it: log files, settings files, child processes, locks."""

import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kg2vault.daemon.child import ChildSync
from kg2vault.daemon.diary import Diary
from kg2vault.daemon.inforce import InForce
from kg2vault.daemon.job import Job, carry_out
from kg2vault.daemon.log import BACKUPS, MAX_BYTES, DaemonLog, close_log, open_log
from kg2vault.errors import ConfigError, LockHeldError
from kg2vault.settings import Options, Place, gather
from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.state_file import DaemonFile, DaemonState, Run, RunFile

NEVER = lambda: False  # noqa: E731


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    return folder


@pytest.fixture
def settings(topics, vault, tmp_path):
    return gather(Options(db=topics.path, vault=vault), Place(env={}, cwd=tmp_path, home=tmp_path / "home"))


def notes(vault):
    return sorted(vault.rglob("*.md"))


# --- the log


@pytest.fixture
def log_file(tmp_path):
    logger = open_log(tmp_path / "logs" / "daemon.log")
    yield tmp_path / "logs" / "daemon.log", logger
    close_log(logger)


def test_one_error_ten_thousand_times_is_a_few_lines(log_file):
    path, logger = log_file
    clock = iter(range(10_001))
    log = DaemonLog(logger, lambda: float(next(clock)))
    for _ in range(10_000):
        log.complain("sync", "The database is locked.")
    assert len(path.read_text().splitlines()) == 3
    log.settle("sync")
    assert "Over after 2799 more times" in path.read_text()


def test_another_error_about_the_same_thing_is_written_at_once(log_file):
    path, logger = log_file
    log = DaemonLog(logger, lambda: 0.0)
    for complaint in ("locked", "locked", "missing", "locked"):
        log.complain("sync", complaint)
    assert [line.split(" ", 3)[3] for line in path.read_text().splitlines()] == [
        "locked", "Over after 1 more time: locked", "missing", "locked",
    ]  # fmt: skip


def test_the_log_is_rotated_and_never_grows_beyond_its_share(log_file):
    path, logger = log_file
    for _ in range(6 * MAX_BYTES // 100_000):
        logger.info("x" * 100_000)
    files = sorted(path.parent.iterdir())
    assert len(files) == 1 + BACKUPS
    assert all(file.stat().st_size <= MAX_BYTES for file in files)


def test_a_log_that_cannot_be_written_is_a_config_error_that_names_it(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"daemon\.log cannot be written"):
        open_log(tmp_path / "file" / "daemon.log")


def test_hostile_names_in_a_message_are_written_all_the_same(tmp_path):
    # In a process of its own: what pytest captures here cannot be handed on to another process of the test run.
    path = tmp_path / "daemon.log"
    program = "import sys; from pathlib import Path; from kg2vault.daemon.log import DaemonLog, open_log; "
    program += "DaemonLog(open_log(Path(sys.argv[1])), lambda: 0.0).complain('note', 'caf\\udce9.md: 100 %s %d')"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert "caf\\udce9.md: 100 %s %d" in path.read_text()


# --- the settings in force


def test_a_config_that_is_empty_while_an_editor_saves_it_does_not_become_the_defaults(tmp_path, topics, vault):
    config = tmp_path / "config.yaml"
    config.write_text(f"db: {topics.path}\nvault:\n  path: {vault}\n")
    inforce = InForce(Options(config=config), Place(env={}, cwd=tmp_path, home=tmp_path))
    before = inforce.settings
    config.write_text("")
    assert not inforce.refresh()
    assert inforce.settings is before
    assert inforce.problem is not None
    config.unlink()
    assert not inforce.refresh()
    assert inforce.settings is before


def test_an_alias_table_that_appears_later_is_taken_up(tmp_path, settings):
    inforce = InForce(Options(db=settings.config.db, vault=settings.vault()), settings.place)
    assert inforce.settings.aliases is None
    assert inforce.files()["aliases"] == tmp_path / "aliases.yaml"
    (tmp_path / "aliases.yaml").write_text("aliases: {}\n")
    assert inforce.is_stale()
    assert inforce.refresh()
    assert inforce.settings.alias_text() == ("aliases: {}\n", str(tmp_path / "aliases.yaml"))
    assert not inforce.is_stale()


def test_a_folder_of_settings_that_may_not_be_entered_is_a_problem_and_not_a_crash(tmp_path, settings, monkeypatch):
    (tmp_path / "config.yaml").write_text(f"db: {settings.config.db}\nvault:\n  path: {settings.vault()}\n")
    inforce = InForce(Options(), settings.place)
    denied = PermissionError(errno.EPERM, "Operation not permitted", str(tmp_path / "config.yaml"))

    def refuse(path):
        raise denied

    monkeypatch.setattr(Path, "is_file", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    before = inforce.settings
    assert not inforce.refresh()
    assert inforce.settings is before
    assert "config.yaml cannot be looked at: Operation not permitted" in str(inforce.problem)


def test_settings_that_are_broken_from_the_start_are_an_error(tmp_path, topics):
    with pytest.raises(ConfigError, match="No vault is set"):
        InForce(Options(db=topics.path), Place(env={}, cwd=tmp_path, home=tmp_path))


# --- a sync in a child


def test_a_child_syncs_and_answers_with_counts_and_no_notes(settings, vault):
    envelope = ChildSync()(Job(settings, must_sync=True), lambda: None)
    assert envelope["exit_code"] == 0
    assert envelope["data"]["ran"]
    assert envelope["data"]["counts"]["created"] == len(notes(vault)) == 9
    assert "notes" not in envelope["data"]


def test_a_child_finds_out_by_itself_that_there_is_nothing_to_do(settings, topics, vault):
    carry_out(Job(settings, must_sync=True), NEVER)
    before = {path: path.stat().st_mtime_ns for path in vault.rglob("*")}
    topics.run("UPDATE items SET guid = 'clicked' WHERE id = 1")
    envelope = carry_out(Job(settings, must_sync=False), NEVER)
    assert not envelope["data"]["ran"]
    assert {path: path.stat().st_mtime_ns for path in vault.rglob("*")} == before
    topics.run("UPDATE items SET title = 'New title' WHERE id = 1")
    assert carry_out(Job(settings, must_sync=False), NEVER)["data"]["counts"]["updated"] > 0


def test_looking_whether_something_changed_loads_no_graph_library(settings):
    carry_out(Job(settings, must_sync=True), NEVER)
    script = (
        "import pickle, sys; from kg2vault.daemon.job import carry_out;"
        "answer = carry_out(pickle.load(sys.stdin.buffer), lambda: False); assert answer['data']['ran'] is False;"
        "print([name for name in ('rustworkx', 'graspologic_native', 'numpy') if name in sys.modules])"
    )
    job = pickle.dumps(Job(settings, must_sync=False))
    done = subprocess.run([sys.executable, "-c", script], input=job, capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def test_an_error_of_the_sync_comes_back_with_its_code(settings, topics):
    topics.path.write_bytes(b"this is no database, it is a letter" * 99)
    envelope = carry_out(Job(settings, must_sync=True), NEVER)
    assert envelope["exit_code"] == 3
    assert "not an SQLite database" in envelope["problems"][0]["message"]


def test_a_bug_in_a_sync_is_told_by_kind_and_place_and_not_by_content(settings):
    broken = Job(settings, must_sync=None)
    object.__setattr__(broken, "settings", "a string that holds secret text")
    envelope = carry_out(broken, NEVER)
    assert envelope["exit_code"] == 70
    assert "AttributeError at job.py" in envelope["problems"][0]["message"]
    assert "secret" not in str(envelope)


def test_a_stop_during_the_writing_finishes_the_note_in_hand_and_the_next_sync_the_rest(settings, vault):
    asked = []

    def stop_after_three():
        asked.append(len(notes(vault)))
        return asked[-1] >= 3

    envelope = carry_out(Job(settings, must_sync=True), stop_after_three)
    assert [problem["code"] for problem in envelope["problems"]] == ["stopped"]
    assert len(notes(vault)) == 3
    assert not list(vault.rglob(".kg2vault-*"))
    rest = carry_out(Job(settings, must_sync=False), NEVER)
    assert rest["data"]["ran"], "a sync that was cut short is not taken for a complete one"
    assert rest["data"]["counts"]["created"] == 6
    assert carry_out(Job(settings, must_sync=True), NEVER)["data"]["counts"]["identical"] == 9


def test_a_stop_before_a_removal_leaves_the_note_where_it_is_until_next_time(settings, topics, vault):
    carry_out(Job(settings, must_sync=True), NEVER)
    topics.untag("django")
    envelope = carry_out(Job(settings, must_sync=True), lambda: True)
    assert [problem["code"] for problem in envelope["problems"]] == ["stopped"]
    assert len(notes(vault)) == 9
    assert carry_out(Job(settings, must_sync=True), NEVER)["data"]["counts"]["retired"] == 2, "django, and its community"


def test_a_child_that_dies_without_an_answer_is_a_fault_and_not_the_end(settings, monkeypatch, tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    envelope = ChildSync()(Job(settings, must_sync=True), lambda: None)
    assert envelope["exit_code"] == 70
    assert f"ended with {-signal.SIGSEGV}" in envelope["problems"][0]["message"]


def test_a_child_that_never_ends_is_stopped_and_meanwhile_the_daemon_gives_signs_of_life(settings, monkeypatch, tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    beats = []
    envelope = ChildSync(every=0.02, longest=0.1)(Job(settings, must_sync=True), lambda: beats.append(1))
    assert envelope["problems"][0]["code"] == "hung"
    assert len(beats) >= 3


def test_stopping_reaches_the_child(settings, monkeypatch, tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    child = ChildSync(every=0.02, longest=60)
    envelope = child(Job(settings, must_sync=True), child.stop)
    assert f"ended with {-signal.SIGTERM}" in envelope["problems"][0]["message"]
    assert child(Job(settings, must_sync=True), lambda: None)["problems"][0]["code"] == "stopped"


@pytest.fixture
def warm():
    """A runner with a process ready; whatever is left of it is let go."""
    runner = ChildSync()
    runner.warm()
    yield runner, runner._ready.process
    runner.cool()


def test_a_process_that_was_made_ready_is_the_one_that_syncs(warm, settings, monkeypatch, tmp_path):
    runner, process = warm
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    runner.warm()
    assert runner._ready.process is process, "one is enough"
    assert runner(Job(settings, must_sync=True), lambda: None)["exit_code"] == 0
    assert process.returncode == 0
    assert "could be started" in runner(Job(settings, must_sync=True), lambda: None)["problems"][0]["message"]


def test_a_process_that_died_while_it_was_ready_is_replaced(warm, settings):
    runner, process = warm
    process.kill()
    process.wait()
    assert runner(Job(settings, must_sync=True), lambda: None)["exit_code"] == 0


def test_a_process_made_ready_in_vain_is_gone_at_once(warm):
    runner, process = warm
    runner.cool()
    assert process.returncode == -signal.SIGKILL
    runner.cool()


def test_a_process_that_is_ready_ends_by_itself_when_the_daemon_is_killed(warm):
    _, process = warm
    process.stdin.close()  # as the kernel does
    assert process.wait(60) == 0


def test_a_daemon_that_cannot_start_a_process_finds_that_out_when_it_needs_one(settings, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    runner = ChildSync()
    runner.warm()
    assert runner(Job(settings, must_sync=True), lambda: None)["problems"][0]["code"] == "child"


def test_the_daemon_looks_up_often_enough_for_a_commit_during_a_sync_to_count_from_when_it_was_made(settings, monkeypatch, tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nexec sleep 1\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    looks = []
    ChildSync()(Job(settings, must_sync=True), lambda: looks.append(1))
    assert len(looks) >= 5


def test_a_daemon_that_was_upgraded_beneath_itself_starts_anew_with_the_same_command_line(vault, tmp_path):
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom kg2vault.daemon import run\nfrom kg2vault.settings import Options, Place\n"
        "if 'SECOND' in os.environ:\n    print(sys.argv[1:])\n    sys.exit(7)\n"
        "os.environ['SECOND'] = 'yes'\n"
        "run._serve = lambda *_: run.Ending(upgraded=True)\n"
        "run.watch(Options(vault=Path(sys.argv[1])), Place(), run.Manner())"
    )
    done = subprocess.run([sys.executable, "-c", script, str(vault)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (7, f"{[str(vault)]}\n")


# --- one daemon per vault, and what it says of itself


def test_a_second_daemon_is_told_who_has_the_vault(vault):
    diary = Diary(DaemonFile(vault), lambda: 0.0, lambda: 0.0)
    diary.note(mode="events")
    with DaemonLock(vault).hold():
        assert DaemonLock(vault).is_held()
        with pytest.raises(LockHeldError, match=rf"has a daemon already \(process {os.getpid()},"), DaemonLock(vault).hold():
            pass
    assert not DaemonLock(vault).is_held()


def test_a_vault_by_another_name_is_the_same_vault(vault, tmp_path):
    (tmp_path / "link").symlink_to(vault)
    with DaemonLock(vault).hold():
        assert DaemonLock(tmp_path / "link").is_held()
        assert DaemonLock(tmp_path / "vault" / ".." / "vault").is_held()


def test_a_killed_daemon_holds_nothing_and_a_living_process_with_its_pid_does_not_look_like_it(vault):
    script = (
        "import sys; from pathlib import Path; from kg2vault.storage.daemon_lock import DaemonLock\n"
        "with DaemonLock(Path(sys.argv[1])).hold():\n    print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(vault)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    assert DaemonLock(vault).is_held()
    process.kill()
    process.wait()
    DaemonFile(vault).save(DaemonState(pid=os.getpid()))
    assert not DaemonLock(vault).is_held()
    with DaemonLock(vault).hold():
        pass
    process.stdin.close()
    process.stdout.close()


def test_looking_whether_a_daemon_lives_creates_nothing_and_does_not_keep_one_from_starting(vault, tmp_path):
    assert not DaemonLock(vault).is_held()
    assert not (tmp_path / "home" / ".local").exists()
    with DaemonLock(vault).hold():
        pass
    stop = threading.Event()

    def look():
        while not stop.is_set():
            DaemonLock(vault).is_held()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(5):
            with DaemonLock(vault).hold():
                pass
    finally:
        stop.set()
        looking.join()


def test_the_lock_does_not_lie_in_the_vault_where_it_would_keep_its_drive_from_being_ejected(vault):
    with DaemonLock(vault).hold():
        assert not [path for path in vault.rglob("*") if path.name != ".obsidian"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1, "unheard": 2}', b"\xff"])
def test_a_damaged_or_newer_state_is_read_as_far_as_it_goes(vault, content):
    file = DaemonFile(vault)
    assert file.save(DaemonState())
    file.path.write_bytes(content)
    found = file.load()
    assert found is None or found.pid == 1


def test_a_state_that_cannot_be_written_costs_no_sync(settings, tmp_path):
    (tmp_path / "home" / ".local").write_text("a file where the folder should be")
    assert carry_out(Job(settings, must_sync=True), NEVER)["exit_code"] == 0


def test_each_sync_leaves_its_record_and_a_dry_run_none(settings, vault):
    from kg2vault.syncing import SyncFlags, sync

    sync(settings, SyncFlags(dry_run=True))
    assert RunFile(vault).load() is None
    sync(settings)
    run = RunFile(vault).load()
    assert isinstance(run, Run)
    assert run.counts["created"] == 9
    assert run.graph["concepts"] == 6
    assert run.fingerprint


def test_the_empty_mount_point_of_a_vault_is_not_taken_for_a_new_vault(settings, vault, tmp_path):
    carry_out(Job(settings, must_sync=True), NEVER)
    vault.rename(tmp_path / "unmounted")
    vault.mkdir()
    envelope = carry_out(Job(settings, must_sync=True), NEVER)
    assert envelope["exit_code"] == 4
    assert "is its drive mounted?" in envelope["problems"][0]["message"]
    assert list(vault.iterdir()) == []
    vault.rmdir()
    (tmp_path / "unmounted").rename(vault)
    assert carry_out(Job(settings, must_sync=True), NEVER)["data"]["counts"]["identical"] == 9
