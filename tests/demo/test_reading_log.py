"""The sample reading log is worth looking at, and becomes the same hermes.db every time."""

import datetime
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unicodedata
from collections import Counter
from importlib.resources import files

import pytest

from kg2vault.demo.database import read_log, write_demo_database
from kg2vault.errors import RefusedError, VaultError
from kg2vault.graph.aliases import AliasTable, Canonicaliser, parse_alias_table
from kg2vault.graph.build import GraphSettings, build_graph
from kg2vault.graph.model import Item, Reading
from tests.conftest import corpus

ARXIV = re.compile(r"https://arxiv\.org/abs/(\d\d)(\d\d)\.\d{4,5}\Z")


@pytest.fixture(scope="module")
def log():
    return read_log()


@pytest.fixture(scope="module")
def starter_table():
    resource = files("kg2vault").joinpath("defaults/aliases.yaml")
    return parse_alias_table(resource.read_text(encoding="utf-8"), "aliases.yaml")


@pytest.fixture(scope="module")
def graph(log, starter_table):
    return graph_of(log, starter_table)


def graph_of(log, table):
    items = {number: Item(number, item.title, item.url, item.published) for number, item in enumerate(log, start=1)}
    pairs = sorted((number, tag) for number, item in enumerate(log, start=1) for tag in item.tags)
    return build_graph(Reading(pairs, items, {}), table, GraphSettings())


def rows(path, query):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def change(path, *statements):
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_the_log_is_long_and_every_item_has_three_to_eight_different_tags(log):
    assert len(log) >= 200
    assert {len(item.tags) for item in log} <= set(range(3, 9))
    assert all(len(set(item.tags)) == len(item.tags) for item in log)
    assert not [item for item in log for tag in item.tags if not tag.strip()]


def test_every_address_is_https_and_there_once(log):
    assert Counter(item.url for item in log).most_common(1)[0][1] == 1
    assert all(re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+/\S+", url) for item in log for url in (item.url, item.feed_url))


def test_titles_are_one_clean_line(log):
    for item in log:
        assert item.title == unicodedata.normalize("NFC", " ".join(item.title.split()))
        assert item.title


def test_one_feed_address_has_one_title(log):
    assert len({(item.feed_url, item.feed_title) for item in log}) == len({item.feed_url for item in log})


def test_lines_are_in_order_of_date_then_title(log):
    assert [(item.published, item.title) for item in log] == sorted((item.published, item.title) for item in log)


def test_dates_are_real_and_not_in_the_future_of_the_log(log):
    for item in log:
        assert datetime.date(2000, 1, 1) <= datetime.date.fromisoformat(item.published) <= datetime.date(2026, 1, 1)


def test_an_arxiv_identifier_agrees_with_its_date_and_feed(log):
    papers = [item for item in log if "arxiv.org" in item.url]
    assert len(papers) >= 100
    for item in papers:
        year, month = ARXIV.match(item.url).groups()
        assert item.published.startswith(f"20{year}-{month}-"), item
        category = item.feed_url.removeprefix("https://rss.arxiv.org/rss/")
        assert item.feed_title == f"{category} updates on arXiv.org"


def test_a_date_in_an_address_agrees_with_the_date_of_the_item(log):
    dated = [(item, re.search(r"/(20\d\d)[/-](\d\d)[/-](\d\d)[/-]", item.url)) for item in log]
    # Lil'Log gives this post the day before its address.
    odd = {"https://lilianweng.github.io/posts/2021-09-25-train-large/"}
    checked = [(item.published, "-".join(match.groups())) for item, match in dated if match and item.url not in odd]
    assert len(checked) >= 30
    assert all(published == address for published, address in checked)


def test_tags_are_spelled_as_in_real_life(log):
    tags = {tag for item in log for tag in item.tags}
    families = [
        {"large-language-models", "llm", "llms", "LLM", "LLMs", "language-models"},
        {"machine-learning", "machinelearning"},
        {"natural-language-processing", "nlp", "NLP"},
        {"transformers", "transformer", "Transformers"},
        {"fine-tuning", "finetuning"},
        {"graph-neural-networks", "GNN", "GNNs"},
        {"reinforcement-learning", "RL"},
        {"C++", "C#", ".NET", ".net"},
        {"deep-reinforcement-learning", "deep-reinforcement-learning "},
    ]
    for family in families:
        assert family <= tags, family - tags
    assert any(tag != unicodedata.normalize("NFC", tag) for tag in tags)


def test_half_of_the_tags_or_more_are_used_once(log):
    used = Counter(tag for item in log for tag in item.tags)
    assert 0.5 <= sum(count == 1 for count in used.values()) / len(used) <= 0.7


def test_the_graph_has_enough_concepts_and_communities(graph):
    assert 60 <= len(graph.concepts) <= 250
    assert 5 <= len(graph.communities) <= 15
    assert max(len(community.members) for community in graph.communities) < len(graph.concepts) / 3


@pytest.mark.parametrize(
    ("together", "elsewhere"),
    [
        (("large-language-models", "ai-agents", "prompting", "code-generation"), "diffusion-models"),
        (("reinforcement-learning", "atari", "self-play", "policy-gradients"), "natural-language-processing"),
        (("diffusion-models", "image-generation", "text-to-image", "generative-adversarial-networks"), "computer-vision"),
        (("computer-vision", "object-detection", "semantic-segmentation", "convolutional-neural-networks"), "graph-neural-networks"),
        (("graph-neural-networks", "molecules", "drug-discovery", "quantum-chemistry"), "quantum-computing"),
        (("inference", "quantization", "gpus", "distributed-training"), "ai-safety"),
        (("optimization", "generalization", "regularization", "overparameterization"), "interpretability"),
        (("ai-safety", "alignment", "reward-hacking", "human-feedback"), "interpretability"),
        (("interpretability", "mechanistic-interpretability", "circuits", "feature-visualization"), "inference"),
        (("quantum-computing", "nisq", "variational-quantum-algorithms"), "inference"),
    ],
)
def test_a_reader_of_the_field_recognises_the_communities(graph, together, elsewhere):
    community = graph.community_of()
    assert len({community[key].id for key in together}) == 1
    assert community[elsewhere].id != community[together[0]].id


def test_the_starter_table_merges_what_the_log_spells_in_many_ways(log, starter_table, graph):
    assert {"LLM", "LLMs", "llm", "llms", "language-models"} <= set(graph.concepts["large-language-models"].spellings)
    assert graph.concepts["graph-neural-networks"].spellings == ("GNN", "GNNs")
    assert {"c++", "c#", ".net"} <= set(graph.concepts)
    assert "Schrödinger-equation" in (graph.concepts["schrödinger-equation"].label, *graph.concepts["schrödinger-equation"].spellings)
    assert len(graph_of(log, AliasTable.empty()).concepts["large-language-models"].item_ids) < graph.concepts["large-language-models"].items
    canonical = Canonicaliser(starter_table)
    assert any(len({canonical(tag) for tag in item.tags}) < len(item.tags) for item in log), "no item has two spellings of one concept"


def test_the_database_holds_every_line_of_the_log(log, tmp_path):
    path = tmp_path / "demo" / "hermes.db"
    counts = write_demo_database(path)
    found = rows(path, "SELECT i.title, i.url, i.published, f.url, f.title FROM items i JOIN feeds f ON f.id = i.feed_id ORDER BY i.id")
    assert found == [(item.title, item.url, f"{item.published} 00:00:00", item.feed_url, item.feed_title) for item in log]
    tags = rows(path, "SELECT item_id, tag FROM item_tags")
    assert Counter(tags) == Counter((number, tag) for number, item in enumerate(log, start=1) for tag in item.tags)
    assert (counts.items, counts.feeds, counts.tags) == (len(found), len({row[3] for row in found}), len({tag for _, tag in tags}))
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []


def test_the_schema_is_the_readers_to_the_letter(tmp_path):
    write_demo_database(tmp_path / "hermes.db")
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
    assert rows(tmp_path / "hermes.db", query) == rows(corpus("pyvideo", tmp_path), query)


def test_a_second_call_does_not_touch_the_file(tmp_path):
    path = tmp_path / "hermes.db"
    first = write_demo_database(path)
    before = path.stat()
    assert write_demo_database(path) == first
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["hermes.db"]


def test_every_process_writes_the_same_bytes(tmp_path):
    script = "import sys, pathlib; from kg2vault.demo.database import write_demo_database as w; w(pathlib.Path(sys.argv[1]))"
    for seed in ("1", "2"):
        path = tmp_path / seed / "hermes.db"
        subprocess.run([sys.executable, "-c", script, str(path)], check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    assert (tmp_path / "1" / "hermes.db").read_bytes() == (tmp_path / "2" / "hermes.db").read_bytes()


def test_a_graph_that_was_put_into_the_demo_does_not_make_it_a_strangers(tmp_path):
    path = tmp_path / "hermes.db"
    write_demo_database(path)
    change(path, "INSERT INTO kg_nodes VALUES ('llm', 'concept', 3)")
    write_demo_database(path)
    assert rows(path, "SELECT name FROM kg_nodes") == [("llm",)]


def test_the_demo_of_another_version_is_replaced(tmp_path, monkeypatch, log):
    path = tmp_path / "hermes.db"
    with monkeypatch.context() as older:
        older.setattr("kg2vault.demo.database.read_log", lambda: log[:-1])
        assert write_demo_database(path).items == len(log) - 1
    assert write_demo_database(path).items == len(log)
    assert rows(path, "SELECT count(*) FROM items") == [(len(log),)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM items WHERE id = 7",
        "UPDATE item_tags SET tag = 'mine' WHERE rowid = 3",
        "INSERT INTO item_tags VALUES (1, 'mine')",
        "INSERT INTO users VALUES (1, 'me', '')",
        "UPDATE items SET summary = x'ff' WHERE id = 1",
        "DROP TABLE clicks",
    ],
)
def test_a_demo_that_somebody_changed_is_left_alone(tmp_path, statement):
    path = tmp_path / "hermes.db"
    write_demo_database(path)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=re.escape(str(path))):
        write_demo_database(path)
    assert path.read_bytes() == before


def test_a_readers_database_is_left_alone(database):
    database.add("python")
    before = database.path.read_bytes()
    with pytest.raises(RefusedError) as refusal:
        write_demo_database(database.path)
    assert "another folder" in str(refusal.value)
    assert database.path.read_bytes() == before
    assert [entry.name for entry in database.path.parent.iterdir()] == ["hermes.db"]


@pytest.mark.parametrize("content", [b"", b"shopping list\n", b"SQLite format 3\x00" + b"\xff" * 200], ids=["empty", "text", "torn"])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "hermes.db"
    path.write_bytes(content)
    with pytest.raises(RefusedError):
        write_demo_database(path)
    assert path.read_bytes() == content


def test_a_folder_and_a_link_into_nowhere_are_left_alone(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "link"):
        with pytest.raises(RefusedError):
            write_demo_database(tmp_path / name)
    assert not (tmp_path / "nowhere").exists()


def test_a_copy_of_the_demo_is_still_the_demo(tmp_path):
    write_demo_database(tmp_path / "one.db")
    shutil.copyfile(tmp_path / "one.db", tmp_path / "two.db")
    write_demo_database(tmp_path / "two.db")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    with pytest.raises(VaultError, match="cannot be written"):
        write_demo_database(tmp_path / "file" / "hermes.db")
