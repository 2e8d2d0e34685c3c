"""Where is hermes.db? The one place that knows the order in which it is looked for.

Layer 2. A place that somebody named (command line, configuration, environment) wins outright, also when nothing is there: falling through
to another database would build another vault. Only between the usual places the content decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kg2vault.errors import SourceError, SourceMissing
from kg2vault.storage.hermes import HermesSource

VARIABLES = ("ATTEST_DB", "RSS_DB")
SKILL_PATH = Path(".hermes/skills/science-recommendations/data/hermes.db")
_PROBE_SECONDS = 1.0


def find_database(explicit: Path | None, configured: Path | None, env: Mapping[str, str], home: Path, cwd: Path) -> Path:
    """Return the path of hermes.db: --db, `db:` in the configuration, $ATTEST_DB, $RSS_DB, the skill's folder in `home`, `cwd`.

    Raises SourceMissing when a named file is not there or no usual place has one, and SourceError when both usual places hold data.
    """
    for name, path in _named(explicit, configured, env):
        place = _absolute(path, home, cwd)
        if _is_absent(place):
            hint = f"Correct or remove {name}." if name.startswith(("$", "db:")) else "Check the path."
            raise SourceMissing(f"There is no {place}, which {name} names.", path=str(place), hint=hint)
        return place
    return _usual(home / SKILL_PATH, cwd / "hermes.db")


def _named(explicit: Path | None, configured: Path | None, env: Mapping[str, str]) -> list[tuple[str, Path]]:
    named = [("--db", explicit), ("db: in the configuration", configured)]
    named += [(f"${name}", Path(env[name])) for name in VARIABLES if env.get(name)]
    return [(name, path) for name, path in named if path is not None]


def _absolute(path: Path, home: Path, cwd: Path) -> Path:
    parts = path.parts
    return home.joinpath(*parts[1:]) if parts[:1] == ("~",) else cwd / path


def _usual(*places: Path) -> Path:
    present = [place for place in places if not _is_absent(place)]
    if not present:
        tried = ", ".join(["--db", "db: in the configuration", *(f"${name}" for name in VARIABLES), *map(str, places)])
        raise SourceMissing(f"No hermes.db was found (tried: {tried}).", hint="Name it with --db, or try `kg2vault demo`.")
    if len(present) == 1 or _same_file(present[0], present[1]):
        return present[0]
    filled = [place for place in present if _holds_data(place)]
    if len(filled) == 1:
        return filled[0]
    state = "both hold data" if filled else "neither holds any tags"
    raise SourceError(
        f"There are two databases, {present[0]} and {present[1]}, and {state}.",
        path=str(present[0]),
        hint="Say which one with --db, or write db: in config.yaml.",
    )


def _is_absent(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # it may well be there: reading it will say what is in the way
        return False
    return False


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _holds_data(path: Path) -> bool:
    try:
        return HermesSource(path, busy_timeout=_PROBE_SECONDS).has_tags()
    except SourceError as error:
        return error.code in ("source-busy", "source-denied")  # something that can't be looked into may be the one
