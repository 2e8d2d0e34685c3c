"""What a service runs, before any system's file format: `ServiceSpec`, and the interpreter that survives upgrades.

Layer 4, front. Promise: every path in a spec is absolute and can be written down in a plist and in a unit file, or making the spec
raises ServiceError; one vault always has the same label, two vaults never share one.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kg2vault import __version__
from kg2vault.errors import ExitCode, ServiceError

LABEL_PREFIX = "net.kg2vault.watch"
SYSTEM_VARIABLE = "KG2VAULT_SERVICE"
VERSION_VARIABLE = "KG2VAULT_SERVICE_VERSION"
RESTART_SECONDS = 30
STOP_SECONDS = 30  # SIGTERM lets the daemon finish the note in hand; after this long it is killed
MINIMAL_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"

PERMANENT = (ExitCode.CONFIG, ExitCode.MANIFEST, ExitCode.REFUSED)
"""Faults only a person can mend, so that starting again is noise. A missing database or vault (3, 4) may be mounted in a minute, a lock (7)
is let go when the other process ends, and a bug (70) may be one bad moment: those are started again."""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One vault's daemon. `options` follow the word `watch`; `env` is laid over the minimal environment of `environment`.

    Raises ServiceError when a path is relative or holds a character that a plist or a unit file cannot carry.
    """

    interpreter: str
    vault: str
    logs: str
    home: str
    config: str | None = None
    db: str | None = None
    aliases: str | None = None
    options: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    version: str = __version__

    def __post_init__(self) -> None:
        for name in ("interpreter", "vault", "logs", "home", "config", "db", "aliases"):
            value = getattr(self, name)
            if value is not None and not Path(value).is_absolute():
                raise ServiceError(f"The service needs an absolute path for {name}, not {value!r}.", path=value)
            _check_writable(name, value or "")
        for word in (*self.options, *(part for pair in self.env for part in pair)):
            _check_writable("an option", word)

    @property
    def label(self) -> str:
        """The service's name: the same for every spelling of one vault path, so that several vaults can have services."""
        return label_for(self.vault)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The program and its arguments; global options stand before the subcommand."""
        given = (("--config", self.config), ("--db", self.db), ("--vault", self.vault), ("--aliases", self.aliases))
        named = (word for option, value in given if value is not None for word in (option, value))
        return (self.interpreter, "-m", "kg2vault", *named, "watch", *self.options)

    def environment(self, system: str) -> tuple[tuple[str, str], ...]:
        """Return every variable the service sets, sorted: nothing of the installing shell's environment is inherited.

        The version makes the file of an older version differ, so that an upgrade is seen and the daemon restarted.
        PYTHONSAFEPATH keeps a stray module in the working directory from being imported.
        """
        base = {
            "HOME": self.home,
            "PATH": MINIMAL_PATH,
            "PYTHONSAFEPATH": "1",
            "PYTHONUTF8": "1",
            SYSTEM_VARIABLE: system,
            VERSION_VARIABLE: self.version,
        }
        return tuple(sorted({**base, **dict(self.env)}.items()))


def label_for(vault: str) -> str:
    """Return the label of the service of a vault: a fixed prefix and 8 hex digits of sha256 of the path."""
    spelled = unicodedata.normalize("NFC", os.path.normpath(vault))
    return f"{LABEL_PREFIX}.{hashlib.sha256(spelled.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def final_status(code: int, env: Mapping[str, str]) -> int:
    """Return the status `watch` should end with: launchd knows only "failed", so there a permanent fault has to look like success.

    Under systemd, and in a terminal, the code stays what it is.
    """
    return 0 if env.get(SYSTEM_VARIABLE) == "launchd" and code in PERMANENT else code


def stable_interpreter(executable: str, prefix: str) -> str:
    """Return the path of this interpreter that will still be there after an upgrade; `executable` and `prefix` as in `sys`.

    No link is ever resolved. A virtual environment's own `bin/python` comes first; a path through Homebrew's versioned Cellar is replaced
    by the first stable name that is the same file today, the one with the minor version first: `python3` moves on to a Python in which
    this package is not installed. Raises ServiceError when there is no interpreter to name.
    """
    if not executable:
        raise ServiceError("Python does not say where its interpreter is. Install the service with an installed Python.")
    own = Path(prefix) / "bin" / "python"
    in_environment = (Path(prefix) / "pyvenv.cfg").is_file() and own.exists()
    chosen = own if in_environment else Path(os.path.abspath(executable))  # noqa: PTH100 - resolve() would follow the links
    return next((str(name) for name in _stable_names(chosen) if _same_file(name, chosen)), str(chosen))


def _stable_names(path: Path) -> tuple[Path, ...]:
    parts = path.parts
    if "Cellar" not in parts or len(parts) < parts.index("Cellar") + 4:
        return ()
    at = parts.index("Cellar")
    brew, formula, rest = Path(*parts[:at]), parts[at + 1], parts[at + 3 :]
    minor = re.search(r"@(\d+\.\d+)$", formula) or re.search(r"^(\d+\.\d+)", parts[at + 2])
    if not formula.startswith("python"):
        return (brew.joinpath("opt", formula, *rest),)
    exact = (f"python{minor[1]}",) if minor else ()
    return (
        *(brew / "bin" / name for name in exact),
        brew.joinpath("opt", formula, *rest),
        brew / "bin" / path.name,
        brew / "bin" / "python3",
    )


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _check_writable(name: str, value: str) -> None:
    bad = sorted({char for char in value if unicodedata.category(char) in ("Cc", "Cs") or char in "\ufffe\uffff"})
    if bad:
        raise ServiceError(
            f"{name} holds {', '.join(f'U+{ord(char):04X}' for char in bad)}, which no service file can carry: {value!r}. Rename it.",
            path=value.encode("utf-8", "backslashreplace").decode("utf-8"),
        )
