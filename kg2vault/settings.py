"""Which database, which vault, which alias table: `Settings`, gathered from the command line, the configuration and the environment.

Layer 3. Everything an operation needs to know before it starts; gathering reads files and writes none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kg2vault.config import Config, find_config, load_config, read_text
from kg2vault.errors import ConfigError
from kg2vault.vault.paths import is_device

APP = "kg2vault"


@dataclass(frozen=True, slots=True)
class Options:
    """The global options of the command line."""

    config: Path | None = None
    db: Path | None = None
    vault: Path | None = None
    aliases: Path | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the program runs: injected, so that tests have a home of their own."""

    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: Path = field(default_factory=Path.cwd)
    home: Path = field(default_factory=Path.home)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything decided; `config` has the command line's paths already in it."""

    config: Config
    place: Place
    aliases: Path | None  # None: the table that comes with the package
    db_named_by: str = ""
    alias_table: tuple[str, str] | None = None  # text and origin, when the file as it is now is not to be read

    @property
    def folder(self) -> str:
        """Our folder inside the vault, clean and relative."""
        return self.config.vault.folder

    def vault(self) -> Path:
        """Return the vault's root; raises ConfigError when none is set."""
        if self.config.vault.path is None:
            raise ConfigError("No vault is set.", hint="Name it with --vault, or write vault.path in config.yaml (`kg2vault init` helps).")
        return self.config.vault.path

    def database(self) -> Path:
        """Return hermes.db's path; raises SourceError naming what was tried."""
        from kg2vault.storage.discover import find_database

        explicit = self.config.db if self.db_named_by == "--db" else None
        configured = self.config.db if self.db_named_by != "--db" else None
        return find_database(explicit, configured, self.place.env, self.place.home, self.place.cwd)

    def alias_text(self) -> tuple[str, str]:
        """Return the alias table's text and where it comes from; raises ConfigError."""
        if self.alias_table is not None:
            return self.alias_table
        if self.aliases is not None:
            return read_text(self.aliases), str(self.aliases)
        return read_text(Path(__file__).with_name("defaults") / "aliases.yaml"), "the built-in aliases.yaml"


def gather(options: Options, place: Place) -> Settings:
    """Read the configuration in force and lay the options over it; raises ConfigError."""
    from platformdirs import user_config_path

    path = find_config(options.config, place.env, place.cwd, user_config_path(APP))
    config = load_config(path)
    vault = replace(config.vault, folder=_clean_folder(config.vault.folder, str(path)))
    if options.vault is not None:
        vault = replace(vault, path=options.vault)
    if vault.path is not None:
        vault = replace(vault, path=_absolute(vault.path, place))
    db = options.db if options.db is not None else config.db
    config = replace(config, vault=vault, db=_absolute(db, place) if db is not None else None)
    return Settings(config, place, _alias_path(options, config, place), "--db" if options.db is not None else "")


def _absolute(path: Path, place: Place) -> Path:
    text = str(path)
    expanded = place.home / text[2:] if text.startswith("~/") else path
    return expanded if expanded.is_absolute() else place.cwd / expanded


def _alias_path(options: Options, config: Config, place: Place) -> Path | None:
    if options.aliases is not None:
        return _absolute(options.aliases, place)
    if config.aliases is not None:
        return config.aliases
    beside = (config.origin.parent if config.origin is not None else place.cwd) / "aliases.yaml"
    return beside if beside.is_file() else None


def _clean_folder(folder: str, origin: str) -> str:
    parts = [part for part in folder.replace("\\", "/").split("/") if part not in ("", ".")]
    bad = [
        part
        for part in parts
        if part.startswith(".") or part.strip(" .") != part or set(part) & set(':*?"<>|#^[]') or not part.isprintable() or is_device(part)
    ]
    if not parts or bad or folder.startswith("/"):
        raise ConfigError(
            f"vault.folder is {folder!r} in {origin}; it must be a folder inside the vault whose name Obsidian can link to "
            '(no "..", no leading dot, none of \\ : * ? " < > | # ^ [ ], no device of Windows).',
            path=origin,
        )
    return "/".join(parts)


def settings_digest(*parts: object) -> str:
    """Return a short digest of everything besides the rows that shapes the notes."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]
