"""Managed regions: the lines between a begin and an end marker, which are ours, within a body that is the user's.

    %% kg2vault:begin <name> <digest> %%
    the body
    %% kg2vault:end <name> %%

Layer 1, pure. `find_regions` is strict on purpose: one marker line that is not exactly as written above, not alone on its line, or not one
of an ordered pair, and nothing in the note may be touched. A splice on unmatched markers would one day cut away what stands between them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from kg2vault.vault.wikilinks import Identify, canonical_body, digest

_MARKER = re.compile(r"%% kg2vault:(?:begin (?P<begin>[a-z][a-z0-9-]*) (?P<digest>[0-9a-f]{8})|end (?P<end>[a-z][a-z0-9-]*)) %%\r?")
# A line that tries to be a marker: any spelling, any blanks. A sentence that speaks of markers does not begin like one.
_MARKER_LIKE = re.compile(r"^\ufeff?[ \t>]*%%[ \t]*kg2vault[ \t]*:.*", re.MULTILINE | re.IGNORECASE)
_APART = ("\n\n", "\r\n\r\n")

Edit = tuple[int, int, str]
"""Replace `text[start:end]` by a new text."""


class Region(NamedTuple):
    """A region of a note: `text[start:end]` from the first `%` of its begin marker to the last of its end marker.

    `body` is what stands between the marker lines, without its last line break; `at` is where it starts.
    """

    name: str
    marker_digest: str
    body: str
    start: int
    end: int
    at: int

    def is_pristine(self, identify: Identify) -> bool:
        """Return whether the body still says what we wrote; `identify` tells which links lead to our notes."""
        return digest(canonical_body(self.body, identify)) == self.marker_digest

    def digest_as_it_stands(self) -> str:
        """Return the digest of the body with its links as they are written; in a marker it says that the text is to be replaced."""
        return digest(canonical_body(self.body, lambda _: None))

    def is_given_back(self) -> bool:
        """Return whether the user gave the text between the markers back."""
        return self.digest_as_it_stands() == self.marker_digest


def begin_marker(name: str, marker_digest: str) -> str:
    """Return the line that begins a region."""
    return f"%% kg2vault:begin {name} {marker_digest} %%"


def end_marker(name: str) -> str:
    """Return the line that ends a region."""
    return f"%% kg2vault:end {name} %%"


def block(name: str, body: str, marker_digest: str, newline: str = "\n") -> str:
    """Return a whole region, without a line break at its end."""
    lines = [begin_marker(name, marker_digest), *([body.replace("\n", newline)] if body else []), end_marker(name)]
    return newline.join(lines)


def line_break(text: str) -> str:
    r"""Return the line break that most lines of a text end with, "\n" when it has none."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def find_regions(text: str, start: int = 0) -> tuple[tuple[Region, ...], str | None]:
    """Return the regions after `start` in their order, or none and one sentence that says which marker is damaged."""
    found: list[Region] = []
    names: set[str] = set()
    opened: tuple[re.Match[str], int, int] | None = None  # begin marker, where its line starts, where its body does
    for begins, ends in _marker_lines(text, start):
        marker = _MARKER.fullmatch(text, begins, ends)
        where = f"The marker on line {text.count(chr(10), 0, begins) + 1}"
        if marker is None or (marker[0].endswith("\r") and ends == len(text)):
            return (), f"{where} is not written as kg2vault writes it."
        if marker["begin"]:
            if opened is not None:
                return (), f"{where} begins a region before the region “{opened[0]['begin']}” ends."
            if marker["begin"] in names:
                return (), f"{where} begins the region “{marker['begin']}” a second time."
            opened = (marker, begins, min(ends + 1, len(text)))
        elif opened is None or opened[0]["begin"] != marker["end"]:
            return (), f"{where} ends the region “{marker['end']}”, which has not begun."
        else:
            name = opened[0]["begin"]
            names.add(name)
            body = _without_last_break(text[opened[2] : begins])
            found.append(Region(name, opened[0]["digest"], body, opened[1], begins + len(end_marker(name)), opened[2]))
            opened = None
    if opened is not None:
        return (), f"The region “{opened[0]['begin']}” has no end marker."
    return tuple(found), None


def _marker_lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each line that might be a marker starts and ends, its line feed not included."""
    at = start
    while (at := text.find("%%", at)) >= 0:
        begins = text.rfind("\n", 0, at) + 1
        found = _MARKER_LIKE.match(text, begins)
        ends = text.find("\n", at)
        at = ends = len(text) if ends < 0 else ends
        if found is not None:
            yield begins + found[0].startswith("\ufeff"), ends


def _without_last_break(lines: str) -> str:
    return lines[:-2] if lines.endswith("\r\n") else lines.removesuffix("\n")


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with every edit made; removals may overlap, and of insertions at one place the first comes first."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(edits, key=itemgetter(0, 1)):
        pieces += (text[at : max(at, start)], new)
        at = max(at, end)
    pieces.append(text[at:])
    return "".join(pieces)


def region_edits(
    text: str, top: int, regions: tuple[Region, ...], bodies: Mapping[str, tuple[str, str]], removals: Collection[str]
) -> list[Edit]:
    """Return the edits that give the named regions new (body, digest) and take others away.

    A body that is the present one stays as it is, bytes and all; new bodies have LF. New regions go below the last one, or to `top`.
    """
    newline = line_break(text)
    edits: list[Edit] = []
    for region in regions:
        if region.name in removals:
            edits.append((*_extent(text, region, regions), ""))
        elif region.name in bodies:
            edits.append(_replaced(region, *bodies[region.name], newline))
    present = {region.name for region in regions}
    new = [block(name, *bodies[name], newline) for name in bodies if name not in present]
    if new:
        _insert(text, top, regions, removals, (newline * 2).join(new), edits)
    return edits


def _replaced(region: Region, body: str, marker_digest: str, newline: str) -> Edit:
    if body == region.body:
        at = region.start + len(f"%% kg2vault:begin {region.name} ")
        return at, at + len(region.marker_digest), marker_digest
    return region.start, region.end, block(region.name, body, marker_digest, newline)


def _insert(text: str, top: int, regions: tuple[Region, ...], removals: Collection[str], new: str, edits: list[Edit]) -> None:
    newline = line_break(text)
    kept = [region for region in regions if region.name not in removals]
    if kept:
        edits.append((kept[-1].end, kept[-1].end, newline * 2 + new))
    elif regions:
        edits[-1] = (regions[-1].start, regions[-1].end, new)
    else:
        before = newline if text[:top].removeprefix("\ufeff") and text[top - 1] != "\n" else ""
        after = newline * 2 if text[top:].strip() else newline
        edits.append((top, top, f"{before}{new}{after}"))


def _extent(text: str, region: Region, regions: tuple[Region, ...]) -> tuple[int, int]:
    """Return what goes with a region: its lines, and the empty line that keeps it apart from a region next to it."""
    at = regions.index(region)
    if at > 0 and text[regions[at - 1].end : region.start] in _APART:
        return regions[at - 1].end, region.end
    if at + 1 < len(regions) and text[region.end : regions[at + 1].start] in _APART:
        return region.start, regions[at + 1].start
    for newline in ("\r\n", "\n"):
        if text.startswith(newline, region.end):
            return region.start, region.end + len(newline)
    return region.start, region.end
