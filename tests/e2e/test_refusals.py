"""Bad input gets one clear sentence and the right exit code, and nothing is written."""

import os
import sqlite3

import pytest

from tests.e2e.conftest import Terminal, tree

SENTENCE = 300


def refused(terminal, code, *words, command=("sync",), watched=None):
    """Run, expect a refusal, and that nothing in the folder changed."""
    before = tree(watched or terminal.cwd.parent)
    result = terminal.run(*command)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in result.stderr
    assert len(lines[0]) < SENTENCE + 2 * len(str(terminal.cwd))
    for word in words:
        assert str(word) in lines[0], lines[0]
    assert tree(watched or terminal.cwd.parent) == before
    return lines[0]


def test_a_missing_database_is_named_and_not_created(terminal, tmp_path):
    terminal.db = tmp_path / "nowhere" / "hermes.db"
    refused(terminal, 3, terminal.db)
    assert not terminal.db.parent.exists()


@pytest.mark.parametrize(("content", "word"), [(b"", "hermes.db"), (b"this is no database, it is a letter" * 99, "hermes.db")])
def test_a_file_that_is_no_database_is_named(terminal, tmp_path, content, word):
    terminal.db = tmp_path / "hermes.db"
    terminal.db.write_bytes(content)
    refused(terminal, 3, word, terminal.db)


def test_a_database_without_tags_table_is_named(terminal, tmp_path):
    terminal.db = tmp_path / "hermes.db"
    sqlite3.connect(terminal.db).execute("CREATE TABLE notes(a)").connection.close()
    refused(terminal, 3, "item_tags")


def test_a_database_without_tags_is_not_an_empty_graph(terminal, topics):
    topics.run("DELETE FROM item_tags")
    refused(terminal, 3, "no tags")


def test_a_vault_that_does_not_exist_is_not_created(terminal, tmp_path):
    terminal.vault = tmp_path / "elsewhere"
    refused(terminal, 4, terminal.vault)


def test_a_vault_that_is_a_file_is_refused(terminal, tmp_path):
    terminal.vault = tmp_path / "letter.txt"
    terminal.vault.write_text("hello")
    refused(terminal, 4, terminal.vault)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_vault_that_cannot_be_written_is_refused(terminal, vault):
    vault.chmod(0o555)
    try:
        refused(terminal, 4, vault)
    finally:
        vault.chmod(0o755)


def test_a_folder_that_leads_out_of_the_vault_is_refused(terminal, vault, tmp_path):
    (tmp_path / "outside").mkdir()
    (vault / "Knowledge Graph").symlink_to(tmp_path / "outside")
    refused(terminal, 4, "leads out of the vault")


def test_no_vault_set_says_where_to_set_it(topics, tmp_path):
    (tmp_path / "work").mkdir()
    before = tree(tmp_path)
    from click.testing import CliRunner

    from kg2vault.cli import command_group

    result = CliRunner().invoke(command_group, ["--db", str(topics.path), "sync"])
    assert result.exit_code == 2
    assert "--vault" in result.stderr
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vualt:\n  path: x\n", (":1", "unknown key vualt", "vault")),
        ("graph:\n  min_items: many\n", (":2", "graph.min_items", "whole number")),
        ("graph:\n  min_items: 0\n", (":2", "at least 1")),
        ("notes: [1]\n", (":1", "notes must be a mapping")),
        ("graph:\n  min_items: 2\n  min_items: 3\n", (":3", "set twice")),
        ("a: b: c\n", (":1", "not valid YAML")),
        ("vault:\n  folder: ../x\n", ("vault.folder",)),
        ("vault:\n  folder: Notes/CON\n", ("vault.folder", "no device of Windows")),
        ("vault:\n  folder: nul.graph\n", ("vault.folder",)),
        ('vault:\n  folder: "A\\tB"\n', ("vault.folder",)),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(terminal, text, words):
    config = terminal.cwd / "wrong.yaml"
    config.write_text(text)
    terminal.more = ("--config", str(config))
    refused(terminal, 2, "wrong.yaml", *words)


def test_a_config_that_is_named_but_missing_is_refused(terminal):
    terminal.more = ("--config", str(terminal.cwd / "none.yaml"))
    refused(terminal, 2, "none.yaml")


@pytest.mark.parametrize("text", ["aliases:\n  a: b\n  b: a\n", "aliases:\n  a: a\n", "alias:\n  a: b\n", "aliases: [1\n"])
def test_an_alias_table_that_makes_no_sense_is_named_with_its_line(terminal, text):
    table = terminal.cwd / "bad-aliases.yaml"
    table.write_text(text)
    terminal.more = (*terminal.more, "--aliases", str(table))
    refused(terminal, 2, "bad-aliases.yaml")


def test_a_refusal_in_json_is_one_envelope(terminal, tmp_path):
    terminal.db = tmp_path / "none.db"
    envelope = terminal.json("sync")
    assert envelope["ok"] is False
    assert envelope["exit_code"] == 3
    assert envelope["problems"][0]["path"] == str(terminal.db)


def test_an_unknown_option_is_a_usage_error(terminal):
    assert terminal.run("sync", "--frobnicate").exit_code == 2


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_odd_rows_are_read_counted_and_written_under_any_locale(locale, database, vault, tmp_path):
    for number in range(2):
        database.add("机器学习", "café", title="Ünïcödé \u200b title")
        database.run("INSERT INTO item_tags VALUES (?, CAST(x'ff41' AS TEXT))", (number + 1,))
        database.run("INSERT INTO item_tags VALUES (?, 2024)", (number + 1,))
        database.run("INSERT INTO item_tags VALUES (?, '  ')", (number + 1,))
        database.run("INSERT INTO item_tags VALUES (?, x'626c6f62')", (number + 1,))
        database.run("INSERT INTO item_tags VALUES (?, ?)", (number + 1, "long" * 25_000))
    terminal = Terminal(database.path, vault, tmp_path)
    done = terminal.process("sync", env={"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert done.returncode == 0, done.stderr
    assert "2 rows left out" in done.stdout
    names = {path.name for path in (vault / "Knowledge Graph" / "Concepts").iterdir()}
    assert {"机器学习.md", "café.md", "2024.md", "blob.md"} < names
    assert len(names) == 6
    assert max(len(name.encode()) for name in names) < 200
    verified = terminal.process("verify", env={"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert verified.returncode == 0, verified.stderr
