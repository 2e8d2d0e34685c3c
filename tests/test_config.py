"""The settings file: every key with its default, and the way to a first one."""

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
import yaml

from kg2vault.config import Config, load_config, parse_config
from kg2vault.errors import ConfigError
from kg2vault.settings import Options, Place, gather
from kg2vault.starting import init, obsidian_vaults

DEFAULTS = Path(__file__).resolve().parents[1] / "kg2vault" / "defaults"


def keys(kind, prefix=""):
    for spec in fields(kind):
        if spec.name == "origin":
            continue
        if callable(spec.default_factory) and is_dataclass(spec.default_factory):
            yield from keys(spec.default_factory, f"{prefix}{spec.name}.")
        else:
            yield prefix + spec.name


def flat(mapping, prefix=""):
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def test_the_example_names_every_key_with_its_default_and_a_comment():
    text = (DEFAULTS / "config.yaml").read_text(encoding="utf-8")
    assert list(flat(yaml.safe_load(text))) == list(keys(Config)) or set(flat(yaml.safe_load(text))) == set(keys(Config))
    assert replace(load_config(DEFAULTS / "config.yaml"), origin=None) == Config()
    for line in text.splitlines():
        if line.strip() and not line.startswith("#") and not line.rstrip().endswith(":"):
            assert "#" in line or line.strip() == "folder: Knowledge Graph", line


@pytest.mark.parametrize("name", ["config.yaml", "aliases.yaml"])
def test_the_files_at_the_top_are_those_in_the_package(name):
    assert (DEFAULTS.parents[1] / name).read_bytes() == (DEFAULTS / name).read_bytes()


def test_relative_paths_count_from_the_config_file(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "c.yaml").write_text("db: reader/hermes.db\nvault:\n  path: ../notes\n")
    settings = gather(Options(config=tmp_path / "conf" / "c.yaml"), Place(env={}, cwd=tmp_path, home=tmp_path))
    assert settings.config.db == tmp_path / "conf" / "reader" / "hermes.db"
    assert settings.vault() == tmp_path / "conf" / ".." / "notes"


def test_the_command_line_wins_over_the_file_and_the_file_over_the_defaults(tmp_path):
    (tmp_path / "config.yaml").write_text("vault:\n  path: a\n  folder: KG\n")
    place = Place(env={}, cwd=tmp_path, home=tmp_path)
    assert gather(Options(), place).vault() == tmp_path / "a"
    assert gather(Options(vault=Path("b")), place).vault() == tmp_path / "b"
    assert gather(Options(vault=Path("b")), place).folder == "KG"


def test_init_finds_the_database_and_the_only_vault_and_writes_a_config_that_loads(tmp_path, database):
    home = tmp_path / "home"
    vault = tmp_path / 'my "notes" # here'
    vault.mkdir()
    (home / ".config" / "obsidian").mkdir(parents=True)
    (home / ".config" / "obsidian" / "obsidian.json").write_text(
        json.dumps({"vaults": {"a": {"path": str(vault)}, "b": {"path": "/gone"}}})
    )
    database.add("a")
    place = Place(env={"RSS_DB": str(database.path)}, cwd=tmp_path, home=home)
    assert obsidian_vaults(place, "linux") == [vault]
    result = init(Options(), place)
    assert result.ok
    settings = gather(Options(), place)
    assert settings.vault() == vault
    assert settings.config.db == database.path
    with pytest.raises(Exception, match="exists already"):
        init(Options(), place)


@pytest.mark.parametrize(("text", "value"), [("2", 2.0), ("0.5", 0.5), ("1e1", 10.0), ("2.5E-1", 0.25), ("+1e+1", 10.0)])
def test_a_number_may_be_written_in_every_usual_way(tmp_path, text, value):
    (tmp_path / "config.yaml").write_text(f"communities:\n  resolution: {text}\n")
    assert load_config(tmp_path / "config.yaml").communities.resolution == value


# libyaml and PyYAML's own parser do not agree on these.
DISPUTED = ["%FOO bar\n---\ndb: a.db\n", 'db: "\\ud800"\n', "vault: {folder: !}\n", "\tdb: x\n", "db: [\n", "db: " + "[" * 2_000]


@pytest.mark.parametrize("text", DISPUTED)
def test_a_config_is_judged_alike_whether_pyyaml_was_built_with_libyaml_or_not(text, tmp_path, monkeypatch):
    answers = []
    for _ in range(2):
        try:
            answers.append(parse_config(text, tmp_path / "config.yaml"))
        except ConfigError as error:
            answers.append(str(error))
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert answers[0] == answers[1]
