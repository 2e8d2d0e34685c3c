"""`aliases` and `tags`, which hold entries of the user and of ours: what to add and remove, in the style the user wrote the list in.

Layer 1, pure. An entry of ours that is gone was removed by the user and stays gone. Entries of the user keep their bytes, and so do
comments, also those that stand beside an entry of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from kg2vault.vault.frontmatter import Entry, column, comments, extent, is_plain_entry, line_end, line_start, scalars
from kg2vault.vault.regions import Edit
from kg2vault.vault.yaml_scalars import flow, quoted
from kg2vault.vault.yaml_tree import read

_FLOW_SAFE = re.compile(r"(?:-(?=[\w.])|[^\s,\[\]{}#:\"'&*!|>?%@`-])[^\n,\[\]{}#:]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t]*")
_ONLY_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


class UnsafeListError(Exception):
    """A list is written in a form that cannot be changed without touching the user's words."""


@dataclass(frozen=True, slots=True)
class ListEdit:
    """The entries we want in a shared list, and those we had in it when we last wrote the note."""

    want: tuple[str, ...]
    written_before: tuple[str, ...] = ()


def entry_key(name: str, text: str) -> str:
    """Return what two entries of a list have in common when they are the same: tags ignore case and `#`."""
    return text.strip().removeprefix("#").casefold() if name == "tags" else text


def strings(value: object) -> tuple[str, ...]:
    """Return the entries of a list as it was read: a single text is a list of one, nothing is none."""
    items = value if isinstance(value, list) else [value]
    return tuple(item if isinstance(item, str) else str(item) for item in items if item is not None)


def changes(name: str, edit: ListEdit, present: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the entries to add, in order, and the keys of those to remove."""
    here = {entry_key(name, text) for text in present}
    before = {entry_key(name, text) for text in edit.written_before}
    want = {entry_key(name, text): text for text in reversed(edit.want)}
    add = tuple(want[key] for key in dict.fromkeys(entry_key(name, text) for text in edit.want) if key not in before and key not in here)
    return add, frozenset((before - want.keys()) & here)


def ours(name: str, edit: ListEdit, present: Iterable[str]) -> tuple[str, ...]:
    """Return which of the wanted entries are ours once the edit is made: not those that the user wrote before we did."""
    here = {entry_key(name, text) for text in present}
    before = {entry_key(name, text) for text in edit.written_before}
    return tuple(text for text in edit.want if (key := entry_key(name, text)) in before or key not in here)


def list_edits(
    source: str, entry: Entry, name: str, add: tuple[str, ...], remove: frozenset[str], newline: str, *, disposable: bool
) -> list[Edit]:
    """Return the edits that add and remove entries of one list. A `disposable` list goes when its last entry goes.

    Raises UnsafeListError for a form that cannot be changed without touching the user's words.
    """
    if not is_plain_entry(source, entry):
        raise UnsafeListError
    node = entry.node
    if disposable and not add and _all_removed(name, node, remove):
        return [without_entry(source, entry, newline)]
    if isinstance(node, yaml.ScalarNode):
        return _scalar_edits(source, entry, node, name, add, remove, newline)
    if not isinstance(node, yaml.SequenceNode):
        raise UnsafeListError
    change = _flow_edits if node.flow_style else _block_edits
    return change(source, node, [_is_removed(name, item, remove) for item in node.value], add, newline)


def without_entry(source: str, entry: Entry, newline: str) -> Edit:
    """Return the edit that takes a property away by whole lines and leaves the comments that stand in them."""
    start = line_start(source, entry.start)
    end = line_end(source, extent(source, entry.node)[1])
    kept = comments(source, entry.node, entry.key_end, end)
    indent = source[start : entry.start]
    return start, end, "".join(f"{indent}{comment}{newline}" for comment in kept)


def _is_removed(name: str, item: yaml.Node, remove: frozenset[str]) -> bool:
    value = read(item) if isinstance(item, yaml.ScalarNode) else None
    return isinstance(value, str) and entry_key(name, value) in remove


def _all_removed(name: str, node: yaml.Node, remove: frozenset[str]) -> bool:
    items = node.value if isinstance(node, yaml.SequenceNode) else [node]
    return bool(items) and all(_is_removed(name, item, remove) for item in items)


def _scalar_edits(
    source: str, entry: Entry, node: yaml.ScalarNode, name: str, add: tuple[str, ...], remove: frozenset[str], newline: str
) -> list[Edit]:
    start, end = extent(source, node)
    raw = source[start:end]
    if node.tag.endswith(":null"):
        space = " " if source[start - 1 : start] == ":" else ""
        return [(start, end, space + flow(add))]
    if _is_removed(name, node, remove):
        return [(start, end, flow(add))]
    if "\n" in raw or node.style in ("|", ">"):
        raise UnsafeListError
    if node.style or _FLOW_SAFE.fullmatch(raw) or (name == "tags" and all(map(_FLOW_SAFE.fullmatch, re.split(r",[ \t]*", raw)))):
        return [(start, end, f"[{', '.join([raw, *map(quoted, add)])}]")]
    # The user's text comes last, so that a comment behind it stays behind it.
    colon = source.index(":", entry.key_end) + 1
    if source[colon:start].strip(" \t"):
        raise UnsafeListError
    dash = f"{newline}{' ' * column(source, entry.start)}  - "
    return [(colon, end, "".join(dash + line for line in [*map(quoted, add), raw]))]


def _flow_edits(source: str, node: yaml.SequenceNode, removed: list[bool], add: tuple[str, ...], _newline: str) -> list[Edit]:
    if any(isinstance(item, yaml.CollectionNode) and not item.flow_style for item in node.value):
        raise UnsafeListError
    spans = [(item.start_mark.index, item.end_mark.index) for item in node.value]
    new = [quoted(text) for text in add]
    kept = [at for at, gone in enumerate(removed) if not gone]
    if not kept:
        start = node.start_mark.index + 1
        end = _behind_comma(source, spans[-1][1]) if spans else start
        return [_without_comments(source, node, (start, end, ", ".join(new)))]
    edits = [_flow_removal(source, spans[at][0], spans[at][1], spans[at + 1][0]) for at in range(kept[-1]) if removed[at]]
    last = spans[kept[-1]][1]
    edits.append(_without_comments(source, node, (last, spans[-1][1], "".join(f", {text}" for text in new))))
    return edits


def _flow_removal(source: str, start: int, end: int, following: int) -> Edit:
    if _ONLY_COMMA.fullmatch(source, end, following):
        return start, following, ""
    comma = _COMMA.match(source, end)
    if comma is None:
        raise UnsafeListError
    return start, comma.end(), ""


def _without_comments(source: str, node: yaml.Node, edit: Edit) -> Edit:
    if comments(source, node, edit[0], edit[1]):
        raise UnsafeListError
    return edit


def _behind_comma(source: str, at: int) -> int:
    comma = _COMMA.match(source, at)
    return comma.end() if comma else at


def _block_edits(source: str, node: yaml.SequenceNode, removed: list[bool], add: tuple[str, ...], newline: str) -> list[Edit]:
    edits: list[Edit] = []
    dash = node.start_mark.index
    margin = source[line_start(source, dash) : dash]
    if margin.strip(" ") or source[dash] != "-":
        raise UnsafeListError
    for item, gone in zip(node.value, removed, strict=True):
        if gone:
            edits.append(_block_removal(source, item, margin, newline))
    if add:
        if _keeps_its_end(source, node):
            raise UnsafeListError
        at = line_end(source, extent(source, node)[1])
        edits.append((at, at, "".join(f"{margin}- {quoted(text)}{newline}" for text in add)))
    return edits


def _keeps_its_end(source: str, node: yaml.Node) -> bool:
    """Return whether a block ends with a text to which the blank lines that follow belong."""
    last = [leaf for leaf in scalars(node, set()) if leaf.style in ("|", ">")][-1:]
    return bool(last) and "+" in source[last[0].start_mark.index : line_end(source, last[0].start_mark.index)]


def _block_removal(source: str, item: yaml.ScalarNode, margin: str, newline: str) -> Edit:
    start, end = line_start(source, item.start_mark.index), item.end_mark.index
    before = source[start : item.start_mark.index]
    if not before.startswith(f"{margin}-") or before.strip(" -") or item.style in ("|", ">"):
        raise UnsafeListError
    after = line_end(source, end)
    kept = source[end:after].strip()
    return start, after, f"{margin}{kept}{newline}" if kept else ""
