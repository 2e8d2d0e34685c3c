"""Links between notes: tokens in templates, the one writer, and the canonical form that survives a rename.

Layer 1, pure. A template names the note it links to by id (`token`); `fill` turns that into a link once every note has a path, or into
plain words when the note has none, so no link is a ghost. `canonical_body` is the way back: links that lead to our notes become tokens
again, so Obsidian's rewriting of a link after a rename is not taken for an edit. The parser is in linkscan.py, the resolver in resolve.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from kg2vault.vault import escape
from kg2vault.vault.resolve import Resolver, clean_path

__all__ = [
    "Identify",
    "Resolver",
    "canonical_body",
    "digest",
    "fill",
    "fill_both",
    "link",
    "token",
]

Identify = Callable[[str], tuple[str, str] | None]
"""Link target → (note id, label) of the note of ours that it leads to."""

# Separators are white space to `str.split`, which every id and every display text has been through: no text can contain them.
_OPEN, _MIDDLE, _CLOSE = "\x1e", "\x1f", "\x1d"
_TOKEN = re.compile(f"{_OPEN}([^{_OPEN}{_MIDDLE}{_CLOSE}]*){_MIDDLE}([^{_OPEN}{_MIDDLE}{_CLOSE}]*){_CLOSE}")
_DELIMITER = re.compile(f"[{_OPEN}{_MIDDLE}{_CLOSE}]")
_UNLINKABLE = re.compile(r"[#^|`$<]|^\[|\[\[|\]\]|%%|::|^\s|\s$|\\$")
_TRAILING_BLANKS = re.compile(r"[ \t]+$", re.MULTILINE)


@lru_cache(maxsize=50_000)
def token(note_id: str, text: str) -> str:
    """Return the placeholder of a link to one of our notes, for templates and property values; `text` may be hostile."""
    return f"{_OPEN}{_DELIMITER.sub(' ', note_id)}{_MIDDLE}{escape.display(text)}{_CLOSE}"


def fill(template: str, paths: Mapping[str, str]) -> str:
    """Replace every token by a link to its note's path, or by its words when the note has no path or none that can be linked.

    Words stay as they are when the token is the whole template, as in a property; else they are escaped for the line they stand in.
    """
    return fill_both(template, paths)[0] if _OPEN in template else template


def fill_both(template: str, paths: Mapping[str, str]) -> tuple[str, str]:
    """Return the template filled in, and its canonical form, in which what would become a link is still a token."""
    if _OPEN not in template:
        return template, template
    before, *pieces = _TOKEN.split(template)
    filled, kept = [before], [before]
    alone = len(pieces) == 3 and not before and not pieces[2]
    for at in range(0, len(pieces), 3):
        note_id, words, after = pieces[at : at + 3]
        path = paths.get(note_id)
        target = None if path is None else _target(path)
        if target is None:
            plain = words if alone else escape.inline(words)
            filled += (plain, after)
            kept += (plain, after)
        else:
            filled += ("[[", target, "|", words, "]]", after)
            kept += (_OPEN, note_id, _MIDDLE, words, _CLOSE, after)
    return "".join(filled), "".join(kept)


def link(path: str, text: str) -> str:
    """Return a wikilink to a vault path that shows `text`, or the inert text alone when no wikilink can name that path."""
    target = _target(path)
    return escape.inline(text) if target is None else f"[[{target}|{escape.display(text)}]]"


@lru_cache(maxsize=50_000)  # every note is linked to from many
def _target(path: str) -> str | None:
    # `.md` stays where the stem holds a dot: an attachment `node.js` would capture `[[node.js]]` (resolve.py, rule 1).
    # A folder a wikilink cannot name is left off: Obsidian takes the end of a path too. A file name it cannot name is not linked.
    segments = clean_path(path).split("/")
    for at in range(len(segments) - 1, -1, -1):
        if _UNLINKABLE.search(segments[at]):
            segments = segments[at + 1 :]
            break
    if not segments:
        return None
    stem = segments[-1].removesuffix(".md")
    if stem and "." not in stem and not _UNLINKABLE.search(stem):
        segments[-1] = stem
    return "/".join(segments)


def canonical_body(body: str, identify: Identify | None) -> str:
    """Return what a region says, whatever editors did to its form: LF, no trailing blanks or lines, links to our notes as tokens.

    `identify` None means the body is ours and already holds tokens. Embeds and links to a heading say more than a token does and stay.
    """
    text = body.replace("\r\n", "\n").replace("\r", "\n")
    if identify is not None:
        text = _DELIMITER.sub("\ufffd", text)
        text = "".join(_reduced(text, identify))
    if " \n" in text or "\t\n" in text or text.endswith((" ", "\t")):
        text = _TRAILING_BLANKS.sub("", text)
    return text.rstrip("\n")


def _reduced(text: str, identify: Identify) -> Iterator[str]:
    from kg2vault.vault.linkscan import parse_links  # a first sync reads no links

    at = 0
    for found in parse_links(text):
        if found.embed or found.markdown or found.subpath:
            continue
        ours = identify(found.target)
        if ours is not None:
            shown = escape.display(ours[1]) if found.display is None else found.display
            yield text[at : found.start]
            yield f"{_OPEN}{ours[0]}{_MIDDLE}{shown}{_CLOSE}"
            at = found.end
    yield text[at:]


def digest(canonical: str) -> str:
    """Return the digest of a canonical body that its begin marker carries: 8 hex digits of SHA-256."""
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:8]
