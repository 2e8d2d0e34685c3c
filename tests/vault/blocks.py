"""Blocks of frontmatter for tests: read by an independent parser, edited in one call."""

from __future__ import annotations

from ruamel.yaml import YAML

from kg2vault.vault.frontmatter import Frontmatter, find
from kg2vault.vault.frontmatter_edit import edit
from kg2vault.vault.note import ListEdit

NOTHING = {"aliases": ListEdit(()), "tags": ListEdit(())}
OWN = {"kg_id": "concept/web", "kg_name": "Web", "kg_items": 5, "kg_share": 0.25, "kg_open": True, "kg_list": ("a", "b, c")}


def as_yaml_1_2(source: str):
    """Read a block with ruamel.yaml, which knows nothing of YAML 1.1. Unlike Obsidian it is let read a key that is there twice."""
    parser = YAML(typ="safe", pure=True)
    parser.version = (1, 2)
    parser.allow_duplicate_keys = True
    return parser.load(source) or {}


def block_of(source: str, newline: str = "\n") -> Frontmatter:
    found = find(f"---{newline}{source}---{newline}")
    assert found.source == source
    return found


def edited(source: str, own=None, *, aliases=(), tags=(), before=((), ()), newline="\n") -> str:
    result = edit(
        block_of(source, newline), OWN if own is None else own, {"aliases": ListEdit(aliases, before[0]), "tags": ListEdit(tags, before[1])}
    )
    assert result.problems == ()
    return result.source
