"""Links: what Obsidian finds in a text, where each leads, and how ours are written, filled and recognised again."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kg2vault.vault.linkscan import WikiLink, parse_links, property_link
from kg2vault.vault.resolve import Resolver
from kg2vault.vault.wikilinks import canonical_body, digest, fill, fill_both, link, token


def targets(text: str) -> list[str]:
    return [found.target for found in parse_links(text)]


# Observed in Obsidian 1.13 or read from its grammar; one line of facts each.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[[name]]", ["name"]),
        ("[[Sq]uare]]", ["Sq]uare"]),
        ("[[line\nbreak]]", []),
        ("[[Nested [[Inner]] x]]", ["Inner"]),
        ("[[Array 0|Array[0]]]", ["Array 0"]),
        ("[[https://x]]", ["https://x"]),
        ("[[]] [[ab", []),
        ("%% [[hidden]] %%", ["hidden"]),
        ("%%\n[[hidden]]\n%%", ["hidden"]),
        ("`[[code]]` [[text]]", ["text"]),
        ("``[[code]]` [[code]] `` [[text]]", ["text"]),
        ("`[[text]]", ["text"]),
        ("`a\n\n[[text]] `", ["text"]),
        ("```\n[[code]]\n```\n[[text]]", ["text"]),
        ("```\n[[code]]\n~~~\n[[code]]", []),
        ("````\n```\n[[code]]\n````\n[[text]]", ["text"]),
        ("> - ~~~js\n>   [[code]]\n>   ~~~\n[[text]]", ["text"]),
        ("```a`b\n[[text]]", ["text"]),
        ("text ``` [[text]]", ["text"]),
        ("<!-- [[comment]] --> [[text]]", ["text"]),
        ("<!--\n\n[[comment]]", []),
        ("a <!-- [[text]]", ["text"]),
        ("<div>\n[[html]]\n\n[[text]]", ["text"]),
        ("<pre>\n\n[[html]]\n</pre>\n[[text]]", ["text"]),
        ('<b title="[[html]]">[[text]]</b>', ["text"]),
        ("a < b [[text]] > c", ["text"]),
        ("$[[math]]$ [[text]]", ["text"]),
        ("$$\n[[math]]\n$$ [[text]]", ["text"]),
        ("costs $5 [[text]] and $6", ["text"]),
        (r"\[[escaped]] \$[[text]]\$", ["text"]),
        (r"\`[[text]]\`", ["text"]),
        ("# [[heading]]\n> [[quote]]\n- [ ] [[task]]\n| [[a\\|b]] | [^1] |", ["heading", "quote", "task", "a"]),
        ("[t](My%20Note.md) [u](<a b.md>) [w](x.md 'title') [v](https://x.y/[[z]])", ["My Note.md", "a b.md", "x.md"]),
        ("[mail](mailto:a@b) [o](obsidian://open) [p](//x.y/z)", []),
        ("[space](My Note.md)", []),
        ("[[a\u00a0b ]] [[cafe\u0301]]", ["a b", "café"]),
    ],
)  # fmt: skip
def test_a_text_holds_the_links_that_obsidian_counts(text: str, found: list[str]) -> None:
    assert targets(text) == found


@pytest.mark.parametrize(
    ("text", "link_found"),
    [
        ("[[name|shown]]", WikiLink("name", "", "shown", 0, 14)),
        ("[[name#H1#H2| a|b ]]", WikiLink("name", "#H1#H2", "a|b", 0, 20)),
        ("[[name #^block]]", WikiLink("name", "#^block", None, 0, 16)),
        ("[[#Heading]]", WikiLink("", "#Heading", None, 0, 12)),
        ("[[|x]]", WikiLink("|x", "", None, 0, 6)),
        ("[[a\\|b]]", WikiLink("a", "", "b", 0, 8)),
        ("![[pic.png]]", WikiLink("pic.png", "", None, 0, 12, embed=True)),
        (r"\![[name]]", WikiLink("name", "", None, 2, 10)),
        ("![alt](pic.png)", WikiLink("pic.png", "", "alt", 0, 15, embed=True, markdown=True)),
        (r"[a \[b\]](n.md#H)", WikiLink("n.md", "#H", "a [b]", 0, 17, markdown=True)),
    ],
)
def test_a_link_is_taken_apart(text: str, link_found: WikiLink) -> None:
    assert parse_links(text) == (link_found,)


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("[[A]]", "A"), ("[[a/b.md|B]]", "a/b.md"), ("[[A]] (0.7)", None), ("see [[A]]", None),
        ("[[A]] and [[B]]", "A]] and [[B"), ("[[]]", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_property_is_a_link_only_when_all_of_it_is_one(value: str, target: str | None) -> None:
    found = property_link(value)
    assert (found.target if found else None) == target


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("[]|#^`~$<>!-\\/\n ab.%()\r\"'"), max_size=60))
def test_any_text_can_be_parsed_and_links_lie_in_it_in_order(text: str) -> None:
    end = 0
    for found in parse_links(text):
        assert end <= found.start < found.end <= len(text)
        end = found.end
        assert text[found.start : found.end].startswith(("[", "!["))
        assert "\n" not in text[found.start : found.end]


def test_no_text_is_slow_to_parse() -> None:
    pieces = [
        "[",
        "[[",
        "[[a",
        "`",
        "``` ",
        "<",
        "<!--",
        "$",
        "$$",
        "![",
        "[a](",
        "\\",
        "~~~",
        "<a ",
        "<pre ",
        "> ",
        "- ",
        "[[a|",
        "x]] [x](y ",
        "` `` ",
    ]
    program = f"""
from kg2vault.vault.linkscan import parse_links
for piece in {pieces!r}:
    for text in (piece * 20_000, (piece + chr(10)) * 20_000, ("- " + piece + chr(10) * 2) * 10_000):
        parse_links(text + "[")
"""
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


# --- where a link leads


VAULT = [
    "Note.md", "a/Note.md", "a/b/Note.md", "a/b/c/Deep.md", "z/Only.md", "Log.md", "KG/node.js.md",
    "KG/Python.md", "Notes/Python.md", "KG/React.js.md",
    "files/node.js", "foo.md.md", "x/foo.md", "Caf\u0065\u0301.md", "a\u00a0b.md", "pic.png", "aa/Same.md", "bb/Same.md", "KG", "a/b",
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("Only", "Log.md", "z/Only.md"),
        ("Note", "a/b/Deep.md", "Note.md"),  # an exact path wins over the note beside the source
        ("b/Note", "Log.md", "a/b/Note.md"),  # the end of a path
        ("Python", "KG/Other.md", "KG/Python.md"),  # the source's own folder first
        ("Python", "Notes/Other.md", "Notes/Python.md"),
        ("Python", "Log.md", "KG/Python.md"),  # the shortest path
        ("Same", "Log.md", "aa/Same.md"),
        ("KG/Python", "Notes/Python.md", "KG/Python.md"),
        ("/Note", "a/x.md", "Note.md"),
        ("/b/Note", "a/x.md", None),  # a leading slash ends suffix matching
        ("../Note", "a/b/x.md", "a/Note.md"),
        ("./Note", "a/x.md", "a/Note.md"),
        ("../y", "a/x.md", None),
        ("log", "a/x.md", "Log.md"),  # case
        ("LOG.MD", "a/x.md", "Log.md"),
        ("Café", "a/x.md", "Caf\u0065\u0301.md"),  # NFD on disk
        ("a b", "Log.md", "a\u00a0b.md"),
        ("KG/React.js", "Log.md", "KG/React.js.md"),  # a dotted name
        ("KG/node.js", "Log.md", None),  # … which an attachment elsewhere captures
        ("KG/node.js.md", "Log.md", "KG/node.js.md"),
        ("node.js", "Log.md", "files/node.js"),
        ("foo.md", "Log.md", "x/foo.md"),
        ("foo.md.md", "Log.md", "foo.md.md"),
        ("pic.png", "Log.md", "pic.png"),
        ("#Heading", "Log.md", "Log.md"),
        ("Only#Heading", "Log.md", "z/Only.md"),
        ("machinelearning", "Log.md", None),  # an alias is no name
        ("KG", "Log.md", None),  # a folder is no note
    ],
)
def test_a_link_leads_where_obsidian_leads(target: str, source: str, path: str | None) -> None:
    assert Resolver(VAULT).resolve(target, source) == path


def test_resolution_does_not_depend_on_the_order_of_the_files() -> None:
    ways = [Resolver(VAULT), Resolver(reversed(VAULT)), Resolver(sorted(VAULT, key=len))]
    asked = [(target, source) for target in ("Note", "Same", "Python", "b/Note", "node.js") for source in ("Log.md", "a/b/x.md", "KG/x.md")]
    assert len({tuple(resolver.resolve(*question) for question in asked) for resolver in ways}) == 1


# --- writing links


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("KG/Concepts/C-sharp.md", "[[KG/Concepts/C-sharp|C#]]"),
        ("KG/node.js.md", "[[KG/node.js.md|C#]]"),
        ("KG/Foo.MD", "[[KG/Foo.MD|C#]]"),
        ("KG/foo.md.md", "[[KG/foo.md.md|C#]]"),
        ("Caf\u0065\u0301.md", "[[Café|C#]]"),
        ("C# notes/sub/x.md", "[[sub/x|C#]]"),  # a folder that no wikilink can name
        ("a/C# x.md", "C#"),  # a file that no wikilink can name
        ("a/x|y.md", "C#"),
    ],
)
def test_a_link_is_the_full_path_and_the_true_name(path: str, written: str) -> None:
    assert link(path, "C#") == written


@pytest.mark.parametrize(
    "name", ["Real]] [[Private", "Array[0]", "x|y", "a%%b", "[x](y)", "![[z]]", " a ", "`x", "$", "key:: v", "<% x %>", "\\"]
)
def test_no_name_can_close_its_link(name: str) -> None:
    written = f"{link('KG/x.md', name)} {link('KG/y.md', name)}"
    assert targets(written) == ["KG/x", "KG/y"]
    assert written.endswith("]]")
    assert written.count("[[") == 2


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(st.sampled_from("ab.#^|[]%é ~`$<:\\"), min_size=1, max_size=6), min_size=1, max_size=4))
@example(["a", "node.js"])
def test_every_link_we_write_leads_to_its_file(segments: list[str]) -> None:
    path = "/".join(segment.strip(" .") or "x" for segment in segments) + ".md"
    strangers = ["Python.md", "b/a", "a.b", "é", "node.js", "x"]
    found = parse_links(link(path, "name"))
    assert [Resolver([path, *strangers]).resolve(each.target, "KG/Other.md") for each in found] in ([path], [])
    if not set("#^|[]`$<\\:%") & set(path):
        assert len(found) == 1


# --- tokens and the canonical form


PATHS = {"concept/a": "KG/a.md", "concept/node.js": "KG/node.js.md", "concept/c#": "Moved/C# x.md"}


def test_a_token_becomes_a_link_and_without_a_path_plain_words() -> None:
    template = f"- {token('concept/a', 'A')} and {token('concept/gone', '*x* #y')}, {token('concept/c#', 'C#')}"
    assert fill(template, PATHS) == r"- [[KG/a|A]] and \*x\* ＃y, C#"


def test_a_property_without_a_path_shows_the_words_as_they_are() -> None:
    assert fill(token("community/x", "*x*"), {}) == "*x*"
    assert fill(token("community/x", "*x*"), {"community/x": "KG/x.md"}) == "[[KG/x|*x*]]"


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=20), st.text(max_size=20))
@example("\x1econcept/b\x1fB\x1d", "\x1d")
def test_no_text_can_forge_a_token(name: str, note_id: str) -> None:
    written = fill(token(f"concept/{note_id}", name), {"concept/b": "KG/b.md"})
    assert not set("\x1d\x1e\x1f") & set(written)
    assert written.count("[[") == (note_id == "b")


def identify(target: str) -> tuple[str, str] | None:
    known = {"KG/a": ("concept/a", "A"), "Moved/a": ("concept/a", "A"), "KG/node.js.md": ("concept/node.js", "node.js")}
    return known.get(target)


names = st.text(st.sampled_from("ab[]|#`$<%:~ \\é*\x1e"), min_size=1, max_size=8)


@settings(deadline=None, max_examples=200)
@given(names, names, names)
def test_what_we_wrote_is_recognised_as_what_we_meant(one: str, two: str, three: str) -> None:
    links = f"{token('concept/a', one)} · {token('concept/node.js', two)}"
    template = f"{links}\n- {token('concept/c#', three)} — 3 \n- {token('concept/gone', one)}\n\n"
    assert canonical_body(fill(template, PATHS), identify) == canonical_body(fill_both(template, PATHS)[1], None)


@pytest.mark.parametrize(
    "changed",
    [
        "- [[Moved/a|A]] — 3\n- b",
        "- [[KG/a|A]] — 3\r\n- b\r\n",
        "- [[KG/a|A]] — 3  \n- b\t\n\n",
        "- [[KG/a]] — 3\n- b",
        "- [[ KG/a |A]] — 3\n- b",
    ],
)
def test_a_rename_or_other_line_ends_are_no_edit(changed: str) -> None:
    assert digest(canonical_body(changed, identify)) == digest(canonical_body("- [[KG/a|A]] — 3\n- b", identify))


@pytest.mark.parametrize(
    "changed",
    ["- [[KG/a|My A]] — 3\n- b", "- [[KG/a#H|A]] — 3\n- b", "- ![[KG/a|A]] — 3\n- b",
     "- A — 3\n- b", "- `[[KG/a|A]]` — 3\n- b", "- [[KG/b|A]] — 3\n- b",
     "- \x1econcept/a\x1fA\x1d — 3\n- b", "- [[KG/a|A]] — 3\n\n- b", " - [[KG/a|A]] — 3\n- b"],
)  # fmt: skip
def test_anything_else_is_an_edit(changed: str) -> None:
    assert digest(canonical_body(changed, identify)) != digest(canonical_body("- [[KG/a|A]] — 3\n- b", identify))


def test_a_digest_is_eight_hex_digits_of_any_text() -> None:
    assert digest("") == "e3b0c442"
    assert len(digest("\udcff")) == 8


@pytest.mark.bench
def test_ten_thousand_notes_are_parsed_in_seconds() -> None:
    body = "\n".join(f"- [[Knowledge Graph/Concepts/concept-{number}|Concept {number}]] — {number} shared items" for number in range(60))
    start = time.perf_counter()
    for _ in range(1000):
        assert len(parse_links(body)) == 60
    assert time.perf_counter() - start < 3
