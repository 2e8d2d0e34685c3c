"""Which file a link leads to, as Obsidian decides it: `Resolver`.

Layer 1, pure. The rules, in the order they apply:

1. The last segment of the target is looked up among all file names of the vault, in lower case. With a dot in it the name is tried as it
   is written, and only when no file anywhere has it `.md` is added: an attachment `node.js` hides the note `node.js.md` from `[[node.js]]`.
2. A bare name that one file has leads there.
3. `./` and `../` start at the note that holds the link, `/` at the vault's root; then the path must be exact.
4. An exact path from the root wins over everything.
5. Else any file whose path ends with the target: those in the note's own folder or below it first, then the shortest path.
   Obsidian's own answer among equally long paths is not stable; here the smaller path wins.

Aliases never resolve a link. Paths compare in NFC with no-break spaces as spaces.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " "})


def clean_path(text: str) -> str:
    """Return a path or link target as Obsidian holds it: NFC, no-break spaces as spaces."""
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_SPACES))


class Resolver:
    """Resolves link targets against the files of one vault. `paths` are relative to its root, with `/`; folders among them are ignored."""

    def __init__(self, paths: Iterable[str]) -> None:
        known = sorted(set(paths))
        folders = {path.rpartition("/")[0] for path in known}
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for path in known:
            if path not in folders:
                lowered = clean_path(path).lower()
                self._by_name.setdefault(lowered.rpartition("/")[2], []).append((lowered, path))
        for candidates in self._by_name.values():
            candidates.sort(key=lambda pair: (len(pair[0]), pair))

    def resolve(self, target: str, source: str) -> str | None:
        """Return the path of the file that `target` leads to from the note `source`, as it was given to us, or None.

        A target without a path (`#heading` alone) is the note itself.
        """
        wanted = clean_path(target.partition("#")[0]).strip().lower()
        if not wanted:
            return source
        wanted, candidates = self._candidates(wanted)
        if not candidates:
            return None
        if "/" not in wanted and len(candidates) == 1:
            return candidates[0][1]
        here = clean_path(source).lower().rpartition("/")[0]
        anchored = _anchored(wanted, here)
        if anchored is not None:
            return next((path for lowered, path in candidates if lowered == anchored), None)
        return _nearest(wanted, here, candidates)

    def _candidates(self, wanted: str) -> tuple[str, list[tuple[str, str]]]:
        name = wanted.rpartition("/")[2]
        if "." in name and name in self._by_name:
            return wanted, self._by_name[name]
        return f"{wanted}.md", self._by_name.get(f"{name}.md", [])


def _anchored(wanted: str, here: str) -> str | None:
    if wanted.startswith("/"):
        return wanted.lstrip("/")
    if not wanted.startswith(("./", "../")):
        return None
    parts = here.split("/") if here else []
    for part in wanted.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _nearest(wanted: str, here: str, candidates: list[tuple[str, str]]) -> str | None:
    fits = [(lowered, path) for lowered, path in candidates if lowered.endswith(wanted)]
    for lowered, path in fits:
        if lowered == wanted:
            return path
    own = [path for lowered, path in fits if here and lowered.startswith(f"{here}/")]
    return own[0] if own else next((path for _, path in fits), None)
