"""The frontmatter of a note: `find()` tells where it is, what it says, and whether it can be edited.

Layer 1, pure. A block in which every line is exactly as this program writes it is read line by line, which is several times faster; any
other goes through a YAML parser, whose marks say where each value stands. A block that this module cannot be sure of is damaged: then
nobody writes to the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from kg2vault.vault.yaml_scalars import read_written
from kg2vault.vault.yaml_tree import compose, read

OWN = "kg_"
"""What the names of our properties begin with."""

_OPENING = re.compile(r"---[ \t]*(\r?\n)")
_CLOSING = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_BLANK_LINE = re.compile(r"^[ \t]*\r?$", re.MULTILINE)
_KEY = re.compile(r"[a-z][a-z0-9_-]*")
# From a key to its value: a colon, then blanks, line breaks and comments.
_TO_VALUE = re.compile(r"[ \t]*:(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*")
_COMMENT = re.compile(r"(?:(?<=[ \t\r\n])|^)#[^\r\n]*")
_ID_LINE = re.compile(r"""^["']?kg_id["']?[ \t]*:.*""", re.MULTILINE)
_INDICATORS = ("&", "!", "*")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of the block and its value. Numbers are positions in the block's source; `node` has those of the value."""

    key: str
    start: int
    key_end: int
    node: yaml.Node

    @property
    def value_start(self) -> int:
        """Where the value starts."""
        return int(self.node.start_mark.index)

    def is_own(self) -> bool:
        """Return whether the property is one of ours."""
        return self.key.startswith(OWN)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A block. `text[start:end]` of the note is its source, the lines between the dashes; `start` 0 means that there is none.

    `entries` is None where every line is as we write it, or where the block is damaged; `damage` is one sentence.
    """

    source: str = ""
    start: int = 0
    end: int = 0
    newline: str = "\n"
    values: Mapping[str, object] = field(default_factory=dict)
    entries: tuple[Entry, ...] | None = None
    damage: str | None = None
    indent: int = 0


def find(text: str, top: int = 0) -> Frontmatter:
    """Find and read the block that begins at `top`, which is 1 behind a byte order mark and else 0."""
    opening = _OPENING.match(text, top)
    if opening is None:
        return Frontmatter()
    start, newline = opening.end(), opening[1]
    closing = start if text.startswith("---", start) else text.find("\n---", start) + 1
    if closing == 0:
        paragraph = _BLANK_LINE.split(text[start:], maxsplit=1)[0]
        return Frontmatter(paragraph, start, len(text), newline, damage="The frontmatter has no closing line `---`.")
    source = text[start:closing]
    if _CLOSING.match(text, closing) is None:
        reason = "The line that closes the frontmatter is more than `---`, which not every program takes for its end."
        return Frontmatter(source, start, closing, newline, damage=reason)
    values = read_lines(source) if newline == "\n" else None
    if values is not None:
        return Frontmatter(source, start, closing, newline, values)
    return _read_tree(Frontmatter(source, start, closing, newline))


def read_lines(source: str) -> dict[str, object] | None:
    """Return what a block says in which every line is exactly as we write it, None for any other."""
    values: dict[str, object] = {}
    for line in source.split("\n")[:-1]:
        key, _, raw = line.partition(": ")
        if key in values or not _KEY.fullmatch(key):
            return None
        try:
            values[key] = read_written(raw)
        except (ValueError, RecursionError):
            return None
    return values


def read_tree(source: str) -> tuple[tuple[Entry, ...], str | None]:
    """Return the entries of a block, and one sentence that says why it cannot be edited, or None."""
    try:
        root = compose(source)
        if root is None:
            return (), None
        if not isinstance(root, yaml.MappingNode):
            return (), "The frontmatter is not a list of properties."
        if root.flow_style:
            return (), "The frontmatter is written in braces, which kg2vault cannot edit."
        entries = tuple(
            Entry(str(key.value) if isinstance(key, yaml.ScalarNode) else "", key.start_mark.index, key.end_mark.index, value)
            for key, value in root.value
        )
        return entries, _unfit(source, entries)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" on line {mark.line + 2}" if mark is not None else ""
        return (), f"The frontmatter is not valid YAML{where}."
    except (RecursionError, ValueError):
        return (), "The frontmatter is not valid YAML."


def _read_tree(block: Frontmatter) -> Frontmatter:
    entries, damage = read_tree(block.source)
    values = {entry.key: read(entry.node) for entry in entries}
    if damage is not None:
        return Frontmatter(block.source, block.start, block.end, block.newline, values, damage=damage)
    indent = _indent(block.source, entries[0].start) if entries else 0
    return Frontmatter(block.source, block.start, block.end, block.newline, values, entries, indent=indent)


def _indent(source: str, at: int) -> int:
    line = source[line_start(source, at) : at]
    return len(line) - len(line.lstrip(" "))


def _unfit(source: str, entries: tuple[Entry, ...]) -> str | None:
    seen: set[str] = set()
    for entry in entries:
        if not entry.is_own():
            continue
        if entry.key in seen:
            return f"The property {entry.key} is there twice."
        seen.add(entry.key)
        if not is_plain_entry(source, entry):
            return f"The property {entry.key} is written in a form that kg2vault cannot edit."
    return None


def is_plain_entry(source: str, entry: Entry) -> bool:
    """Return whether a property begins its line and has no anchor, alias or type tag in it."""
    if source[line_start(source, entry.start) : entry.start].strip(" ") or source.startswith((*_INDICATORS, "?"), entry.start):
        return False
    gap = _TO_VALUE.match(source, entry.key_end)
    if gap is None or entry.value_start < entry.key_end:
        return False  # the node of an alias stands where its anchor is
    at = entry.key_end
    for start, end in leaves(entry.node):
        if start < at or source.startswith(_INDICATORS, start):
            return False
        at = end
    return _is_empty(entry.node) or not source.startswith(_INDICATORS, gap.end())


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and bool(node.start_mark.index == node.end_mark.index)


def scalars(node: yaml.Node, seen: set[int]) -> Iterator[yaml.ScalarNode]:
    """Yield the scalars within a node in their order; a collection that is there again, as an alias, is passed over."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif id(node) not in seen:
        seen.add(id(node))
        for child in node.value:
            for part in child if isinstance(child, tuple) else (child,):
                yield from scalars(part, seen)


def leaves(node: yaml.Node) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each scalar within a node; what is between them is punctuation, blanks and comments."""
    for leaf in scalars(node, set()):
        yield leaf.start_mark.index, leaf.end_mark.index


def extent(source: str, node: yaml.Node) -> tuple[int, int]:
    """Return where a value starts and ends; of block lists and block scalars, without the blanks and comments that follow."""
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.ScalarNode):
        return (start, start + len(source[start:end].rstrip())) if node.style in ("|", ">") else (start, end)
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return start, end
    last = node.value[-1]
    return start, max(start + 1, extent(source, last[1] if isinstance(last, tuple) else last)[1])


def comments(source: str, node: yaml.Node, start: int, end: int) -> list[str]:
    """Return the comments in `source[start:end]`, which holds the node."""
    found: list[str] = []
    at = start
    for leaf_start, leaf_end in (*leaves(node), (end, end)):
        found += _COMMENT.findall(source[:leaf_start], at) if leaf_start > at else []
        at = max(at, leaf_end)
    return [comment.rstrip() for comment in found]


def has_comment(block: Frontmatter) -> bool:
    """Return whether the user wrote a comment into the block."""
    if block.entries is None:
        return False
    gaps, at, seen = [], 0, set[int]()
    try:
        for entry in block.entries:
            inside = ((leaf.start_mark.index, leaf.end_mark.index) for leaf in scalars(entry.node, seen))
            for start, end in ((entry.start, entry.key_end), *inside):
                gaps.append(block.source[at:start])
                at = max(at, end)
    except RecursionError:  # nothing of ours is nested that deep
        return True
    return "#" in "".join(gaps) + block.source[at:]


def line_start(source: str, at: int) -> int:
    """Return where the line of a position starts."""
    return source.rfind("\n", 0, at) + 1


def line_end(source: str, at: int) -> int:
    """Return where the line of a position ends, behind its line break."""
    found = source.find("\n", at)
    return len(source) if found < 0 else found + 1


def column(source: str, at: int) -> int:
    """Return how far from the start of its line a position is."""
    return at - line_start(source, at)


def id_in_damaged(source: str) -> str | None:
    """Return the id that a block names which cannot be read as a whole: then the note is known, and left alone."""
    for line in _ID_LINE.findall(source):
        entries, damage = read_tree(line + "\n")
        found = read(entries[0].node) if entries and damage is None else None
        if isinstance(found, str) and found:
            return found
    return None
