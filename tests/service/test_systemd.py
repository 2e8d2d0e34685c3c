"""The user unit as systemd reads it, and a systemctl that knows only what it has reloaded."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.errors import ServiceError
from kg2vault.service.install import install, status, uninstall
from kg2vault.service.systemd import Systemd, escape_word
from tests.service.conftest import HOSTILE, make_machine, make_spec
from tests.service.unit_syntax import command_line, specifiers, unquote, values, variables

TRAPS = [
    "",
    "a b",
    "\\",
    "\\\\n",
    '"',
    "'",
    "'a",
    "%",
    "%h",
    "%%",
    "$",
    "$HOME",
    "${HOME}",
    "a$$b",
    "$$",
    ";",
    "-",
    "é",
    "日本",
    "#x",
    "&<>|*",
    "\u2028",
]
printable = st.text(st.characters(blacklist_categories=("Cc", "Cs")), max_size=30)


@pytest.mark.parametrize("word", TRAPS)
def test_a_trap_reaches_the_program_as_it_is(word):
    assert command_line(f"/bin/x {escape_word(word)} end") == ["/bin/x", word, "end"]


@settings(max_examples=300)
@given(words=st.lists(printable | st.sampled_from(TRAPS), max_size=4))
def test_any_words_reach_the_program_as_they_are(words):
    assert command_line(" ".join(["/bin/x", *(escape_word(word) for word in words)])) == ["/bin/x", *words]


@pytest.mark.parametrize("char", ["\n", "\r", "\0", "\x7f"])
def test_a_word_that_would_end_the_line_is_refused(char):
    with pytest.raises(ServiceError, match="control character"):
        escape_word(f"/vault{char}ExecStartPre=/bin/evil")


def test_the_unit_is_read_back_as_it_was_meant_whatever_the_path_holds(linux):
    unit = linux.manager.render(linux.spec).decode("utf-8")
    (line,) = values(unit, "Service", "ExecStart")
    assert command_line(line) == list(linux.spec.arguments)
    assert any(HOSTILE in word for word in linux.spec.arguments)
    pairs = [specifiers(unquote(value)[0]).split("=", 1) for value in values(unit, "Service", "Environment")]
    assert [tuple(pair) for pair in pairs] == list(linux.spec.environment("systemd"))
    assert linux.manager.arguments_in(unit.encode("utf-8")) == linux.spec.arguments


@settings(max_examples=150)
@given(name=st.text(st.characters(blacklist_categories=("Cc", "Cs"), blacklist_characters="/\ufffe\uffff"), min_size=1, max_size=20))
def test_what_an_installed_unit_runs_is_read_back_by_us_too(name):
    manager = Systemd(Path("/c"), 1)
    spec = make_spec(Path("/home/a"), vault=name)
    assert manager.arguments_in(manager.render(spec)) == spec.arguments


def test_limits_stand_where_systemd_looks_for_them(linux):
    unit = linux.manager.render(linux.spec).decode("utf-8")
    expected = {
        ("Unit", "StartLimitIntervalSec"): "3600",
        ("Unit", "StartLimitBurst"): "20",
        ("Service", "Type"): "exec",
        ("Service", "Restart"): "on-failure",
        ("Service", "RestartSec"): "30",
        ("Service", "RestartPreventExitStatus"): "2 5 6",
        ("Service", "SuccessExitStatus"): "143",
        ("Service", "IOSchedulingClass"): "idle",
        ("Install", "WantedBy"): "default.target",
    }
    assert {key: values(unit, *key) for key in expected} == {key: [value] for key, value in expected.items()}
    assert int(expected["Unit", "StartLimitBurst"]) * 30 < 3600, "a crash loop reaches the limit within its interval"


def test_a_dollar_in_the_interpreters_own_path_is_written_as_systemd_wants_it(tmp_path):
    manager = Systemd(tmp_path, 1)
    unit = manager.render(make_spec(tmp_path, interpreter="/opt/a $b %/python")).decode("utf-8")
    (line,) = values(unit, "Service", "ExecStart")
    assert specifiers(unquote(line)[0]) == "/opt/a $b %/python"
    assert variables(specifiers(unquote(line)[0])) == "/opt/a $b %/python", "the argv[0] that Python finds its environment by"


@pytest.mark.parametrize("name", ["o'neil", 'the "lab"', "back\\slash", "${b}", "$$"])
def test_an_interpreter_whose_path_systemd_refuses_is_started_by_env(tmp_path, name):
    manager = Systemd(tmp_path, 1)
    spec = make_spec(tmp_path, interpreter=f"/home/{name}/python")
    data = manager.render(spec)
    (line,) = values(data.decode("utf-8"), "Service", "ExecStart")
    assert command_line(line) == ["/usr/bin/env", *spec.arguments]
    assert manager.arguments_in(data) == ("/usr/bin/env", *spec.arguments)
    with pytest.raises(ServiceError, match="Install kg2vault where"):
        manager.render(make_spec(tmp_path, interpreter=f"/home/{name}/a=b/python"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
class TestTheRealSystemd:
    @pytest.fixture(params=["plain", "opt $x 100% é <&>", 'o\'neil "x" \\ ${y}'])
    def verified(self, tmp_path, request):
        interpreter = tmp_path / request.param / "python"
        interpreter.parent.mkdir()
        interpreter.write_text("#!/bin/sh\n", encoding="utf-8")
        interpreter.chmod(0o755)
        runtime = tmp_path / "run"
        runtime.mkdir(mode=0o700)
        linux = make_machine(tmp_path, "systemd")
        linux.spec = make_spec(tmp_path, interpreter=str(interpreter), env=(("NOTE", "100% \"$HOME\" 'é' \\"),))
        install(linux.manager, linux.spec)

        def run(level):
            return subprocess.run(
                ["systemd-analyze", "--user", "verify", str(linux.file)],
                env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime), "SYSTEMD_LOG_LEVEL": level},
                capture_output=True,
                text=True,
                check=False,
            )

        return linux.spec, run

    def test_has_nothing_to_say_against_the_unit(self, verified):
        spec, run = verified
        done = run("info")
        assert (done.returncode, spec.label in done.stdout + done.stderr) == (0, False)

    def test_reads_the_same_words_and_variables(self, verified):
        spec, run = verified
        printed = run("debug").stdout
        if "Command Line: " not in printed:
            pytest.skip("this systemd-analyze does not print what it has read")
        (line,) = re.findall(r"Command Line: (.*)", printed)
        shell = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True).stdout.decode("utf-8")
        program, *arguments = shell.split("\0")[:-1]
        words = (program, *(variables(word) for word in arguments))
        assert (words[1:] if program == "/usr/bin/env" else words) == spec.arguments
        assert re.findall(r"^\t*Environment: (.*)$", printed, re.MULTILINE) == [f"{k}={v}" for k, v in spec.environment("systemd")]


def test_installing_reloads_enables_and_starts(linux):
    outcome = install(linux.manager, linux.spec)
    assert (outcome.action, outcome.loaded) == ("installed", True)
    assert linux.fake.running(linux.spec.label)
    assert (linux.file.parent / "default.target.wants" / linux.file.name).is_symlink()


def test_without_a_user_manager_it_says_so_and_writes_nothing(tmp_path):
    linux = make_machine(tmp_path / "me", "systemd", bus=False)
    for act in (lambda: install(linux.manager, linux.spec), lambda: uninstall(linux.manager, linux.spec.label)):
        with pytest.raises(ServiceError, match="no systemd user manager"):
            act()
    assert not (linux.home / ".config").exists()
    assert "no systemd user manager" in status(linux.manager, linux.spec).unreachable


def test_lingering_is_suggested_until_it_is_on(linux):
    assert any("loginctl enable-linger" in hint for hint in install(linux.manager, linux.spec).hints)
    uninstall(linux.manager, linux.spec.label)
    linux.fake.linger = True
    assert not any("linger" in hint for hint in install(linux.manager, linux.spec).hints)


def test_a_unit_whose_file_somebody_removed_is_stopped_and_its_link_goes(linux):
    install(linux.manager, linux.spec)
    linux.file.unlink()
    assert uninstall(linux.manager, linux.spec.label).action == "removed"
    assert not linux.fake.running(linux.spec.label)
    assert list((linux.file.parent / "default.target.wants").iterdir()) == []


def test_a_unit_edited_behind_systemds_back_is_put_right(linux):
    install(linux.manager, linux.spec)
    linux.fake.known[linux.file.name] = b"what an older file said"
    assert install(linux.manager, linux.spec).action == "installed"
    assert linux.fake.active[linux.file.name] == linux.manager.render(linux.spec)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"[Service]\nnonsense\n", b"[Service]\nExecStart=/a\nExecStart=/b\n", b'[Service]\nExecStart="/a\n']
)
def test_a_damaged_unit_is_drift_not_a_crash(linux, data):
    install(linux.manager, linux.spec)
    linux.file.write_bytes(data)
    seen = status(linux.manager, linux.spec)
    assert seen.drift.endswith("Run `kg2vault service install`.")
    assert seen.missing == ()
