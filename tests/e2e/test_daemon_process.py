"""The daemon as a real process, over a real database that a real reader writes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.lock import VaultLock
from kg2vault.storage.state_file import DaemonFile
from tests.conftest import CORPORA, corpus
from tests.e2e.conftest import Terminal

PATIENCE = 90.0
LOOK = 0.05


def wait_for(truth, what, patience=PATIENCE):
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + patience
    while not (found := truth()):
        assert time.monotonic() < deadline, f"{what} did not come to pass"
        time.sleep(LOOK)
    return found


class Watching:
    """One running `kg2vault watch`."""

    def __init__(self, terminal, *options, env=None):
        self.terminal = terminal
        self.log = terminal.cwd / "watch.log"
        command = [sys.executable, "-m", "kg2vault", *terminal.options, "watch", *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=terminal.cwd, env={**os.environ, **(env or {})}, start_new_session=True
            )

    @property
    def state(self):
        return DaemonFile(self.terminal.vault).load()

    def ready(self):
        """Wait until the first sync of this process is done."""
        wait_for(lambda: (s := self.state) is not None and s.pid == self.process.pid and s.syncs > 0, "the first sync")
        return self

    def is_writing(self):
        """Tell whether this process, through its child, has the vault locked, or has had it."""
        state = self.state
        if state is None or state.pid != self.process.pid:
            return False
        return state.syncs > 0 or bool(state.syncing_since and VaultLock(self.terminal.vault).holder())

    def end(self, number=signal.SIGTERM):
        """End it and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def kill(self):
        """Kill it and whatever it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def processor_seconds(self):
        """CPU time of the process and of the children it has waited for (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def memory_megabytes(self):
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


@contextmanager
def watching(terminal, *options, env=None):
    made = Watching(terminal, *options, env=env)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.kill()


@pytest.fixture
def quick(topics, vault, tmp_path):
    """A terminal whose daemon does not wait long."""
    (tmp_path / "work").mkdir()
    config = tmp_path / "work" / "config.yaml"
    config.write_text("limits:\n  settle_seconds: 0\nwatch:\n  quiet_seconds: 0.1\n  poll_seconds: 0.5\n", encoding="utf-8")
    return Terminal(topics.path, vault, tmp_path / "work", "--config", str(config))


def note_says(vault, name, text):
    found = [path for path in vault.rglob(f"{name}.md") if ".kg2vault" not in path.parts]
    return bool(found) and text in found[0].read_text()


def test_a_commit_is_in_the_vault_a_moment_later_and_sigterm_ends_it_cleanly(quick, topics, vault):
    with watching(quick) as daemon:
        daemon.ready()
        topics.add("web", "wasm", title="Fresh from the press")
        wait_for(lambda: note_says(vault, "web", "Fresh from the press"), "the new item in its note")
        assert DaemonLock(vault).is_held()
        assert daemon.end() == 128 + signal.SIGTERM
    assert not DaemonLock(vault).is_held()
    assert daemon.state.stopped
    assert quick.run("verify").exit_code == 0
    assert "Fresh" not in daemon.log.read_text(), "no note content in the log"


def test_a_commit_that_only_touches_the_wal_of_a_database_held_open_is_seen(quick, topics, vault):
    writer = sqlite3.connect(topics.path)
    writer.execute("PRAGMA journal_mode = WAL")
    with watching(quick) as daemon:
        daemon.ready()
        with writer:
            writer.execute("UPDATE items SET title = 'Written to the wal' WHERE id = 5")
        wait_for(lambda: note_says(vault, "web", "Written to the wal"), "the new title")
        wait_for(lambda: daemon.state.syncs == 2, "the end of that sync")
        time.sleep(1.2)  # two polls: our own reading must not have woken us
        assert (daemon.state.syncs, daemon.state.looks) == (2, 0)
        with writer:
            writer.execute("UPDATE items SET title = 'The last words' WHERE id = 5")
        writer.close()  # which empties the wal into the database and removes it: one change for us, or two
        wait_for(lambda: note_says(vault, "web", "The last words"), "the last title")
        wait_for(lambda: daemon.state.syncs == 3, "the end of that sync")
        time.sleep(1.2)
        assert daemon.state.syncs == 3
        assert daemon.state.looks <= 1
    assert [path.name for path in topics.path.parent.iterdir()] == [topics.path.name], "reading a resting database leaves no file behind"


@pytest.mark.slow
def test_polling_alone_finds_a_database_replaced_by_another(quick, topics, vault, tmp_path):
    with watching(quick, "--polling") as daemon:
        daemon.ready()
        assert daemon.state.mode == "polling"
        copy = tmp_path / "copy.db"
        source, target = sqlite3.connect(topics.path), sqlite3.connect(copy)
        with target:
            source.backup(target)
            target.execute("UPDATE items SET title = 'From the backup' WHERE id = 5")
        source.close()
        target.close()
        copy.replace(topics.path)
        wait_for(lambda: note_says(vault, "web", "From the backup"), "the restored title")


@pytest.mark.slow
def test_a_locked_database_is_waited_for_and_told_in_the_status(quick, topics, vault):
    holder = sqlite3.connect(topics.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with watching(quick) as daemon:
        wait_for(lambda: (s := daemon.state) is not None and s.fault.get("code") == "source-busy", "the complaint")
        assert not list(vault.rglob("*.md"))
        holder.execute("COMMIT")
        daemon.ready()
        assert daemon.state.fault == {}
    holder.close()
    assert quick.run("verify").exit_code == 0


@pytest.mark.slow
def test_a_missing_vault_and_a_missing_database_are_waited_for_and_heal_by_themselves(quick, topics, vault, tmp_path):
    vault.rename(tmp_path / "unmounted")
    topics.path.rename(tmp_path / "away.db")
    with watching(quick) as daemon:
        wait_for(lambda: (s := daemon.state) is not None and s.fault.get("code") == "vault", "the complaint about the vault")
        (tmp_path / "unmounted").rename(vault)
        wait_for(lambda: daemon.state.fault.get("code") == "source-missing", "the complaint about the database")
        (tmp_path / "away.db").rename(topics.path)
        daemon.ready()
        assert daemon.state.fault == {}
    assert quick.run("verify").exit_code == 0


@pytest.mark.parametrize(("system", "code"), [("", 2), ("systemd", 2), ("launchd", 0)])
def test_a_bad_config_ends_it_at_once_and_under_launchd_with_success(quick, monkeypatch, system, code):
    Path(quick.more[1]).write_text("watch:\n  quiet_seconds: never\n")
    monkeypatch.setenv("KG2VAULT_SERVICE", system)
    done = quick.run("watch")
    assert done.exit_code == code
    assert "quiet_seconds must be a number" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("watch:\n  quiet_seconds: never\n", "quiet_seconds must be a number"),
        ("watch:\n  log_file: /dev/null/daemon.log\n", "daemon.log cannot be written"),
    ],
)
def test_a_service_with_a_bad_config_leaves_word_of_why_it_is_not_there(quick, monkeypatch, bad, words):
    config = Path(quick.more[1])
    good = config.read_text()
    config.write_text(bad)
    monkeypatch.setenv("KG2VAULT_SERVICE", "launchd")
    assert quick.run("watch").exit_code == 0
    config.write_text(good)
    shown = quick.run("status")
    assert shown.exit_code == 1
    assert "because: " in shown.stdout
    assert words in shown.stdout


def test_a_service_waits_its_turn_while_a_daemon_in_a_terminal_has_the_vault(quick, vault):
    with DaemonLock(vault).hold():
        waiting = Watching(quick, env={"KG2VAULT_SERVICE": "systemd"})
        wait_for(lambda: "has a daemon already (another process). Waiting for it to end." in waiting.log.read_text(), "a word about it")
        assert waiting.process.poll() is None
    waiting.ready()
    assert waiting.end() == 128 + signal.SIGTERM


def test_a_damaged_manifest_stops_it_with_a_reason_that_the_status_shows(quick, vault):
    quick.sync()
    (vault / ".kg2vault" / "manifest.json").write_text("{")
    with watching(quick, env={"KG2VAULT_SERVICE": "launchd"}) as daemon:
        assert daemon.process.wait(PATIENCE) == 0
    assert daemon.state.exit_code == 5
    shown = quick.run("status")
    assert "because: " in shown.stdout
    assert "manifest.json is damaged" in shown.stdout
    assert shown.exit_code == 1


def test_a_second_daemon_leaves_and_a_manual_sync_does_not_have_to(quick, topics, vault):
    with watching(quick) as daemon:
        daemon.ready()
        second = quick.process("watch")
        assert second.returncode == 7
        assert f"process {daemon.process.pid}" in second.stderr
        topics.add("web", "wasm", title="By hand")
        assert quick.process("sync").returncode == 0
        wait_for(lambda: note_says(vault, "web", "By hand"), "the new item")
        assert daemon.process.poll() is None


@pytest.mark.slow
def test_sighup_reloads_and_a_broken_config_leaves_the_last_good_one_in_force(quick, topics, vault):
    config = Path(quick.more[1])
    good = config.read_text()
    with watching(quick) as daemon:
        daemon.ready()
        config.write_text("gibberish: [")
        wait_for(lambda: daemon.state.settings_fault, "the complaint about the settings")
        topics.add("web", "wasm", title="Meanwhile")
        wait_for(lambda: note_says(vault, "web", "Meanwhile"), "the sync under the old settings")
        config.write_text(good + "notes:\n  recent_items: 1\n")
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: note_says(vault, "web", "Meanwhile") and not note_says(vault, "web", "Item 6"), "the new settings")
        assert daemon.state.settings_fault == {}
        assert daemon.process.poll() is None


@pytest.mark.slow
def test_a_config_that_names_another_vault_moves_the_daemon_there(quick, vault, tmp_path):
    other = tmp_path / "other"
    (other / ".obsidian").mkdir(parents=True)
    config = Path(quick.more[1])
    config.write_text(f"{config.read_text()}vault:\n  path: {vault}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "kg2vault", "--db", str(quick.db), "--config", str(config), "watch"], stderr=subprocess.PIPE
    )
    try:
        wait_for(lambda: (s := DaemonFile(vault).load()) is not None and s.syncs > 0, "the first sync")
        config.write_text(config.read_text().replace(str(vault), str(other)))
        wait_for(lambda: (s := DaemonFile(other).load()) is not None and s.syncs > 0, "the first sync of the other vault")
        assert DaemonLock(other).is_held()
        assert not DaemonLock(vault).is_held()
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_it_runs_with_next_to_no_environment_and_logs_where_it_is_told(quick, topics, vault, tmp_path):
    log = tmp_path / "logs" / "daemon.log"
    config = Path(quick.more[1])
    config.write_text(config.read_text() + f"  log_file: {log}\n")
    home = str(tmp_path / "home")
    command = [sys.executable, "-m", "kg2vault", *quick.options, "watch"]
    process = subprocess.Popen(command, cwd="/", env={"HOME": home}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: (s := DaemonFile(vault).load()) is not None and s.syncs > 0, "the first sync")
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (out, err) == (b"", b"")
    assert "6 concepts" in log.read_text()


def replay(db, *options):
    return subprocess.Popen([sys.executable, str(CORPORA / "replay.py"), str(db), str(CORPORA / "pyvideo" / "growth.jsonl"), *options])


@pytest.fixture
def reader(tmp_path, vault, no_aliases):
    """A terminal on a live copy of a real reader's database, without its last tenth, with the waits as they come."""
    (tmp_path / "work").mkdir()
    db = corpus("pyvideo", tmp_path, "base.db")
    connection = sqlite3.connect(db)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return Terminal(db, vault, tmp_path / "work", "--aliases", str(no_aliases))


@pytest.mark.slow
def test_a_reader_at_work_ends_in_a_vault_that_is_right_soon_after_and_then_there_is_peace(reader, vault):
    with watching(reader) as daemon:
        daemon.ready()
        busy = replay(reader.db, "--batch", "3", "--every", "0.15")
        assert busy.wait(300) == 0
        last_commit = time.time()
        commits = -(-len((CORPORA / "pyvideo" / "growth.jsonl").read_text().splitlines()) // 3)
        manifest = vault / ".kg2vault" / "manifest.json"
        expected = json.loads(reader.process("--json", "sync", "--dry-run").stdout)["data"]["fingerprint"]
        wait_for(lambda: daemon.state.last_fingerprint == expected and not daemon.state.syncing_since, "the last sync")
        lag = manifest.stat().st_mtime - last_commit
        *_, before_last, last = [line for line in daemon.log.read_text().splitlines() if " concepts, " in line]
        seconds = float(last.rsplit("(", 1)[1].split()[0])
        still_busy = max(0.0, datetime.strptime(before_last[:23], "%Y-%m-%d %H:%M:%S,%f").timestamp() - last_commit)
        syncs = daemon.state.syncs - 1
        verified = reader.process("verify")
        assert verified.returncode == 0, verified.stderr
        assert syncs <= commits / 10
        # The quiet period and a second; a machine that takes longer than that second for a sync, or to end the one before, may do so.
        assert lag <= max(still_busy, 2.0) + max(1.0, seconds + 0.5)

        before, used = daemon.state, daemon.processor_seconds()
        time.sleep(60)
        after, used = daemon.state, daemon.processor_seconds() - used
        memory = daemon.memory_megabytes()
        assert (after.syncs, after.looks) == (before.syncs, before.looks)
        assert used < 0.2
        assert memory < 80
        assert daemon.end() == 128 + signal.SIGTERM
    print(f"{commits} commits, {syncs} syncs, last {lag:.2f} s later, {seconds:.2f} s of it sync and {still_busy:.2f} s the one before")
    print(f"idle for 60 s: {used:.2f} s CPU, {memory:.1f} MB")


@pytest.mark.slow
def test_a_signal_in_the_middle_of_the_first_sync_leaves_whole_notes_and_the_next_start_writes_the_others(reader, vault):
    def notes():
        return [path for path in vault.rglob("*.md") if ".kg2vault" not in path.parts]

    with watching(reader) as daemon:
        wait_for(lambda: len(notes()) > 20, "the first notes")
        assert daemon.end() == 128 + signal.SIGTERM
        state = daemon.state
    written = notes()
    assert 20 < len(written) < 700, "it did not go on to the end"
    assert all(path.read_text().rstrip().endswith(" %%") for path in written)
    assert not list(vault.rglob(".kg2vault-*"))
    assert (state.fault, state.syncing_since, state.syncs) == ({}, "", 0)
    assert reader.json("conflicts")["data"]["waiting"] == 0
    with watching(reader) as daemon:
        daemon.ready()
    assert reader.process("verify").returncode == 0


@pytest.mark.slow
def test_killed_ten_times_in_the_middle_it_is_right_in_the_end(reader, vault):
    busy = replay(reader.db, "--batch", "3", "--every", "0.2")
    for number in range(10):
        with watching(reader) as daemon:
            wait_for(lambda daemon=daemon: daemon.is_writing(), f"writing in life {number}")
            time.sleep(0.1 * number)
            if number % 2:
                daemon.kill()
            else:  # its child is left behind, sees that, and ends after the note in hand
                daemon.process.kill()
                daemon.process.wait(PATIENCE)
    assert busy.wait(300) == 0
    with watching(reader) as daemon:
        daemon.ready()
        assert daemon.end() == 128 + signal.SIGTERM
    assert reader.process("sync").returncode == 0
    verified = reader.process("verify")
    assert verified.returncode == 0, verified.stderr
    assert not list(vault.rglob(".kg2vault-*"))
