"""Spelling: when two tags are the same word, and when they are variants of one.

Layer 1, pure. `spelling_key` is the identity of a concept: it never drops punctuation, so `C`, `C++`, `C#` and `.NET` stay apart, and
it is idempotent. `fold_key` is looser and must never rename anything by itself: only the alias table decides when it counts.
"""

from __future__ import annotations

import unicodedata

# Endings of words that are not plurals (class, virus, analysis, atlas, chaos, dns-sys, physics, news, lens, species).
_NOT_PLURAL = ("ss", "us", "is", "as", "os", "ys", "ics", "ews", "ens", "ies")
_SHORTEST_PLURAL = 4
# Control, format, line, paragraph and space separators: a tag made of nothing else shows nothing.
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def clean_spelling(tag: str) -> str:
    """Return the tag as people see it: NFC, white space collapsed and trimmed, case kept; empty when nothing of it is visible."""
    text = " ".join((tag if tag.isascii() else unicodedata.normalize("NFC", tag)).split())
    return text if text.isprintable() or any(unicodedata.category(char) not in _INVISIBLE for char in text) else ""


def spelling_key(tag: str, *, fold_case: bool = True) -> str:
    """Return the identity of a tag: its clean spelling, in lower case unless `fold_case` is off; empty for a blank tag.

    Lower case, not casefold: `Straße` and `STRASSE` are different words. NFC is applied once more after lowering, because lowering
    can make a composable pair (`J` + caron has no capital of its own, `ǰ` has), and equal text must have one key.
    """
    text = clean_spelling(tag)
    if not fold_case:
        return text
    lowered = text.lower()
    return lowered if lowered.isascii() else unicodedata.normalize("NFC", lowered)


def fold_key(key: str) -> str:
    """Return a key without `-`, `_` and one trailing plural "s": `fine-tuning` and `finetuning`, `transformers` and `transformer` agree.

    The guards look at the joined word, so that a separator never changes the answer: `ml-ops` and `mlops` fold alike.
    """
    joined = key.replace("-", "").replace("_", "")
    if len(joined) >= _SHORTEST_PLURAL and joined.endswith("s") and not joined.endswith(_NOT_PLURAL):
        return joined[:-1]
    return joined
