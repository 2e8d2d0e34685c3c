"""The settings in force: `InForce` reads config.yaml and the alias table, and keeps the last good ones when new ones are broken.

Layer 3. A sync gets the settings with the alias table's text in them, so that a file that is being edited cannot change under it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from platformdirs import user_config_path

from kg2vault.config import config_candidates
from kg2vault.errors import ConfigError
from kg2vault.graph.alias_table import parse_alias_table
from kg2vault.settings import APP, Options, Place, Settings, gather


class InForce:
    """Raises ConfigError when the first settings cannot be used; from then on `problem` says what is wrong with the files as they are."""

    def __init__(self, options: Options, place: Place) -> None:
        self._options, self._place = options, place
        self.problem: ConfigError | None = None
        self.settings = self._read()
        self._seen = self._bytes()
        self.settings = self._read()  # once more: a change before the bytes were taken would never be seen

    def refresh(self) -> bool:
        """Read the files again if their bytes changed; return whether other settings are in force now."""
        seen = self._bytes()
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            fresh = self._read()
        except ConfigError as error:
            self.problem = error
            return False
        self.problem = None
        changed = fresh != self.settings
        self.settings = fresh
        return changed

    def is_stale(self) -> bool:
        """Tell whether the files differ from what was read last."""
        return self._bytes() != self._seen

    def files(self) -> dict[str, Path]:
        """Return the files to watch; one that is not there yet counts as well."""
        found = {}
        config = self.settings.config.origin or self._place_of_config()
        if config is not None:
            found["config"] = config
        found["aliases"] = self.settings.aliases or (config.parent if config is not None else self._place.cwd) / "aliases.yaml"
        return found

    def _read(self) -> Settings:
        try:
            settings = gather(self._options, self._place)
        except OSError as error:  # a folder that may not be entered, which on macOS may be so for the daemon alone
            raise ConfigError(f"{error.filename} cannot be looked at: {error.strerror}.", path=str(error.filename)) from error
        settings.vault()
        text, origin = settings.alias_text()
        parse_alias_table(text, origin)
        return replace(settings, alias_table=(text, origin))

    def _place_of_config(self) -> Path | None:
        candidates = config_candidates(self._options.config, self._place.env, self._place.cwd, user_config_path(APP))
        return next((path for path, _ in candidates), None)

    def _bytes(self) -> tuple[bytes | None, ...]:
        candidates = config_candidates(self._options.config, self._place.env, self._place.cwd, user_config_path(APP))
        paths = [*(path for path, _ in candidates), self.files()["aliases"]]
        return tuple(_content(path) for path in paths)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
