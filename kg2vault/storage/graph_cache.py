"""The last graph that questions were asked of, in the platform's cache folder: `GraphCache`, one JSON file a database.

Layer 2. Nothing depends on it: a file that is missing, damaged, foreign or cannot be written is no cache. It is never the judge of its own
freshness: `Remembered` says what the graph was made of, and whoever asks compares that with the database as it is now.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kg2vault
from kg2vault.graph.model import Community, Concept, Edge, KnowledgeGraph, Metrics
from kg2vault.storage.base import Disk
from kg2vault.storage.manifest_file import replace_file

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Remembered:
    """A graph and everything it depends on; `stamp` is what kg_meta said of the tables, and `content` what it would say now."""

    made_by: str  # digest of the settings, the alias table and the partition it started from
    gate: str  # HermesSource.gate() before the rows were read
    fingerprint: str
    content: str
    stamp: tuple[str, str] | None
    graph: KnowledgeGraph


class GraphCache:
    """The cache of one database, asked with one vault or none."""

    def __init__(self, folder: Path, *names: str) -> None:
        digest = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()
        self.path = folder / f"graph-{digest[:16]}.json"

    def load(self) -> Remembered | None:
        """Return what was saved by this very version of the program, None when there is nothing of use."""
        try:
            head, _, body = self.path.read_bytes().partition(b"\n")
            if head.decode() != _seal(body):
                return None
            raw = json.loads(body)
            stamp = None if raw["stamp"] is None else (str(raw["stamp"][0]), str(raw["stamp"][1]))
            return Remembered(raw["made_by"], raw["gate"], raw["fingerprint"], raw["content"], stamp, _graph(raw["graph"]))
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
            return None

    def save(self, remembered: Remembered) -> None:
        """Replace the file, for its owner's eyes only; a failure is of no consequence."""
        raw = {
            "made_by": remembered.made_by,
            "gate": remembered.gate,
            "fingerprint": remembered.fingerprint,
            "content": remembered.content,
            "stamp": remembered.stamp,
            "graph": _raw(remembered.graph),
        }
        body = json.dumps(raw).encode()
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(_PrivateDisk(), self.path, _seal(body).encode() + b"\n" + body)


class _PrivateDisk(Disk):
    """Writes files that only their owner reads, and does not wait for the medium: a lost cache is no loss."""

    def write_new(self, path: Path, data: bytes, *, durable: bool, mode: int = 0o600) -> None:
        super().write_new(path, data, durable=False, mode=0o600)

    def sync_folder(self, path: Path) -> None:
        return


def _seal(body: bytes) -> str:
    """A digest of the content and of the program that wrote it, so that an upgrade, or an edit of the code, starts afresh."""
    state = hashlib.sha256(f"{_FORMAT} {kg2vault.__version__} {_code_token()}\n".encode())
    state.update(body)
    return state.hexdigest()


def _code_token() -> str:
    folder = Path(kg2vault.__file__).parent / "graph"
    with contextlib.suppress(OSError):
        return str(max((entry.stat().st_mtime_ns, entry.name) for entry in os.scandir(folder) if entry.name.endswith(".py")))
    return ""


def _raw(graph: KnowledgeGraph) -> dict[str, Any]:
    position = {key: place for place, key in enumerate(graph.concepts)}
    return {
        "concepts": [[c.key, c.label, c.spellings, c.item_ids] for c in graph.concepts.values()],
        "edges": [[position[edge.source], position[edge.target], edge.weight] for edge in graph.edges],
        "metrics": [[m.degree, m.strength, m.betweenness, m.pagerank, m.component] for m in map(graph.metrics.__getitem__, position)],
        "communities": [[c.id, c.name, c.label, c.members] for c in graph.communities],
        "neighbours": [[[position[key], weight] for key, weight in graph.neighbours[key_of]] for key_of in position],
        "facts": [
            graph.betweenness_sampled,
            graph.distinct_tags,
            graph.singleton_tags,
            graph.tagged_items,
            graph.edges_digest,
        ],
    }


def _graph(raw: Mapping[str, Any]) -> KnowledgeGraph:
    concepts = {key: Concept(key, label, tuple(spellings), tuple(ids)) for key, label, spellings, ids in raw["concepts"]}
    keys = list(concepts)
    sampled, distinct, singletons, tagged, digest = raw["facts"]
    return KnowledgeGraph(
        concepts=concepts,
        edges=tuple(Edge(keys[first], keys[second], weight) for first, second, weight in raw["edges"]),
        metrics={key: Metrics(*row) for key, row in zip(keys, raw["metrics"], strict=True)},
        communities=tuple(Community(id_, name, label, tuple(members)) for id_, name, label, members in raw["communities"]),
        neighbours={key: tuple((keys[place], weight) for place, weight in row) for key, row in zip(keys, raw["neighbours"], strict=True)},
        betweenness_sampled=sampled,
        distinct_tags=distinct,
        singleton_tags=singletons,
        tagged_items=tagged,
        edges_digest=digest,
    )
