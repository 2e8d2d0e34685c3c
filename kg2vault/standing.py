"""Which graph a question is asked of: `Follower` gives the graph of the database as it is now, without building the same one twice.

Layer 3. A graph is used again, from memory or from the cache on disk, only when the files are untouched since its rows were read or the
rows read now have the same digest, and settings, alias table and partition are the same: an answer is never about an older database.
Where a vault is set and was synced, its partition is the one we start from, so that a question and the notes speak of the same
communities; without a vault, or with one that is away, the graph is a function of the rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kg2vault import graphs
from kg2vault.errors import Kg2VaultError
from kg2vault.graph.aliases import AliasTable, parse_alias_table
from kg2vault.graph.build import GraphSettings
from kg2vault.graph.model import KnowledgeGraph
from kg2vault.materialising import terms_digest
from kg2vault.result import Problem
from kg2vault.settings import APP, Settings, settings_digest
from kg2vault.storage.cache_file import Cache, CacheFile
from kg2vault.storage.graph_cache import GraphCache, Remembered
from kg2vault.storage.hermes import HermesSource
from kg2vault.storage.kg_tables import content_of, stamp_of
from kg2vault.storage.manifest_file import ManifestFile
from kg2vault.sync.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Standing:
    """A graph, what names are resolved with, and what lags behind it: `vault`, `tables`, both or nothing."""

    graph: KnowledgeGraph
    table: AliasTable
    terms: GraphSettings
    lagging: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Follower:
    """Follows databases: every `stand()` looks anew. Not for two threads at once."""

    def __init__(self, cache_folder: Path | None = None) -> None:
        self._folder = cache_folder
        self._known: dict[tuple[str, str], Remembered] = {}

    def stand(self, settings: Settings) -> Standing:
        """Return the graph as of now; raises ConfigError for a broken alias table, SourceError for a database that can't be read."""
        table = parse_alias_table(*settings.alias_text())
        terms = graphs.graph_settings(settings.config)
        manifest, problems = _manifest(settings)
        known = self._remembered(settings, settings.database(), table, terms, manifest)
        lagging = []
        if manifest is not None and not _in_step(manifest, known.fingerprint, settings):
            lagging.append("vault")
        if known.stamp is not None and known.stamp != (known.content, terms_digest(table, terms)):
            lagging.append("tables")
        return Standing(known.graph, table, terms, tuple(lagging), problems)

    def _remembered(self, settings: Settings, path: Path, table: AliasTable, terms: GraphSettings, manifest: Manifest | None) -> Remembered:
        made_by = settings_digest(
            terms, terms_digest(table, terms), settings.config.notes.items, graphs.partition(manifest) if manifest is not None else None
        )
        vault = settings.config.vault.path
        names = str(path.resolve()), str(vault if manifest is not None else "")
        file = GraphCache(self._folder or _cache_folder(), *names)
        before = self._known.get(names) or file.load()
        source = HermesSource(path)
        gate = source.gate()
        if before is not None and before.made_by == made_by and before.gate == gate:
            self._known[names] = before
            return before
        reading = graphs.read_source(settings, may_be_empty=True)
        stamp = stamp_of(path)
        graph = before.graph if before is not None and (before.made_by, before.fingerprint) == (made_by, reading.fingerprint) else None
        if graph is None:
            graph = graphs.build(settings, reading, manifest, _betweenness(before, vault)).graph
        said = (stamp.fingerprint.rpartition(":")[2], stamp.settings) if stamp is not None else None
        known = Remembered(made_by, gate, reading.fingerprint, content_of(reading), said, graph)
        self._known[names] = known
        file.save(known)
        return known


def _betweenness(before: Remembered | None, vault: Path | None) -> Cache:
    """What saves computing betweenness again while the set of edges is the same."""
    if before is not None:
        return graphs.betweenness_cache(before.graph, Cache())
    return CacheFile(vault).load() if vault is not None else Cache()


def _cache_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path(APP)


def _manifest(settings: Settings) -> tuple[Manifest | None, tuple[Problem, ...]]:
    if settings.config.vault.path is None:
        return None, ()
    try:
        return ManifestFile(settings.config.vault.path).load(), ()
    except Kg2VaultError as error:  # the notes have to wait until it is mended, a question has not
        return None, (Problem(error.code, error.message, error.path, error.hint),)


def _in_step(manifest: Manifest, fingerprint: str, settings: Settings) -> bool:
    from kg2vault.syncing import notes_digest

    return manifest.fingerprint == fingerprint and manifest.settings == notes_digest(settings)
