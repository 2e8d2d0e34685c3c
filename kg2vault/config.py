"""The settings, typed: `load_config()` reads config.yaml once and hands out one frozen `Config`.

Layer 0. Every problem of a file is reported in one go, each with its key path and line, and nothing is guessed: an unknown key, a wrong
type or a value out of range is a ConfigError. The keys, their defaults and their comments are in `defaults/config.yaml`; a test holds the
file and these classes together.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from kg2vault.errors import ConfigError
from kg2vault.settings_yaml import compose

if typing.TYPE_CHECKING:
    import yaml


def _setting(default: Any, *, minimum: float | None = None, maximum: float | None = None, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum, "choices": choices})


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """Where the notes go."""

    path: Path | None = None
    folder: str = "Knowledge Graph"


@dataclass(frozen=True, slots=True)
class SpellingConfig:
    """How spellings become one concept."""

    case: bool = True  # spellings that differ only in case are one concept


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """Which tags and pairs are in the graph."""

    min_items: int = _setting(2, minimum=1)
    min_weight: int = _setting(2, minimum=1)
    include_isolated: bool = False


@dataclass(frozen=True, slots=True)
class CommunityConfig:
    """How concepts are grouped."""

    min_size: int = _setting(3, minimum=1)
    resolution: float = _setting(1.0, minimum=0.01, maximum=100)
    stickiness: float = _setting(0.05, minimum=0, maximum=10)


@dataclass(frozen=True, slots=True)
class NotesConfig:
    """What stands in the notes."""

    recent_items: int = _setting(10, minimum=0, maximum=1000)
    items: bool = False
    feeds: bool = False


@dataclass(frozen=True, slots=True)
class LinksConfig:
    """Which edges are links and how their weight shows."""

    backbone: str = _setting("all", choices=("all", "topk", "disparity"))
    top_k: int = _setting(10, minimum=1)
    alpha: float = _setting(0.05, minimum=0, maximum=1)
    dataview: bool = False
    bands: bool = False
    repeat: int = _setting(1, minimum=1, maximum=9)
    size: bool = False


@dataclass(frozen=True, slots=True)
class ObsidianConfig:
    """Which of Obsidian's own files we add to."""

    graph_colors: bool = True
    property_types: bool = True
    base: bool = True
    canvas: bool = False


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """When a sync refuses to go on without a flag."""

    max_retire_share: float = _setting(0.2, minimum=0, maximum=1)
    max_retire_count: int = _setting(20, minimum=0)
    max_missing_share: float = _setting(0.2, minimum=0, maximum=1)
    max_missing_count: int = _setting(10, minimum=0)
    settle_seconds: float = _setting(3.0, minimum=0, maximum=3600)


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """When the daemon syncs."""

    quiet_seconds: float = _setting(2.0, minimum=0, maximum=3600)
    max_delay_seconds: float = _setting(30.0, minimum=0, maximum=86400)
    poll_seconds: float = _setting(60.0, minimum=0.1, maximum=86400)
    polling: bool = False
    materialize: bool = False
    log_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting; `origin` is the file it was read from, None for the defaults."""

    db: Path | None = None
    aliases: Path | None = None
    vault: VaultSettings = field(default_factory=VaultSettings)
    spelling: SpellingConfig = field(default_factory=SpellingConfig)
    graph: GraphConfig = field(default_factory=GraphConfig)
    communities: CommunityConfig = field(default_factory=CommunityConfig)
    notes: NotesConfig = field(default_factory=NotesConfig)
    links: LinksConfig = field(default_factory=LinksConfig)
    obsidian: ObsidianConfig = field(default_factory=ObsidianConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    origin: Path | None = None


def config_candidates(explicit: Path | None, env: Mapping[str, str], cwd: Path, platform_folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the places a config file is looked for, best first, each with the name of the setting it comes from."""
    if explicit is not None:
        yield explicit, "--config"
        return
    if env.get("KG2VAULT_CONFIG"):
        yield Path(env["KG2VAULT_CONFIG"]).expanduser(), "$KG2VAULT_CONFIG"
        return
    yield cwd / "config.yaml", ""
    yield platform_folder / "config.yaml", ""


_EXPONENT = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")


def find_config(explicit: Path | None, env: Mapping[str, str], cwd: Path, platform_folder: Path) -> Path | None:
    """Return the config file in force, None when there is none; raises ConfigError when one that was named is missing."""
    for path, named_by in config_candidates(explicit, env, cwd, platform_folder):
        if path.is_file():
            return path
        if named_by:
            raise ConfigError(f"{named_by} names {path}, which is not a file. Correct the path or leave it out.", path=str(path))
    return None


def load_config(path: Path | None) -> Config:
    """Read a config file, or return the defaults for None. Relative paths in it count from its own folder.

    Raises ConfigError naming every unknown key, wrong type and value out of range with its line.
    """
    if path is None:
        return Config()
    return parse_config(read_text(path), path)


def read_text(path: Path) -> str:
    """Return a settings file's text; raises ConfigError when it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.", path=str(path)) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.", path=str(path)) from error


def parse_config(text: str, path: Path) -> Config:
    """Turn the text of a config file into a Config; raises ConfigError as `load_config` does."""
    import yaml

    try:
        root = compose(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ConfigError(f"{where} is not valid YAML: {getattr(error, 'problem', None) or error}.", path=str(path)) from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply.", path=str(path)) from error
    problems: list[str] = []
    values = _section(root, Config, "", path, problems) if root is not None else {}
    if problems:
        raise ConfigError("; ".join(problems), path=str(path))
    return Config(**values, origin=path)


def _section(node: yaml.Node, kind: type[Any], prefix: str, path: Path, problems: list[str]) -> dict[str, Any]:
    import yaml

    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
        return {}
    if not isinstance(node, yaml.MappingNode):
        problems.append(f"{path}:{node.start_mark.line + 1}: {prefix.rstrip('.') or 'the file'} must be a mapping of keys to values")
        return {}
    hints = typing.get_type_hints(kind)
    known = {f.name: f for f in fields(kind) if f.name != "origin"}
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        name, line = str(key_node.value), key_node.start_mark.line + 1
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, known, n=1)
            meant = f", did you mean {prefix}{close[0]}?" if close else f"; the keys here are {', '.join(sorted(known))}"
            problems.append(f"{path}:{line}: unknown key {prefix}{name}{meant}")
        elif name in values:
            problems.append(f"{path}:{line}: {prefix}{name} is set twice")
        elif is_dataclass(hints[name]):
            values[name] = hints[name](**_section(value_node, hints[name], f"{prefix}{name}.", path, problems))
        else:
            values[name] = _scalar(value_node, hints[name], known[name], f"{path}:{line}: {prefix}{name}", path, problems)
    return values


def _scalar(node: yaml.Node, hint: Any, spec: Any, where: str, path: Path, problems: list[str]) -> Any:
    import yaml

    tag = node.tag.rsplit(":", 1)[-1]
    text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    if not isinstance(node, yaml.ScalarNode):
        problems.append(f"{where} must be a single value")
    elif hint == Path | None:
        return None if tag == "null" or not text else (path.parent / Path(text).expanduser())
    elif hint is bool and tag == "bool":
        return text.lower() in {"true", "yes", "on"}
    elif hint is int and tag == "int":
        return _bounded(yaml.safe_load(text), spec, where, problems)
    elif hint is float and tag in {"int", "float"}:
        return _bounded(float(yaml.safe_load(text)), spec, where, problems)
    elif hint is float and _EXPONENT.fullmatch(text):  # PyYAML reads 1e3 as text
        return _bounded(float(text), spec, where, problems)
    elif hint is str and tag == "str" and text:
        if spec.metadata.get("choices") and text not in spec.metadata["choices"]:
            problems.append(f"{where} must be one of {', '.join(spec.metadata['choices'])}, not {text!r}")
        return text
    else:
        kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        problems.append(f"{where} must be {kinds[hint]}, not {text!r}")
    return spec.default


def _bounded(value: float, spec: Any, where: str, problems: list[str]) -> float:
    low, high = spec.metadata.get("minimum"), spec.metadata.get("maximum")
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        problems.append(f"{where} must be {bounds}, not {value}")
    return value
