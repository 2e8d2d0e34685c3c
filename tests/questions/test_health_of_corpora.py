"""The numbers that say whether a graph is usable, on what people really read."""

import sqlite3
from contextlib import closing

import pytest

from kg2vault import asking, kg
from kg2vault.standing import Follower
from tests.conftest import corpus
from tests.questions.conftest import settings_for


def health(database, aliases, tmp_path):
    return asking.health(Follower(tmp_path / "cache").stand(settings_for(database, tmp_path, aliases=aliases))).data["health"]


def singletons(report):
    return round(report["distinct_tags"] * report["singleton_rate"])


@pytest.mark.parametrize(
    ("name", "table", "fewer_tags", "fewer_singletons"),
    [
        ("pyvideo", None, 10, 1),  # the table that comes with the package
        ("jser", "fold_canonical: [promises, tools, fonts]\n", 3, 0),  # that one knows no word of this reader's
    ],
)
def test_aliasing_shows_in_the_health_of_real_reading(name, table, fewer_tags, fewer_singletons, tmp_path):
    """Merged spellings are fewer tags, and fewer that are used once: counted are the tags of the graph, not raw rows."""
    database, nothing, merging = corpus(name, tmp_path), tmp_path / "nothing.yaml", None
    nothing.write_text("aliases: {}\n", encoding="utf-8")
    if table is not None:
        merging = tmp_path / "merging.yaml"
        merging.write_text(table, encoding="utf-8")
    before, after = health(database, nothing, tmp_path), health(database, merging, tmp_path)
    assert before["distinct_tags"] - after["distinct_tags"] >= fewer_tags
    assert singletons(before) - singletons(after) >= fewer_singletons
    assert after["edges"] != before["edges"]


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_no_community_swallows_a_real_graph(name, tmp_path):
    """The failure that made clusters useless once: one that held 95 % of the graph."""
    with closing(sqlite3.connect(corpus(name, tmp_path))) as conn:
        report, groups = kg.health(conn), kg.communities(conn)
        assert report["largest_community_pct"] < 50
        assert report["communities"] == len(groups) >= 5
        assert groups[0]["size"] == round(report["largest_community_pct"] * report["nodes"] / 100)
        members = [member for group in groups for member in group["members"]]
        assert len(members) == len(set(members))


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_two_rebuilds_of_a_real_database_are_the_same_and_the_graph_is_the_tables(name, tmp_path):
    with closing(sqlite3.connect(corpus(name, tmp_path))) as conn:
        assert kg.rebuild(conn)["changed"]
        assert not kg.is_stale(conn)
        assert not kg.rebuild(conn)["changed"]
        adjacency, weights = kg.build_graph(kg.tag_assignments(conn))
        pairs = conn.execute("SELECT source, target, weight FROM kg_edges WHERE edge_type = 'CO_OCCURS'").fetchall()
        assert {(source, target): weight for source, target, weight in pairs} == weights
        degrees = dict(conn.execute("SELECT name, degree FROM kg_nodes WHERE node_type = 'concept'"))
        assert degrees == {name: len(near) for name, near in adjacency.items()}
        papers = conn.execute("SELECT count(*) FROM kg_nodes WHERE node_type = 'paper'").fetchone()
        assert papers == conn.execute("SELECT count(*) FROM items").fetchone()
