"""Sync: bring the vault to what the graph says, once.

Layer 3. `sync()` is the whole data flow in one place: read, lock, build, render, scan, plan, apply. A dry run is the same up to the plan,
which it prints; it takes no lock and writes nothing at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from kg2vault import graphs
from kg2vault.decorating import decorate, remembered, without_groups_that_go
from kg2vault.errors import ExitCode
from kg2vault.graph.model import Assignments, Item, Reading
from kg2vault.leaving import fates
from kg2vault.recording import guard_mounted, record, record_unfinished
from kg2vault.report import sync_result
from kg2vault.result import OperationResult, Problem
from kg2vault.settings import Settings, settings_digest
from kg2vault.storage.apply import Applied, Outcome, apply
from kg2vault.storage.base import Clock, Disk, SystemClock
from kg2vault.storage.beside import BesideNotes
from kg2vault.storage.cache_file import Cache, CacheFile
from kg2vault.storage.hermes import HermesSource, no_collector
from kg2vault.storage.lock import VaultLock
from kg2vault.storage.manifest_file import ManifestFile
from kg2vault.storage.vault_dir import VaultDir
from kg2vault.sync.guards import guard_scan, guard_source, guard_vault
from kg2vault.sync.layout import Layout, delivery, lay_out
from kg2vault.sync.manifest import EntryState, Manifest, SavedCommunity
from kg2vault.sync.observed import Scan, text_of
from kg2vault.sync.plan import Keep, Plan, plan
from kg2vault.vault.render import Before, DesiredNotes, NoteSettings, render
from kg2vault.vault.scene import bands_of
from kg2vault.vault.weights import Bands
from kg2vault.witness import Ended, Stamp, Witness


@dataclass(frozen=True, slots=True)
class SyncFlags:
    """What a person may ask of one sync."""

    dry_run: bool = False
    allow_retire: bool = False
    allow_missing: bool = False
    rebuild_manifest: bool = False
    recluster: bool = False
    full: bool = False  # read every note again, whatever its size and mtime say
    wait_seconds: float = 10.0  # for another process to finish with the vault


class Prepared(NamedTuple):
    """Everything known before the first effect."""

    built: graphs.Built
    desired: DesiredNotes
    manifest: Manifest
    cache: Cache
    scan: Scan
    layout: Layout
    plan: Plan


class Stores:
    """The files of one vault, on one disk."""

    def __init__(self, settings: Settings, disk: Disk | None = None) -> None:
        root = settings.vault()
        self.vault = VaultDir(root, disk)
        self.manifest = ManifestFile(root, disk)
        self.cache = CacheFile(root, disk)
        self.beside = BesideNotes(root, disk)


@no_collector()
def sync(
    settings: Settings,
    flags: SyncFlags | None = None,
    *,
    clock: Clock | None = None,
    disk: Disk | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    witness: Witness | None = None,
) -> OperationResult:
    """Sync once. Raises the errors of errors.py before anything is written; afterwards every note has an outcome of its own.

    When `should_stop` says so, the notes not yet written are left to the next sync, and the result has a problem `stopped`. A `witness` is
    told how everything was at the end.
    """
    flags, clock = flags or SyncFlags(), clock or SystemClock()
    stores = Stores(settings, disk)
    stores.vault.check(settings.folder, writing=not flags.dry_run)
    if not flags.allow_missing:
        guard_mounted(settings.vault())
    source = HermesSource(settings.database())
    gate, seen = source.gate(), stores.manifest.stamp()
    reading = graphs.read_source(settings, may_be_empty=flags.allow_retire or stores.manifest.path.exists())
    ready = prepare(settings, flags, stores, reading, now=clock.now())
    if flags.dry_run:
        return sync_result(ready.built, _preview(ready.plan), dry_run=True)
    settled = _settled(ready, stores, settings, clock)
    if settled is not None:
        if witness is not None:
            witness.see(
                _ended(ready, settled, gate, seen, lambda: _is_calm(ready, _next_manifest(ready, settled, settings), stores, settings))
            )
        return record(settings.vault(), sync_result(ready.built, settled.outcomes, dry_run=False), clock.now())
    with VaultLock(settings.vault()).acquire(flags.wait_seconds):
        if stores.manifest.stamp() != seen or source.gate() != gate:  # somebody wrote meanwhile: what we planned is old
            reading = graphs.read_source(settings, may_be_empty=True)
            ready = prepare(settings, flags, stores, reading, now=clock.now())
        stores.vault.sweep(ready.scan.leftovers)
        stores.manifest.sweep()
        ready = _announced(ready, stores, settings)
        total = ready.plan.writes
        step = (lambda done: progress("writing notes", min(done, total), total)) if progress is not None and total else None
        applied = apply(ready.plan, ready.manifest, stores.vault, stores.manifest, clock, progress=step, should_stop=should_stop)
        stores.vault.tidy(_emptied(applied, settings.folder))
        manifest, problems = _remember(ready, applied, stores, settings)
        if witness is not None and not problems:
            witness.see(_ended(ready, applied, gate, stores.manifest.stamp(), lambda: _is_calm(ready, manifest, stores, settings)))
    result = sync_result(ready.built, applied.outcomes, dry_run=False, problems=problems)
    if applied.stopped:
        record_unfinished(settings.vault())
        return replace(result, exit_code=ExitCode.UNFINISHED)
    return record(settings.vault(), result, clock.now())


def _emptied(applied: Applied, folder: str) -> set[str]:
    """Return the folders of our own making out of which a note of an item or a feed has gone."""
    folders = {outcome.path.rpartition("/")[0] for outcome in applied.outcomes if outcome.state == "retired"}
    years = {path for path in folders if path.rpartition("/")[0] == f"{folder}/Items"}
    return years | {f"{folder}/Items" for _ in years} | (folders & {f"{folder}/Feeds"})


def _announced(ready: Prepared, stores: Stores, settings: Settings) -> Prepared:
    """Take down what must be on record before it happens: which colour groups go, and which communities the notes of a first sync name."""
    manifest = ready.manifest
    if settings.config.obsidian.graph_colors:
        manifest = without_groups_that_go(manifest, ready.built.graph)
    if manifest is not ready.manifest:
        stores.manifest.save(manifest)
    if stores.manifest.stamp() is None:  # saved by apply(), with the notes that are to come
        manifest = replace(manifest, communities=_communities(ready))
    return ready._replace(manifest=manifest)


def _communities(ready: Prepared) -> tuple[SavedCommunity, ...]:
    communities = sorted(ready.built.graph.communities, key=lambda community: community.id)
    return tuple(SavedCommunity(c.id, c.name, c.label, c.members) for c in communities)


def _settled(ready: Prepared, stores: Stores, settings: Settings, clock: Clock) -> Applied | None:
    """Return the outcome when there is nothing to write anywhere, so that not even the lock is touched; None otherwise."""
    if ready.plan.writes or ready.scan.leftovers:
        return None
    applied = apply(ready.plan, ready.manifest, stores.vault, stores.manifest, clock)
    return applied if _is_calm(ready, _next_manifest(ready, applied, settings), stores, settings) else None


def _is_calm(ready: Prepared, manifest: Manifest, stores: Stores, settings: Settings) -> bool:
    """Return whether there is nothing to write beside the notes and nothing new to remember."""
    beside = BesideNotes(stores.beside.root, writes=False)
    done = decorate(ready.built.graph, settings.folder, settings.config.obsidian, beside, manifest, ready.scan)
    return not done.written and not done.problems and stores.manifest.holds(remembered(manifest, done))


def _ended(ready: Prepared, applied: Applied, gate: str, stamp: Stamp | None, is_calm: Callable[[], bool]) -> Ended:
    """Return what there is to say when no note is left to be written."""
    done = ("created", "updated")
    later = tuple(outcome._replace(state="identical") if outcome.state in done else outcome for outcome in applied.outcomes)
    return Ended(
        applied.entries,
        ready.scan.strangers,
        gate,
        stamp,
        frozenset(outcome.state for outcome in applied.outcomes),
        is_calm,
        sync_result(ready.built, later, dry_run=False),
    )


def prepare(settings: Settings, flags: SyncFlags, stores: Stores, reading: Reading, *, now: float) -> Prepared:
    """Do everything that has no effect: load, build, render, scan and plan; raises what the guards raise."""
    loaded = None if flags.rebuild_manifest else stores.manifest.load()
    cache = stores.cache.load()
    entries = loaded.entries.values() if loaded is not None else ()
    known = {entry.path: (-1 if flags.full else entry.size, entry.mtime_ns, entry.id) for entry in entries}
    scan = stores.vault.scan(known, {} if flags.full else cache.strangers)
    guard_scan(scan, knows_vault=loaded is not None)
    manifest = loaded if loaded is not None else _recovered(scan)
    built = graphs.build(settings, reading, manifest, cache, recluster=flags.recluster)
    desired = render(built.graph, _tagged(reading), reading.feeds, note_settings(settings), _before(manifest))
    limits = settings.config.limits
    guard_source(desired, manifest, limits, allow_retire=flags.allow_retire)
    desired.expect(key for key in desired if key not in manifest.entries)
    layout = lay_out(
        desired,
        fates(built, manifest),
        manifest,
        scan,
        now=now,
        settle_seconds=limits.settle_seconds,
        made_from=desired.made_from,
        delivered={} if flags.full else cache.delivered,
    )
    guard_vault(layout, manifest, scan, limits, allow_missing=flags.allow_missing)
    texts = _texts(stores.vault, layout)
    decided = plan(layout, manifest, texts, now=now, settle_seconds=limits.settle_seconds)
    return Prepared(built, desired, manifest, cache, scan, layout, decided)


def _recovered(scan: Scan) -> Manifest:
    """Return what can be known without a manifest: nothing in a new vault."""
    if not scan.notes:
        return Manifest()
    from kg2vault.sync.recover import recover_communities

    return Manifest(communities=recover_communities(scan))


def note_settings(settings: Settings) -> NoteSettings:
    """Return the part of the configuration that shapes the notes."""
    notes = settings.config.notes
    return NoteSettings(settings.folder, notes.recent_items, items=notes.items, feeds=notes.feeds, links=settings.config.links)


def _tagged(reading: Reading) -> dict[int, Item]:
    """Return the items with tags; the others are in no note, so that a source that gains one has not changed (`content_digest`)."""
    tagged = set(Assignments.of(reading.assignments).item_ids)
    return {number: item for number, item in reading.items.items() if number in tagged}


def _before(manifest: Manifest) -> Before:
    kept = {key: entry.kept for key, entry in manifest.entries.items() if entry.kept}
    return Before(kept, Bands(*manifest.bands) if manifest.bands is not None else None, manifest.edges_digest)


def _texts(vault: VaultDir, layout: Layout) -> dict[str, str]:
    texts = {}
    for path in sorted(layout.to_read):
        with contextlib.suppress(OSError):
            texts[path] = text_of(vault.read(path))
    return texts


def _preview(planned: Plan) -> tuple[Outcome, ...]:
    names = {"Create": "created", "Update": "updated", "Retire": "retired"}
    outcomes = []
    for action in planned.actions:
        if isinstance(action, Keep):
            outcomes.append(Outcome(action.id, action.path, action.reason.value, action.detail))
        else:
            outcomes.append(Outcome(action.entry.id, action.path, names[type(action).__name__]))
    return tuple(outcomes)


def _next_manifest(ready: Prepared, applied: Applied, settings: Settings) -> Manifest:
    graph = ready.built.graph
    bands = bands_of(graph, settings.config.links, _before(ready.manifest).bands)
    return replace(
        ready.manifest,
        entries=applied.entries,
        edges_digest=graph.edges_digest,
        communities=_communities(ready),
        fingerprint=ready.built.reading.fingerprint,
        settings=notes_digest(settings),
        bands=(bands.medium, bands.strong) if bands is not None else None,
    )


def _remember(ready: Prepared, applied: Applied, stores: Stores, settings: Settings) -> tuple[Manifest, tuple[Problem, ...]]:
    graph = ready.built.graph
    if applied.stopped:
        unfinished = replace(ready.manifest, entries=applied.entries)
        stores.manifest.save(unfinished)
        return unfinished, (Problem("stopped", "The sync was asked to stop; the next one writes the other notes."),)
    manifest = _next_manifest(ready, applied, settings)
    done = decorate(graph, settings.folder, settings.config.obsidian, stores.beside, manifest, ready.scan)
    manifest = remembered(manifest, done)
    stores.manifest.save(manifest)
    stores.cache.save(
        replace(graphs.betweenness_cache(graph, ready.cache), strangers=ready.scan.strangers, delivered=_delivered(ready, applied))
    )
    return manifest, tuple(done.problems)


def _delivered(ready: Prepared, applied: Applied) -> dict[str, str]:
    """Return what the notes in the vault were made from, of those that say just that."""
    found = {}
    for key, note in ready.layout.wanted.items():
        entry, source = applied.entries.get(key), ready.layout.made_from[key]
        if source and entry is not None and entry.state is EntryState.LIVE and entry.content == note.content:
            found[key] = delivery(source, note.content)
    return found


def notes_digest(settings: Settings) -> str:
    """Return a digest of the settings and the alias table: what shapes the notes besides the rows."""
    config = replace(settings.config, origin=None, db=None, aliases=None)
    return settings_digest(
        config.spelling, config.graph, config.communities, config.notes, config.links, config.vault.folder, settings.alias_text()[0]
    )
