"""Our colour groups in `.obsidian/graph.json`: `merge()` changes them and nothing else, `initial()` is the first graph.json of a vault.

Layer 1, pure. Every byte that is not one of our groups stays; a file that is not what we expect is left alone and the reason told. Ours are
the groups whose query says so, the user's stand first. A colour the user gave to one of ours stays, and a group of ours that he deleted
stays deleted.

To tell a deletion from a loss takes some care. Obsidian reads the file when a graph is opened and writes all of it back from memory
when an option changes, so what we wrote while a graph was open is lost with the next move of a slider. A group that is gone therefore
counts as deleted only if Obsidian knew it: if, after we wrote, somebody else wrote the file with a group in it that we had added at that
time or later. `Written` is the record this takes; it belongs in the manifest, since Obsidian may drop keys it does not know from its file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kg2vault.vault.json_spans import (
    Span,
    elements,
    insert_member,
    laid_out,
    last,
    margin,
    members,
    newline_of,
    opening_of,
    splice,
    step_of,
)

Group = tuple[str, int]  # query, colour as red * 65536 + green * 256 + blue
_KEY = "colorGroups"


class Written(NamedTuple):
    """What we wrote last: a digest of the text, each group's colour and generation, and the last generation that Obsidian knows."""

    digest: str = ""
    groups: Mapping[str, tuple[int, int]] = {}
    known: int = 0


class Merge(NamedTuple):
    """The new text, None when nothing changes; why the file was left alone, if it was; the record to keep."""

    text: str | None
    problem: str | None = None
    written: Written = Written()


def query_for(tag: str) -> str:
    """Return the search query of the notes that carry a tag (without "#") or one below it."""
    return f"tag:#{tag}"


def below(prefix: str) -> Callable[[str], bool]:
    """Return the test for our own queries: exactly one tag, one level below the prefix. Anything more in a query makes it the user's."""
    start = query_for(prefix) + "/"

    def ours(query: str) -> bool:
        name = query[len(start) :]
        return bool(name) and query.startswith(start) and not any(char.isspace() or char in '/()"[]' for char in name)

    return ours


def colours_of(text: str, is_ours: Callable[[str], bool]) -> dict[str, int]:
    """Return the colours our groups have in the file now, the user's choices included; {} when the file cannot be read."""
    try:
        found = _groups(text)[1]
    except ValueError:
        return {}
    return {query: rgb for span in found if (query := _query(span)) and is_ours(query) and (rgb := _colour(span)) is not None}


def merge(text: str | None, groups: Sequence[Group], is_ours: Callable[[str], bool], written: Written | None = None) -> Merge:
    """Bring our groups in a graph.json up to date; `text` None means that there is no file, and makes one of our groups alone.

    `groups` are the ones wanted, best order first. Groups of ours that are not wanted any more go; new ones come last. A group of ours
    that is there but not in the record keeps the colour it has.
    """
    written = written or Written()
    if text is None:
        return (
            Merge(None)
            if not groups
            else _first(json.dumps({_KEY: [_group(*group) for group in groups]}, indent=2, ensure_ascii=False), groups)
        )
    try:
        array, found = _groups(text)
    except ValueError as error:
        return Merge(None, f"graph.json was left alone: {error}.", written)
    present = [query for span in found if (query := _query(span))]
    known = _known(text, present, written)
    wanted = [group for group in groups if group[0] in present or not 0 < written.groups.get(group[0], (0, 0))[1] <= known]
    new = _rewritten(text, array, found, wanted, is_ours, written)
    generation = max([known, *(born for _, born in written.groups.values())], default=0) + 1
    record = {query: (rgb, _born(query, present, written, known, generation)) for query, rgb in groups}
    if new != text:
        return Merge(new, None, Written(_digest(new), record, known))
    digest = written.digest or _digest(text)
    known = _known(text, present, Written(digest, record, known))  # of groups that only now came on record as well: the next run would
    return Merge(None, None, Written(digest, record, known))


def initial(groups: Sequence[Group], folder: str, *, only_folder: bool = False, hidden_tags: Sequence[str] = ()) -> Merge:
    """Return the first graph.json of a vault that has none.

    `only_folder` shows our folder alone, for a vault that holds nothing else; `hidden_tags` are those of notes that link to everything and
    would pull the picture together. The numbers are Obsidian's defaults but for thinner lines and more repulsion: these graphs are dense.
    """
    search = [f"path:{_phrase(folder.rstrip('/') + '/')}"] if only_folder else []
    search += [f"-{query_for(tag)}" for tag in hidden_tags]
    options = {
        "collapse-filter": True,
        "search": " ".join(search),
        "showTags": False,
        "showAttachments": False,
        "hideUnresolved": False,
        "showOrphans": True,
        "collapse-color-groups": False,
        _KEY: [_group(*group) for group in groups],
        "collapse-display": True,
        "showArrow": False,
        "textFadeMultiplier": 0,
        "nodeSizeMultiplier": 1,
        "lineSizeMultiplier": 0.4,
        "collapse-forces": True,
        "centerStrength": 0.518713248970312,
        "repelStrength": 15,
        "linkStrength": 0.7,
        "linkDistance": 250,
        "scale": 1,
        "close": True,
    }
    return _first(json.dumps(options, indent=2, ensure_ascii=False), groups)


def matches(query: str, note_tags: Iterable[str]) -> bool:
    """Return whether one of our own queries finds a note with these tags, as in Obsidian: case-blind, and a tag finds those below it."""
    if not query.startswith("tag:#"):
        raise ValueError(f"not a query of ours: {query!r}")
    wanted = query.removeprefix("tag:#").lower()
    return any(tag.lower() == wanted or tag.lower().startswith(wanted + "/") for tag in note_tags)


def as_data(written: Written) -> dict[str, Any]:
    """Return the record as JSON values, for the manifest."""
    groups = {query: list(entry) for query, entry in sorted(written.groups.items())}
    return {"digest": written.digest, "groups": groups, "known": written.known}


def from_data(data: Mapping[str, Any]) -> Written:
    """Return the record from what `as_data` made of it; raises ValueError, TypeError or KeyError when it is something else."""
    groups = {str(query): (int(rgb), int(born)) for query, (rgb, born) in data["groups"].items()}
    return Written(str(data["digest"]), groups, int(data["known"]))


def _first(text: str, groups: Sequence[Group]) -> Merge:
    return Merge(text, None, Written(_digest(text), {query: (rgb, 1) for query, rgb in groups}))


def _known(text: str, present: Sequence[str], written: Written) -> int:
    """Return the last generation Obsidian has read: seen in a file that somebody else has written since."""
    if _digest(text) == written.digest:
        return written.known
    return max([written.known, *(written.groups[query][1] for query in present if query in written.groups)])


def _born(query: str, present: Sequence[str], written: Written, known: int, generation: int) -> int:
    """Return the generation to record: an old group keeps its own, one that is written now, new or lost, gets the next."""
    born = written.groups.get(query, (0, 0))[1]
    if query in present:
        return born or known or 1
    return born if 0 < born <= known else generation


def _groups(text: str) -> tuple[Span | None, tuple[Span, ...]]:
    """Return the list of groups and its elements; raises ValueError when the file is not what Obsidian writes."""
    array = last(members(text), _KEY)
    if array is None:
        return None, ()
    if not isinstance(array.value, list):
        raise ValueError(f"its {_KEY} is not a list")
    return array, elements(text, array.start)


def _rewritten(
    text: str, array: Span | None, found: Sequence[Span], wanted: Sequence[Group], is_ours: Callable[[str], bool], written: Written
) -> str:
    """Return the text with our groups as wanted: colours by span, the list rebuilt from its old elements only when its order changes."""
    colours = dict(wanted)
    theirs = [span for span in found if not _is_ours(span, is_ours)]
    ours = [span for span in found if _is_ours(span, is_ours) and _query(span) in colours]
    standing = {_query(span) for span in ours}
    added = [_group(*group) for group in wanted if group[0] not in standing]
    if array is None:
        return insert_member(text, opening_of(text), members(text), _KEY, added) if added else text
    edits = [edit for span in ours if (edit := _recoloured(text, span, colours, written))]
    if [*theirs, *ours] == list(found) and not added:
        return splice(text, edits)
    raws = [_raw(text, span, edits) for span in (*theirs, *ours)]
    return splice(text, [(array.start, array.end, _list_of(text, array, found, raws, added))])


def _list_of(text: str, array: Span, found: Sequence[Span], raws: Sequence[str], added: Sequence[Any]) -> str:
    if not raws and not added:
        return "[]"
    if found:
        lead, tail = text[array.start + 1 : found[0].start], text[found[-1].end : array.end - 1]
    else:
        outer = newline_of(text) + margin(text, array.start)
        lead, tail = (outer + step_of(text), outer) if "\n" in text[: array.start] else ("", "")
    between = text[found[0].end : found[1].start] if len(found) > 1 else f",{lead or ' '}" if found else f",{lead}"
    return f"[{lead}{between.join([*raws, *(laid_out(group, text, lead) for group in added)])}{tail}]"


def _recoloured(text: str, span: Span, colours: Mapping[str, int], written: Written) -> tuple[int, int, str] | None:
    """Return the edit that gives one of our groups its new colour, None when it has it or the user chose another."""
    query = _query(span)
    now = _colour(span)
    if now is None or now == colours[query] or query not in written.groups or now != written.groups[query][0]:
        return None
    colour = last(members(text, span.start), "color")
    rgb = last(members(text, colour.start), "rgb") if colour else None
    return (rgb.start, rgb.end, str(colours[query])) if rgb else None


def _raw(text: str, span: Span, edits: Iterable[tuple[int, int, str]]) -> str:
    inside = [(start - span.start, end - span.start, new) for start, end, new in edits if span.start <= start < span.end]
    return splice(text[span.start : span.end], inside)


def _is_ours(span: Span, is_ours: Callable[[str], bool]) -> bool:
    query = _query(span)
    return bool(query) and is_ours(query)


def _query(span: Span) -> str:
    query = span.value.get("query") if isinstance(span.value, dict) else None
    return query if isinstance(query, str) else ""


def _colour(span: Span) -> int | None:
    colour = span.value.get("color")
    rgb = colour.get("rgb") if isinstance(colour, dict) else None
    return int(rgb) if isinstance(rgb, float) and rgb.is_integer() and 0 <= rgb <= 0xFFFFFF else None


def _group(query: str, rgb: int) -> dict[str, Any]:
    return {"query": query, "color": {"a": 1, "rgb": rgb}}


def _phrase(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
