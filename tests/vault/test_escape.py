"""Hostile text: nothing in a title, feed name, tag or address runs, loads, hides or links, and all of it can still be read."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kg2vault.vault.escape import TEXT_LIMIT, display, inline, link, plain, safe_url
from kg2vault.vault.linkscan import parse_links
from tests.conftest import corpus
from tests.vault.obsidian_rules import HARMLESS_TOKENS, active_in_raw_text, rendered_text, tokens

FRAGMENTS = [
    "`", "``", "```", "~~~", "~~", "$", "$$", "%", "%%", "<", "<%", "%>", "<!--", "-->", "<img src=x>", "</", "<a@b.c>", "<http://x>",
    "&", "&lt;", "&#58;", "&#x3c;", "&colon;", "[", "]", "[[", "]]", "![[", "![", "](", "(", ")", "|", "\\",
    "!", "#", "# ", "#tag", "^", "^id",
    " ^id", "[^1]", "^[", ":", "::", ":::", "key:: v", "*", "**", "_", "__", "=", "==", "-", "- ", "---",
    "+ ", "1. ", "12) ", "> ", "[!note]",
    "[ ] ", "[x] ", "\n", "\r\n", "\u2028", "\x85", "\t", "    ", " ", "\x00", "\x1e", "\x1f", "\x1d",
    "\u202e", "\u200b", "\ufeff", "\u00ad",
    "\ud800", "\u200d", "\ufe0f", "é", "e\u0301", "机器", "🚀", "https://x.y", "www.x.y", "javascript:",
    "obsidian://new?x", "{{", "}}", "{%",
    "%% kg2vault:begin concept 00000000 %%", "%% kg2vault:end concept %%", "a", "b c", "Word", "0", "9", ",", ".", "|-|-|", ":--", "…",
]  # fmt: skip
hostile = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join), st.text(max_size=20))
addresses = st.one_of(
    st.tuples(
        st.sampled_from(
            ["http://", "https://", "HTTPS://", "https:", "https:///", "//", "javascript:", "data:", "obsidian://", "file:///", ""]
        ),
        st.sampled_from(["x.y", "u:p@x.y", "münchen.de", "x.y:80", "x.y:port", "[::1]", "x y", "", "..", "x.y\\@z", "例え.jp", "a%2fb"]),
        hostile.map(lambda text: f"/{text}"),
    ).map("".join),
    hostile,
)


def harmful(markdown: str) -> list[str]:
    found = [token.type for token in tokens(markdown) if token.type not in HARMLESS_TOKENS]
    found += [
        str(token.attrs["href"]) for token in tokens(markdown) if token.type == "link_open" and not is_web_address(token.attrs["href"])
    ]
    return found + active_in_raw_text(markdown)


def is_web_address(address: object) -> bool:
    return re.fullmatch(r"https?://[A-Za-z0-9.%_~-]+(:[0-9]+)?([/?#][!-~]*)?", str(address)) is not None


@settings(deadline=None, max_examples=300)
@given(hostile, st.sampled_from(FRAGMENTS), hostile)
def test_a_title_is_escaped_alike_whatever_else_is_in_it(before: str, middle: str, after: str) -> None:
    title = plain(f"{before}{middle}{after}x")  # ends in a letter, so that nothing there belongs to what follows
    address = "https://example.org/"
    assert link(f"{title} &", address, 10_000) == link(title, address, 10_000).replace(f"]({address})", f" &]({address})")


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(["http://", "https://", "HTTP://"]),
    st.sampled_from(["example.org", "a-b.example", "-", "a-", "-.-", "a..b", "a.", "a_b.c", "user@a.b"]),
    st.text(st.sampled_from("ab19/?#&=+,;:@!'._~-%41 "), max_size=12),
)
def test_an_address_that_is_clean_already_is_what_it_would_become(scheme: str, host: str, rest: str) -> None:
    url = f"{scheme}{host}{rest}"
    assert safe_url(url) == safe_url(f" {url}")  # the blank goes, but nobody calls it clean


@settings(deadline=None, max_examples=500)
@given(hostile, addresses, hostile)
@example("x ^id", "", "^id")
@example("- [ ] task", "https://x.y/(a)|b<%", "key:: value")
@example("a\\", "https://x.y/&copy;&lt;%", "\\")
@example("[a](javascript:alert)", "https://x.y/](javascript:alert)", "![x](https://x.y/p.png)")
def test_whatever_a_feed_says_an_item_line_is_one_line_of_text_with_at_most_one_web_link(title: str, url: str, feed: str) -> None:
    line = f"- {link(title, url)} — {inline(feed)}, 2026-08-11"
    assert harmful(line) == []
    assert "\n" not in line
    assert sum(token.type == "link_open" for token in tokens(line)) <= 1
    assert sum(token.type == "list_item_open" for token in tokens(line)) == 1
    assert parse_links(line) == ()


@settings(deadline=None, max_examples=500)
@given(hostile, st.sampled_from(["{}", "- {}", "{} {}", "{}, {} — {}", "({})", "> {}", "1. {}", "- {}\n- {}", "{}\n{}"]))
def test_text_is_inert_wherever_in_a_line_it_stands(text: str, place: str) -> None:
    escaped = inline(text)
    written = place.replace("{}", escaped)
    allowed = {"blockquote_open", "blockquote_close", "ordered_list_open", "ordered_list_close"} if place[0] in ">1" else set()
    assert [fault for fault in harmful(written) if fault not in allowed] == []
    assert sum(token.type == "link_open" for token in tokens(written)) == 0
    assert parse_links(written) == ()


@settings(deadline=None, max_examples=400)
@given(hostile)
def test_what_is_shown_is_what_was_written(text: str) -> None:
    seen = plain(text)
    if len(seen) <= TEXT_LIMIT:
        assert rendered_text(f"x {inline(text)}") == f"x {seen}".rstrip()
    assert rendered_text(link(text, "https://x.y")).startswith(seen[: TEXT_LIMIT - 1].rstrip() if seen else "x.y")


@settings(deadline=None, max_examples=400)
@given(hostile)
def test_the_words_of_a_wikilink_cannot_close_it_nor_start_anything(text: str) -> None:
    words = display(text)
    line = f"- [[Knowledge Graph/Concepts/x|{words}]] — 3 shared items · [[Knowledge Graph/Concepts/y|{words}]]"
    assert [(found.target, found.display) for found in parse_links(line)] == [
        ("Knowledge Graph/Concepts/x", words),
        ("Knowledge Graph/Concepts/y", words),
    ]
    emphasis = {"em_open", "em_close", "strong_open", "strong_close", "[["}
    assert [fault for fault in harmful(line) if fault not in emphasis] == []
    assert display(words) == words


@settings(deadline=None, max_examples=300)
@given(st.one_of(hostile, st.text(st.characters(categories=["L", "M", "Cf", "Cs", "Co", "Cn", "Zs", "So"]), max_size=12)))
@example("e\u200d\u0301\u200dあ")
def test_plain_text_is_one_visible_line_and_plain_already(text: str) -> None:
    cleaned = plain(text)
    assert plain(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    assert cleaned == " ".join(cleaned.split())
    assert not [char for char in cleaned if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}]
    cleaned.encode()


CASE_49 = {
    "`= this.file`": r"\`= this.file\`",
    "`$= dv.pages()`": r"\`\$= dv.pages()\`",
    "```dataviewjs": r"\`\`\`dataviewjs",
    "![](http://x/p.png)": r"!\[\](http:\//x/p.png)",
    "<img src=x onerror=…>": "&lt;img src=x onerror=…>",
    "<%* tp.file.delete() %>": r"&lt;%\* tp.file.delete() %>",
    "key:: value": r"key:\: value",
    "- [ ] task": r"\- \[ \] task",
    "text ^block": r"text \^block",
    "a\n# H": r"a \# H",
    "![[secret note]]": r"!\[\[secret note\]\]",
    "%% kg2vault:begin concept 3f9c2a71 %%": r"\%\% kg2vault:begin concept 3f9c2a71 \%\%",
    "> [!danger] x": r"\> \[!danger\] x",
    "---": r"\---",
    "===": r"\=\=\=",
    "2024. A year": r"2024\. A year",
    "|---|---|": r"\|---|---|",
    "#tag and C#": r"\#tag and C#",
    "[^1] ^[note]": r"\[^1\] \^\[note\]",
    "obsidian://new?overwrite&silent": r"obsidian:\//new?overwrite&silent",
    "$5 and $10": r"\$5 and \$10",
    "AT&T &lt; &copy;": "AT&T &amp;lt; &amp;copy;",
}


@pytest.mark.parametrize(("text", "written"), CASE_49.items())
def test_only_what_is_active_is_escaped(text: str, written: str) -> None:
    assert inline(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "snake_case and a * b",
        "C++, C# and F#",
        "Foo: bar | Baz",
        "a < b",
        "AT&T",
        "100% — -5 degrees",
        "+1 for “quotes”",
        "it's (fine)!",
        "~5 = 5",
        "日本語の記事",
    ],
)
def test_ordinary_text_needs_no_escape(text: str) -> None:
    assert inline(text) == text


def test_joiners_stay_where_they_are_letters_or_glue() -> None:
    assert plain("می\u200cخواهم 👩\u200d💻 a\u200db") == "می\u200cخواهم 👩\u200d💻 ab"


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert inline("a\ud800b") == "a\ufffdb"


def test_a_long_title_is_cut_with_an_ellipsis_between_letters() -> None:
    assert inline("x" * 100_000) == "x" * 299 + "…"
    assert inline("word " * 3, limit=10) == "word word…"
    assert display("e\u0301\u0323" * 300, limit=10).endswith("ẹ́…")


@pytest.mark.parametrize("blank", ["", " \t\n", "\u200b\u202e", "\x00"])
def test_a_blank_title_shows_the_address_or_says_it_has_none(blank: str) -> None:
    assert inline(blank) == ""
    assert link(blank, "https://x.y/a_b") == "[x.y/a_b](https://x.y/a_b)"
    assert link(blank, "javascript:x") == "untitled"
    assert display(blank) == "untitled"


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
     "obsidian://new?file=x", "file:///etc/passwd", "https:///x", "https:x.y", "//x.y",
     "https://", "https://..", "https://x y/", "https://x.y:port/", "http://[::1]/", "https://a%2fb/", "x.y",
     "", "https://x.y/" + "a" * 3000,
     "\u202ehttps://x.y", "https://x\u200b.y/", "https://<x>.y"],
)  # fmt: skip
def test_an_address_that_is_no_sound_web_address_is_not_linked(url: str) -> None:
    assert safe_url(url) is None
    assert link("Title", url) == "Title"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (" https://x.y/a\n", "https://x.y/a"),
        ("HTTP://X.y", "http://X.y"),
        ("https://user:password@x.y/a@b", "https://x.y/a@b"),
        ("https://good.com\\@evil.com/x", "https://good.com/@evil.com/x"),
        ("https://x.y/a b(c)|<d>", "https://x.y/a%20b%28c%29%7C%3Cd%3E"),
        ("https://x.y/%20%zz%", "https://x.y/%20%25zz%25"),
        ("https://x.y/C::D?a=1&lt;=2", "https://x.y/C:%3AD?a=1&lt%3B=2"),
        ("https://münchen.de/ü", "https://m%C3%BCnchen.de/%C3%BC"),
        ("https://x.y/\u202e\x00\ud800", "https://x.y/%E2%80%AE%00%EF%BF%BD"),
        ("https://x.y:8080/?q=[a]#b", "https://x.y:8080/?q=%5Ba%5D#b"),
        ("https://x.y/<% x %>$`", "https://x.y/%3C%25%20x%20%25%3E%24%60"),
    ],
)
def test_a_web_address_keeps_its_meaning_and_cannot_break_out(url: str, address: str) -> None:
    assert safe_url(url) == address
    assert [str(token.attrs["href"]) for token in tokens(link("x", url)) if token.type == "link_open"] == [address]


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_every_title_and_feed_of_a_real_reader_goes_through(name: str, tmp_path: Path) -> None:
    connection = sqlite3.connect(corpus(name, tmp_path))
    rows = connection.execute(
        "SELECT DISTINCT i.title, coalesce(i.url, ''), coalesce(f.title, '') FROM items i LEFT JOIN feeds f ON f.id = i.feed_id"
    ).fetchall()
    connection.close()
    assert [title for title, url, feed in rows if active_in_raw_text(f"- {link(title, url)} — {inline(feed)}")] == []
    for title, url, feed in rows[::7]:
        assert harmful(f"- {link(title, url)} — {inline(feed)}") == []
        assert rendered_text(f"x {inline(title)}") == f"x {plain(title)}".rstrip()
    changed = sum(inline(title) != plain(title) for title, _, _ in rows)
    assert changed < 0.05 * len(rows), "measured 1.0 % and 3.5 %: nearly all titles read the same in the source as in the feed"
