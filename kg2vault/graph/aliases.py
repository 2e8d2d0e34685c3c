"""Aliases: which tags are one concept because the reader's alias table says so.

Layer 1, pure. `Canonicaliser` maps a raw tag to its concept key, or to None when the tag is blank or ignored. Folding is a merging
rule, never a renaming rule: it fires only onto spellings the table names, so an unlisted tag keeps its own key whatever it looks like.

Order of decision, first match wins:

    ignored                               → None
    an alias                              → its canonical spelling
    a named spelling                      → itself
    an alias, or a named spelling, folded → that canonical spelling
    anything else                         → itself

`never_merge` wins over all of it, except where two tags have the very same key: those were never two words.
"""

from __future__ import annotations

from collections.abc import Mapping

from kg2vault.graph.alias_table import AliasTable, parse_alias_table
from kg2vault.graph.spelling import clean_spelling, fold_key, spelling_key

__all__ = ["AliasTable", "Canonicaliser", "canonical_key", "clean_spelling", "fold_key", "parse_alias_table", "spelling_key"]


_UNDECIDED = ""  # no concept has this key


class Canonicaliser:
    """Maps raw tags to concept keys under one alias table; remembers every answer, so a repeated tag costs one lookup."""

    def __init__(self, table: AliasTable, *, fold_case: bool = True) -> None:
        self.fold_case = fold_case
        self._aliases = {self._key(variant): self._key(target) for variant, target in table.aliases.items()}
        self._named = self._named_spellings(table)
        self._folded = self._fold_targets()
        self._folds = bool(self._aliases or self._folded)
        self._ignored = frozenset(map(self._key, table.ignore))
        self._apart = self._kept_apart(table)
        self._answers: dict[str, str | None] = {}

    def __call__(self, tag: str) -> str | None:
        """Return the concept key of a raw tag, or None when it is blank, control characters only, or ignored."""
        answer = self._answers.get(tag, _UNDECIDED)
        if answer is _UNDECIDED:
            answer = self._answers[tag] = self._decide(spelling_key(tag, fold_case=self.fold_case))
        return answer

    def named_spelling(self, key: str) -> str | None:
        """Return the spelling the table itself gives this concept, which is then its label; None when the table does not name it."""
        return self._named.get(key)

    @property
    def folded(self) -> Mapping[str, str]:
        """Folded key → concept key, for every spelling the table names."""
        return self._folded

    def _key(self, tag: str) -> str:
        return spelling_key(tag, fold_case=self.fold_case)

    def _named_spellings(self, table: AliasTable) -> dict[str, str]:
        # Two ways to write one target (`LLM`, `Llm`): fold_canonical is the considered one, then the smaller code point.
        named: dict[str, str] = {}
        for spelling in (*sorted(table.fold_canonical), *sorted(table.aliases.values())):
            key = self._key(spelling)
            if key not in self._aliases:
                named.setdefault(key, clean_spelling(spelling))
        return named

    def _fold_targets(self) -> dict[str, str]:
        targets: dict[str, str] = {}
        ambiguous: set[str] = set()
        for key in self._named:
            folded = fold_key(key)
            if targets.setdefault(folded, key) != key:
                ambiguous.add(folded)
        return {folded: key for folded, key in targets.items() if folded not in ambiguous}

    def _kept_apart(self, table: AliasTable) -> dict[str, frozenset[str]]:
        apart: dict[str, frozenset[str]] = {}
        for one, other in table.never_merge:
            for key, rival in ((self._key(one), self._key(other)), (self._key(other), self._key(one))):
                apart[key] = apart.get(key, frozenset()) | {rival}
        return apart

    def _decide(self, key: str) -> str | None:
        if not key or key in self._ignored:
            return None
        target = self._wanted(key)
        if target != key and not self._may_merge(key, target):
            target = key
        return None if target in self._ignored else target

    def _wanted(self, key: str) -> str:
        """Where the key would go if no pair had to be kept apart."""
        if key in self._aliases:
            return self._aliases[key]
        if key in self._named or not self._folds:
            return key
        folded = fold_key(key)
        return self._aliases.get(folded) or self._folded.get(folded) or key

    def _may_merge(self, key: str, target: str) -> bool:
        """False when the target, or something else on its way to the target, must stay apart from the key.

        An alias is written by hand and a fold is computed, so of an aliased and a folding rival the fold gives way.
        """
        rivals = self._apart.get(key, frozenset())
        if target in rivals:
            return False
        aliased = key in self._aliases
        contenders = [rival for rival in rivals if rival in self._aliases or not aliased]
        return not any(self._wanted(rival) == target and target not in self._apart[rival] for rival in contenders)


def canonical_key(tag: str, table: AliasTable, *, fold_case: bool = True) -> str | None:
    """Return the concept key of one tag; `Canonicaliser` does the same for many at the cost of one."""
    return Canonicaliser(table, fold_case=fold_case)(tag)
