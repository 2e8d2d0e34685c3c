"""What can be wrong with the vault: its folder, the manifest, notes, links, copies, a second device, the size of the graph.

Layer 3. Reads every note of ours once; writes nothing.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from kg2vault.checking import Check, green, red, yellow
from kg2vault.deciding import View
from kg2vault.errors import ManifestError
from kg2vault.recording import manifest_digest
from kg2vault.status import Standing
from kg2vault.storage.daemon_lock import DaemonLock
from kg2vault.storage.lock import VaultLock
from kg2vault.storage.state_file import DaemonFile, RunFile
from kg2vault.storage.vault_dir import STATE_FOLDER
from kg2vault.sync.manifest import EntryState
from kg2vault.sync.observed import text_of
from kg2vault.vault.readback import read_back

LOW_SPACE = 50_000_000  # bytes
# Obsidian's own graph view draws a few thousand nodes and a few ten thousand links; measured by its users, there is no documented limit.
MANY_NOTES, MANY_LINKS = 3_000, 30_000
_CONFLICT_COPY = re.compile(r"conflict|\(\d+\)| \d+$|in Konflikt", re.IGNORECASE)
_SHOWN = 3


def vault_checks(standing: Standing) -> Iterator[Check]:
    """Yield what was found, in a fixed order."""
    error = standing.vault_error
    if isinstance(error, ManifestError):
        yield from (_folder(standing), red("manifest", error.message, error.hint or "Run `kg2vault sync --rebuild-manifest`."))
        return
    if error is not None or standing.view is None:
        reason = error.message if error is not None else "The vault cannot be looked at."
        yield red("vault", reason, (error.hint if error is not None else None) or "Mount its drive, or correct vault.path.")
        return
    yield _folder(standing)
    yield _manifest(standing, standing.view)
    yield from _notes(standing)
    yield from _links(standing, standing.view)
    yield _device(standing)
    yield _size(standing)


def _folder(standing: Standing) -> Check:
    vault = standing.settings.vault()
    for folder in (vault, vault / standing.settings.folder, vault / STATE_FOLDER):
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            return red("vault", f"{folder} cannot be written.", "Give yourself write permission on it, or mount its drive for writing.")
    try:
        free = shutil.disk_usage(vault).free
    except OSError:
        free = LOW_SPACE
    if free < LOW_SPACE:
        return red("vault", f"The disk of {vault} has only {free / 1e6:.0f} MB left.", "Make room on it.")
    if standing.view is not None and standing.view.scan.unreadable:
        path, why = next(iter(standing.view.scan.unreadable.items()))
        return yellow("vault", f"{path} cannot be read ({why}); no note counts as deleted until it can.", "Make it readable.")
    if not (vault / ".obsidian").is_dir():
        return yellow("vault", f"{vault} has no .obsidian folder.", "Open it as a vault in Obsidian once, or correct vault.path.")
    return green("vault", f"{vault} can be written.")


def _manifest(standing: Standing, view: View) -> Check:
    path = view.stores.manifest.path
    if path.exists():
        return green("manifest", f"{len(view.manifest.entries):,} notes are on record.")
    if view.scan.notes or standing.run is not None:
        return yellow(
            "manifest", f"There is no {path}.", "The next sync makes a new one by the ids in the notes; what you deleted may come back."
        )
    return yellow("manifest", "Nothing was synced into this vault yet.", "Run `kg2vault sync`.")


def _notes(standing: Standing) -> Iterator[Check]:
    ways = {
        "conflict": "See `kg2vault conflicts`; settle each with `kg2vault resolve NOTE --mine`, `--generated` or `--both`.",
        "damaged": "Mend the marker lines or the frontmatter by hand; nothing in these notes is written until then.",
        "duplicate": "Delete the copies, or take their kg_id away to make them notes of your own.",
    }
    said = {"conflict": "are edited inside our region", "damaged": "are damaged", "duplicate": "carry the id of another note"}
    for reason, name in (("conflict", "conflicts"), ("damaged", "damaged"), ("duplicate", "duplicates")):
        rows = [row for row in standing.pending if row.reason == reason]
        if not rows:
            yield green(name, "none")
            continue
        since = min((row.since for row in rows if row.since), default="")
        found = f"{_count(len(rows), said[reason])}: {_some([row.path for row in rows])}{f' (since {since})' if since else ''}."
        yield (yellow if reason == "duplicate" else red)(name, found, ways[reason])
    if standing.failed:
        paths = [str(problem["path"]) for problem in standing.failed]
        reason = standing.failed[0]["message"]
        yield red(
            "failed", f"{_count(len(paths), 'could not be written')}: {_some(paths)}. {reason}", "Mend that; the next sync tries again."
        )
    else:
        yield green("failed", "none")


def _links(standing: Standing, view: View) -> Iterator[Check]:
    texts: dict[str, str] = {}
    for found in view.winners.values():
        try:
            texts[found.path] = found.text if found.text is not None else text_of((standing.settings.vault() / found.path).read_bytes())
        except OSError:
            continue
    ghosts = read_back(texts, view.scan.paths).ghosts
    if ghosts:
        shown = _some([f"[[{target}]] in {path}" for path, target in ghosts])
        yield yellow(
            "links", f"{_count(len(ghosts), 'in our regions lead nowhere', 'links', 'link')}: {shown}.", "Run `kg2vault sync --full`."
        )
    else:
        yield green("links", "Every link of ours leads to a note.")
    waiting = len(view.scan.unavailable)
    if waiting:
        yield yellow("cloud", f"{_count(waiting, 'not on this disk yet', 'files are', 'file is')}.", "Let the cloud download them.")


def _device(standing: Standing) -> Check:
    vault, name = standing.settings.vault(), "devices"
    way = "Let one device write the vault and the others only read it: run no kg2vault service there."
    copies = [path.name for path in sorted((vault / STATE_FOLDER).glob("*.json")) if _CONFLICT_COPY.search(path.stem)]
    if copies:
        return red(
            name,
            f"{STATE_FOLDER} holds copies that a sync program makes when two devices write: {_some(copies)}.",
            f"{way} Then delete them.",
        )
    holder = VaultLock(vault).holder()
    if holder is not None and holder.host != platform.node():
        return red(name, f"{holder} on {holder.host} says that it is writing this vault.", way)
    if not _is_ours(vault):
        return yellow(name, "The manifest is not as this machine left it: another device wrote it, or a sync here was cut short.", way)
    return green(name, "Only this machine writes the vault.")


def _is_ours(vault: Path) -> bool:
    """Tell whether the manifest is as a sync here left it, or is just leaving it; looks anew, since one may have ended by now."""
    daemon = DaemonFile(vault).load()
    if VaultLock(vault).holder() is not None or (daemon is not None and daemon.syncing_since and DaemonLock(vault).is_held()):
        return True
    run = RunFile(vault).load()
    return run is None or not run.manifest or manifest_digest(vault) in (None, run.manifest)


def _size(standing: Standing) -> Check:
    assert standing.view is not None
    notes = sum(entry.state is not EntryState.TOMBSTONE for entry in standing.view.manifest.entries.values())
    links = standing.run.graph.get("edges", 0) if standing.run is not None else 0
    shown = f"{notes:,} notes and {links:,} links between concepts"
    if notes > MANY_NOTES or links > MANY_LINKS:
        way = "Raise graph.min_items or graph.min_weight, or set links.backbone: topk; or look at one community at a time in a local graph."
        return yellow("size", f"{shown} are more than Obsidian's graph view moves smoothly.", way)
    return green("size", f"{shown}: Obsidian's graph view can take that.")


def _count(number: int, what: str, many: str = "notes", one: str = "note") -> str:
    if number == 1:
        what = re.sub(r"^are ", "is ", re.sub(r"^carry ", "carries ", re.sub(r" lead ", " leads ", what)))
    return f"{number} {one if number == 1 else many} {what}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


__all__ = ["vault_checks"]
