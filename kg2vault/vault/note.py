"""A note's text taken apart and put together again: `parse`, `dump`, and `edit_note`. New notes are composed in desired.py.

Layer 1, pure. `dump(parse(text)) == text` for every text. What is ours in a note: the regions between our markers, the properties whose
names begin with `kg_`, and our own entries in `aliases` and `tags`. Every other byte is the user's and is copied, never made again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kg2vault.vault.desired import SHARED
from kg2vault.vault.frontmatter import OWN, Frontmatter, find, has_comment, id_in_damaged, scalars
from kg2vault.vault.frontmatter_edit import edit
from kg2vault.vault.regions import Region, apply_edits, find_regions, line_break, region_edits
from kg2vault.vault.shared_lists import ListEdit, entry_key, ours, strings

__all__ = ["ListEdit", "Note", "Region", "dump", "edit_note", "kg_id_of", "parse"]

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Note:
    """A note's text and what is where in it. `damage` is one sentence that says why nothing may be written to it, or None.

    `regions` is empty where the markers are damaged. `properties` is what a YAML 1.2 reader finds.
    """

    text: str
    damage: str | None
    regions: tuple[Region, ...]
    frontmatter: Frontmatter = field(repr=False)

    @property
    def properties(self) -> Mapping[str, object]:
        """Scalars and lists of scalars; anything nested deeper is an empty mapping."""
        return self.frontmatter.values

    @property
    def kg_id(self) -> str | None:
        """The id of one of our notes, None in everybody else's. A block that cannot be read may still name its id."""
        found = self.properties.get("kg_id")
        if isinstance(found, str) and found:
            return found
        return id_in_damaged(self.frontmatter.source) if self.frontmatter.damage is not None else None

    @property
    def bom(self) -> str:
        """The byte order mark an editor put before everything, or nothing."""
        return _BOM if self.text.startswith(_BOM) else ""

    @property
    def body_at(self) -> int:
        """Where the text behind the frontmatter begins; what stands behind the closing dashes is part of it."""
        return self.frontmatter.end + 3 if self.frontmatter.start else len(self.bom)

    def entries(self, name: str) -> tuple[str, ...]:
        """Return the entries of `aliases` or `tags`."""
        return strings(self.properties.get(name))

    def ours_in(self, name: str, change: ListEdit) -> tuple[str, ...]:
        """Return which of the wanted entries of `aliases` or `tags` are ours after the edit, to be remembered as written."""
        return ours(name, change, self.entries(name))

    def has_user_text(self, aliases: Collection[str], tags: Collection[str]) -> bool:
        """Return whether anything but our regions, our properties and the given entries is in the note, comments included."""
        if self.damage is not None or has_comment(self.frontmatter):
            return True
        at = self.body_at
        for region in self.regions:
            if self.text[at : region.start].strip():
                return True
            at = region.end
        return bool(self.text[at:].strip()) or self._has_user_properties({"aliases": aliases, "tags": tags})

    def _has_user_properties(self, written: Mapping[str, Collection[str]]) -> bool:
        entries = self.frontmatter.entries
        if entries is None:
            texts = [(key, self.entries(key) if key in SHARED else ()) for key in self.properties]
        else:  # as it stands there: a key may be there twice, and its value nested
            texts = [(entry.key, tuple(leaf.value for leaf in scalars(entry.node, set()) if leaf.value)) for entry in entries]
        for key, found in texts:
            if key.startswith(OWN):
                continue
            if key not in SHARED:
                return True
            known = {entry_key(key, text) for text in written[key]}
            if any(entry_key(key, text) not in known for text in found):
                return True
        return False


def parse(text: str) -> Note:
    """Take a note apart. `text` is decoded from UTF-8 with surrogateescape, its line ends untouched. Never raises."""
    frontmatter = find(text, 1 if text.startswith(_BOM) else 0)
    if frontmatter.damage is not None:
        return Note(text, frontmatter.damage, (), frontmatter)
    regions, damage = find_regions(text, frontmatter.end + 3 if frontmatter.start else 0)
    return Note(text, damage, regions, frontmatter)


def dump(note: Note) -> str:
    """Put a note together again, piece by piece."""
    pieces = [note.text[: note.body_at]]
    at = note.body_at
    for region in note.regions:
        pieces += (note.text[at : region.start], note.text[region.start : region.end])
        at = region.end
    return "".join([*pieces, note.text[at:]])


def kg_id_of(text: str) -> str | None:
    """Return the id of a note, as `parse(text).kg_id` does, but without looking into strangers' frontmatter and anybody's body."""
    if "kg_id" not in text:
        return None
    frontmatter = find(text, 1 if text.startswith(_BOM) else 0)
    return Note(text, frontmatter.damage, (), frontmatter).kg_id


def edit_note(
    note: Note,
    *,
    own: Mapping[str, object],
    aliases: ListEdit,
    tags: ListEdit,
    regions: Mapping[str, tuple[str, str]],
    remove_regions: Collection[str] = (),
) -> str:
    """Return the note's text with our properties set to `own`, our entries and regions changed, and every other byte as it is.

    `regions` maps the names of those to be written to (body, digest). Raises ValueError for a damaged note.
    """
    if note.damage is not None:
        raise ValueError(note.damage)
    frontmatter = note.frontmatter
    lists = {"aliases": aliases, "tags": tags}
    if frontmatter.start:
        edits = [(frontmatter.start, frontmatter.end, edit(frontmatter, own, lists).source)]
    else:
        newline = line_break(note.text)
        source = edit(Frontmatter(newline=newline), own, lists).source
        edits = [(len(note.bom), len(note.bom), f"---{newline}{source}---{newline}")]
    edits += region_edits(note.text, note.body_at + _rest_of_line(note), note.regions, regions, remove_regions)
    return apply_edits(note.text, edits)


def _rest_of_line(note: Note) -> int:
    """Return how far it is from the closing dashes to the next line."""
    if not note.frontmatter.start:
        return 0
    at = note.text.find("\n", note.body_at)
    return (at + 1 if at >= 0 else len(note.text)) - note.body_at
