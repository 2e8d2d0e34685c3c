"""Frontmatter that others wrote: `compose()` gives its tree, `read()` what a YAML 1.2 reader finds in a value.

Layer 1, pure. Reading follows the core schema of YAML 1.2 (section 10.3.2), which Obsidian uses: `yes`, `1_000`, `10:00` and dates are
strings there. What we write ourselves is in yaml_scalars.py.
"""

from __future__ import annotations

import re

import yaml

from kg2vault.vault.yaml_scalars import Scalar

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML without libyaml: slower, the same marks
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

# PyYAML refuses a whole block for one of these, where Obsidian reads on; NEL, LS and PS are line breaks in YAML 1.1 alone.
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|\r(?!\n)")


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
