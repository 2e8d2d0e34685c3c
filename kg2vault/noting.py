"""One note of the vault, for those who cannot open it: where it lies and what is generated in it.

Layer 3. Reads the vault and writes nothing. The user's own text in the note is not handed out.
"""

from __future__ import annotations

from kg2vault import asking
from kg2vault.deciding import View
from kg2vault.errors import ConfigError, VaultError
from kg2vault.result import OperationResult
from kg2vault.settings import Settings
from kg2vault.standing import Standing
from kg2vault.sync.manifest import EntryState
from kg2vault.sync.observed import text_of
from kg2vault.vault.note import parse
from kg2vault.vault.paths import name_key


def note(settings: Settings, standing: Standing, name: str) -> OperationResult:
    """Return a note's path in the vault and its generated part, by the name of a concept or else of a community.

    Raises UnknownConcept, ConfigError without a vault, VaultError when there is no such note.
    """
    note_id, label = _id(standing, name)
    view = View(settings)
    found = view.winners.get(note_id)
    if found is None:
        entry = view.manifest.entries.get(note_id)
        deleted = entry is not None and entry.state is EntryState.TOMBSTONE
        way = f"`kg2vault restore {label!r}` brings it back." if deleted else "`kg2vault sync` writes it."
        raise VaultError(
            f"The vault has no note of {label}{', you deleted it' if deleted else ' yet'}.", path=str(settings.vault()), hint=way
        )
    try:
        text = found.text if found.text is not None else text_of(view.stores.vault.read(found.path))
    except OSError as error:
        raise VaultError(f"{found.path} cannot be read: {error.strerror}.", path=found.path) from error
    parsed = parse(text)
    generated = "\n\n".join(region.body for region in parsed.regions).replace("\r\n", "\n")
    data = {"name": label, "path": found.path, "generated": generated, "stale": bool(standing.lagging)}
    damage = f" It is damaged: {parsed.damage}" if parsed.damage is not None else ""
    return OperationResult("note", data, standing.problems, summary=f"{found.path}{damage}")


def _id(standing: Standing, name: str) -> tuple[str, str]:
    try:
        found = asking.concept(standing, name)
        return f"concept/{found.key}", found.label
    except ConfigError:
        wanted = name_key(name).removesuffix(" (community)")
        for community in standing.graph.communities:
            if wanted in (name_key(community.name), community.id):
                return f"community/{community.id}", community.name
        raise
