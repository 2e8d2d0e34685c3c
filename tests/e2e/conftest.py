"""A person at a terminal: a vault, a database, and the program run as a real process or in this one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kg2vault.cli import command_group


class Terminal:
    """Runs kg2vault on one database and one vault."""

    def __init__(self, db, vault, cwd, *more):
        self.db, self.vault, self.cwd, self.more = Path(db), Path(vault), Path(cwd), more

    @property
    def options(self):
        return ["--db", str(self.db), "--vault", str(self.vault), *self.more]

    def run(self, *args):
        """Run in this process; returns click's result."""
        before = Path.cwd()
        os.chdir(self.cwd)
        try:
            return CliRunner().invoke(command_group, [*self.options, *map(str, args)])
        finally:
            os.chdir(before)

    def json(self, *args):
        """Run with --json and return the envelope."""
        result = self.run("--json", *args)
        envelope = json.loads(result.stdout)
        assert envelope["exit_code"] == result.exit_code
        return envelope

    def process(self, *args, env=None):
        """Run as a process of its own."""
        command = [sys.executable, "-m", "kg2vault", *self.options, *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.cwd, env={**os.environ, **(env or {})}, check=False)

    def sync(self, *args):
        """Sync and expect it to succeed."""
        result = self.run("sync", *args)
        assert result.exit_code == 0, result.output
        return result

    def counts(self, *args):
        """Sync and return the counts of note states."""
        return self.json("sync", *args)["data"]["counts"]

    def note(self, name):
        """Return the path of the note called `name`."""
        found = [path for path in self.vault.rglob(f"{name}.md") if ".kg2vault" not in path.parts]
        assert len(found) == 1, found
        return found[0]


def tree(folder):
    """Return everything about the files and folders below a folder: content, inode and times."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes() if path.is_file() else None, path.stat().st_ino, path.stat().st_mtime_ns)
        for path in sorted(Path(folder).rglob("*"))
    }


def contents(folder):
    """Return the bytes of every note and setting, without our own state."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and ".kg2vault" not in path.parts
    }


@pytest.fixture
def no_aliases(tmp_path):
    """An alias table that merges nothing."""
    path = tmp_path / "no-aliases.yaml"
    path.write_text("aliases: {}\n", encoding="utf-8")
    return path


@pytest.fixture
def vault(tmp_path):
    """An empty Obsidian vault."""
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    return folder


@pytest.fixture
def terminal(topics, vault, tmp_path):
    """A terminal on two touching groups of concepts; notes count as settled at once."""
    (tmp_path / "work").mkdir()
    config = tmp_path / "work" / "settings.yaml"
    config.write_text("limits:\n  settle_seconds: 0\n", encoding="utf-8")
    return Terminal(topics.path, vault, tmp_path / "work", "--config", str(config))
