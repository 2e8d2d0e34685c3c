"""The alias table: what aliases.yaml says, and every way it can be wrong.

Layer 1, pure: takes text, returns an `AliasTable` or raises one `ConfigError` that names each problem as origin:line. Scalars are
taken as their text, so a tag called `2024` or `no` needs no quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg2vault.errors import ConfigError
from kg2vault.graph.spelling import fold_key, spelling_key
from kg2vault.settings_yaml import compose

if TYPE_CHECKING:
    from yaml.nodes import Node


@dataclass(frozen=True, slots=True)
class AliasTable:
    """The reader's merging rules, in the spellings the file uses."""

    aliases: Mapping[str, str] = field(default_factory=dict)  # variant → canonical spelling
    fold_canonical: tuple[str, ...] = ()  # spellings that separator and plural variants fold onto
    never_merge: tuple[tuple[str, str], ...] = ()  # pairs that must stay apart
    ignore: tuple[str, ...] = ()  # tags that are dropped

    @classmethod
    def empty(cls) -> AliasTable:
        """Return the table that merges nothing but spellings with one key."""
        return cls()


@dataclass(frozen=True, slots=True)
class _Word:
    """A scalar of the file: its text, its key, the line it starts on."""

    text: str
    key: str
    line: int


_SECTIONS = ("aliases", "fold_canonical", "never_merge", "ignore")
_NOTHING = ("", "~", "null")


def parse_alias_table(text: str, origin: str, *, fold_case: bool = True) -> AliasTable:
    """Read an alias table from YAML text; `origin` is the file name used in messages.

    Raises ConfigError with one line for every problem: YAML that does not parse, wrong types, unknown sections, blank spellings,
    duplicates, self-maps, cycles, targets that are aliases themselves, spellings that fold onto two names.
    """
    reader = _TableReader(fold_case)
    table = reader.read(text)
    if reader.problems:
        lines = [f"{origin}:{line}: {problem}" for line, problem in sorted(reader.problems)]
        raise ConfigError("\n".join(lines), path=origin)
    return table


class _TableReader:
    """Collects words and problems, so that one run reports everything."""

    def __init__(self, fold_case: bool) -> None:
        self.fold_case = fold_case
        self.problems: list[tuple[int, str]] = []
        self.aliases: list[tuple[_Word, _Word]] = []
        self.named: list[_Word] = []
        self.apart: list[tuple[_Word, _Word]] = []
        self.ignored: list[_Word] = []

    def read(self, text: str) -> AliasTable:
        root = self._compose(text)
        if root is not None:
            self._read_sections(root)
            self._check_aliases()
            self._check_pairs()
            self._check_folds()
            self._check_ignored()
        return AliasTable(
            aliases={variant.text: target.text for variant, target in sorted(self.aliases, key=lambda pair: pair[0].text)},
            fold_canonical=tuple(sorted({word.text for word in self.named})),
            never_merge=tuple(sorted({_pair(one.text, other.text) for one, other in self.apart})),
            ignore=tuple(sorted({word.text for word in self.ignored})),
        )

    def _report(self, line: int, problem: str) -> None:
        self.problems.append((line, problem))

    # --- reading -------------------------------------------------------------------------------------------------------------------

    def _compose(self, text: str) -> Node | None:
        import yaml

        try:
            root: Node | None = compose(text.removeprefix("\ufeff"))
        except yaml.MarkedYAMLError as error:
            tabs = list(_tab_indented(text))
            for line in tabs:
                self._report(line, "indented with a tab: YAML allows only spaces")
            if not tabs:
                mark = error.problem_mark or error.context_mark
                self._report(mark.line + 1 if mark else 1, f"not valid YAML: {error.problem or error.context}")
            return None
        except yaml.reader.ReaderError as error:
            self._report(text.count("\n", 0, error.position) + 1, "holds a character YAML does not allow; use an escape in double quotes")
            return None
        except RecursionError:
            self._report(1, "nested too deeply")
            return None
        return root

    def _read_sections(self, root: Node) -> None:
        for name, value in self._pairs(root, "the alias table"):
            section = name.text
            if section not in _SECTIONS:
                from difflib import get_close_matches

                close = get_close_matches(section, _SECTIONS, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known sections are {', '.join(_SECTIONS)}"
                self._report(name.line, f"unknown section {section!r}; {hint}")
            elif _is_nothing(value):
                continue
            elif section == "aliases":
                self._read_aliases(value)
            elif section == "never_merge":
                self._read_never_merge(value)
            else:
                words = self.named if section == "fold_canonical" else self.ignored
                words.extend(word for word in (self._word(item, section) for item in self._list(value, section)) if word)

    def _read_aliases(self, node: Node) -> None:
        for variant, value in self._pairs(node, "aliases"):
            target = self._word(value, f"the canonical spelling of {variant.text!r}")
            if not variant.key:
                self._report(variant.line, "a blank spelling cannot be an alias")
            elif target:
                self.aliases.append((variant, target))

    def _read_never_merge(self, node: Node) -> None:
        for item in self._list(node, "never_merge"):
            parts = self._list(item, "an entry of never_merge")
            words = [self._word(part, "never_merge") for part in parts]
            if parts and len(parts) != 2:
                self._report(_line(item), "an entry of never_merge must be a pair, such as [go, golang]")
            elif parts and words[0] and words[1]:
                self.apart.append((words[0], words[1]))

    def _pairs(self, node: Node, what: str) -> Iterator[tuple[_Word, Node]]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            self._report(_line(node), f"{what} must be a mapping (key: value)")
            return
        seen: dict[str, int] = {}
        for key_node, value in node.value:
            key = self._scalar(key_node, f"a key of {what}")
            if key is None:
                continue
            if key.text in seen:
                self._report(key.line, f"{key.text!r} is listed twice, first on line {seen[key.text]}")
                continue
            seen[key.text] = key.line
            yield key, value

    def _list(self, node: Node, what: str) -> list[Node]:
        import yaml

        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self._report(_line(node), f"{what} must be a list")
        return []

    def _word(self, node: Node, what: str) -> _Word | None:
        word = self._scalar(node, what)
        if word is not None and not word.key:
            self._report(word.line, f"{what} is blank")
            return None
        return word

    def _scalar(self, node: Node, what: str) -> _Word | None:
        import yaml

        if isinstance(node, yaml.ScalarNode):
            return _Word(node.value, spelling_key(node.value, fold_case=self.fold_case), _line(node))
        self._report(_line(node), f"{what} must be plain text, not a list or mapping")
        return None

    # --- checking ------------------------------------------------------------------------------------------------------------------

    def _check_aliases(self) -> None:
        first: dict[str, tuple[_Word, _Word]] = {}
        for variant, target in self.aliases:
            if variant.key == target.key:
                self._report(variant.line, f"{variant.text!r} is mapped to itself")
            elif variant.key in first:
                earlier = first[variant.key][0]
                self._report(variant.line, f"{variant.text!r} is the same spelling as {earlier.text!r} on line {earlier.line}")
            else:
                first[variant.key] = (variant, target)
        targets = {key: target.key for key, (_, target) in first.items()}
        for key, (variant, target) in first.items():
            if target.key not in targets:
                continue
            cycle = _cycle(key, targets)
            if cycle is None:
                end = first[target.key][1]
                self._report(variant.line, f"{target.text!r} is itself an alias of {end.text!r}; map {variant.text!r} straight to it")
            elif variant.line == min(first[member][0].line for member in cycle):
                self._report(variant.line, f"aliases go round in a circle: {' → '.join([*cycle, cycle[0]])}")

    def _check_pairs(self) -> None:
        for one, other in self.apart:
            if one.key == other.key:
                self._report(one.line, f"{one.text!r} and {other.text!r} are one spelling and cannot be kept apart")

    def _check_folds(self) -> None:
        variants = {variant.key for variant, _ in self.aliases}
        apart = {_pair(one.key, other.key) for one, other in self.apart}
        first: dict[str, _Word] = {}
        for word in sorted((*self.named, *(target for _, target in self.aliases)), key=lambda word: word.line):
            if word.key in variants:
                continue
            earlier = first.setdefault(fold_key(word.key), word)
            if earlier.key != word.key and _pair(earlier.key, word.key) not in apart:
                advice = "make one an alias of the other, or list them under never_merge"
                self._report(word.line, f"{word.text!r} folds together with {earlier.text!r} on line {earlier.line}; {advice}")

    def _check_ignored(self) -> None:
        variants = {variant.key: variant for variant, _ in self.aliases}
        for word in self.ignored:
            if word.key in variants:
                self._report(word.line, f"{word.text!r} is ignored here but an alias on line {variants[word.key].line}")


def _cycle(start: str, targets: Mapping[str, str]) -> list[str] | None:
    """The circle that `start` is on, beginning with it; None when following its target leads out, or into a circle it is not on."""
    path = [start]
    seen = {start}
    while (following := targets.get(path[-1])) is not None:
        if following == start:
            return path
        if following in seen:
            return None
        seen.add(following)
        path.append(following)
    return None


def _tab_indented(text: str) -> Iterator[int]:
    for number, line in enumerate(text.splitlines(), start=1):
        body = line.lstrip(" \t")
        if body and not body.startswith("#") and "\t" in line[: len(line) - len(body)]:
            yield number


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _is_nothing(node: Node) -> bool:
    return node.tag == "tag:yaml.org,2002:null" and node.value in _NOTHING


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
