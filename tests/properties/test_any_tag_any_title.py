"""Any list of tags and titles gives a vault that is its graph, whose names are legal, whose links resolve, and in which nothing runs."""

import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from kg2vault import app
from kg2vault.errors import SourceError
from kg2vault.graph.aliases import spelling_key
from kg2vault.settings import Options, Place, gather
from tests.conftest import SCHEMA, corpus
from tests.vault import obsidian_rules

NASTY = st.sampled_from(
    [
        "C#", "c#", "C++", ".NET", "net", "TCP/IP", "AI/ML", "CON", "con", "nul.txt", "café", "cafe\u0301", "机器学习", ":D", "null",
        "2024", "1e3", "🚀", "x" * 300, "]]", "[[", "%%", "%% kg2vault:begin concept 00000000 %%", "a|b", "a#b", "a^b", "..",
        "../../x", "/etc/passwd", "C:\\x", "`= this.file`", "<% tp.file.delete() %>", "<img src=x onerror=alert(1)>",
        "key:: value", "- [ ] task", "^block", "# H", "$x$", "---", "ﬁle", "file", "straße", "strasse", "İ", "i̇",
        "Knowledge Graph", "home", "python", "Python", "python (concept)", "\u200b", "a\u0000b", "![](http://x/p.png)",
        "[x](javascript:alert(1))", "![[secret]]", "#tag", "a\nb", "a\u2028b", "\u202eevil", " python ", "node.js", "\ud800",
        "> [!danger] x", "1. x", "==x==", "~~~", "```dataviewjs", "&lt;", "a  b", "tag,", "a.md", ".md", "CON.x", "x.", "'q'",
        '"q"', "\\",
    ]
)  # fmt: skip
TAGS = st.one_of(NASTY, NASTY, st.text(max_size=12))
TITLES = st.one_of(NASTY, st.lists(NASTY, min_size=1, max_size=3).map(" ".join), st.text(max_size=40))
URLS = st.sampled_from(
    [
        "https://example.org/a",
        "http://user:secret@example.org/",
        "javascript:alert(1)",
        "https://x.org/a b)(|<>",
        "obsidian://new?x",
        "",
        "//x",
        "https://",
    ]
)
ITEMS = st.lists(st.tuples(st.lists(TAGS, min_size=2, max_size=5), TITLES, URLS), min_size=1, max_size=5)


def text_for_sqlite(text):
    """SQLite stores bytes: a lone surrogate arrives as bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def write_database(path, items):
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.execute(
        "INSERT INTO feeds VALUES (1, 'https://example.org/', CAST(? AS TEXT), NULL)", (text_for_sqlite("feed %% [[x]] <b>"),)
    )
    number = 0
    for tags, title, url in items:
        for _ in range(2):  # twice, so that every tag and pair passes the filters
            number += 1
            row = (number, str(number), text_for_sqlite(title), text_for_sqlite(url))
            connection.execute("INSERT INTO items VALUES (?, 1, ?, CAST(? AS TEXT), CAST(? AS TEXT), '', '2026-01-01', 'x')", row)
            rows = [(number, text_for_sqlite(tag)) for tag in tags]
            connection.executemany("INSERT OR IGNORE INTO item_tags VALUES (?, CAST(? AS TEXT))", rows)
    connection.commit()
    connection.close()


def make_settings(folder, database):
    (folder / "vault" / ".obsidian").mkdir(parents=True)
    aliases = folder / "aliases.yaml"
    aliases.write_text("aliases: {}\n")
    place = Place(env={}, cwd=folder, home=folder)
    return gather(Options(db=database, vault=folder / "vault", aliases=aliases), place)


def check_vault(root, settings):
    """Everything that issue after issue promised about the notes, by readers that are not ours."""
    verified = app.verify(settings)
    assert verified.ok, verified.problems
    notes = sorted(path for path in root.rglob("*.md") if ".kg2vault" not in path.parts)
    check_names(root, notes)
    yaml = YAML(typ="safe")
    yaml.version = (1, 2)
    for path in notes:
        text = path.read_bytes().decode("utf-8")
        head, body = text[4:].split("\n---\n", 1)
        check_properties(yaml.load(head))
        check_body(body)


def check_names(root, notes):
    keys = [obsidian_rules.same_file(path.stem) for path in notes]
    assert len(set(keys)) == len(keys), "two notes of one name"
    for path in notes:
        assert obsidian_rules.faults_of_stem(path.stem) == []
        assert path.resolve().is_relative_to(root.resolve())


def check_properties(properties):
    for key, value in properties.items():
        assert key in ("aliases", "tags") or key.startswith("kg_"), key
        for part in value if isinstance(value, list) else [value]:
            assert isinstance(part, str | int | float), (key, part)
    for name in ("kg_id", "kg_type"):
        assert isinstance(properties[name], str)
    for tag in properties.get("tags", []):
        assert obsidian_rules.faults_of_tag(tag) == []
    assert all(isinstance(alias, str) and alias for alias in properties.get("aliases", []))


def check_body(body):
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    plain = "\n".join(line for line in body.split("\n") if not line.startswith("%% kg2vault:"))
    for token in markdown.parse(plain):
        assert token.type not in ("html_block", "fence", "code_block", "blockquote_open"), (token.type, token.content)
        if token.type == "heading_open":
            assert token.markup == "##"
        for child in token.children or ():
            assert child.type not in ("html_inline", "image", "code_inline"), (child.type, child.content)
            if child.type == "link_open":
                assert str(child.attrs["href"]).startswith(("http://", "https://"))
    for raw in ("<%", "::", "![", "secret@"):
        assert raw not in plain, raw
    assert plain.count("%%") == 0


@settings(max_examples=25)
@given(items=ITEMS)
def test_whatever_the_tags_and_titles_the_vault_is_its_graph_and_inert(items):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_database(folder / "hermes.db", items)
        wanted = make_settings(folder, folder / "hermes.db")
        try:
            result = app.sync(wanted)
        except SourceError:
            assert all(spelling_key(tag) == "" for tags, _, _ in items for tag in tags)
            return
        assert result.ok, result.problems
        check_vault(folder / "vault", wanted)
        before = {path: path.read_bytes() for path in (folder / "vault").rglob("*") if path.is_file()}
        again = app.sync(wanted)
        assert again.data["counts"]["created"] == again.data["counts"]["updated"] == 0
        assert {path: path.read_bytes() for path in (folder / "vault").rglob("*") if path.is_file()} == before


@pytest.mark.slow
@settings(max_examples=300)
@given(items=ITEMS)
def test_whatever_the_tags_and_titles_at_length(items):
    test_whatever_the_tags_and_titles_the_vault_is_its_graph_and_inert.hypothesis.inner_test(items)


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_the_real_corpora_pass_the_same_checks(name, tmp_path):
    wanted = make_settings(tmp_path, corpus(name, tmp_path))
    assert app.sync(wanted).ok
    check_vault(tmp_path / "vault", wanted)
