"""The YAML of config.yaml and aliases.yaml: `compose()` gives the tree of a text.

Layer 0, pure.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml.nodes import Node


def compose(text: str) -> Node | None:
    """Return the root of a YAML text, None of an empty one; raises YAMLError, and RecursionError for one that is nested without end.

    libyaml reads it, where PyYAML has that: it takes a tenth of the time. What it refuses is for PyYAML's own parser to judge, which is
    there on every machine and says better what is wrong.
    """
    import yaml

    quick = getattr(yaml, "CSafeLoader", None)
    if quick is not None:
        with suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=quick)
    return yaml.compose(text, Loader=yaml.SafeLoader)
