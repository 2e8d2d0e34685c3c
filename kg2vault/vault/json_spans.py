"""Where the values of a JSON text stand, so that one of them can be replaced while every other byte stays.

Layer 1, pure. `members()` and `elements()` are the two questions; `insert_member()` the one edit that is more than a replacement. A text
that Obsidian's own `JSON.parse` would refuse is refused here too (ValueError), but for a byte order mark, which stays in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_BLANK = re.compile(r"[ \t\r\n]*")
BOM = "\ufeff"


class Span(NamedTuple):
    """A value and where its text begins and ends; `key` is the member's name, "" in an array."""

    key: str
    value: Any
    start: int
    end: int


def members(text: str, start: int = 0) -> tuple[Span, ...]:
    """Return the members of the object that begins at `start`, in order, a repeated name as often as it stands there.

    At 0 the object must be the whole text. Raises ValueError when it is not JSON or not an object.
    """
    here = _skip(text, start + text.startswith(BOM, start))
    if text[here : here + 1] != "{":
        _value(text, here)
        raise ValueError("it is not an object")
    found, end = _entries(text, here, "}")
    if start == 0 and _skip(text, end) != len(text):
        raise ValueError(f"there is something after its end, at character {end}")
    return found


def elements(text: str, start: int) -> tuple[Span, ...]:
    """Return the elements of the array that begins at `start`; raises ValueError when there is none."""
    if text[start : start + 1] != "[":
        raise ValueError("it is not a list")
    return _entries(text, start, "]")[0]


def last(found: Sequence[Span], key: str) -> Span | None:
    """Return the member of that name which counts: of several, the last, as in JavaScript."""
    return next((span for span in reversed(found) if span.key == key), None)


def splice(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """Replace some spans (start, end, new text), which must not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def insert_member(text: str, opening: int, found: Sequence[Span], key: str, value: Any) -> str:
    """Add a member to the end of the object that opens at `opening` and holds `found`, laid out like those that are there."""
    name = json.dumps(key, ensure_ascii=False)
    if found:
        at = found[-1].end
        lead = text[opening + 1 : text.index('"', opening + 1)]
        before = text[: found[0].start]
        return f"{text[:at]},{lead}{name}{before[before.rindex(':') :]}{laid_out(value, text, lead)}{text[at:]}"
    newline, outer = newline_of(text), margin(text, opening)
    lead = f"{newline}{outer}{step_of(text)}"
    return f"{text[: opening + 1]}{lead}{name}: {laid_out(value, text, lead)}{newline}{outer}{text[text.index('}', opening) :]}"


def opening_of(text: str) -> int:
    """Return where the object that is the whole text begins."""
    return text.index("{")


def laid_out(value: Any, text: str, lead: str) -> str:
    """Write a value the way the text is written, where `lead` (a line end and a margin, a blank, or nothing) stands before it.

    On several lines with the text's own line ends and step of indentation; on one line where there is no line end in `lead`.
    """
    if "\n" not in lead:
        return json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if lead else (",", ":"))
    return json.dumps(value, ensure_ascii=False, indent=step_of(text)).replace("\n", newline_of(text) + lead[lead.rindex("\n") + 1 :])


def step_of(text: str) -> str:
    """Return one step of the text's indentation, two blanks if it has none."""
    match = re.search(r"\n([ \t]+)[^ \t\r\n]", text)
    return match.group(1) if match else "  "


def newline_of(text: str) -> str:
    """Return the line end of a text: CRLF when its first line ends so, else LF."""
    return "\r\n" if text.find("\r\n") == text.find("\n") - 1 and "\r\n" in text else "\n"


def margin(text: str, at: int) -> str:
    """Return the white space the line of a position begins with."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : at - len(text[line:at].lstrip(" \t"))]


def _entries(text: str, opening: int, close: str) -> tuple[tuple[Span, ...], int]:
    """Read what stands between two brackets; return it and where the text goes on."""
    here = _skip(text, opening + 1)
    found: list[Span] = []
    if text[here : here + 1] == close:
        return (), here + 1
    while True:
        key = ""
        if close == "}":
            key, here = _value(text, here)
            if not isinstance(key, str):
                raise ValueError(f"a name is missing at character {here}")
            here = _expect(text, _skip(text, here), ":")
        start = _skip(text, here)
        value, end = _value(text, start)
        found.append(Span(key, value, start, end))
        here = _skip(text, end)
        if text[here : here + 1] == close:
            return tuple(found), here + 1
        here = _skip(text, _expect(text, here, ","))


def _expect(text: str, at: int, char: str) -> int:
    if text[at : at + 1] != char:
        raise ValueError(f"expecting {char!r} at character {at}")
    return at + 1


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=float)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}") from None
