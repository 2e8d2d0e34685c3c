"""Values in frontmatter: `written()` gives the one form in which ours are written. What others wrote is read by yaml_tree.py.

Layer 1, pure. Strings are always double-quoted, so that no reader of any YAML takes one for a number, a date or a truth value; numbers are
plain decimals.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

from kg2vault.vault.numbers import plain

Scalar = str | int | float | bool

_SURROGATE = re.compile("[\ud800-\udfff]")
# What a YAML reader refuses or takes for a line break, and what Templater looks for.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|<(?=%)")
_SIMPLE = re.compile(r'"[ !#-\[\]-~]*"')  # a string without anything to escape

_encode = json.encoder.encode_basestring  # what JSONEncoder(ensure_ascii=False) does to a string, without a look at what it is given


def quoted(text: str) -> str:
    """Return a double-quoted scalar that YAML 1.1, YAML 1.2 and JSON read as `text`; lone surrogates become U+FFFD."""
    if text.isascii() and text.isprintable() and "<%" not in text:
        return _encode(text)
    line = _encode(_SURROGATE.sub("\ufffd", text))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def scalar(value: object) -> str:
    """Return one scalar as it is written. Raises ValueError for NaN and infinity, TypeError for anything that is no scalar."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be a property")
        return plain(float(value) + 0.0)  # no -0
    raise TypeError(f"{type(value).__name__} cannot be a property")


def flow(values: Iterable[object]) -> str:
    """Return a list of scalars on one line."""
    return f"[{', '.join(map(scalar, values))}]"


def written(value: object) -> str:
    """Return a property's value as it is written: a scalar, or a list of scalars for a tuple or list. Raises as `scalar` does."""
    if isinstance(value, str):
        return quoted(value)
    return flow(value) if isinstance(value, tuple | list) else scalar(value)


def same(found: object, wanted: object) -> bool:
    """Return whether a value that was read says the same as one that is wanted; 1 and 1.0 do, "1" and 1 don't."""
    if isinstance(wanted, tuple | list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, str):
        return isinstance(found, str) and found == _SURROGATE.sub("\ufffd", wanted)
    if isinstance(wanted, bool) or isinstance(found, bool):
        return found is wanted
    if not isinstance(found, int | float):
        return False
    try:
        return float(found) == wanted if isinstance(wanted, float) else found == wanted
    except OverflowError:
        return False


def read_written(raw: str) -> object:
    """Return the value of a text that is exactly what `written` gives for it. Raises ValueError for any other text."""
    if _SIMPLE.fullmatch(raw) and "<%" not in raw:
        return raw[1:-1]
    value: object
    if raw.startswith(('"', "[")):
        value = json.loads(raw)
    elif raw in ("true", "false"):
        value = raw == "true"
    else:
        value = float(raw) if "." in raw else int(raw)
    try:
        exact = written(value) == raw
    except TypeError as error:
        raise ValueError(raw) from error
    if not exact:
        raise ValueError(raw)
    return value
