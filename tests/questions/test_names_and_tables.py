"""What people type, and what they get to see."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kg2vault.cli.tables import show_table
from tests.questions.conftest import make_terminal


@pytest.fixture
def topics(database):
    for _ in range(2):
        database.add("reinforcement-learning", "large-language-models", "Go", "deep_learning")
        database.add("LLM", "\x1b[31mred\x1b[0m \u202etxt", "[bold]markup[/bold]")
    return database


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("reinforcement-learning", "reinforcement-learning"),
        ("reinforcement learning", "reinforcement-learning"),
        ("Reinforcement Learning", "reinforcement-learning"),
        ("LLM", "large-language-models"),
        ("Large Language Model", "large-language-models"),
        ("go", "Go"),
        ("Deep-Learning", "deep-learning"),
    ],
)
def test_a_name_is_resolved_as_a_person_types_it(terminal, typed, name):
    assert terminal.json("neighbors", typed)["data"]["node"] == name


@pytest.mark.parametrize("command", [["neighbors", "reinforcment lerning"], ["path", "LLM", "reinforcment lerning"]])
def test_another_name_is_refused_with_close_spellings_and_a_pointer(terminal, command):
    envelope = terminal.json(*command)
    assert (envelope["ok"], envelope["exit_code"], envelope["data"]) == (False, 2, {})
    (problem,) = envelope["problems"]
    assert problem["code"] == "unknown-concept"
    assert "reinforcment lerning" in problem["message"]
    assert "reinforcement-learning" in problem["message"]
    assert "kg2vault concepts" in problem["hint"]
    shown = terminal.run(*command)
    assert shown.stdout == ""
    assert "reinforcement-learning" in shown.stderr


def test_a_name_that_begins_with_a_hyphen_can_be_asked_for(terminal, topics):
    for _ in range(2):
        topics.add("-O2", "Go")
    assert terminal.json("neighbors", "--", "-O2")["data"]["node"] == "-O2"


def test_a_table_is_aligned_columns_when_it_is_not_for_a_terminal(terminal):
    lines = terminal.run("neighbors", "go").stdout.splitlines()
    assert lines == [
        "concept                 shared items",
        "deep-learning                      2",
        "large-language-models              2",
        "reinforcement-learning             2",
        "Go is linked to 3 concepts.",
    ]


def test_every_question_has_a_table_and_an_envelope(terminal):
    for command in (["neighbors", "go"], ["path", "go", "llm"], ["central"], ["communities"], ["concepts"], ["health"]):
        text = terminal.run(*command)
        assert text.exit_code == 0, text.output
        assert len(text.stdout.splitlines()) > 2
        envelope = json.loads(terminal.run(*command, "--json").stdout)
        assert (envelope["operation"], envelope["ok"]) == (command[0], True)
    for metric in ("degree", "strength", "betweenness", "pagerank"):
        assert metric in terminal.run("central", "--metric", metric).stdout
    assert terminal.run("central", "--metric", "beauty").exit_code == 2


def test_hostile_tags_reach_a_terminal_as_plain_text(terminal, capsys):
    shown = terminal.run("concepts").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[31mred[0m txt" in shown
    assert "[bold]markup[/bold]" in shown
    assert "\x1b" not in terminal.run("neighbors", "[bold]markup[/bold]").stdout


def test_no_rows_are_no_table(capsys):
    show_table(["a"], [])
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(not hasattr(pty, "openpty"), reason="needs a pseudo terminal")
def test_on_a_terminal_the_same_rows_stand_in_a_drawn_table(terminal):
    main, other = pty.openpty()
    command = [sys.executable, "-m", "kg2vault", *terminal.options, "concepts"]
    process = subprocess.Popen(command, stdout=other, cwd=terminal.cwd, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    os.close(other)
    shown = b""
    try:
        while piece := os.read(main, 4096):
            shown += piece
    except OSError:  # how a pseudo terminal says that the other end is gone
        pass
    assert process.wait() == 0
    text = shown.decode()
    assert "─" in text
    assert "[bold]markup[/bold]" in text
    assert "\x1b[31mred" not in text
    assert "large-language-models" in text


ODD = ["C++", "C#", "\U0001f9ea", "x" * 300, "-x", "a\x01b", "line\nbreak", "\u65e5\u672c\u8a9e", "paper:1"]


def test_odd_names_are_asked_for_as_they_are_shown(database, vault, tmp_path):
    for _ in range(2):
        database.add(*ODD)
    terminal = make_terminal(database.path, vault, tmp_path)
    shown = [line.rsplit(maxsplit=3)[0] for line in terminal.run("concepts").stdout.splitlines()[1:-1]]
    assert sorted(shown) == sorted(["ab", "line break", *(set(ODD) - {"a\x01b", "line\nbreak"})])
    for name in shown:
        assert terminal.json("neighbors", "--", name)["data"]["count"] == len(ODD) - 1
        assert terminal.json("path", "--", name, name)["data"]["length"] == 0
    for name in ("C", "", "   "):
        assert terminal.json("neighbors", name)["exit_code"] == 2


def test_names_that_look_alike_are_offered_and_not_guessed(database, vault, tmp_path):
    for _ in range(2):
        database.add("a\x01b", "a\x02b")
    envelope = make_terminal(database.path, vault, tmp_path).json("neighbors", "ab")
    assert not envelope["ok"]
    assert "Close to it: ab, ab." in envelope["problems"][0]["message"]


def test_a_long_name_is_not_echoed_in_full(terminal):
    (problem,) = terminal.json("neighbors", "q" * 100_000)["problems"]
    assert len(problem["message"]) < 300
    assert len(problem["path"]) < 300


def test_columns_stay_aligned_beside_letters_that_are_two_wide(database, vault, tmp_path):
    for _ in range(2):
        database.add("\u65e5\u672c\u8a9e", "n\u0303o", "zz")
    lines = make_terminal(database.path, vault, tmp_path).run("neighbors", "zz").stdout.splitlines()
    assert lines[:3] == ["concept  shared items", "\u00f1o" + " " * 18 + "2", "\u65e5\u672c\u8a9e" + " " * 14 + "2"]


@pytest.mark.parametrize(
    ("arguments", "operation", "says"),
    [
        (["central", "--metric", "beauty"], "central", "degree', 'betweenness', 'strength', 'pagerank"),
        (["central", "--limit", "0"], "central", "0 is not in the range"),
        (["neighbors", "dog", "--limit", "-1"], "neighbors", "-1 is not in the range"),
        (["neighbors"], "neighbors", "Missing argument"),
        (["path", "dog"], "path", "Missing argument"),
        (["neighbors", "-x"], "neighbors", "-x"),
        (["guess"], "kg2vault", "No such command 'guess'"),
        (["--guess", "health"], "kg2vault", "No such option"),
        ([], "kg2vault", "Missing command"),
    ],
)
def test_arguments_that_make_no_sense_are_told_in_the_envelope_too(terminal, arguments, operation, says):
    envelope = terminal.json(*arguments)
    assert (envelope["operation"], envelope["ok"], envelope["exit_code"], envelope["data"]) == (operation, False, 2, {})
    assert says in envelope["problems"][0]["message"]
    assert envelope["problems"][0]["hint"]
    shown = terminal.run(*arguments)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert "Usage:" in shown.stderr


def test_a_name_taken_for_an_option_is_explained(terminal):
    assert "goes after `--`" in terminal.run("neighbors", "-x").stderr
    assert "goes after" not in terminal.run("health", "-x").stderr
    assert terminal.run("neighbors", "--", "dog", "--json").stdout == ""  # a name, and one too many


def test_a_reader_that_has_seen_enough_is_no_error(terminal):
    command = [sys.executable, "-m", "kg2vault", *terminal.options, "concepts"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=terminal.cwd)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_printed_is_told_in_a_sentence(terminal):
    command = [sys.executable, "-m", "kg2vault", *terminal.options, "concepts"]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=terminal.cwd, text=True, check=False)
    assert process.returncode == 1
    assert process.stderr.splitlines() == ["kg2vault: the answer cannot be printed: No space left on device."]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_that_nothing_has_changed_is_told_as_any_other_answer(terminal):
    assert terminal.process("sync").returncode == 0
    assert terminal.process("sync").returncode == 0
    command = [sys.executable, "-m", "kg2vault", *terminal.options, "sync"]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=terminal.cwd, text=True, check=False)
    assert process.returncode == 1
    assert process.stderr.splitlines() == ["kg2vault: the answer cannot be printed: No space left on device."]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [(["sync"], 0), (["neighbors", "Go"], 0), (["neighbors", "nobody"], 2), (["--version"], 0)])
def test_a_program_without_standard_streams_ends_as_it_does_with_them(terminal, closed, arguments, code):
    options = [] if arguments == ["--version"] else terminal.options
    command = [sys.executable, "-m", "kg2vault", *options, *arguments]
    ended = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *command], capture_output=True, text=True, cwd=terminal.cwd, check=False)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
