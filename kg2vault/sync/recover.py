"""After the manifest was lost: read the communities back from the notes themselves.

Layer 1, pure. A community keeps its identity, its name and its file as long as its notes are there.
"""

from __future__ import annotations

from kg2vault.sync.manifest import SavedCommunity
from kg2vault.sync.observed import Scan
from kg2vault.vault.note import parse
from kg2vault.vault.wikilinks import Resolver, parse_links


def recover_communities(scan: Scan) -> tuple[SavedCommunity, ...]:
    """Return the communities that the notes speak of, by id."""
    names: dict[str, str] = {}
    by_path: dict[str, str] = {}
    concepts: list[tuple[str, str, str]] = []  # concept key, path, link
    for note_id, found in scan.notes.items():
        kind, _, key = note_id.partition("/")
        text = found[0].text
        if text is None or kind not in ("concept", "community"):
            continue
        properties = parse(text).properties
        if kind == "community":
            names[key] = str(properties.get("kg_name", key))
            by_path[found[0].path] = key
        elif isinstance(properties.get("kg_community"), str):
            concepts.append((key, found[0].path, str(properties["kg_community"])))
    if not names:
        return ()
    resolver = Resolver(scan.paths)
    members: dict[str, list[str]] = {}
    for key, path, link in concepts:
        links = parse_links(link)
        target = resolver.resolve(links[0].target, path) if links else None
        if target in by_path:
            members.setdefault(by_path[target], []).append(key)
    return tuple(SavedCommunity(key, names[key], "", tuple(sorted(members[key]))) for key in sorted(members))
