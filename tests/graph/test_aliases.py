"""Which tags the reader's table makes one concept."""

import pytest

from kg2vault.graph.aliases import AliasTable, Canonicaliser, canonical_key
from tests.graph.small import build, reading, table

LEARNING = """
aliases:
  llm: large-language-models
  ml: machine-learning
fold_canonical: [transformers, fine-tuning]
"""


@pytest.mark.parametrize(
    ("tag", "key"),
    [
        ("LLM", "large-language-models"),
        ("llms", "large-language-models"),  # the alias, looked up again after folding
        ("L-L-M", "large-language-models"),
        ("Large_Language_Model", "large-language-models"),
        ("ML", "machine-learning"),
        ("machinelearning", "machine-learning"),
        ("transformer", "transformers"),
        ("FineTuning", "fine-tuning"),
    ],
)
def test_aliases_and_folds_lead_to_the_named_spelling(tag, key):
    assert canonical_key(tag, table(LEARNING)) == key


@pytest.mark.parametrize("tag", ["agentic-workflows", "neural-networks", "diabetes", "stochastic-processes", "mixture-of-experts"])
def test_folding_never_renames_a_tag_the_table_does_not_name(tag):
    assert canonical_key(tag, table(LEARNING)) == tag


def test_nothing_is_glued_together_without_a_rule():
    tags = ["C", "C++", "C#", "c++11", "c11", "google+", "Google", ".NET", "net", "日本語", "机器学习", "-", "M1", "M1 Pro"]
    tags += ["mw-2", "mw-3", "GPT-4", "GPT-4o", "go", "Go!"]
    canonicaliser = Canonicaliser(table(LEARNING))
    assert len({canonicaliser(tag) for tag in tags}) == len(tags)


def test_the_table_wins_over_what_folding_alone_would_elect():
    rules = table("aliases: {huggingface: hugging-face}\nfold_canonical: [hugging-faces-book]")
    assert canonical_key("huggingface", rules) == "hugging-face"
    assert canonical_key("hugging_faces", rules) == "hugging-face"


def test_blank_and_ignored_tags_have_no_concept():
    rules = table("ignore: [To-Read, misc]\naliases: {miscellaneous: misc}\n".replace("misc]", "Misc]"))
    canonicaliser = Canonicaliser(rules)
    assert [canonicaliser(tag) for tag in ("to-read", "MISC", "Miscellaneous", " ", "\u200b", "misc-2")] == [None] * 5 + ["misc-2"]


def test_a_pair_that_must_stay_apart_is_not_merged_by_an_alias():
    rules = table("aliases: {golang: go, go-lang: go}\nnever_merge: [[golang, go]]")
    assert canonical_key("golang", rules) == "golang"
    assert canonical_key("go-lang", rules) == "go"


def test_a_pair_that_must_stay_apart_is_not_merged_by_folding():
    rules = table("fold_canonical: [gpt-4]\nnever_merge: [[gpt4, gpt-4]]")
    assert canonical_key("GPT4", rules) == "gpt4"
    assert canonical_key("gpt_4", rules) == "gpt-4"


def test_two_words_kept_apart_do_not_meet_in_a_third_one():
    rules = table("aliases: {vit: vision-transformers}\nnever_merge: [[vits, vit]]")
    assert canonical_key("ViT", rules) == "vision-transformers"
    assert canonical_key("VITS", rules) == "vits"
    both_fold = table("fold_canonical: [data-set]\nnever_merge: [[dataset, datasets]]")
    assert [canonical_key(tag, both_fold) for tag in ("dataset", "datasets", "data_set")] == ["dataset", "datasets", "data-set"]


def test_a_fold_that_two_named_spellings_share_decides_nothing():
    rules = table("fold_canonical: [data-set, dataset]\nnever_merge: [[data-set, dataset]]")
    assert [canonical_key(tag, rules) for tag in ("data-set", "dataset", "data_set")] == ["data-set", "dataset", "data_set"]


def test_case_counts_when_the_reader_asks_for_it():
    kept = Canonicaliser(AliasTable(aliases={"Golang": "Go"}), fold_case=False)
    assert [kept(tag) for tag in ("Go", "go", "Golang", "golang")] == ["Go", "go", "Go", "golang"]


def test_the_label_is_the_most_used_spelling_by_distinct_items():
    graph = build(reading(("css", "web"), ("css", "web"), ("CSS", "web"), ("CSS", " CSS ", "web"), ("CSS", "web")))
    assert graph.concepts["css"].label == "CSS"
    assert graph.concepts["css"].spellings == ("css",)


def test_spellings_used_equally_often_go_by_the_smaller_code_point():
    graph = build(reading(("Cafe\u0301", "web"), ("café", "web")))
    assert graph.concepts["café"].label == "Café"
    assert graph.concepts["café"].spellings == ("café",)


def test_a_spelling_the_table_names_is_the_label_even_if_nobody_uses_it():
    graph = build(reading(("llm", "web"), ("llms", "web")), "aliases: {llm: Large Language Models}")
    concept = graph.concepts["large language models"]
    assert concept.label == "Large Language Models"
    assert concept.spellings == ("llm", "llms")


def test_case_of_a_named_spelling_is_the_tables():
    graph = build(reading(("pytorch", "web"), ("pytorch", "web")), "fold_canonical: [PyTorch]")
    assert graph.concepts["pytorch"].label == "PyTorch"
