"""The map of communities as a canvas: `community_canvas()` draws it, keeps it, and leaves it alone once the user has touched it.

Layer 1, pure. JSON Canvas 1.0 (https://jsoncanvas.org/spec/1.0): a card per community, larger with more members, in its colour; lines
to the communities it shares most items with, labelled with the summed weight. Written the way Obsidian writes a canvas, a card per line.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kg2vault.graph.backbone import strongest
from kg2vault.vault.canvas_layout import GRID, Box, arrange
from kg2vault.vault.colours import hexadecimal

LINES = 2  # a community's heaviest lines are drawn, so many from each: more would be a grey ball again
_LEAST_WIDTH, _MOST_WIDTH = 240, 640
_PREFIX = "kg2vault-"


@dataclass(frozen=True, slots=True)
class Card:
    """A community on the canvas; `file` is its note's path from the vault's root."""

    id: str
    file: str
    members: int
    rgb: int | None = None


@dataclass(frozen=True, slots=True)
class Canvas:
    """The new text, None when nothing is to be written; the digest to record; why the canvas was left alone, if it was."""

    text: str | None
    digest: str | None
    reason: str | None = None


def community_canvas(
    cards: Sequence[Card], edges: Iterable[tuple[str, str, int]], previous: str | None, written_digest: str | None
) -> Canvas:
    """Draw the communities, given the (id, id, summed weight) between them, what is in the file, and the digest recorded at the last time.

    A canvas that differs from what we wrote, in more than its layout of bytes or the paths of our notes, is the user's; so is one we have
    no record of; and one that he deleted stays deleted.
    """
    if previous is None and written_digest is not None:
        return Canvas(None, written_digest, "The canvas was deleted, so it is not drawn again.")
    if previous is None and not cards:
        return Canvas(None, None)
    old: Mapping[str, Any] = {}
    if previous is not None:
        try:
            old = _read(previous)
        except ValueError as error:
            return Canvas(None, written_digest, f"The canvas was left alone: {error}.")
        if written_digest is None or _digest(old) != written_digest:
            return Canvas(None, written_digest, "The canvas was left alone: it is not as it was written, so it is yours now.")
    new = _drawn(cards, edges, _boxes(old))
    same = previous is not None and _plain(old, paths=True) == _plain(new, paths=True)
    return Canvas(None if same else _dump(new), _digest(new))


def canvas_digest(text: str) -> str:
    """Return the digest of a canvas as it is compared with the one recorded; raises ValueError when the text is not a canvas."""
    return _digest(_read(text))


def _drawn(cards: Sequence[Card], edges: Iterable[tuple[str, str, int]], old: Mapping[str, Box]) -> dict[str, Any]:
    pull = _pull(cards, edges)
    boxes = arrange({card.id: _size(card.members) for card in cards}, pull, old)
    nodes = [_node(card, boxes[card.id]) for card in sorted(cards, key=lambda card: card.id)]
    weights = {(one, other): weight for one, near in pull.items() for other, weight in near}
    lines = [_line(one, other, weights[one, other], boxes) for one, other in sorted(strongest(pull, LINES))]
    return {"nodes": nodes, "edges": lines}


def _pull(cards: Sequence[Card], edges: Iterable[tuple[str, str, int]]) -> dict[str, list[tuple[str, int]]]:
    """Return each community's neighbours, heaviest first; several edges between two are added up."""
    known = {card.id for card in cards}
    sums: dict[tuple[str, str], int] = {}
    for one, other, weight in edges:
        if one in known and other in known and one != other:
            for pair in ((one, other), (other, one)):
                sums[pair] = sums.get(pair, 0) + weight
    pull: dict[str, list[tuple[str, int]]] = {key: [] for key in sorted(known)}
    for one, other in sorted(sums, key=lambda pair: (-sums[pair], pair)):
        pull[one].append((other, sums[one, other]))
    return pull


def _size(members: int) -> tuple[int, int]:
    """Return width and height of a card, in coarse steps, so that a new member seldom changes them."""
    width = min(_MOST_WIDTH, _LEAST_WIDTH + 2 * GRID * max(0, math.isqrt(max(members, 0)) - 1))
    return width, width * 5 // 8 // GRID * GRID


def _node(card: Card, box: Box) -> dict[str, Any]:
    node: dict[str, Any] = {"id": _PREFIX + card.id, "type": "file", "file": card.file}
    node.update({"x": box.x, "y": box.y, "width": box.width, "height": box.height})
    if card.rgb is not None:
        node["color"] = hexadecimal(card.rgb)
    return node


def _line(one: str, other: str, weight: int, boxes: Mapping[str, Box]) -> dict[str, Any]:
    start, end = boxes[one].centre, boxes[other].centre
    dx, dy = end[0] - start[0], end[1] - start[1]
    sides = ("right", "left") if abs(dx) >= abs(dy) else ("bottom", "top")
    if (dx if abs(dx) >= abs(dy) else dy) < 0:
        sides = sides[::-1]
    ends = {"fromNode": _PREFIX + one, "fromSide": sides[0], "toNode": _PREFIX + other, "toSide": sides[1]}
    return {"id": f"{_PREFIX}{one}-{other}", **ends, "toEnd": "none", "label": str(weight)}


def _read(text: str) -> dict[str, Any]:
    """Return the canvas in a text; raises ValueError when it is none."""
    try:
        canvas = json.loads(text.removeprefix("\ufeff"))
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(canvas, dict):
        raise ValueError("it is not an object")
    for name in ("nodes", "edges"):
        parts = canvas.get(name, [])
        if not isinstance(parts, list) or not all(isinstance(part, dict) and isinstance(part.get("id"), str) for part in parts):
            raise ValueError(f"its {name} are not a list of objects with an id")
    return canvas


def _boxes(canvas: Mapping[str, Any]) -> dict[str, Box]:
    """Return the boxes of our cards; the canvas is as we wrote it."""
    ours = (node for node in canvas.get("nodes", []) if node["id"].startswith(_PREFIX))
    return {node["id"].removeprefix(_PREFIX): Box(*(int(node[side]) for side in ("x", "y", "width", "height"))) for node in ours}


def _plain(canvas: Mapping[str, Any], *, paths: bool) -> dict[str, Any]:
    """Return what counts in a canvas; without the paths of our cards' notes, which Obsidian changes when a note is renamed."""
    nodes = [dict(node) for node in canvas.get("nodes", [])]
    for node in nodes:
        if not paths and node["id"].startswith(_PREFIX):
            node.pop("file", None)
    rest = {key: value for key, value in canvas.items() if key not in ("nodes", "edges")}
    return {**rest, "nodes": sorted(nodes, key=_name), "edges": sorted(canvas.get("edges", []), key=_name)}


def _name(part: Mapping[str, Any]) -> str:
    return str(part["id"])


def _digest(canvas: Mapping[str, Any]) -> str:
    text = json.dumps(_plain(canvas, paths=False), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _dump(canvas: Mapping[str, Sequence[Any]]) -> str:
    parts = []
    for name, entries in canvas.items():
        rows = ",\n".join("\t\t" + json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
        parts.append(f'\t"{name}":[\n{rows}\n\t]' if entries else f'\t"{name}":[]')
    return "{\n" + ",\n".join(parts) + "\n}"
