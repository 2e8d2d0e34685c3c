"""What people type, and what they get to see."""

import json
import os
import pty
import subprocess
import sys

import pytest

from kg2vault.cli.tables import show_table


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
