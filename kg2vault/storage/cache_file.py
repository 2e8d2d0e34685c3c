"""What may be forgotten: `Cache`, results that cost time and are computed again when they are not there.

Layer 2. A missing, damaged or outdated cache is an empty one. Nothing here decides what a note says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kg2vault.storage.base import Disk
from kg2vault.storage.file_token import program_stamp
from kg2vault.storage.manifest_file import replace_file
from kg2vault.storage.vault_dir import STATE_FOLDER
from kg2vault.sync.observed import bytes_of, text_of

_VERSION = 2


@dataclass(frozen=True, slots=True)
class Cache:
    """`edge_set`, `betweenness` and `sampled` belong together; `strangers` are notes without an id: path → (size, mtime in ns)."""

    edge_set: str = ""
    betweenness: Mapping[str, float] = field(default_factory=dict)
    sampled: bool = False
    strangers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    delivered: Mapping[str, str] = field(default_factory=dict)  # id of a note → what it was made from (layout.delivery)


class CacheFile:
    """`.kg2vault/cache.json` of one vault."""

    def __init__(self, vault: Path, disk: Disk | None = None) -> None:
        self.path = vault / STATE_FOLDER / "cache.json"
        self.disk = disk or Disk()
        self._loaded = Cache()

    def load(self) -> Cache:
        """Return the cache, an empty one when there is none that can be used; what another program delivered is not taken over."""
        try:
            raw = json.loads(text_of(self.path.read_bytes()))
            if raw["version"] == _VERSION:
                strangers = {str(path): (int(size), int(mtime)) for path, (size, mtime) in raw["strangers"].items()}
                values = {str(key): float(value) for key, value in raw["betweenness"].items()}
                delivered = {str(key): str(value) for key, value in raw["delivered"].items()} if raw["program"] == _program() else {}
                self._loaded = Cache(str(raw["edge_set"]), values, bool(raw["sampled"]), strangers, delivered)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._loaded = Cache()
        return self._loaded

    def save(self, cache: Cache) -> None:
        """Write the cache if it says something new; a failure is of no consequence."""
        if cache == self._loaded:
            return
        raw = {
            "version": _VERSION,
            "edge_set": cache.edge_set,
            "betweenness": cache.betweenness,
            "sampled": cache.sampled,
            "strangers": cache.strangers,
            "delivered": cache.delivered,
            "program": _program(),
        }
        try:
            replace_file(self.disk, self.path, bytes_of(json.dumps(raw, ensure_ascii=False, sort_keys=True)))
        except OSError:
            return
        self._loaded = cache


def _program() -> str:
    """Return a digest of the program's files: another version of it makes other notes from the same."""
    return hashlib.sha256(program_stamp().encode("utf-8", "surrogateescape")).hexdigest()[:16]
