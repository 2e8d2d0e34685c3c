"""What a service runs, and by which interpreter."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kg2vault.errors import ExitCode, ServiceError
from kg2vault.service.spec import ServiceSpec, final_status, label_for, stable_interpreter
from tests.service.conftest import make_spec


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def link(path: Path, target: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def test_global_options_stand_before_the_subcommand(tmp_path):
    spec = make_spec(tmp_path, vault="v", aliases=None, options=("--polling",))
    home = str(tmp_path)
    assert spec.arguments == (
        *(f"{home}/tools/bin/python", "-m", "kg2vault", "--config", f"{home}/v/config.yaml", "--db", f"{home}/.hermes/v.db"),
        *("--vault", f"{home}/v", "watch", "--polling"),
    )


def test_two_vaults_have_two_labels_and_one_vault_has_one():
    assert label_for("/home/a/Vault") != label_for("/home/a/Vault 2")
    assert label_for("/home/a/Vault/") == label_for("/home/a/./Vault")
    assert label_for("/home/a/Caf\u00e9") == label_for("/home/a/Cafe\u0301"), "macOS hands out either spelling of one folder"
    prefix, dot, digest = label_for("/v").rpartition(".")
    assert (prefix, dot, len(digest)) == ("net.kg2vault.watch", ".", 8)


@pytest.mark.parametrize("field", ["interpreter", "vault", "logs", "home", "config", "db", "aliases"])
def test_a_relative_path_is_refused(tmp_path, field):
    with pytest.raises(ServiceError, match=f"absolute path for {field}"):
        replace(make_spec(tmp_path), **{field: "~/somewhere"})


@pytest.mark.parametrize("char", ["\n", "\r", "\0", "\x1b", "\x7f", "\x85", "\udce9", "\ufffe"])
def test_a_path_no_service_file_can_carry_is_refused_by_code_point(tmp_path, char):
    with pytest.raises(ServiceError, match=rf"vault holds U\+{ord(char):04X}") as caught:
        make_spec(tmp_path, vault=f"a{char}b")
    assert str(caught.value).isprintable(), "the message can be printed on any terminal"
    (caught.value.path or "").encode("utf-8")


def test_a_variable_of_ours_can_be_set_and_nothing_else_comes_from_the_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    variables = dict(make_spec(tmp_path, env=(("TZ", "UTC"), ("PATH", "/opt/bin"))).environment("systemd"))
    assert sorted(variables) == ["HOME", "KG2VAULT_SERVICE", "KG2VAULT_SERVICE_VERSION", "PATH", "PYTHONSAFEPATH", "PYTHONUTF8", "TZ"]
    assert variables["PATH"] == "/opt/bin"


def test_the_package_starts_with_that_environment_alone_and_is_not_fooled_by_the_working_directory(tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('the wrong yaml')", encoding="utf-8")
    spec = make_spec(tmp_path, interpreter=stable_interpreter(sys.executable, sys.prefix))
    program = "import sys, kg2vault.config; print(sys.flags.utf8_mode, sys.flags.safe_path)"
    done = subprocess.run(
        [spec.arguments[0], "-c", program], env=dict(spec.environment("launchd")), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("1 True", "", 0)


@pytest.mark.parametrize(
    ("code", "under_launchd"),
    [
        (ExitCode.FINE, 0),
        (ExitCode.CONFIG, 0),
        (ExitCode.MANIFEST, 0),
        (ExitCode.REFUSED, 0),
        (ExitCode.SOURCE, 3),
        (ExitCode.VAULT, 4),
        (ExitCode.LOCKED, 7),
        (ExitCode.BUG, 70),
        (143, 143),
    ],
)
def test_launchd_is_not_made_to_restart_what_only_a_person_can_mend(code, under_launchd):
    assert final_status(code, {"KG2VAULT_SERVICE": "launchd"}) == under_launchd
    assert final_status(code, {"KG2VAULT_SERVICE": "systemd"}) == code
    assert final_status(code, {}) == code


class TestTheInterpreter:
    def test_of_a_virtual_environment_is_its_own_link_never_what_it_points_to(self, tmp_path):
        real = executable(tmp_path / "pyenv" / "versions" / "3.12.4" / "bin" / "python3.12")
        own = link(tmp_path / "venv" / "bin" / "python", real)
        (tmp_path / "venv" / "pyvenv.cfg").touch()
        assert stable_interpreter(str(own.with_name("python3")), str(tmp_path / "venv")) == str(own)

    def test_of_homebrew_is_a_name_outside_the_cellar(self, tmp_path):
        cellar = executable(tmp_path / "homebrew" / "Cellar" / "python@3.12" / "3.12.4" / "bin" / "python3.12")
        shim = link(tmp_path / "homebrew" / "bin" / "python3", cellar)
        assert stable_interpreter(str(cellar), str(tmp_path)) == str(shim)

    def test_of_homebrew_keeps_its_minor_version_when_it_can(self, tmp_path):
        brew = tmp_path / "homebrew"
        cellar = executable(brew / "Cellar" / "python@3.12" / "3.12.4" / "bin" / "python3.12")
        link(brew / "bin" / "python3", cellar)
        exact = link(brew / "bin" / "python3.12", cellar)
        assert stable_interpreter(str(cellar.with_name("python3.12")), str(tmp_path)) == str(exact)

    def test_of_homebrew_is_not_another_python_that_happens_to_have_the_short_name(self, tmp_path):
        brew = tmp_path / "homebrew"
        cellar = executable(brew / "Cellar" / "python@3.12" / "3.12.4" / "bin" / "python3.12")
        link(brew / "bin" / "python3", executable(brew / "Cellar" / "python@3.13" / "3.13.0" / "bin" / "python3.13"))
        assert stable_interpreter(str(cellar), str(tmp_path)) == str(cellar)
        link(brew / "opt" / "python@3.12", brew / "Cellar" / "python@3.12" / "3.12.4")
        assert stable_interpreter(str(cellar), str(tmp_path)) == str(brew / "opt" / "python@3.12" / "bin" / "python3.12")

    def test_of_a_homebrew_formula_with_its_own_environment_goes_through_opt(self, tmp_path):
        keg = tmp_path / "homebrew" / "Cellar" / "kg2vault" / "1.0"
        executable(keg / "libexec" / "bin" / "python")
        (keg / "libexec" / "pyvenv.cfg").touch()
        link(tmp_path / "homebrew" / "opt" / "kg2vault", keg)
        found = stable_interpreter(str(keg / "libexec" / "bin" / "python3"), str(keg / "libexec"))
        assert found == str(tmp_path / "homebrew" / "opt" / "kg2vault" / "libexec" / "bin" / "python")

    def test_of_a_plain_installation_stays_as_it_is_called(self, tmp_path):
        called = link(tmp_path / "bin" / "python3", executable(tmp_path / "bin" / "python3.11"))
        assert stable_interpreter(str(called), str(tmp_path)) == str(called)

    def test_that_python_cannot_name_is_refused(self):
        with pytest.raises(ServiceError, match="does not say where its interpreter is"):
            stable_interpreter("", "/usr")

    def test_of_this_very_process_runs_and_fits_into_a_spec(self):
        found = stable_interpreter(sys.executable, sys.prefix)
        same = subprocess.run([found, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True).stdout.strip()
        assert same == sys.prefix
        assert ServiceSpec(found, "/v", "/l", "/h").arguments[0] == found
