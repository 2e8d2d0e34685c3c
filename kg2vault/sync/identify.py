"""Which of our notes a link means: `Identifier`.

Layer 1, pure. A link is taken as Obsidian resolves it today; one that does not reach a note of ours is taken as we wrote it last time, so
that a note moved behind Obsidian's back, or made the user's own, does not make every link to it look edited. Any other link to somebody
else's note is never ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain

from kg2vault.sync.manifest import Manifest
from kg2vault.sync.observed import Scan
from kg2vault.vault.regions import Region
from kg2vault.vault.wikilinks import Identify, Resolver


class Identifier:
    """`paths` is id → path today, `labels` id → shown name, `copies` path → id of the other files that carry an id.

    `usual` gives path → id for the places we would choose.
    """

    def __init__(
        self,
        paths: Mapping[str, str],
        manifest: Manifest,
        scan: Scan,
        labels: Mapping[str, str],
        copies: Mapping[str, str],
        usual: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._scan = scan
        self._labels = labels
        self._now = {path: key for key, path in paths.items()}
        self._before = {entry.path: key for key, entry in manifest.entries.items()}
        self._copies = copies
        self._usual = cache(usual)
        self._entries = manifest.entries
        self._resolver: Resolver | None = None
        self._names: Mapping[str, str] | None = None

    def meaning_in(self, source: str) -> Identify:
        """Return the function that tells which note (id, label) a link in the note at `source` means, None when it is not ours."""
        return lambda target: self._meaning(target, source)

    def untouched_in(self, source: str) -> Callable[[Region], bool]:
        """Return the function that tells whether a region of the note at `source` still says what we wrote, or was given back.

        Its links are taken as they lead today, or else as they led when we wrote them: files that swapped their names behind Obsidian's
        back change where links lead, and nobody edited the region. A link to a copy of a note is a link to the note: it was written when
        that file was the only one, and the manifest that knew so may be lost.
        """

        def means(target: str) -> tuple[str, str] | None:
            return self._meaning(target, source) or self._copied(target, source)

        def written(target: str) -> tuple[str, str] | None:
            key = self._before.get(_with_extension(target))
            return (key, self._entries[key].label) if key is not None else means(target)

        return lambda region: region.is_pristine(means) or region.is_pristine(written) or region.is_given_back()

    def reaching_from(self, source: str) -> Callable[[str], bool]:
        """Return the function that tells whether a link in the note at `source` leads to one of our notes today."""
        return lambda target: self._reached(target, source) is not None

    def _meaning(self, target: str, source: str) -> tuple[str, str] | None:
        key = self._lookup(target, source)
        return self._named(key) if key is not None else None

    def _copied(self, target: str, source: str) -> tuple[str, str] | None:
        key = self._copies.get(_with_extension(target)) or self._copies.get(self._resolve(target, source) or "")
        return self._named(key) if key is not None else None

    def _named(self, key: str) -> tuple[str, str]:
        entry = self._entries.get(key)
        return key, self._labels.get(key) or (entry.label if entry else "")

    def _reached(self, target: str, source: str) -> str | None:
        whole = _with_extension(target)
        if whole in self._now:
            return self._now[whole]
        found = self._resolve(target, source)
        return self._now.get(found) if found is not None else None

    def _lookup(self, target: str, source: str) -> str | None:
        reached = self._reached(target, source)
        if reached is not None:
            return reached
        whole = _with_extension(target)
        written = self._before.get(whole)
        if written is not None or self._resolve(target, source) is not None:
            return written
        return self._usual().get(whole) or self._alone_of_that_name().get(whole.rpartition("/")[2])

    def _alone_of_that_name(self) -> Mapping[str, str]:
        """Map the file names that one note of ours has, or had when it was last recorded, to its id.

        There a link led before a folder was moved and the manifest lost, or before the note it names by its short name went to the trash.
        """
        if self._names is None:
            of_name: dict[str, set[str]] = {}
            for path, key in chain(self._before.items(), self._now.items()):
                of_name.setdefault(path.rpartition("/")[2], set()).add(key)
            self._names = {name: next(iter(keys)) for name, keys in of_name.items() if len(keys) == 1}
        return self._names

    def _resolve(self, target: str, source: str) -> str | None:
        if self._resolver is None:
            self._resolver = Resolver(self._scan.paths)
        return self._resolver.resolve(target, source)


def _with_extension(target: str) -> str:
    return target if target[-3:].lower() == ".md" else f"{target}.md"
