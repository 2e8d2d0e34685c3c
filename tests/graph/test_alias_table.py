"""What aliases.yaml may say, and how it is told what is wrong with it."""

from importlib.resources import files
from pathlib import Path

import pytest

from kg2vault.errors import ConfigError, ExitCode
from kg2vault.graph.aliases import AliasTable, parse_alias_table


def problems(text):
    with pytest.raises(ConfigError) as caught:
        parse_alias_table(text, "my/aliases.yaml")
    assert caught.value.exit_code == ExitCode.CONFIG
    assert caught.value.path == "my/aliases.yaml"
    return caught.value.message.splitlines()


def test_scalars_are_taken_as_their_text():
    parsed = parse_alias_table("aliases: {2024: year, no: norway, 1.10: v1, ~: tilde, null: nothing}\nignore: [yes, 0x1F, 12:30]", "a")
    assert parsed.aliases == {"2024": "year", "no": "norway", "1.10": "v1", "~": "tilde", "null": "nothing"}
    assert parsed.ignore == ("0x1F", "12:30", "yes")


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "aliases:\nignore: []\nnever_merge: ~\n", "\ufeffaliases: {}\n"])
def test_an_empty_table_merges_nothing(text):
    assert parse_alias_table(text, "a") == AliasTable.empty()


def test_the_order_of_entries_does_not_matter():
    one = parse_alias_table("aliases: {b: x, a: y}\nnever_merge: [[q, p], [a, c]]\nfold_canonical: [d, c]", "a")
    other = parse_alias_table("fold_canonical: [c, d]\nnever_merge: [[c, a], [p, q]]\naliases: {a: y, b: x}", "a")
    assert one == other
    assert list(one.aliases) == list(other.aliases)


def test_every_problem_is_reported_with_its_line_in_one_go():
    text = """\
aliases:
  self: Self
  ml: machine-learning
  machine-learning: learning
  x: y
  y: x
  ML: other
  ml: third
  blank: " "
  list: [a]
never_merge:
  - [go, Go]
  - [alone]
fold_canonical: word
synonyms: {}
"""
    assert problems(text) == [
        "my/aliases.yaml:2: 'self' is mapped to itself",
        "my/aliases.yaml:3: 'machine-learning' is itself an alias of 'learning'; map 'ml' straight to it",
        "my/aliases.yaml:5: aliases go round in a circle: x → y → x",
        "my/aliases.yaml:7: 'ML' is the same spelling as 'ml' on line 3",
        "my/aliases.yaml:8: 'ml' is listed twice, first on line 3",
        "my/aliases.yaml:9: the canonical spelling of 'blank' is blank",
        "my/aliases.yaml:10: the canonical spelling of 'list' must be plain text, not a list or mapping",
        "my/aliases.yaml:12: 'go' and 'Go' are one spelling and cannot be kept apart",
        "my/aliases.yaml:13: an entry of never_merge must be a pair, such as [go, golang]",
        "my/aliases.yaml:14: fold_canonical must be a list",
        "my/aliases.yaml:15: unknown section 'synonyms'; known sections are aliases, fold_canonical, never_merge, ignore",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("aliases:\n  a: b\n\tc: d\n", "3: indented with a tab: YAML allows only spaces"),
        ("aliases: [a, b]", "1: aliases must be a mapping (key: value)"),
        ("- a", "1: the alias table must be a mapping (key: value)"),
        ("aliases: {a: b", "1: not valid YAML: expected ',' or '}', but got '<stream end>'"),
        ("ignore:\n  - 'a\x07'", "2: holds a character YAML does not allow; use an escape in double quotes"),
        ("aliases: {a: b}\n---\nignore: []", "2: not valid YAML: but found another document"),
        ("alias: {a: b}", "1: unknown section 'alias'; did you mean aliases?"),
        ("aliases: {'': b}", "1: a blank spelling cannot be an alias"),
        ("aliases:\n  a: b\n  b: c\n  c: a", "2: aliases go round in a circle: a → b → c → a"),
        ("fold_canonical:\n  - gan\n  - gans", "3: 'gans' folds together with 'gan' on line 2"),
        ("aliases: {a: b}\nignore:\n  - A", "3: 'A' is ignored here but an alias on line 1"),
    ],
)
def test_one_problem_is_named_with_its_line(text, problem):
    (line,) = problems(text)
    assert line.startswith(f"my/aliases.yaml:{problem}")


def test_nesting_without_end_is_a_problem_and_not_a_crash():
    assert problems("[" * 2_000) == ["my/aliases.yaml:1: nested too deeply"]


def test_a_chain_into_a_circle_is_told_apart_from_the_circle():
    assert problems("aliases:\n  in: x\n  x: y\n  y: x") == [
        "my/aliases.yaml:2: 'x' is itself an alias of 'y'; map 'in' straight to it",
        "my/aliases.yaml:3: aliases go round in a circle: x → y → x",
    ]


def test_the_table_people_start_with_is_sound_and_the_same_in_both_places():
    text = files("kg2vault").joinpath("defaults/aliases.yaml").read_text(encoding="utf-8")
    parsed = parse_alias_table(text, "aliases.yaml")
    assert parsed.aliases["llm"] == "large-language-models"
    assert (Path(__file__).parents[2] / "aliases.yaml").read_text(encoding="utf-8") == text
