"""Our properties set in a block of frontmatter, and every other byte left where it is: `edit()`.

Layer 1, pure. A property is written again only when the value that is read differs from the one that is wanted, so that the form Obsidian
gives a block when a person edits it there is not undone. An edited block is read back before it is handed out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kg2vault.vault.desired import SHARED
from kg2vault.vault.frontmatter import OWN, Entry, Frontmatter, comments, extent, line_start, read_tree, scalars
from kg2vault.vault.regions import Edit, apply_edits
from kg2vault.vault.shared_lists import ListEdit, UnsafeListError, changes, entry_key, list_edits, strings, without_entry
from kg2vault.vault.yaml_scalars import flow, same, written
from kg2vault.vault.yaml_tree import read


@dataclass(frozen=True, slots=True)
class EditedBlock:
    """The new source of a block, and one sentence for each list that had to be left as it is."""

    source: str
    problems: tuple[str, ...] = ()


def edit(block: Frontmatter, own: Mapping[str, object], lists: Mapping[str, ListEdit]) -> EditedBlock:
    """Set our properties to exactly `own`, in their order where they are new, and make the changes to the shared lists.

    The block must not be damaged. Raises ValueError and TypeError for values that cannot be written.
    """
    if block.damage is not None:
        raise ValueError(block.damage)
    if block.entries is None and block.newline == "\n":
        return EditedBlock(_edit_lines(block.values, own, lists))
    return edit_tree(block, own, lists)


def _edit_lines(before: Mapping[str, object], own: Mapping[str, object], lists: Mapping[str, ListEdit]) -> str:
    """Edit a block in which every line is as we write it, which comes to writing it anew."""
    values = {key: value for key, value in before.items() if not key.startswith(OWN) or key in own}
    values.update((key, value) for key, value in own.items() if key not in before or not same(before[key], value))
    for name, change in lists.items():
        present = values.get(name)
        add, remove = changes(name, change, strings(present))
        if not add and not remove:
            continue
        items = present if isinstance(present, list) else [present]
        kept = [item for item in items if item is not None and not (isinstance(item, str) and entry_key(name, item) in remove)]
        if kept or add or not _follows_ours(list(before), name):
            values[name] = [*kept, *add]
        else:
            del values[name]
    return "".join(f"{key}: {written(value)}\n" for key, value in values.items())


def edit_tree(block: Frontmatter, own: Mapping[str, object], lists: Mapping[str, ListEdit]) -> EditedBlock:
    """Edit any block that is not damaged, by the places where its values stand."""
    entries = block.entries if block.entries is not None else read_tree(block.source)[0]
    edits = _own_edits(block, entries, own)
    problems: list[str] = []
    appended = [f"{key}: {written(value)}" for key, value in own.items() if all(entry.key != key for entry in entries)]
    for name, change in lists.items():
        try:
            edits += _shared_edits(block, entries, name, change, appended)
        except UnsafeListError:
            problems.append(f"The property {name} is written in a form to which kg2vault cannot add its entries.")
    margin = " " * block.indent
    end = len(block.source)
    edits.append((end, end, "".join(f"{margin}{line}{block.newline}" for line in appended)))
    source = apply_edits(block.source, edits)
    if source != block.source and not _reads_back(source, entries, own):
        return EditedBlock(block.source, (*problems, "The frontmatter is written in a form that kg2vault cannot edit."))
    return EditedBlock(source, tuple(problems))


def _own_edits(block: Frontmatter, entries: tuple[Entry, ...], own: Mapping[str, object]) -> list[Edit]:
    edits: list[Edit] = []
    for entry in entries:
        if not entry.is_own():
            continue
        if entry.key not in own:
            edits.append(without_entry(block.source, entry, block.newline))
        elif not same(read(entry.node), own[entry.key]):
            edits += _replaced(block, entry, written(own[entry.key]))
    return edits


def _replaced(block: Frontmatter, entry: Entry, value: str) -> list[Edit]:
    """Put a value in the place of another, behind the colon; comments within the old one stay, on lines of their own."""
    source = block.source
    start, end = extent(source, entry.node)
    colon = source.index(":", entry.key_end) + 1
    kept = comments(source, entry.node, entry.key_end, end)
    if not kept and "\n" not in source[colon:start]:
        space = "" if source[start - 1] in " \t" else " "
        return [(start, end, space + value)]
    margin = source[line_start(source, entry.start) : entry.start]
    rest = source.find("\n", end)
    behind = source[end:rest].strip()
    lines = [f" {value}", *(f"{margin}{comment}" for comment in [*kept, *([behind] if behind else [])])]
    return [(colon, rest + 1, "".join(line + block.newline for line in lines))]


def _shared_edits(block: Frontmatter, entries: tuple[Entry, ...], name: str, change: ListEdit, appended: list[str]) -> list[Edit]:
    found = [entry for entry in entries if entry.key.lower() == name]  # as Obsidian looks for them
    found = [entry for entry in found if entry.key == name] or found
    present = strings(read(found[0].node)) if found else ()
    add, remove = changes(name, change, present)
    if not add and not remove:
        return []
    if not found:
        appended.append(f"{name}: {flow(add)}")
        return []
    if len(found) > 1:
        raise UnsafeListError
    disposable = _follows_ours([entry.key for entry in entries], found[0].key)
    return list_edits(block.source, found[0], name, add, remove, block.newline, disposable=disposable)


def _follows_ours(keys: list[str], name: str) -> bool:
    """Return whether a list stands where we put one: then we made it, and it goes with its last entry."""
    at = keys.index(name)
    return at > 0 and (keys[at - 1].startswith(OWN) or keys[at - 1] in SHARED)


def _reads_back(source: str, before: tuple[Entry, ...], own: Mapping[str, object]) -> bool:
    entries, damage = read_tree(source)
    return (
        damage is None
        and {entry.key for entry in entries if entry.is_own()} == {key for key in own if key.startswith(OWN)}
        and all(same(read(entry.node), own[entry.key]) for entry in entries if entry.key in own)
        and _theirs(entries) == _theirs(before)
    )


def _theirs(entries: tuple[Entry, ...]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what the user's properties say."""
    seen: set[int] = set()
    return [
        (entry.key, [(leaf.tag, leaf.value) for leaf in scalars(entry.node, seen)])
        for entry in entries
        if not entry.is_own() and entry.key.lower() not in SHARED
    ]
