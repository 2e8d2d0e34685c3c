"""From hermes.db to the graph: what `sync`, `verify` and every question share.

Layer 3. `build()` reads once and builds; the partition and the betweenness of the last run come in, nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kg2vault.config import Config
from kg2vault.errors import SourceError
from kg2vault.graph.aliases import Canonicaliser, parse_alias_table
from kg2vault.graph.build import GraphSettings, build_graph
from kg2vault.graph.communities import Partition, PreviousCommunity
from kg2vault.graph.metrics import BetweennessCache, betweenness_cache_of
from kg2vault.graph.model import KnowledgeGraph, Reading
from kg2vault.settings import Settings
from kg2vault.storage.cache_file import Cache
from kg2vault.storage.hermes import HermesSource
from kg2vault.sync.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Built:
    """A graph and what it was made from."""

    graph: KnowledgeGraph
    reading: Reading
    canonicaliser: Canonicaliser


def graph_settings(config: Config) -> GraphSettings:
    """Return the part of the configuration that shapes the graph."""
    return GraphSettings(
        min_items=config.graph.min_items,
        min_weight=config.graph.min_weight,
        include_isolated=config.graph.include_isolated,
        fold_case=config.spelling.case,
        community_min_size=config.communities.min_size,
        resolution=config.communities.resolution,
        stickiness=config.communities.stickiness,
    )


def read_source(settings: Settings, *, may_be_empty: bool = False) -> Reading:
    """Read hermes.db; raises SourceError, also when it holds no tags, unless that `may_be_empty`."""
    path = settings.database()
    reading = HermesSource(path).read(summaries=settings.config.notes.items)
    if not reading.assignments and not may_be_empty:
        raise SourceError(
            f"{path} holds no tags yet; nothing was written.", path=str(path), hint="Let the reader's tagging pass run first."
        )
    return reading


def build(
    settings: Settings, reading: Reading, manifest: Manifest | None = None, cache: Cache | None = None, *, recluster: bool = False
) -> Built:
    """Build the graph of a reading; raises ConfigError for a broken alias table."""
    table = parse_alias_table(*settings.alias_text())
    cached = BetweennessCache(cache.edge_set, cache.betweenness, cache.sampled) if cache is not None and cache.edge_set else None
    graph = build_graph(
        reading,
        table,
        graph_settings(settings.config),
        previous=partition(manifest) if manifest is not None else None,
        cached=cached,
        recluster=recluster,
    )
    return Built(graph, reading, Canonicaliser(table, fold_case=settings.config.spelling.case))


def partition(manifest: Manifest) -> Partition | None:
    """Return the communities of the last run, None when there were none."""
    if not manifest.communities:
        return None
    old = tuple(PreviousCommunity(c.id, c.name, c.label, c.members) for c in manifest.communities)
    return Partition(manifest.edges_digest, old)


def betweenness_cache(graph: KnowledgeGraph, before: Cache) -> Cache:
    """Return the cache with this graph's betweenness, the one before when that is still right."""
    fresh = betweenness_cache_of(graph)
    return replace(before, edge_set=fresh.edge_set_digest, betweenness=fresh.values, sampled=fresh.sampled)
