"""Status and doctor: straight answers, and a way out for whatever is wrong."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kg2vault import __version__
from kg2vault.doctor import doctor
from kg2vault.settings import Options, Place, gather
from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.state_file import DaemonFile, DaemonState, RunFile
from tests.e2e.conftest import tree


def stamp(seconds_ago=0.0):
    return datetime.fromtimestamp(time.time() - seconds_ago, UTC).isoformat(timespec="seconds")


def alive(**changes):
    """The state of a daemon that is well."""
    return DaemonState(
        **{
            "version": __version__,
            "pid": os.getpid(),
            "started": stamp(60),
            "beat": stamp(),
            "beat_seconds": 240.0,
            "mode": "events",
            "syncs": 1,
        }
        | changes
    )


@pytest.fixture
def checks(terminal):
    """Ask the doctor, and return its checks by name; each that is not green must have a way out."""

    def ask(code=None):
        envelope = terminal.json("doctor")
        found = {check["name"]: check for check in envelope["data"]["checks"]}
        assert envelope["exit_code"] == (1 if any(check["level"] == "red" for check in found.values()) else 0)
        for check in found.values():
            assert check["level"] == "green" or check["hint"], check
        assert {problem["code"] for problem in envelope["problems"]} == {name for name, c in found.items() if c["level"] == "red"}
        return found

    return ask


@pytest.fixture
def living(vault):
    """A daemon that lives, as far as anybody can see: its lock is held and its state is written."""
    with DaemonLock(vault).hold():
        DaemonFile(vault).save(alive())
        yield lambda **changes: DaemonFile(vault).save(alive(**changes))


def level(found, name):
    return found[name]["level"]


# --- status


def test_status_shows_one_screen_of_what_matters_and_changes_nothing(terminal, vault, tmp_path):
    terminal.sync()
    before = tree(tmp_path)
    shown = terminal.run("status")
    assert tree(tmp_path) == before
    assert shown.exit_code == 0
    rows = {line[:10].strip(): line[11:] for line in shown.stdout.splitlines()}
    assert list(rows) == ["vault", "database", "daemon", "last sync", "current", "notes", "failed", "waiting"]
    assert rows["vault"] == f"{vault} (Knowledge Graph)"
    assert rows["database"] == str(terminal.db)
    assert rows["daemon"].startswith("none")
    assert "9 created" in rows["last sync"]
    assert rows["current"].startswith("yes")
    assert rows["notes"] == "2 community, 6 concept, 1 home"


def test_status_before_anything_was_synced(terminal):
    shown = terminal.run("status")
    assert shown.exit_code == 0
    assert "last sync  never" in shown.stdout
    assert "current    no: no sync has come to its end yet" in shown.stdout


def test_status_says_when_the_database_or_the_settings_went_ahead_of_the_vault(terminal, topics, tmp_path):
    terminal.sync()
    topics.run("UPDATE items SET guid = 'clicked' WHERE id = 1")
    assert terminal.json("status")["data"]["current"] is True
    topics.add("web", "wasm")
    data = terminal.json("status")["data"]
    assert data["current"] is False
    assert "database has changed" in data["why"]
    terminal.sync()
    settings = tmp_path / "work" / "settings.yaml"
    settings.write_text(settings.read_text() + "graph:\n  min_items: 3\n")
    data = terminal.json("status")["data"]
    assert data["current"] is False
    assert "settings" in data["why"]


def test_status_stays_at_1_as_long_as_a_conflict_remains(terminal, topics):
    terminal.sync()
    note = terminal.note("web")
    note.write_text(note.read_text().replace("## Related concepts", "## My concepts"))
    topics.add("web", "wasm")
    terminal.run("sync", "--quiet")
    shown = terminal.run("status")
    assert shown.exit_code == 1
    assert "waiting    1: Knowledge Graph/Concepts/web.md (kg2vault conflicts)" in shown.stdout
    assert "since 20" in shown.stderr
    assert terminal.run("resolve", "web", "--generated").exit_code == 0
    assert terminal.run("status").exit_code == 0


def test_status_names_the_notes_that_failed_until_a_sync_wrote_them(terminal, topics, vault):
    terminal.sync()
    run = RunFile(vault).load()
    failed = {"code": "failed", "message": "Concepts/web.md: No space left", "path": "Concepts/web.md", "hint": "next sync"}
    RunFile(vault).save(replace(run, problems=[failed]))
    shown = terminal.run("status")
    assert shown.exit_code == 1
    assert "failed     1: Concepts/web.md" in shown.stdout
    terminal.sync()
    assert terminal.run("status").exit_code == 0


def test_status_works_while_the_database_and_the_vault_are_away(terminal, vault, tmp_path):
    terminal.sync()
    terminal.db.rename(tmp_path / "away.db")
    shown = terminal.run("status")
    assert shown.exit_code == 1
    assert "current    can't be told: There is no" in shown.stdout
    vault.rename(tmp_path / "away")
    shown = terminal.run("status")
    assert shown.exit_code == 1
    assert "does not exist" in shown.stderr
    assert not vault.exists()


def test_status_tells_what_stands_in_the_way_of_a_living_daemon_and_since_when(terminal, living):
    terminal.sync()
    living(fault={"code": "source-busy", "message": "It is locked.", "hint": "Wait.", "path": None, "since": stamp(500), "tries": 7})
    shown = terminal.run("status")
    assert shown.exit_code == 1
    assert "It is locked." in shown.stderr
    assert re.search(r"alive: process .*, 1 sync, held up since 20", shown.stdout)


def test_what_both_the_daemon_and_the_status_find_is_said_once_with_since_when(terminal, living, tmp_path):
    terminal.sync()
    terminal.db.rename(tmp_path / "away.db")
    message = terminal.json("status")["problems"][0]["message"]
    living(fault={"code": "source-missing", "message": message, "hint": None, "path": None, "since": stamp(500), "tries": 7})
    problems = terminal.json("status")["problems"]
    assert [problem["code"] for problem in problems] == ["source-missing"]
    assert problems[0]["message"].startswith("The daemon says since 20")


def test_an_empty_folder_in_the_place_of_the_vault_is_said_to_be_one(terminal, vault, checks, tmp_path):
    terminal.sync()
    vault.rename(tmp_path / "unmounted")
    vault.mkdir()
    shown = terminal.run("status")
    assert shown.exit_code == 1
    assert "is its drive mounted?" in shown.stderr
    assert level(checks(), "vault") == "red"
    assert list(vault.iterdir()) == []


def test_a_live_process_that_has_the_pid_of_a_dead_daemon_is_not_taken_for_it(terminal, vault):
    terminal.sync()
    DaemonFile(vault).save(alive())
    assert terminal.json("status")["data"]["daemon"]["alive"] is False
    assert "dead: process" in terminal.run("status").stdout


def test_what_a_daemon_complained_of_before_it_was_stopped_is_not_held_against_the_vault(terminal, vault):
    terminal.sync()
    fault = {"code": "source-busy", "message": "It is locked.", "hint": None, "path": None, "since": stamp(500), "tries": 7}
    DaemonFile(vault).save(alive(fault=fault, stopped=stamp(100), exit_code=143))
    assert terminal.run("status").exit_code == 0
    assert re.search(r"stopped \d+ (seconds|minutes) ago", terminal.run("status").stdout)


def test_notes_of_a_first_sync_that_was_cut_short_are_not_taken_for_edited(terminal, vault):
    terminal.sync()
    (vault / ".kg2vault" / "manifest.json").unlink()  # as a full disk or a kill leaves it: some notes, and no record of them
    for name in ("web", "rust"):
        terminal.note(name).unlink()
    assert terminal.json("status")["data"]["waiting"] == []
    assert terminal.json("conflicts")["data"]["waiting"] == 0
    terminal.sync()
    assert terminal.run("verify").exit_code == 0


def test_a_region_to_which_the_user_added_a_link_that_leads_nowhere_yet_is_a_conflict_once_a_sync_said_so(terminal, topics):
    terminal.sync()
    note = terminal.note("web")
    note.write_text(note.read_text().replace("## Related concepts", "## Related concepts\n- [[To be written]]"))
    topics.add("web", "wasm")
    terminal.run("sync")
    assert terminal.json("conflicts")["data"]["waiting"] == 1


# --- doctor


def test_a_vault_that_is_well_is_all_green_but_for_the_daemon_it_has_not(terminal, checks, tmp_path):
    terminal.sync()
    before = tree(tmp_path)
    found = checks()
    assert tree(tmp_path) == before
    assert {name for name, check in found.items() if check["level"] != "green"} == {"daemon", "service"}
    assert terminal.run("doctor").exit_code == 0


def test_with_a_living_daemon_that_is_well_the_daemon_is_green(terminal, checks, living):
    terminal.sync()
    found = checks()
    assert level(found, "daemon") == level(found, "mode") == level(found, "current") == "green"


def test_the_doctor_prints_a_mark_a_sentence_and_a_way_out(terminal):
    shown = terminal.run("doctor")
    lines = shown.stdout.splitlines()
    assert any(line.startswith("✓ database") for line in lines)
    assert any(line.startswith("✗ current") for line in lines)
    assert any("→ Run `kg2vault sync`" in line for line in lines)
    assert lines[-1].endswith("green")
    assert shown.stderr == ""


def test_the_doctor_needs_no_graph_library(terminal):
    terminal.sync()
    script = (
        "import sys; from kg2vault.cli import command_group\n"
        "try:\n    command_group(sys.argv[1:])\n"
        "except SystemExit:\n    print([name for name in ('rustworkx', 'graspologic_native', 'numpy', 'watchdog') if name in sys.modules])"
    )
    for command in ("doctor", "status"):
        done = subprocess.run([sys.executable, "-c", script, *terminal.options, command], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("content", "red"),
    [
        (None, "database"),
        (b"", "database"),
        (b"no database " * 500, "database"),
        ("DROP TABLE item_tags", "schema"),
        ("ALTER TABLE item_tags RENAME COLUMN tag TO label", "schema"),
    ],
)
def test_a_source_that_cannot_be_read_is_red(terminal, topics, checks, content, red):
    terminal.sync()
    if content is None:
        topics.path.unlink()
    elif isinstance(content, bytes):
        topics.path.write_bytes(content)
    else:
        topics.run(content)
    found = checks()
    assert level(found, red) == "red"
    assert level(found, "current") == "red"
    assert (red == "database") == ("schema" not in found)


def test_a_database_of_which_someone_else_is_the_writer_for_a_moment_is_yellow(terminal, topics, checks, monkeypatch):
    import sqlite3

    terminal.sync()
    monkeypatch.setattr("kg2vault.storage.hermes.HermesSource.__init__.__kwdefaults__", {"busy_timeout": 0.05})
    holder = sqlite3.connect(topics.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert level(checks(), "database") == "yellow"
    holder.close()


def test_a_vault_that_is_behind_is_red_without_a_daemon_and_given_a_moment_with_one(terminal, topics, checks, living):
    terminal.sync()
    topics.add("web", "wasm")
    assert level(checks(), "current") == "yellow"
    long_ago = time.time() - 2 * 86400
    os.utime(topics.path, (long_ago, long_ago))
    for file in (terminal.cwd / "settings.yaml",):
        os.utime(file, (long_ago, long_ago))
    found = checks()
    assert level(found, "current") == "red"
    assert "database has changed" in found["current"]["message"]


def test_a_daemon_that_lives_but_gives_no_sign_of_life_is_red(terminal, checks, living):
    terminal.sync()
    living(beat=stamp(3600))
    found = checks()
    assert level(found, "daemon") == "red"
    assert "hangs" in found["daemon"]["message"]


def test_a_daemon_that_died_without_a_word_is_red(terminal, vault, checks):
    terminal.sync()
    DaemonFile(vault).save(alive())
    assert level(checks(), "daemon") == "red"


def test_a_daemon_that_stopped_for_a_reason_is_red_and_one_that_a_person_stopped_is_not(terminal, vault, checks):
    terminal.sync()
    fault = {
        "code": "manifest",
        "message": "manifest.json was damaged.",
        "hint": "Rebuild it.",
        "path": None,
        "since": stamp(9),
        "tries": 1,
    }
    DaemonFile(vault).save(alive(stopped=stamp(-5), exit_code=5, fault=fault))
    found = checks()
    assert level(found, "daemon") == "red"
    assert found["daemon"]["hint"] == "Rebuild it."
    DaemonFile(vault).save(alive(stopped=stamp(5), exit_code=143))
    assert level(checks(), "daemon") == "yellow"


def test_what_ended_a_daemon_is_over_when_a_sync_has_succeeded_since(terminal, vault, checks):
    terminal.sync()
    fault = {
        "code": "manifest",
        "message": "The manifest is damaged.",
        "hint": "Rebuild it.",
        "path": None,
        "since": stamp(100),
        "tries": 1,
    }
    DaemonFile(vault).save(alive(fault=fault, stopped=stamp(100), exit_code=5))
    assert terminal.run("status").exit_code == 0
    assert "because" not in terminal.run("status").stdout
    assert level(checks(), "daemon") == "yellow"
    DaemonFile(vault).save(alive(fault=fault, stopped=stamp(-100), exit_code=5))
    assert "because: The manifest is damaged." in terminal.run("status").stdout


def test_a_daemon_with_a_fault_an_old_version_or_broken_settings_says_so(terminal, checks, living):
    terminal.sync()
    fault = {"code": "vault", "message": "It is full.", "hint": "Make room.", "path": None, "since": stamp(90), "tries": 4}
    living(fault=fault)
    assert "It is full." in checks()["daemon"]["message"]
    living(version="0.0.1")
    assert level(checks(), "daemon") == "yellow"
    living(settings_fault={**fault, "message": "config.yaml:3: unknown key"})
    found = checks()
    assert level(found, "settings") == "red"
    assert "unknown key" in found["settings"]["message"]


def test_the_mode_and_the_health_of_the_observer_are_told(terminal, checks, living):
    terminal.sync()
    assert "events" in checks()["mode"]["message"]
    living(mode="polling")
    found = checks()
    assert (level(found, "mode"), "polls" in found["mode"]["message"]) == ("green", True)
    living(mode="polling", unwatched=["db"])
    assert level(checks(), "mode") == "yellow"
    living(observer_restarts=2)
    assert level(checks(), "mode") == "yellow"


def test_conflicts_damage_and_copies_are_counted_and_named(terminal, vault, checks):
    terminal.sync()
    for name, old, new in (
        ("web", "## Related", "## My"),
        ("rust", "%% kg2vault:end concept %%", ""),
        ("wasm", "%% kg2vault:end concept %%", ""),
    ):
        note = terminal.note(name)
        note.write_text(note.read_text().replace(old, new))
    (vault / "copy of django.md").write_text(terminal.note("django").read_text())
    found = checks()
    assert "web.md" in found["conflicts"]["message"]
    assert found["damaged"]["message"].startswith("2 notes are damaged: ")
    assert (level(found, "conflicts"), level(found, "damaged"), level(found, "duplicates")) == ("red", "red", "yellow")


def test_a_link_of_ours_that_leads_nowhere_is_found(terminal, checks):
    terminal.sync()
    terminal.note("wasm").unlink()
    found = checks()
    assert level(found, "links") == "yellow"
    assert "wasm" in found["links"]["message"]
    terminal.sync()
    assert level(checks(), "links") == "green"


def test_a_second_device_shows_by_its_copies_its_lock_and_its_manifest(terminal, vault, checks):
    terminal.sync()
    state = vault / ".kg2vault"
    manifest = state / "manifest.json"
    good = manifest.read_bytes()
    copy = state / "manifest (conflicted copy 2026-11-01).json"
    copy.write_bytes(good)
    assert level(checks(), "devices") == "red"
    copy.unlink()
    holder = {"pid": 1, "command": "kg2vault watch", "since": "2026-11-01 10:00:00", "host": "the-other-one"}
    (state / "lock-holder.json").write_text(json.dumps(holder))
    assert "the-other-one" in checks()["devices"]["message"]
    (state / "lock-holder.json").unlink()
    manifest.write_bytes(good + b"\n")
    assert level(checks(), "devices") == "yellow"
    manifest.write_bytes(good)
    assert level(checks(), "devices") == "green"


def test_a_sync_that_is_ending_at_this_moment_is_not_taken_for_another_device(terminal, vault, checks, living):
    terminal.sync()
    run = RunFile(vault).load()
    RunFile(vault).save(replace(run, manifest="of the sync before"))
    living(syncing_since=stamp())
    assert level(checks(), "devices") == "green"
    living()
    assert level(checks(), "devices") == "yellow"


def test_resolving_and_restoring_by_hand_is_not_taken_for_another_device(terminal, topics, checks):
    terminal.sync()
    terminal.note("django").unlink()
    terminal.sync()
    assert terminal.run("restore", "django").exit_code == 0
    assert level(checks(), "devices") == "green"


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 99}'])
def test_a_manifest_that_is_damaged_or_newer_is_red_with_the_way_to_rebuild_it(terminal, vault, checks, content):
    terminal.sync()
    (vault / ".kg2vault" / "manifest.json").write_bytes(content)
    found = checks()
    assert level(found, "manifest") == "red"
    assert "--rebuild-manifest" in found["manifest"]["hint"]


def test_a_lost_manifest_is_yellow(terminal, vault, checks):
    terminal.sync()
    (vault / ".kg2vault" / "manifest.json").unlink()
    assert level(checks(), "manifest") == "yellow"


def test_a_vault_that_is_away_is_red_and_everything_else_is_still_looked_at(terminal, vault, checks, tmp_path):
    terminal.sync()
    vault.rename(tmp_path / "away")
    found = checks()
    assert level(found, "vault") == "red"
    assert level(found, "database") == "green"
    assert not vault.exists()


def test_a_vault_that_cannot_be_written_is_red(terminal, vault, checks):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    terminal.sync()
    (vault / "Knowledge Graph").chmod(0o555)
    try:
        assert level(checks(), "vault") == "red"
    finally:
        (vault / "Knowledge Graph").chmod(0o755)


def test_a_broken_alias_table_is_red(terminal, checks, tmp_path):
    terminal.sync()
    (tmp_path / "work" / "aliases.yaml").write_text("aliases: [broken\n")
    found = checks()
    assert level(found, "aliases") == "red"
    assert "aliases.yaml" in found["aliases"]["message"]


def test_a_graph_too_large_for_the_graph_view_is_said_to_be(terminal, vault, checks):
    terminal.sync()
    run = RunFile(vault).load()
    RunFile(vault).save(replace(run, graph={**run.graph, "edges": 200_000}))
    found = checks()
    assert level(found, "size") == "yellow"
    assert "min_weight" in found["size"]["hint"]


def test_without_a_vault_both_are_a_config_error(tmp_path, topics):
    done = subprocess.run(
        [sys.executable, "-m", "kg2vault", "--db", str(topics.path), "doctor"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert "No vault is set" in done.stderr


def test_a_doctor_without_a_service_to_ask_looks_at_everything_else(terminal):
    terminal.sync()
    settings = gather(Options(db=terminal.db, vault=terminal.vault), Place(env={}, cwd=terminal.cwd))
    names = [check["name"] for check in doctor(settings).data["checks"]]
    assert "service" not in names
    assert names[:2] == ["database", "schema"]
