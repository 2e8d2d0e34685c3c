"""Verify: prove that the vault is exactly the graph of the database.

Layer 3. The vault is read without the manifest; only the expected communities come from it, because they depend on the run before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kg2vault import graphs
from kg2vault.errors import ExitCode, VaultError
from kg2vault.graph.model import KnowledgeGraph
from kg2vault.result import OperationResult, Problem
from kg2vault.settings import Settings
from kg2vault.storage.manifest_file import ManifestFile
from kg2vault.storage.vault_dir import VaultDir
from kg2vault.sync.manifest import EntryState, Manifest
from kg2vault.sync.observed import Scan
from kg2vault.sync.recover import recover_communities
from kg2vault.vault.compare import Difference, differences, without_note
from kg2vault.vault.readback import read_back
from kg2vault.vault.scene import community_id, concept_id, linked_edges

_SHOWN = 20


def verify(settings: Settings) -> OperationResult:
    """Compare the vault with the graph; raises SourceError, VaultError, ManifestError or ConfigError."""
    vault = VaultDir(settings.vault())
    vault.check(settings.folder, writing=False)
    reading = graphs.read_source(settings, may_be_empty=True)
    scan = vault.scan({})
    if scan.unreadable:
        path, why = next(iter(scan.unreadable.items()))
        raise VaultError(f"{path} in the vault cannot be read ({why}), so nothing can be proven.", path=path)
    manifest = ManifestFile(settings.vault()).load()
    known = manifest if manifest is not None else Manifest(communities=recover_communities(scan))
    graph = graphs.build(settings, reading, known).graph
    texts = {note.path: note.text for found in scan.notes.values() for note in found if note.text is not None}
    found = read_back(texts, scan.paths)
    links = settings.config.links
    problems = differences(graph, found, None if links.backbone == "all" else linked_edges(graph, links))
    size = f"{len(graph.concepts):,} concepts, {len(graph.edges):,} edges"
    data = {"concepts": len(graph.concepts), "edges": len(graph.edges), "communities": len(graph.communities), "differences": len(problems)}
    if not problems:
        return OperationResult(
            "verify", data, (), ExitCode.FINE, f"The vault is the graph: {size}, {len(graph.communities):,} communities."
        )
    hints = _Hints(_deleted(known, graph), frozenset(entry.path for entry in known.entries.values()), _out_of_reach(known, scan, texts))
    shown = [hints.problem(problem) for problem in problems[:_SHOWN]]
    rest = len(problems) - len(shown)
    if rest:
        shown.append(Problem("more", f"{rest} more differences are not shown"))
    count = "one difference" if len(problems) == 1 else f"{len(problems):,} differences"
    return OperationResult("verify", data, tuple(shown), ExitCode.UNFINISHED, f"The vault is not the graph ({size}): {count}.")


def _deleted(manifest: Manifest, graph: KnowledgeGraph) -> frozenset[str]:
    """Return what is said of each concept and community whose note the user deleted."""
    gone = {entry.id for entry in manifest.entries.values() if entry.state is EntryState.TOMBSTONE}
    concepts = [without_note(concept) for key, concept in graph.concepts.items() if concept_id(key) in gone]
    return frozenset([*concepts, *(without_note(group) for group in graph.communities if community_id(group.id) in gone)])


def _out_of_reach(manifest: Manifest, scan: Scan, texts: Mapping[str, str]) -> str:
    """Return the path of a note that is there and cannot be read as one, "" when there is none."""
    live = (entry.path for entry in manifest.entries.values() if entry.state is EntryState.LIVE)
    return min((path for path in live if path in scan.paths and path not in texts), default="")


@dataclass(frozen=True, slots=True)
class _Hints:
    """What a way out depends on: what is said of notes that were deleted, the paths on record, and a note out of reach."""

    deleted: frozenset[str]
    on_record: frozenset[str]
    out_of_reach: str

    def problem(self, difference: Difference) -> Problem:
        where = f"{difference.path}: " if difference.path else ""
        return Problem(difference.code, where + difference.message, difference.path, self._way_out(difference))

    def _way_out(self, difference: Difference) -> str:
        if difference.message in self.deleted:
            return "You deleted that note; `kg2vault restore NOTE` brings it back."
        if difference.code == "duplicate":
            return "Delete the copy, or take its kg_id out to make it a note of your own."
        if difference.code == "extra-note" and difference.path is not None and difference.path not in self.on_record:
            return "kg2vault has no record of that note; delete it, or take its kg_id out to make it a note of your own."
        if self.out_of_reach:
            return f"{self.out_of_reach} is there, but only in the cloud or as a link; let it be downloaded, or put the note itself there."
        return "`kg2vault sync` brings the vault up to date."
