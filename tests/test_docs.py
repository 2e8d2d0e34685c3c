"""The README is true: every command, key and exit code is in it, and its two lines are the ones CI runs."""

import re
from pathlib import Path

import pytest

from kg2vault.cli import command_group
from kg2vault.errors import ExitCode

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    context = command_group.make_context("kg2vault", ["status"], resilient_parsing=True)
    for name in command_group.list_commands(context):
        command = command_group.get_command(context, name)
        yield name
        for sub in getattr(command, "commands", {}):
            yield f"{name} {sub}"


@pytest.mark.parametrize("name", list(commands()))
def test_every_command_is_in_the_readme(name):
    assert re.search(rf"`(?:kg2vault )?{name}\b", README), name


def options():
    context = command_group.make_context("kg2vault", ["status"], resilient_parsing=True)
    for name in command_group.list_commands(context):
        command = command_group.get_command(context, name)
        for part in [command, *getattr(command, "commands", {}).values()]:
            for parameter in part.params:
                yield from (option for option in parameter.opts if option.startswith("--"))


@pytest.mark.parametrize("option", sorted(set(options())))
def test_every_option_is_in_the_readme(option):
    assert option in README


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_is_in_the_readme(code):
    assert re.search(rf"^\| {int(code)} \|", README, re.MULTILINE), code


def test_the_settings_in_the_readme_are_those_of_the_program():
    assert (ROOT / "config.yaml").read_text(encoding="utf-8").strip() in README


def test_the_readme_holds_one_demo_line_and_one_test_line():
    for mark, end in (("demo-line", "kg2vault demo"), ("test-line", "-m pytest")):
        block = re.search(rf"<!-- {mark} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
        assert block is not None, mark
        assert block[1].count("\n") == 0
        assert end in block[1]


def test_no_placeholder_is_left():
    assert "@@" not in README


@pytest.mark.parametrize("path", sorted(re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)))
def test_every_picture_of_the_readme_is_there(path):
    assert (ROOT / path).is_file()
