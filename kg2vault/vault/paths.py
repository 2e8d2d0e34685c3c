r"""Name → file stem and Obsidian tag, such that no two notes of ours can ever want the same one.

Layer 1, pure. Names are legal on Linux, macOS, Windows, Android and iOS and keep their script. Whether a name carries a hash is decided by
the name alone, never by which other notes exist: adding or removing a concept never renames another.

**The rule.** Illegal characters are written as words or dashes. Reading the result back (`_stem_spelling`, a function of the name as file
systems compare it) gives some spelling. When that is the very concept the name was made for, the name is *bare*; else it gets a hash of the
note's id. So two bare names that compare equal belong to one concept, and a name that ends like a hash is never bare.

    bare                                    with a hash
    C#          C-sharp                     c-sharp    c-sharp 5d2f10     what people mean by C-sharp is C#
    .NET Core   dot-NET Core                .env       dot-env 2a41c7     so dot-product stays dot-product
    #Python     hashtag-Python              TCP/IP     TCP-IP 81d3aa      so tcp-ip stays tcp-ip
    C++, node.js, Go!, 机器学习, 🚀          straße     straße 9e0b14      file systems take it for strasse
                                            CON, ???, 300 characters      Windows devices, nothing left, too long

Communities get ` (community)` behind their name, so that a concept and a community of one name both have a file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from kg2vault.graph.spelling import spelling_key
from kg2vault.vault.escape import plain

STEM_LIMIT = 150  # bytes of UTF-8, in NFC and in the decomposed form of HFS+; file systems take 255, Windows paths 260 in all
_NAME_LIMIT = 120  # bytes left when the longest ending (` 9f2c3a (community) 9f2c3a`, ` 9f2c3a (concept 9f2c3a)`) has its place
_READ_LIMIT = 500  # characters that are looked at; a name this long is cut, and cut names have the hash
_TAG_LIMIT = 80  # characters of the last part of a tag

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " "})
# A digit first: no English word is one (`lost decade` is no hash), and years with a month are the only common ending that is.
_HASH = "[0-9][0-9a-f]{5}"
_TAKEN_ENDING = re.compile(rf" {_HASH}$| \((?:concept|community|home|item|feed)(?: {_HASH})?\)$")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?=\.|$)", re.IGNORECASE)

# `İ` is one letter, its lower case a letter and an accent: with accents as part of the word, both are read alike.
_SHARP = re.compile(r"(?<![\w\u0300-\u036f])([^\W\d_İ])#(?![^\W\d]|#)")
_SHARP_BACK = re.compile(r"(?<![\w\u0300-\u036f])([^\W\d_İ])-sharp(?![^\W\d])")
_NET = re.compile(r"^\.(?=net(?!\w))", re.IGNORECASE)
_NET_BACK = re.compile(r"^dot-(?=net(?!\w))")
_HASHTAG = re.compile(r"^#(?=\w)")
_HASHTAG_BACK = re.compile(r"^hashtag-(?=\w)")
_FINAL_SIGMA_BACK = re.compile(r"(?<=[^\W\d_])σ(?![^\W\d_])")

# In this order. Backticks and dollars are legal in files, but two links with one each make Obsidian read what is between as code or math.
_STEM_STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_HASHTAG, "hashtag-"),
    (_SHARP, r"\1-sharp"),
    (_NET, "dot-"),
    (re.compile(r"^\.(?=\w)"), "dot-"),
    (re.compile(r"(?<![\w\u0300-\u036f])([^\W\d_İ])\*(?!\w)"), r"\1-star"),
    (re.compile(r"(?<=[\w\u0300-\u036f])\$"), "-dollar"),
    (re.compile(r"\$(?=\w)"), "dollar-"),
    (re.compile(r"[\[<]([^\[\]<>]*)[\]>]"), r"(\1)"),
    (re.compile(r"[\"`]"), "'"),
    (re.compile(r"\?"), ""),
    (re.compile(r"(?<=[\w\u0300-\u036f]):(?= )"), " -"),
    (re.compile(r"[/\\:|^#<>*\[\]$]+"), "-"),
    (re.compile(r"%{2,}"), "%"),
)
_UNTOUCHED = re.compile(r"[\w ,;=@&+~!()'-]*")  # no step finds anything in such a name
_SYMBOLS = {
    "#": "hashtag", "?": "question-mark", "*": "star", ".": "dot", ":": "colon", "/": "slash", "\\": "backslash", "|": "bar",
    "<": "less-than", ">": "greater-than", '"': "quote", "^": "caret", "$": "dollar", "`": "backtick", "[": "bracket", "]": "bracket",
}  # fmt: skip

_PLUSES = re.compile(r"(?<![\w\u0300-\u036f])([^\W\d_İ])\+\+(?![^\W\d]|\+)")
_PLUSES_BACK = re.compile(r"(?<![\w\u0300-\u036f])([^\W\d_İ])-plus-plus(?![^\W\d])")
_JS = re.compile(r"(?<=[\w\u0300-\u036f])\.(?=js(?!\w))", re.IGNORECASE)
_JS_BACK = re.compile(r"(?<=[\w\u0300-\u036f])-(?=js(?!\w))")
_TAG_HASH_ENDING = re.compile(rf"-{_HASH}$")
_DROPPED = re.compile("_*\x00[_\x00]*")
_DROPPED_ENDS = re.compile("^_*\x00[_\x00]*|_*\x00[_\x00]*$")
_TAG_STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_HASHTAG, "hashtag-"),
    (_SHARP, r"\1-sharp"),
    (_PLUSES, r"\1-plus-plus"),
    (_JS, "-"),
    (_NET, "dot-"),
    (re.compile(r"^\.(?=\w)"), "dot-"),
    (re.compile(r" ?& ?"), " and "),
    (re.compile(r"[’']"), ""),
)


def name_key(path: str) -> str:
    """Return what file systems and Obsidian compare of a stem or path: case folded, NFC, no-break spaces as spaces."""
    if path.isascii():
        return path.lower()
    folded = unicodedata.normalize("NFD", path.translate(_SPACES)).casefold()
    return unicodedata.normalize("NFC", folded)


def is_device(name: str) -> bool:
    """Return whether Windows takes a file or folder name for a device, as it does CON and nul.txt."""
    return _DEVICE.match(name) is not None


def note_stems(name: str, note_id: str, kind: str, reserved: frozenset[str]) -> tuple[str, ...]:
    """Return the file stems a note may have, best first; the others are for when a stranger's file has the place.

    `reserved` are stems of other notes of ours, whatever their case. All are at most `STEM_LIMIT` bytes long. Kinds without a key of their
    own (items, feeds) always carry the hash.
    """
    readable, mark = _readable(name), _hash(note_id)
    if kind == "home":
        return readable, f"{readable} (home)", f"{readable} (home {mark})"
    key = note_id.partition("/")[2] if kind == "concept" else spelling_key(name) if kind == "community" else None
    bare = key is not None and _stem_spelling(name_key(readable)) == key
    ending = " (community)" if kind == "community" else ""
    taken = {name_key(stem) for stem in reserved}
    if not bare or name_key(readable + ending) in taken:
        readable = f"{readable} {mark}"
    stem = readable + ending
    if ending:
        return stem, f"{stem} {mark}", f"{readable} (community {mark})"
    return stem, f"{stem} ({kind})", f"{stem} ({kind} {mark})"


@lru_cache(maxsize=10_000)
def obsidian_tag(prefix: str, name: str, identity: str) -> str:
    """Return a tag below `prefix`, which must hold a letter: letters, digits, marks, emoji, `-`, and `_` for a space.

    Bare by the rule above, with `-` before the hash of `identity`: `node.js` is `node-js`, `C++` is `C-plus-plus`.
    """
    text = _apply(_TAG_STEPS, _visible(name))
    text = "".join(char if _fits_tag(char) else "\x00" for char in "_".join(text.split()))
    text = _cut(_DROPPED.sub("-", _DROPPED_ENDS.sub("", text)), lambda part: len(part) <= _TAG_LIMIT)
    if not text.strip("-_"):
        return f"{prefix}/tag-{_hash(identity)}"
    bare = _tag_spelling(name_key(text)) == spelling_key(name)
    return f"{prefix}/{text}" if bare else f"{prefix}/{text}-{_hash(identity)}"


def _readable(name: str) -> str:
    shown = _visible(name)
    text = _trimmed(shown if _UNTOUCHED.fullmatch(shown) else _apply(_STEM_STEPS, shown), shown)
    if not text:
        in_words = shown and len(shown) <= 3 and all(char in _SYMBOLS for char in shown)
        text = "-".join(_SYMBOLS[char] for char in shown) if in_words else "tag"
    device = _DEVICE.match(text)
    if device:  # Windows looks at what is before the first dot, and `.md` follows
        text = f"{text[: device.end()]}-{text[device.end() + 1 :]}".rstrip("-")
    return _trimmed(_cut(unicodedata.normalize("NFC", text), _fits_name), shown) or "tag"


def _stem_spelling(key: str) -> str | None:
    if _TAKEN_ENDING.search(key) or _DEVICE.match(key):
        return None
    if "-" in key:
        key = _NET_BACK.sub(".", _SHARP_BACK.sub(r"\1#", _HASHTAG_BACK.sub("#", key)))
    return _plain_spelling(key)


def _tag_spelling(key: str) -> str | None:
    if _TAG_HASH_ENDING.search(key):
        return None
    text = _SHARP_BACK.sub(r"\1#", _HASHTAG_BACK.sub("#", key.replace("_", " ")))
    return _plain_spelling(_NET_BACK.sub(".", _JS_BACK.sub(".", _PLUSES_BACK.sub(r"\1++", text))))


def _plain_spelling(text: str) -> str:
    if text.isascii():
        return text.lower()
    # Case folding is undone where lower case differs from it without loss: the sigma that ends a word, Cherokee.
    return unicodedata.normalize("NFC", _FINAL_SIGMA_BACK.sub("ς", text.lower()))


def _visible(name: str) -> str:
    text = plain(name)[:_READ_LIMIT]
    if text.isascii():
        return text
    kept = (char for char in text if char not in "\u200c\u200d" and unicodedata.category(char) not in ("Cn", "Co"))
    return unicodedata.normalize("NFC", " ".join("".join(kept).split()))


def _apply(steps: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str:
    for pattern, change in steps:
        text = pattern.sub(change, text)
    return " ".join(text.split())


def _trimmed(text: str, shown: str) -> str:
    # Dots and blanks at the ends are illegal; dashes there are ours unless the name itself has them.
    text = text.rstrip(". " if shown.endswith("-") else "-. ")
    return text.lstrip(". " if shown.startswith("-") else "-. ")


def _fits_name(text: str) -> bool:
    if text.isascii():
        return len(text) <= _NAME_LIMIT
    return all(len(unicodedata.normalize(form, text).encode()) <= _NAME_LIMIT for form in ("NFC", "NFD"))


def _fits_tag(char: str) -> bool:
    if char in "_-" or "\u2e00" <= char <= "\u2e7f":
        return char in "_-"
    category = unicodedata.category(char)
    return char.isalnum() or category[0] == "M" or category == "So" or "\U0001f3fb" <= char <= "\U0001f3ff"


def _cut(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning that fits, ended where a letter keeps its accents if there is such a place nearby."""
    if len(text) <= _NAME_LIMIT and fits(text):
        return text
    end = min(len(text), _NAME_LIMIT)
    while not fits(text[:end]):
        end -= 1
    whole = end
    while whole > end - 20 and whole > 0 and whole < len(text) and _attached(text[whole]):
        whole -= 1
    return text[: whole if whole > 0 and not (whole < len(text) and _attached(text[whole])) else end].rstrip()


def _attached(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or "\U0001f3fb" <= char <= "\U0001f3ff"


def _hash(identity: str) -> str:
    found = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{int(found[0], 16) % 10}{found[1:6]}"
