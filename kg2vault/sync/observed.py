"""What a scan of the vault found: `Scan` and `ObservedNote`, plain values that planning can reason about.

Layer 1, pure. A file that could not be read is not absent: the scan says so, and planning then makes no tombstones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class ObservedNote(NamedTuple):
    """A file that carries one of our ids. `text` is None while it has not been read (its size and mtime are the manifest's)."""

    id: str
    path: str
    size: int
    mtime_ns: int
    text: str | None = None  # UTF-8 with surrogateescape, newlines untouched


@dataclass(frozen=True, slots=True)
class Scan:
    """One walk over the vault. Paths are relative to its root, with `/`."""

    notes: Mapping[str, tuple[ObservedNote, ...]] = field(default_factory=dict)  # by id, each sorted by path
    paths: frozenset[str] = frozenset()  # every visible file and folder
    unreadable: Mapping[str, str] = field(default_factory=dict)  # path → why
    unavailable: frozenset[str] = frozenset()  # present, but not on this disk yet (cloud placeholders)
    strangers: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # other people's notes: path → (size, mtime in ns)
    leftovers: tuple[str, ...] = ()  # temporary files of a run that did not live to remove them

    @property
    def complete(self) -> bool:
        """True when everything could be looked into."""
        return not self.unreadable and not self.unavailable


def text_of(data: bytes) -> str:
    """Decode a note's bytes so that encoding them again gives the same bytes."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Encode what `text_of` decoded."""
    return text.encode("utf-8", "surrogateescape")


def digest_of(data: bytes) -> str:
    """Return the digest that an action expects to find on disk."""
    return hashlib.sha256(data).hexdigest()
