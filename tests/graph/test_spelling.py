"""When two tags are the same word."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2vault.graph.aliases import clean_spelling, fold_key, spelling_key


@pytest.mark.parametrize(
    ("tag", "key"),
    [
        ("Machine-Learning", "machine-learning"),
        ("  css \n", "css"),
        ("machine\t\u00a0 learning", "machine learning"),
        ("cafe\u0301", "café"),
        ("Straße", "straße"),
        ("STRASSE", "strasse"),
        ("日本語", "日本語"),
        ("🚀", "🚀"),
        ("???", "???"),
        ("C++", "c++"),
    ],
)
def test_case_unicode_form_and_white_space_do_not_make_another_word(tag, key):
    assert spelling_key(tag) == key


@pytest.mark.parametrize("tag", ["", " ", "\n\t", "\u200b", "\x00\x1f", "\u00a0\u2028", "\ufeff\u202e"])
def test_a_tag_that_shows_nothing_is_blank(tag):
    assert spelling_key(tag) == ""
    assert clean_spelling(tag) == ""


def test_tags_that_differ_in_punctuation_or_number_stay_apart():
    tags = ["C", "C++", "C#", "c++11", "c11", "google+", "Google", ".NET", "net", "日本語", "机器学习", "-", "M1", "M1 Pro", "mw-2"]
    tags += ["mw-3", "GPT-4", "GPT-4o", "go", "Go!", "#", "...", "Straße", "Strasse", "ﬁle", "file", "İstanbul", "istanbul"]
    assert len({spelling_key(tag) for tag in tags}) == len(tags)


def test_case_can_be_kept():
    assert spelling_key(" Go ", fold_case=False) == "Go"


def test_lowering_that_makes_a_composable_pair_still_gives_one_key():
    assert spelling_key("J\u030c") == spelling_key("\u01f0") == "\u01f0"


@given(st.text())
def test_a_key_is_its_own_key_and_does_not_depend_on_the_unicode_form(tag):
    key = spelling_key(tag)
    assert spelling_key(key) == key
    assert spelling_key(unicodedata.normalize("NFD", tag)) == spelling_key(unicodedata.normalize("NFC", tag))


@pytest.mark.parametrize(
    ("key", "folded"),
    [
        ("fine-tuning", "finetuning"),
        ("fine_tuning", "finetuning"),
        ("transformers", "transformer"),
        ("llms", "llm"),
        ("gpus", "gpus"),  # ends in "us"
        ("ios", "ios"),
        ("dns", "dns"),  # under four letters
        ("css", "css"),
        ("m-l-s", "mls"),
        ("class", "class"),
        ("analysis", "analysis"),
        ("atlas", "atlas"),
        ("chaos", "chaos"),
        ("sys-keys", "syskeys"),
        ("physics", "physics"),
        ("news", "news"),
        ("lens", "lens"),
        ("time-series", "timeseries"),
        ("machine learning", "machine learning"),
        ("日本語", "日本語"),
    ],
)
def test_folding_drops_separators_and_one_plural_s_but_not_from_words_that_are_no_plurals(key, folded):
    assert fold_key(key) == folded
