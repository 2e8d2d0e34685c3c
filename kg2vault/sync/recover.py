"""After the manifest was lost: read the communities back from the notes themselves.

Layer 1, pure. A community keeps its identity, its name, its label and its file as long as its notes are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kg2vault.sync.manifest import SavedCommunity
from kg2vault.sync.observed import Scan
from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.note import parse
from kg2vault.vault.paths import obsidian_tag
from kg2vault.vault.resolve import Resolver
from kg2vault.vault.scene import COMMUNITY_TAG


def recover_communities(scan: Scan) -> tuple[SavedCommunity, ...]:
    """Return the communities that the notes speak of, by id."""
    names: dict[str, tuple[str, str]] = {}  # name at birth, label now
    called: dict[str, str] = {}  # concept key → label
    by_path: dict[str, str] = {}
    concepts: list[tuple[str, str, str]] = []  # concept key, path, link
    for note_id, found in scan.notes.items():
        kind, _, key = note_id.partition("/")
        text = found[0].text
        if text is None or kind not in ("concept", "community"):
            continue
        properties = parse(text).properties
        if kind == "community":
            label = str(properties.get("kg_name", key))
            names[key] = (_name(key, label, properties.get("tags")), label)
            by_path[found[0].path] = key
        elif isinstance(properties.get("kg_community"), str):
            called[key] = str(properties.get("kg_name", key))
            concepts.append((key, found[0].path, str(properties["kg_community"])))
    if not names:
        return ()
    resolver = Resolver(scan.paths)
    members: dict[str, list[str]] = {}
    for key, path, link in concepts:
        links = parse_links(link)
        identity = _community_at(links[0].target, resolver.resolve(links[0].target, path), by_path) if links else ""
        if identity:
            members.setdefault(identity, []).append(key)
    return tuple(
        SavedCommunity(key, names[key][0], _labelled(names[key][1], members[key], called), tuple(sorted(members[key])))
        for key in sorted(members)
    )


def _community_at(target: str, reached: str | None, by_path: Mapping[str, str]) -> str:
    """Return the community a link leads to, or led to before its folder was moved: the one of that file name; "" when there is none."""
    if reached is not None:
        return by_path.get(reached, "")
    name = f"{target.rpartition('/')[2].removesuffix('.md')}.md"
    there = [identity for path, identity in by_path.items() if path.rpartition("/")[2] == name]
    return there[0] if len(there) == 1 else ""


def _labelled(label: str, members: Iterable[str], called: Mapping[str, str]) -> str:
    """Return the key of the member that a community is labelled by, "" when none is called so."""
    return min((key for key in members if called[key] == label), default="")


def _name(identity: str, label: str, tags: object) -> str:
    """Return the name a community had at birth, of which its tag was made: its label, unless that changed since."""
    there = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list | tuple) else []
    before = [tag.removeprefix(f"{COMMUNITY_TAG}/") for tag in there if tag.startswith(f"{COMMUNITY_TAG}/")]
    fits = [name for name in (label, *before) if obsidian_tag(COMMUNITY_TAG, name, identity) in there]
    return fits[0] if fits else label
