r"""Hostile text → one line of inert Markdown that still reads as it was written.

Layer 1, pure. Titles, feed names, tags and URLs come from the open internet into a vault where Dataview and Templater execute code. What
this module returns runs nothing, loads nothing, hides nothing and links to nothing, wherever in a line it is put (but for table cells,
where `|` would matter, and code, where escapes show). Only http and https addresses become links.

`inline` for text in a note's body, `link` for a title with an address, `display` for the words of a wikilink, `plain` for what all of them
start from. Two kinds of reader must be satisfied: Markdown parsers, for which a backslash is enough, and programs that scan the raw text
(Templater, Dataview, our own markers) and know no backslash. For the second kind no pair they look for is left standing: `<%` becomes
`&lt;%`, `::` `:\:`, `%%` `\%\%`. Inside a wikilink neither escapes nor entities are decoded, so `display` uses characters that look alike.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TEXT_LIMIT = 300  # characters of a title that are shown
URL_LIMIT = 2000  # longer addresses are not linked: browsers and sync tools begin to differ
UNTITLED = "untitled"

_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
# Control, soft hyphen, bidirectional, zero-width, filler and tag characters; a second variation selector in a row carries hidden text.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff" + _NONCHARACTERS + "]"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)
# The joiners are letters in Persian and Indic words and glue in emoji; next to anything else they only hide.
_JOINED = "[^\x00-\xff\u1680\u2000-\u206f\u3000]"
_STRAY_JOINER = re.compile(f"(?<!{_JOINED})[\u200c\u200d]+|[\u200c\u200d]+(?!{_JOINED})")
_SURROGATE = re.compile("[\ud800-\udfff]")

_ACTIVE = re.compile(
    r"""
      (?P<lt> <(?![ ]) )
    | (?P<amp> &(?=\#?\w{1,32};) )
    | (?P<one>
          \\(?=[!-/:-@\[-`{-~]|$)           # a backslash that would escape what follows
        | [`\[\]$]
        | (?<![ ])\*|\*(?![ ])
        | (?<!\S)[#^] | \^(?=\[)            # tags, headings, block ids, footnotes
        | (?<=:): | (?<=:)/(?=/)            # inline fields; addresses that would link themselves
      )
    | (?P<run>
          (?<![^\W_])(?<!_)_+ | _+(?![^\W_]|_)  # not within a word
        | ~{2,} | ={2,} | %{2,}
      )
    """,
    re.VERBOSE,
)
_BLOCK_START = re.compile(r"-(?=[ -]|$)|\+(?= |$)|>|=(?=$)|[|:](?=[-:| ]*$)|(?<=\d)[.)](?= |$)")
_NUMBERED = re.compile(r"\d{1,9}(?=[.)](?: |$))")

# Any match of the expression above begins with one of these or holds them; most titles do neither.
_SUSPECT = re.compile(r"[<&\\`\[\]$*#^_~=%]|::|:/")
# What `safe_url` would give back as it came.
_CLEAN_ADDRESS = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*(?:[/?#][A-Za-z0-9/?#&=+,@!'._-]*)?")

_HTTP = re.compile(r"(https?)://([^/?#\\]*)(.*)", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"((?:[A-Za-z0-9._~-]|[^\x00-\x7f])+)(?::([0-9]{1,5}))?")
_ADDRESS_PART = re.compile(r"%[0-9A-Fa-f]{2}|(?P<encode>[^A-Za-z0-9/?#&=+,;:@!'._~-]|(?<=:):|(?<=~)~)")
_ENTITY_END = re.compile(r"(&\w{1,32});")


def plain(text: str) -> str:
    """Return the text as one line of visible characters: NFC, white space collapsed and trimmed, nothing that hides or turns text round."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    seen, before = _SURROGATE.sub("\ufffd", text), ""
    while seen != before:  # composing letters can make a joiner stray; nearly always the second round changes nothing
        before = seen
        shown = _STRAY_JOINER.sub("", _INVISIBLE.sub("", unicodedata.normalize("NFC", seen)))
        seen = unicodedata.normalize("NFC", " ".join(shown.split()))
    return seen


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters, the last an ellipsis when some are missing; a letter keeps its accents or goes with them."""
    if len(text) <= limit:
        return text
    end = limit - 1
    while end > limit // 2 and (unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f"):
        end -= 1
    return text[:end].rstrip() + "…"


@lru_cache(maxsize=50_000)  # dates, feeds and names come again and again
def inline(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return hostile text as inert Markdown for any place in a line, its start included; empty for blank text."""
    escaped = _escaped(shorten(plain(text), limit))
    number = _NUMBERED.match(escaped)
    at = number.end() if number else 0
    return f"{escaped[:at]}\\{escaped[at:]}" if _BLOCK_START.match(escaped, at) else escaped


def link(title: str, url: str, limit: int = TEXT_LIMIT) -> str:
    """Return a Markdown link when `url` is a sound http or https address, else the inert title alone.

    A blank title is replaced by the address without its scheme.
    """
    address = safe_url(url)
    if address is None:
        return inline(title, limit) or UNTITLED
    text = shorten(plain(title), limit) or shorten(address.partition("//")[2], 80)
    return f"[{_escaped(text)}]({address})"


def safe_url(url: str) -> str | None:
    """Return an http or https address in ASCII that cannot break out of a Markdown link, or None when it is not to be linked.

    User and password are dropped. What could end the link, start an entity or be seen by a scanner is percent-encoded, and so is everything
    outside ASCII, the host included (WHATWG URL decodes it again). No link: other schemes, no host, a port that is no number, and numeric
    IPv6 hosts, which cannot be written without `::`.
    """
    if len(url) <= URL_LIMIT and _CLEAN_ADDRESS.fullmatch(url):
        return url
    found = _HTTP.fullmatch(url.strip()) if len(url) <= URL_LIMIT else None
    if found is None:
        return None
    scheme, authority, rest = found.groups()
    host = _HOST.fullmatch(authority.rpartition("@")[2])
    if host is None or not any(char.isalnum() for char in host[1]) or plain(host[1]) != unicodedata.normalize("NFC", host[1]):
        return None
    port = f":{host[2]}" if host[2] else ""
    if rest.startswith("\\"):
        rest = "/" + rest[1:]  # as browsers read it
    address = f"{scheme.lower()}://{_encoded(host[1])}{port}{_encoded(rest)}"
    return address if len(address) <= URL_LIMIT else None


def display(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return text for a wikilink after the `|`: it cannot close the link, nor start code, math, HTML, a comment or a field. Idempotent."""
    shown = shorten(plain(text), limit)
    for pattern, change in _LOOKALIKES:
        shown = pattern.sub(change, shown)
    return (shown.replace(">", "＞") if "＜" in shown else shown) or UNTITLED


def _wide(found: re.Match[str]) -> str:
    return "".join(chr(ord(char) + 0xFEE0) for char in found[0])


_LOOKALIKES = (
    (re.compile(r"`"), "ˋ"),
    (re.compile(r"[\[\]|$<]|(?<!\S)(?<!^)#|%{2,}|:{2,}|~{2,}|={2,}|\\$"), _wide),
)


def _escaped(text: str) -> str:
    return _ACTIVE.sub(_inert, text) if _SUSPECT.search(text) else text


def _inert(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "lt":
        return "&lt;"
    if kind == "amp":
        return "&amp;"
    return "".join("\\" + char for char in found[0])


def _encoded(part: str) -> str:
    return _ENTITY_END.sub(r"\1%3B", _ADDRESS_PART.sub(_percent, part))


def _percent(found: re.Match[str]) -> str:
    if found["encode"] is None:
        return found[0]
    return "".join(f"%{byte:02X}" for byte in _SURROGATE.sub("\ufffd", found[0]).encode())
