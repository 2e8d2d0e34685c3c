"""A sync with nothing to do answers from memory, and never when there is something to do after all."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from platformdirs import user_cache_path

import kg2vault
from kg2vault import unchanged
from kg2vault.storage import file_token

from .conftest import tree

NOTE = "Knowledge Graph/Concepts/python.md"


class Settled:
    """A vault that was synced, a moment ago: old enough for time stamps to mean something."""

    def __init__(self, terminal, database):
        self.terminal, self.database, self.vault = terminal, database, terminal.vault
        age(database.path, *terminal.cwd.iterdir())
        terminal.sync()

    @property
    def arguments(self):
        return [*self.terminal.options, "sync"]

    def answer(self, *more):
        """Return what main() would print without a real sync, None when it would make one."""
        before = Path.cwd()
        os.chdir(self.terminal.cwd)
        try:
            return unchanged.answer([*self.arguments, *more])
        finally:
            os.chdir(before)

    def rewrite(self, path, text):
        (self.vault / path).write_text(text, encoding="utf-8")


def age(*paths):
    """Wait until files are old enough for a change of them to show, which takes as long as a kernel's clock ticks."""
    newest = max(max(path.stat().st_ctime_ns, path.stat().st_mtime_ns) for path in paths)
    while time.time_ns() - newest < 60_000_000:
        time.sleep(0.005)


@pytest.fixture
def settled(terminal, topics):
    return Settled(terminal, topics)


def test_the_second_sync_is_answered_as_a_real_one_would_and_writes_nothing(settled):
    before = tree(settled.vault)
    answered = settled.answer()
    assert answered == settled.terminal.run("sync").stdout
    assert "0 created, 0 updated, 9 identical, 0 retired" in answered
    assert tree(settled.vault) == before


def test_the_envelope_is_answered_too(settled):
    real = settled.terminal.run("sync", "--json").stdout
    assert json.loads(settled.answer("--json")) == json.loads(real)


def test_a_process_answers_without_importing_what_it_does_not_need(settled):
    terminal = settled.terminal
    command = [sys.executable, "-X", "importtime", "-m", "kg2vault", *settled.arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=terminal.cwd, check=True)
    assert "9 identical" in done.stdout
    loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert not loaded & {"click", "yaml", "sqlite3", "json", "rustworkx", "graspologic_native", "rich", "watchdog", "kg2vault.cli"}


def test_the_record_of_the_last_run_is_brought_up_to_date(settled, tmp_path):
    record = next((tmp_path / "home").rglob("state/kg2vault/*.json"))
    old = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(record.read_text(encoding="utf-8").replace(old["at"], "2001-01-01T00:00:00+00:00"), encoding="utf-8")
    assert settled.answer() is not None
    new = json.loads(record.read_text(encoding="utf-8"))
    assert new["at"] >= old["at"]
    assert new == {**old, "at": new["at"], "counts": {**old["counts"], "created": 0, "identical": 9}, "summary": settled.answer().strip()}


def edit_same_size(s):
    path = s.vault / NOTE
    path.write_bytes(path.read_bytes()[::-1])


def empty_the_cloud(s):
    (s.vault / NOTE).rename((s.vault / NOTE).with_name(".python.md.icloud"))


def change_alias_table(s):
    (s.terminal.cwd / "aliases.yaml").write_text("aliases: {django: python}\n", encoding="utf-8")


def change_settings(s):
    path = Path(s.terminal.more[1])
    path.write_text(path.read_text(encoding="utf-8").replace("0", "1"), encoding="utf-8")


def retag(s):
    s.database.run("UPDATE item_tags SET tag = 'perl' WHERE tag = 'python'")


def put_another_database(s):
    copy = s.database.path.with_suffix(".copy")
    shutil.copy2(s.database.path, copy)
    copy.replace(s.database.path)


CHANGES = {
    "a note edited without changing its size": edit_same_size,
    "a note touched": lambda s: os.utime(s.vault / NOTE),
    "a note deleted": lambda s: (s.vault / NOTE).unlink(),
    "a note moved": lambda s: (s.vault / NOTE).rename(s.vault / "python.md"),
    "a folder of ours renamed": lambda s: (s.vault / "Knowledge Graph/Concepts").rename(s.vault / "Knowledge Graph/Topics"),
    "a note of ours copied": lambda s: shutil.copy2(s.vault / NOTE, s.vault / "copy.md"),
    "a new note": lambda s: s.rewrite("new.md", "mine"),
    "a new attachment": lambda s: s.rewrite("python.png", "x"),
    "a note in the cloud only": empty_the_cloud,
    "a note that became a link": lambda s: ((s.vault / NOTE).rename(s.vault / "p.txt"), (s.vault / NOTE).symlink_to(s.vault / "p.txt")),
    "a temporary file of a crash": lambda s: s.rewrite("Knowledge Graph/.kg2vault-1234.tmp", "half"),
    "a temporary file beside the manifest": lambda s: s.rewrite(".kg2vault/.kg2vault-1234.tmp", "half"),
    "colours changed": lambda s: s.rewrite(".obsidian/graph.json", "{}"),
    "colours gone": lambda s: (s.vault / ".obsidian/graph.json").unlink(),
    "property types changed": lambda s: s.rewrite(".obsidian/types.json", '{"types": {}}'),
    "settings of Obsidian gone": lambda s: shutil.rmtree(s.vault / ".obsidian"),
    "the base edited": lambda s: s.rewrite("Knowledge Graph/Knowledge Graph.base", "views: []"),
    "the manifest gone": lambda s: (s.vault / ".kg2vault/manifest.json").unlink(),
    "the manifest touched": lambda s: os.utime(s.vault / ".kg2vault/manifest.json"),
    "the vault emptied": lambda s: [shutil.rmtree(path) for path in s.vault.iterdir()],
    "a vault around it": lambda s: shutil.copytree(s.vault / ".kg2vault", s.vault.parent / ".kg2vault"),
    "the vault gone": lambda s: shutil.rmtree(s.vault),
    "an item": lambda s: s.database.add("python", "web"),
    "a row changed in place": retag,
    "another file in the database's place": put_another_database,
    "the database gone": lambda s: s.database.path.unlink(),
    "the database closed to us": lambda s: s.database.path.chmod(0),
    "the settings changed": change_settings,
    "an alias table put beside the settings": change_alias_table,
    "other arguments": lambda s: setattr(s.terminal, "more", (*s.terminal.more, "--aliases", "other.yaml")),
    "another working folder": lambda s: setattr(s.terminal, "cwd", s.vault),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_changes_makes_a_real_sync(settled, change):
    assert settled.answer() is not None
    change(settled)
    assert settled.answer() is None


def test_another_version_of_the_program_makes_a_real_sync(settled, monkeypatch):
    monkeypatch.setattr(unchanged, "__version__", kg2vault.__version__ + ".1")
    assert settled.answer() is None


def test_an_edited_program_makes_a_real_sync(settled, tmp_path, monkeypatch):
    package = tmp_path / "kg2vault"
    shutil.copytree(Path(kg2vault.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(file_token, "PROGRAM", str(package))
    assert settled.answer() is None
    settled.terminal.sync()
    assert settled.answer() is not None
    (package / "report.py").write_text("x = 1\n", encoding="utf-8")
    assert settled.answer() is None


def test_a_variable_that_names_another_database_makes_a_real_sync(settled, monkeypatch):
    monkeypatch.setenv("ATTEST_DB", "/elsewhere.db")
    assert settled.answer() is None


@pytest.mark.parametrize("flag", ["--dry-run", "--full", "--allow-retire", "--recluster", "-v"])
def test_a_sync_that_is_asked_for_more_is_always_a_real_one(settled, flag):
    settled.terminal.run("sync", flag)
    assert settled.answer(flag) is None


def test_while_a_note_waits_for_a_person_every_sync_is_a_real_one(settled):
    note = settled.vault / NOTE
    note.write_text(note.read_text(encoding="utf-8").replace("linked to", "I say it is linked to"), encoding="utf-8")
    settled.database.add("python", "web")
    settled.database.add("python", "web")
    assert settled.terminal.run("sync").exit_code == 1
    age(settled.database.path)
    assert settled.terminal.run("sync").exit_code == 1
    assert settled.answer() is None


def test_an_edit_made_while_the_sync_ran_is_not_taken_for_seen(settled, monkeypatch):
    real = unchanged.walk
    settled.database.add("python", "web")
    age(settled.database.path)

    def walk_after_an_edit(root):
        path = settled.vault / "Knowledge Graph/Concepts/django.md"
        path.write_text(path.read_text(encoding="utf-8") + "mine\n", encoding="utf-8")
        return real(root)

    with monkeypatch.context() as patched:
        patched.setattr(unchanged, "walk", walk_after_an_edit)
        settled.terminal.sync()
    assert settled.answer() is None


def test_settings_written_a_moment_before_are_not_trusted(terminal, topics):
    age(topics.path)
    settings = Path(terminal.more[1])
    settings.write_text(settings.read_text(encoding="utf-8"), encoding="utf-8")
    terminal.sync()
    before = Path.cwd()
    os.chdir(terminal.cwd)
    try:
        assert unchanged.answer([*terminal.options, "sync"]) is None
    finally:
        os.chdir(before)


@pytest.mark.parametrize("damage", [b"", b"\xff\0", b"kg2vault answer 1\0\0\0end", b"\0" * 20])
def test_a_damaged_memory_is_none(settled, damage):
    memo = next((settled.terminal.cwd.parent / "home").rglob("*.answer"))
    memo.write_bytes(damage)
    assert settled.answer() is None
    assert settled.terminal.run("sync").exit_code == 0
    assert settled.answer() is not None


def test_memories_do_not_pile_up(settled):
    from kg2vault.witness import MOST_MEMOS

    folder = next((settled.terminal.cwd.parent / "home").rglob("*.answer")).parent
    for number in range(MOST_MEMOS + 5):
        (folder / f"{number}.answer").write_text("old", encoding="utf-8")
    settled.terminal.run("sync", "--json")
    assert len(list(folder.iterdir())) == MOST_MEMOS
    assert settled.answer("--json") is not None


def test_the_memory_is_where_caches_are(monkeypatch):
    assert unchanged.memo_folder() == str(user_cache_path("kg2vault"))
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
        assert unchanged.memo_folder() == str(user_cache_path("kg2vault"))


def test_the_answer_needs_no_more_than_it_says():
    code = "import os, sys; before = set(sys.modules); import kg2vault.unchanged; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=Path(kg2vault.__file__).parents[1]
    )
    ours = {"kg2vault", "kg2vault.storage", "kg2vault.storage.file_token", "kg2vault.unchanged"}
    assert set(done.stdout.split()) - ours <= {"__future__", "_blake2"}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read anything")
def test_a_manifest_that_is_closed_to_us_makes_a_real_sync(settled):
    manifest = settled.vault / ".kg2vault" / "manifest.json"
    manifest.chmod(0)
    try:
        assert settled.answer() is None
    finally:
        manifest.chmod(0o600)
    assert settled.answer() is not None
