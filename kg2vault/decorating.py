"""What Obsidian shows beside the notes: colour groups, property types, the base, the canvas.

Layer 3. Runs after the notes are written. Only our own groups, keys and files change, and only when they have to; what the user changed or
deleted stays so. What is not wanted any more goes again. A problem here is reported and never fails a sync.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kg2vault.config import ObsidianConfig
from kg2vault.graph.model import Community, KnowledgeGraph
from kg2vault.result import Problem
from kg2vault.storage.beside import BesideNotes
from kg2vault.storage.vault_dir import is_temporary
from kg2vault.sync.manifest import EntryState, Manifest
from kg2vault.sync.observed import Scan
from kg2vault.vault import bases, colours, graph_json, types_json
from kg2vault.vault.scene import COMMUNITIES_TAG, COMMUNITY_TAG, HOME_TAG, community_id, community_tag

GRAPH_JSON, TYPES_JSON = ".obsidian/graph.json", ".obsidian/types.json"
_GROUPS = "graph"  # the record of our colour groups, in Manifest.files; the other keys are paths of files of ours
_MEND = "Mend or delete the file; Obsidian makes a new one."


@dataclass(slots=True)
class Decorated:
    """What to remember, what was written, and what stood in the way."""

    colors: Mapping[str, int]
    files: dict[str, str]
    written: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def decorate(graph: KnowledgeGraph, folder: str, wishes: ObsidianConfig, beside: BesideNotes, manifest: Manifest, scan: Scan) -> Decorated:
    """Bring the files beside the notes up to date."""
    done = Decorated(manifest.colors, dict(manifest.files))
    base, map_ = f"{folder}/{folder.rsplit('/', 1)[-1]}.base", f"{folder}/communities.canvas"
    wanted = {path for path, is_wanted in ((base, wishes.base), (map_, wishes.canvas)) if is_wanted}
    steps: list[Callable[[], None]] = []
    if beside.is_obsidian_vault():
        if wishes.graph_colors:
            steps.append(lambda: _colour(graph, folder, beside, done, scan))
        elif _GROUPS in done.files:
            steps.append(lambda: _uncolour(beside, done))
        if wishes.property_types:
            steps.append(lambda: _types(beside, done))
    if wishes.base:
        steps.append(lambda: _own_file(base, bases.knowledge_graph_base(), beside, done))
    if wishes.canvas:
        steps.append(lambda: _canvas(graph, map_, manifest, beside, done))
    steps += [partial(_take_back, path, beside, done) for path in sorted(manifest.files) if path != _GROUPS and path not in wanted]
    for step in steps:
        try:
            step()
        except OSError as error:
            path = Path(str(error.filename or beside.root))
            where = str(path.parent if is_temporary(path.name) else path)
            done.problems.append(Problem("obsidian", f"{where}: {error.strerror or error}", where))
    return done


def without_groups_that_go(manifest: Manifest, graph: KnowledgeGraph) -> Manifest:
    """Return the manifest without the colour groups that `decorate` will take out.

    It is saved before they go: a group on record that is not in the file is one that the user deleted, and would never come back.
    """
    written = _record(manifest.files)
    wanted = {graph_json.query_for(community_tag(community)) for community in graph.communities}
    if written.groups.keys() <= wanted:
        return manifest
    left = written._replace(groups={query: group for query, group in written.groups.items() if query in wanted})
    return replace(manifest, files={**manifest.files, _GROUPS: _as_text(left)})


def _colour(graph: KnowledgeGraph, folder: str, beside: BesideNotes, done: Decorated, scan: Scan) -> None:
    text = beside.read(GRAPH_JSON)
    ours = graph_json.below(COMMUNITY_TAG)
    queries = {community.id: graph_json.query_for(community_tag(community)) for community in graph.communities}
    chosen = graph_json.colours_of(text, ours) if text is not None else {}
    previous = {**done.colors, **{key: chosen[query] for key, query in queries.items() if query in chosen}}
    done.colors = colours.assign(_touching(graph), previous)
    groups = [(queries[community.id], done.colors[community.id]) for community in graph.communities]
    if text is None:
        alone = all(path == folder or path.startswith(f"{folder}/") or folder.startswith(f"{path}/") for path in scan.paths)
        merged = graph_json.initial(groups, folder, only_folder=alone, hidden_tags=(COMMUNITIES_TAG, HOME_TAG))
    else:
        merged = graph_json.merge(text, groups, ours, _record(done.files))
    if merged.problem is not None:
        done.problems.append(Problem("obsidian", merged.problem, GRAPH_JSON, _MEND))
        return
    if merged.text is None or _write(GRAPH_JSON, merged.text, text, beside, done):
        done.files[_GROUPS] = _as_text(merged.written)


def _uncolour(beside: BesideNotes, done: Decorated) -> None:
    """Take out the groups on record: colours are not wanted any more."""
    text, written = beside.read(GRAPH_JSON), _record(done.files)
    merged = graph_json.merge(text, (), lambda query: query in written.groups, written) if text is not None else graph_json.Merge(None)
    if merged.problem is not None:
        done.problems.append(Problem("obsidian", merged.problem, GRAPH_JSON, _MEND))
    elif merged.text is None or _write(GRAPH_JSON, merged.text, text, beside, done):
        del done.files[_GROUPS]


def _record(files: Mapping[str, str]) -> graph_json.Written:
    try:
        return graph_json.from_data(json.loads(files[_GROUPS]))
    except (KeyError, ValueError, TypeError):
        return graph_json.Written()


def _as_text(written: graph_json.Written) -> str:
    return json.dumps(graph_json.as_data(written), sort_keys=True)


def _touching(graph: KnowledgeGraph) -> list[colours.Touching]:
    home: dict[str, Community] = graph.community_of()
    weights: dict[str, dict[str, int]] = {community.id: {} for community in graph.communities}
    for edge in graph.edges:
        one, other = home.get(edge.source), home.get(edge.target)
        if one is not None and other is not None and one.id != other.id:
            weights[one.id][other.id] = weights[one.id].get(other.id, 0) + edge.weight
            weights[other.id][one.id] = weights[other.id].get(one.id, 0) + edge.weight
    return [colours.Touching(c.id, len(c.members), tuple(sorted(weights[c.id].items()))) for c in graph.communities]


def _types(beside: BesideNotes, done: Decorated) -> None:
    text = beside.read(TYPES_JSON)
    merged = types_json.merge(text)
    if merged.problem is not None:
        done.problems.append(Problem("obsidian", merged.problem, TYPES_JSON, _MEND))
    elif merged.text is not None:
        _write(TYPES_JSON, merged.text, text, beside, done)


def _own_file(path: str, new: str, beside: BesideNotes, done: Decorated) -> None:
    """Write a file that is ours unless the user changed, deleted or already has one of that name."""
    text, last = beside.read(path), done.files.get(path)
    if (text is None and last is not None) or (text is not None and (last is None or _digest(text) != last)):
        return
    if text == new or _write(path, new, text, beside, done):
        done.files[path] = _digest(new)


def _take_back(path: str, beside: BesideNotes, done: Decorated) -> None:
    """Move a file of ours that is not wanted any more to the trash, and forget it; one that the user changed is theirs."""
    text = beside.read(path)
    if text is not None and _is_as_written(path, text, done.files[path]):
        if not beside.retire(path, text):
            return
        done.written.append(path)
    del done.files[path]


def _is_as_written(path: str, text: str, last: str) -> bool:
    from kg2vault.vault import canvas

    try:
        return last == (canvas.canvas_digest(text) if path.endswith(".canvas") else _digest(text))
    except ValueError:
        return False


def _canvas(graph: KnowledgeGraph, path: str, manifest: Manifest, beside: BesideNotes, done: Decorated) -> None:
    from kg2vault.vault import canvas

    touching = _touching(graph)
    rgb = colours.assign(touching, done.colors)
    cards = []
    for community in graph.communities:
        entry = manifest.entries.get(community_id(community.id))
        if entry is not None and entry.state is EntryState.LIVE:
            cards.append(canvas.Card(community.id, entry.path, len(community.members), rgb[community.id]))
    edges = [(one.id, other, weight) for one in touching for other, weight in one.neighbours if one.id < other]
    text = beside.read(path)
    drawn = canvas.community_canvas(cards, edges, text, done.files.get(path))
    if drawn.digest is not None and (drawn.text is None or _write(path, drawn.text, text, beside, done)):
        done.files[path] = drawn.digest


def _write(path: str, new: str, before: str | None, beside: BesideNotes, done: Decorated) -> bool:
    if not beside.write(path, new, before):
        return False
    done.written.append(path)
    return True


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def remembered(manifest: Manifest, done: Decorated) -> Manifest:
    """Return the manifest with what was decorated."""
    return replace(manifest, colors=done.colors, files=done.files)
