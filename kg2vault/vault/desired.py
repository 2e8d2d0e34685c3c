"""A note that the graph wants: `DesiredNote`, and the text it gets when it is new, `compose_note()`.

Layer 1, pure. Notes that are there already are taken apart and edited by note.py, which a first sync does not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kg2vault.vault.regions import block
from kg2vault.vault.yaml_scalars import Scalar, quoted, written

SHARED = ("aliases", "tags")
"""Lists in which some entries are ours and some the user's."""


class DesiredNote(NamedTuple):
    """A note that the graph wants, before it has a place: links in it are tokens (wikilinks.token)."""

    id: str
    kind: str
    name: str  # as people write it
    folder: str  # from the vault's root, with "/"
    stems: tuple[str, ...]  # file names without ".md", the best first
    properties: Mapping[str, Scalar | tuple[Scalar, ...]]  # in the order in which they are written
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    regions: Mapping[str, str]  # name → body, with LF and no line break at its end
    kept: Mapping[str, str] = {}  # what the next run starts from: numbers as shown, choices among near equals


def compose_note(
    properties: Mapping[str, object], aliases: tuple[str, ...], tags: tuple[str, ...], regions: Mapping[str, tuple[str, str]]
) -> str:
    """Return the text of a new note; `regions` maps a name to (body, digest). Raises ValueError and TypeError for impossible values."""
    blocks = [block(name, body, marker_digest) + "\n" for name, (body, marker_digest) in regions.items()]
    return f"---\n{compose_block(properties, aliases, tags)}---\n" + "\n".join(blocks)


def compose_block(own: Mapping[str, object], aliases: tuple[str, ...], tags: tuple[str, ...]) -> str:
    """Return the source of a new note's block. Raises ValueError and TypeError for values that cannot be written."""
    lines = [f"{key}: {written(value)}\n" for key, value in own.items()]
    for name, texts in zip(SHARED, (aliases, tags), strict=True):
        if texts:
            lines.append(f"{name}: [{', '.join(map(quoted, texts))}]\n")
    return "".join(lines)
