"""Names: legal everywhere, readable, and one for each concept whoever else exists."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kg2vault.graph.spelling import spelling_key
from kg2vault.vault.paths import STEM_LIMIT, name_key, note_stems, obsidian_tag
from tests.conftest import corpus
from tests.vault.obsidian_rules import faults_of_stem, faults_of_tag, same_file

NOBODY: frozenset[str] = frozenset()
FRAGMENTS = [
    "c#", "C#", "c-sharp", "sharp", "-", "--", "#", ".", "..", ".net", "dot-net", "dot-", "hashtag-",
    "hashtag", "python", "/", "\\", ":", "*", "?", '"', "<", ">", "|", "^", "[", "]", "%%", "%", "$",
    "`", " ", "_", "+", "++", "js", ".js", "-js", "con", "nul", "com1", "lpt¹", "(concept)",
    " (community)", "(concept 3f9c2a)", " 3f9c2a", " 123456", "-123456", "é", "e\u0301", "ß", "ss", "ﬁ",
    "fi", "İ", "i\u0307", "ı", "ς", "σ", "ΟΔΟΣ", "ſ", "K", "Ꭰ", "ꭰ", "机器学习", "한글", "ｆｕｌｌ", "²", "🚀",
    "👩\u200d💻", "❤\ufe0f", "\u200b", "\u202e", "\u00a0", "\u202f", "\u2028", "\ufeff", "\ud800",
    "\ue000", "\ufdd0", "\U000e0041", "\u0345", "\u0301", "x" * 70, "é" * 70, "\x00", "\x1e", "\t", "\n",
    "tag", "dollar", "star", "a", "b", "Z", "7", "2024", "~", "'", "&", ",", "!", "@", "=", ";",
]  # fmt: skip
nasty = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=5).map("".join),
    st.text(min_size=1, max_size=12),
    st.text(st.characters(categories=["L", "M", "So", "Zs", "Cf", "Cs", "Po"]), min_size=1, max_size=6),
).filter(spelling_key)


def stems(tag: str, kind: str = "concept", reserved: frozenset[str] = NOBODY) -> tuple[str, ...]:
    return note_stems(tag, f"{kind}/{spelling_key(tag)}", kind, reserved)


@settings(deadline=None, max_examples=400)
@given(nasty)
@example("x" * 100_000)
@example("é" * 100_000)
@example("각" * 100)
@example("a" + "\u0301" * 100_000)
@example("_" * 100_000)
@example("ΐ" * 60)
def test_every_name_is_legal_on_every_system(tag: str) -> None:
    for kind in ("concept", "community", "item"):
        for stem in stems(tag, kind):
            assert faults_of_stem(stem) == [], (tag, stem)
            assert len(stem.encode()) <= STEM_LIMIT


@settings(deadline=None, max_examples=400)
@given(nasty)
@example("x" * 100_000)
@example("2024")
@example("_" * 100_000)
def test_every_tag_is_one_that_obsidian_accepts(tag: str) -> None:
    made = obsidian_tag("kg/community", tag, "4f1c2a9e")
    assert faults_of_tag(made) == [], (tag, made)
    assert len(made) < 120


@settings(deadline=None, max_examples=300)
@given(st.lists(nasty, min_size=2, max_size=12))
def test_two_concepts_never_want_the_same_file_or_tag(given_tags: list[str]) -> None:
    # The names made for some tags are themselves tags that people could type: they must not clash with what they were made from.
    echoes = [stem for tag in given_tags for stem in (*stems(tag), obsidian_tag("kg", tag, spelling_key(tag))[3:])]
    concepts = {spelling_key(tag): tag for tag in given_tags + echoes}
    files: dict[str, tuple[str, str]] = {}
    tags: dict[str, str] = {}
    for key, tag in sorted(concepts.items()):
        for kind in ("concept", "community"):
            for stem in stems(tag, kind):
                assert files.setdefault(name_key(stem), (kind, key)) == (kind, key), stem
        made = obsidian_tag("kg", tag, key)
        assert tags.setdefault(name_key(made), key) == key, made


@settings(deadline=None, max_examples=200)
@given(
    nasty,
    st.sampled_from([str.upper, str.lower, str.title, lambda text: unicodedata.normalize("NFD", text), lambda text: f" {text}\u00a0"]),
)
def test_however_a_concept_is_spelled_its_file_compares_the_same(tag: str, respell: object) -> None:
    other = respell(tag)  # type: ignore[operator]
    if spelling_key(other) == spelling_key(tag):
        assert [name_key(stem) for stem in stems(other)] == [name_key(stem) for stem in stems(tag)]


@settings(deadline=None, max_examples=200)
@given(nasty, nasty)
def test_names_that_our_key_tells_apart_are_apart_for_a_stricter_file_system_too(one: str, other: str) -> None:
    if spelling_key(one) != spelling_key(other) and unicodedata.is_normalized("NFKC", one) and unicodedata.is_normalized("NFKC", other):
        assert same_file(stems(one)[0]) != same_file(stems(other)[0])


@pytest.mark.parametrize(
    ("bare", "hashed"), [("C#", "c-sharp"), ("F#", "f-sharp"), (".NET", "dot-net"), ("#Python", "hashtag-python"), ("tcp-ip", "TCP/IP")]
)
def test_of_two_spellings_with_one_readable_name_the_usual_one_is_bare(bare: str, hashed: str) -> None:
    readable, mark = stems(hashed)[0].rsplit(" ", 1)
    assert name_key(readable) == name_key(stems(bare)[0])
    assert len(mark) == 6


@pytest.mark.parametrize(
    "tag", ["machine learning", "node.js", "C++", "Go!", "机器学习", "한글", "🚀", "café", "2024", "null", "-", "οδός", "GPT-4o"]
)
def test_an_ordinary_name_stays_as_it_is(tag: str) -> None:
    assert stems(tag)[0] == tag


def test_a_sharp_in_a_longer_name_is_read_as_one() -> None:
    assert stems("Visual C# 8")[0] == "Visual C-sharp 8"
    assert stems("learn c-sharp")[0] != stems("learn c#")[0]


@pytest.mark.parametrize("tag", ["straße", "ﬁle", "Maſſe"])
def test_what_file_systems_take_for_another_word_has_a_hash(tag: str) -> None:
    assert name_key(stems(tag)[0][:-7]) == name_key(stems(tag)[0])[:-7]
    assert stems(tag)[0] != tag


def test_a_greek_word_needs_no_hash_for_its_last_sigma() -> None:
    assert stems("Κόσμος")[0] == "Κόσμος"
    assert name_key(stems("κόσμοσ")[0]) != name_key(stems("κόσμος")[0])


@pytest.mark.parametrize("tag", ["CON", "con.x", "Aux", "nul .y", "COM1", "lpt9.tar.gz", "com¹", "CONIN$"])
def test_a_windows_device_is_never_the_part_before_the_first_dot(tag: str) -> None:
    assert faults_of_stem(stems(tag)[0]) == []


@pytest.mark.parametrize("tag", ["../../x", "/etc/x", "a\\..\\b", "..", "C:\\x", "con\0x", "~/.ssh/x", "."])
def test_a_path_in_a_tag_leads_nowhere(tag: str) -> None:
    for stem in stems(tag):
        assert "/" not in stem
        assert "\\" not in stem
        assert not stem.startswith(".")


@pytest.mark.parametrize("tag", ["???", "...", "#", "\ue000", "]]", "||", "?!?"])
def test_a_name_of_nothing_but_symbols_still_has_a_file_of_its_own(tag: str) -> None:
    others = [stems(other)[0] for other in ["???", "...", "#", "\ue000", "]]", "||", "?!?"] if other != tag]
    assert faults_of_stem(stems(tag)[0]) == []
    assert stems(tag)[0] not in others


def test_the_home_note_keeps_its_name_and_a_concept_of_that_name_gives_way() -> None:
    reserved = frozenset({"Knowledge Graph"})
    assert note_stems("Knowledge Graph", "home", "home", NOBODY)[0] == "Knowledge Graph"
    assert stems("knowledge graph", reserved=reserved)[0].startswith("knowledge graph ")
    assert stems("knowledge graph", "community", reserved)[0] == "knowledge graph (community)"


def test_a_concept_whose_name_ends_like_a_community_gives_way() -> None:
    assert stems("python (community)")[0] not in stems("python", "community")
    assert stems("python (concept)")[0] not in stems("python")


def test_the_second_choice_is_there_for_when_a_strangers_file_has_the_place() -> None:
    assert stems("Python") == ("Python", "Python (concept)", f"Python (concept {stems('Python')[2][-7:-1]})")
    first, second, third = stems("Python", "community")
    assert first == "Python (community)"
    assert second == f"Python (community) {third[-7:-1]}"


def test_with_case_kept_apart_two_cases_of_one_word_have_two_files() -> None:
    kept = [note_stems(tag, f"concept/{tag}", "concept", NOBODY)[0] for tag in ("Go", "go", "GO")]
    assert len({name_key(stem) for stem in kept}) == 3
    assert "go" in kept


def test_a_cut_name_ends_between_letters_and_has_a_hash() -> None:
    stem = stems("e\u0301\u0323" * 100)[0]
    body, mark = stem.rsplit(" ", 1)
    assert len(mark) == 6
    assert unicodedata.normalize("NFD", body).endswith("e\u0323\u0301")


def test_a_word_of_hex_letters_is_no_hash() -> None:
    assert stems("lost decade")[0] == "lost decade"
    assert stems("covid 202012")[0] != "covid 202012"


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("C#", "C-sharp"), ("C++", "C-plus-plus"), (".NET", "dot-NET"), ("node.js", "node-js"), ("machine learning", "machine_learning"),
        ("2024", "2024"), ("1984book", "1984book"), ("机器学习", "机器学习"), ("🎉", "🎉"), ("machine-learning", "machine-learning"),
    ],
)  # fmt: skip
def test_the_tag_of_a_community_reads_like_its_name(name: str, tag: str) -> None:
    assert obsidian_tag("kg/community", name, "4f1c2a9e") == f"kg/community/{tag}"


def test_names_that_would_be_cut_to_the_same_tag_are_told_apart() -> None:
    names = [
        "C++",
        "C#",
        "C",
        "A & B",
        "A and B",
        "A, B",
        "a/b",
        "a//b",
        "/a/b",
        "a-b",
        "a b",
        "a_b",
        "Foo 1.2",
        "Foo 1-2",
        "node.js",
        "node-js",
    ]
    assert len({obsidian_tag("kg", name, spelling_key(name)).casefold() for name in names}) == len(names)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Café", "cafe\u0301"), ("a\u00a0b", "A b"), ("a\u202fb", "a b"), ("STRASSE", "straße"), ("K", "\u212a"), ("\u0345", "\u03b9")],
)
def test_the_name_key_joins_what_some_file_system_joins(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_the_tags_of_a_real_reader_have_legal_names_of_their_own_and_few_need_a_hash(name: str, tmp_path: Path) -> None:
    connection = sqlite3.connect(corpus(name, tmp_path))
    spellings = {spelling_key(tag): tag for (tag,) in connection.execute("SELECT DISTINCT tag FROM item_tags ORDER BY tag")}
    connection.close()
    spellings.pop("", None)
    chosen = {key: stems(tag) for key, tag in spellings.items()}
    assert [fault for names in chosen.values() for stem in names for fault in faults_of_stem(stem)] == []
    assert len({same_file(stem) for names in chosen.values() for stem in names}) == 3 * len(spellings)
    tags = [obsidian_tag("kg/community", tag, key) for key, tag in spellings.items()]
    assert [fault for tag in tags for fault in faults_of_tag(tag)] == []
    assert len({same_file(tag) for tag in tags}) == len(spellings)
    hashed = [stem for stem, *_ in chosen.values() if re.search(" [0-9][0-9a-f]{5}$", stem)]
    assert len(hashed) < 0.015 * len(spellings), "measured 0.9 % and 0.2 %"
