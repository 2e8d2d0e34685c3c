"""One function per operation: what the command line, the MCP server and the daemon all call.

Layer 3. Each takes settings and plain values, raises the errors of errors.py before anything is written, and returns an OperationResult.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from kg2vault.result import OperationResult
from kg2vault.settings import Options, Place, Settings, gather

if TYPE_CHECKING:
    from kg2vault.deciding import conflicts, resolve, restore, trash
    from kg2vault.starting import init
    from kg2vault.syncing import SyncFlags, sync
    from kg2vault.verifying import verify

__all__ = ["SyncFlags", "conflicts", "demo", "init", "resolve", "restore", "sync", "trash", "verify"]

_HOMES = {
    "deciding": ("conflicts", "resolve", "restore", "trash"),
    "starting": ("init",),
    "syncing": ("SyncFlags", "sync"),
    "verifying": ("verify",),
}


def __getattr__(name: str) -> object:
    """Import an operation when it is asked for: a command needs one of them, and all together take longer to load than most to run."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"kg2vault.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def demo(folder: Path, place: Place | None = None) -> OperationResult:
    """Write the bundled reading log as `folder`/hermes.db and sync it into `folder`/vault."""
    from kg2vault.demo.database import write_demo_database
    from kg2vault.syncing import sync

    place = place or Place(env={})
    folder = folder if folder.is_absolute() else place.cwd / folder
    database, vault = folder / "hermes.db", folder / "vault"
    counts = write_demo_database(database)
    (vault / ".obsidian").mkdir(parents=True, exist_ok=True)
    settings = demo_settings(folder, place)
    result = sync(settings)
    lines = [
        f"A reading log of {counts.items} papers and posts: {database}",
        f"as {result.data['concepts']} concepts, {result.data['edges']} edges and {result.data['communities']} communities: {vault}",
        f"Open the folder {vault} as a vault in Obsidian, then its graph view,",
        f"or start reading at {vault / settings.folder / (settings.folder + '.md')}",
    ]
    data = {**result.data, "database": str(database), "vault": str(vault), "items": counts.items}
    return OperationResult("demo", data, result.problems, result.exit_code, "\n".join(lines))


def demo_settings(folder: Path, place: Place) -> Settings:
    """Return settings that depend on nothing but the demo's folder."""
    from importlib.resources import as_file, files

    with as_file(files("kg2vault").joinpath("defaults/config.yaml")) as config:
        return gather(Options(config=config, db=folder / "hermes.db", vault=folder / "vault"), place)
