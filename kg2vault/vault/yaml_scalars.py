r"""Values in frontmatter: `written()` gives the one form in which ours are written, `read()` what a YAML 1.2 reader finds.

Layer 1, pure. Strings are always double-quoted, so that no reader of any YAML takes one for a number, a date or a truth value; numbers are
plain decimals. Reading follows the core schema of YAML 1.2 (section 10.3.2), which Obsidian uses: `yes`, `1_000`, `10:00` and dates are
strings there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

import yaml

from kg2vault.vault.numbers import plain

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML without libyaml: slower, the same marks
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

Scalar = str | int | float | bool

_SURROGATE = re.compile("[\ud800-\udfff]")
# What a YAML reader refuses or takes for a line break, and what Templater looks for.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|<(?=%)")
# PyYAML refuses a whole block for one of these, where Obsidian reads on; NEL, LS and PS are line breaks in YAML 1.1 alone.
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|\r(?!\n)")
_SIMPLE = re.compile(r'"[ !#-\[\]-~]*"')  # a string without anything to escape

_encode = json.JSONEncoder(ensure_ascii=False).encode


def quoted(text: str) -> str:
    """Return a double-quoted scalar that YAML 1.1, YAML 1.2 and JSON read as `text`; lone surrogates become U+FFFD."""
    if text.isascii() and _ESCAPED.search(text) is None:
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


class _Core(_Base):
    """Composes nodes and resolves plain scalars as YAML 1.2 does."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own way of starting without those of YAML 1.1


_PLAIN = (
    ("null", r"(?:null|Null|NULL|~|)$", ["n", "N", "~", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        list("-+.0123456789"),
    ),
)
for _name, _pattern, _first in _PLAIN:
    _Core.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), _first)


def compose(source: str) -> yaml.Node | None:
    """Return the tree of a block, whose marks count characters of `source`; None for a block that holds nothing.

    Raises yaml.YAMLError, or RecursionError for one that is nested beyond reason.
    """
    return yaml.compose(_UNREADABLE.sub("\ufffd", source), Loader=_Core)


def read(node: yaml.Node) -> object:
    """Return the value of a scalar or of a list of scalars; whatever is nested deeper is an empty mapping, as nothing of ours is."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_scalar(item) if isinstance(item, yaml.ScalarNode) else {} for item in node.value]
    return {}


def _scalar(node: yaml.ScalarNode) -> Scalar | None:
    text: str = node.value
    kind = node.tag.rpartition(":")[2]
    try:
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "int":
            return int(text, 0) if text.startswith(("0x", "0o")) else int(text)
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:  # a number of thousands of digits, or a type tag the user put on something else
        return text
    return text
