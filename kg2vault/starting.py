"""Init: find the reader's database and the Obsidian vaults of this machine, and write a config.yaml with every key explained.

Layer 3. Nothing that exists is overwritten; what could not be decided stays empty and is said.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

from kg2vault.config import parse_config
from kg2vault.errors import ConfigError, SourceError
from kg2vault.result import OperationResult, Problem
from kg2vault.settings import Options, Place
from kg2vault.storage.discover import find_database


def init(options: Options, place: Place) -> OperationResult:
    """Write config.yaml; raises ConfigError when there is one already or it cannot be written."""
    target = options.config or place.cwd / "config.yaml"
    if target.exists():
        raise ConfigError(f"{target} exists already; edit it, or remove it first.", path=str(target))
    problems: list[Problem] = []
    database = _database(options, place, problems)
    vault = options.vault or _vault(place, problems)
    text = files("kg2vault").joinpath("defaults/config.yaml").read_text(encoding="utf-8")
    for key, value in (("db:", database), ("  path:", vault)):
        if value is not None:
            text = _filled(text, key, value)
    parse_config(text, target)
    try:
        with target.open("x", encoding="utf-8") as handle:
            handle.write(text)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}.", path=str(target)) from error
    lines = [
        f"Wrote {target}.",
        f"  hermes.db: {database or 'not set'}",
        f"  vault: {vault or 'not set'}",
        "Next: `kg2vault sync --dry-run`, then `kg2vault sync`.",
    ]
    data = {"config": str(target), "db": str(database) if database else None, "vault": str(vault) if vault else None}
    return OperationResult("init", data, tuple(problems), 0, "\n".join(lines))


def _database(options: Options, place: Place, problems: list[Problem]) -> Path | None:
    try:
        return find_database(options.db, None, place.env, place.home, place.cwd)
    except SourceError as error:
        problems.append(Problem(error.code, error.message, error.path, "Set db in the config."))
        return None


def _vault(place: Place, problems: list[Problem]) -> Path | None:
    found = obsidian_vaults(place)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(str, found)) or "none"
    problems.append(Problem("vault", f"Obsidian knows {len(found)} vaults ({listed}).", None, "Set vault.path in the config."))
    return None


def obsidian_vaults(place: Place, platform: str = sys.platform) -> list[Path]:
    """Return the vaults in Obsidian's own register that still exist."""
    folders = {
        "darwin": [place.home / "Library" / "Application Support" / "obsidian"],
        "win32": [Path(place.env.get("APPDATA", place.home)) / "obsidian"],
    }.get(platform, [place.home / ".config" / "obsidian", place.home / ".var/app/md.obsidian.Obsidian/config/obsidian"])
    found: set[Path] = set()
    for folder in folders:
        try:
            register = json.loads((folder / "obsidian.json").read_text(encoding="utf-8"))
            found.update(Path(vault["path"]) for vault in register["vaults"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return sorted(path for path in found if path.is_dir())


def _filled(text: str, key: str, value: Path) -> str:
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(key))
    lines[at] = f"{key} {json.dumps(str(value), ensure_ascii=False)}  #{lines[at].split('#', 1)[1]}"
    return "\n".join(lines)
