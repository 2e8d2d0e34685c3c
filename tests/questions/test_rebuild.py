"""kg_nodes, kg_edges and kg_meta: what is in them, and that writing them disturbs nobody."""

import sqlite3
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2vault import kg, materialising
from kg2vault.errors import SourceDenied, SourceSchema
from kg2vault.graph.typed import concept_name
from kg2vault.materialising import materialise, materialize_if_enabled
from kg2vault.storage.hermes import HermesSource
from tests.conftest import Database
from tests.questions.conftest import rows, settings_for, table_dump


@pytest.fixture
def small(database):
    """Two papers of one feed with two concepts, one paper without any, and a feed without papers."""
    for _ in range(2):
        database.add("x1", "x2")
    database.add("once")
    database.run("INSERT INTO feeds VALUES (7, 'https://example.org/silent', 'Silent', NULL)")
    return database


def rebuild(database, tmp_path, **config):
    return materialise(settings_for(database.path, tmp_path, **config), confirm=True)


def test_the_tables_hold_the_typed_graph(small, tmp_path):
    result = rebuild(small, tmp_path)
    assert sorted(rows(small.path, "SELECT name, node_type, degree FROM kg_nodes")) == [
        ("paper:1", "paper", 2),
        ("paper:2", "paper", 2),
        ("paper:3", "paper", 0),
        ("source:1", "source", 3),
        ("source:7", "source", 0),
        ("x1", "concept", 1),
        ("x2", "concept", 1),
    ]
    assert sorted(rows(small.path, "SELECT source, target, edge_type, weight FROM kg_edges")) == [
        ("paper:1", "source:1", "PUBLISHED_IN", 1),
        ("paper:1", "x1", "MENTIONS", 1),
        ("paper:1", "x2", "MENTIONS", 1),
        ("paper:2", "source:1", "PUBLISHED_IN", 1),
        ("paper:2", "x1", "MENTIONS", 1),
        ("paper:2", "x2", "MENTIONS", 1),
        ("paper:3", "source:1", "PUBLISHED_IN", 1),
        ("x1", "x2", "CO_OCCURS", 2),
    ]
    assert {key: result.data[key] for key in ("nodes", "edges", "concepts", "papers", "sources", "co_occurs")} == {
        "nodes": 7,
        "edges": 8,
        "concepts": 2,
        "papers": 3,
        "sources": 2,
        "co_occurs": 1,
    }


def test_without_confirm_nothing_is_written_and_it_says_so(keeper, tools, zoo):
    before = zoo.path.read_bytes()
    result = keeper.run("rebuild")
    assert result.exit_code == 6
    assert "nothing was written" in result.stderr
    for refused in (tools.kg_rebuild(), tools.kg_rebuild(confirm=False), tools.kg_rebuild(confirm="true"), tools.kg_rebuild(confirm=1)):
        assert not refused["ok"]
        assert "nothing was written" in refused["message"]
        assert refused["nodes"] == 0
    assert zoo.path.read_bytes() == before


def test_two_rebuilds_give_identical_tables_and_the_second_writes_nothing(keeper, zoo, tools):
    assert keeper.json("rebuild", "--confirm")["data"]["changed"]
    dump, bytes_then = table_dump(zoo.path), zoo.path.read_bytes()
    again = tools.kg_rebuild(confirm=True)
    assert again["ok"]
    assert not again["changed"]
    with closing(sqlite3.connect(zoo.path)) as conn:
        assert not kg.rebuild(conn)["changed"]
    assert table_dump(zoo.path) == dump
    assert zoo.path.read_bytes() == bytes_then


def test_tables_after_a_detour_are_the_tables_of_a_first_rebuild(small, tmp_path):
    rebuild(small, tmp_path)
    first = table_dump(small.path)
    small.run("INSERT INTO item_tags VALUES (3, 'x1')")
    rebuild(small, tmp_path)
    assert ("paper:3", "x1", "MENTIONS", 1) in rows(small.path, "SELECT * FROM kg_edges")
    assert table_dump(small.path) != first
    small.run("DELETE FROM item_tags WHERE item_id = 3 AND tag = 'x1'")
    rebuild(small, tmp_path)
    assert table_dump(small.path) == first


def test_missing_tables_are_created_as_the_reader_creates_them(small, tmp_path):
    rebuild(small, tmp_path)
    found = dict(rows(small.path, "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name LIKE 'kg_%'"))
    assert found == {
        "kg_nodes": "CREATE TABLE kg_nodes(name TEXT PRIMARY KEY, node_type TEXT NOT NULL, degree INTEGER NOT NULL DEFAULT 0)",
        "kg_edges": "CREATE TABLE kg_edges(source TEXT NOT NULL, target TEXT NOT NULL, edge_type TEXT NOT NULL, "
        "weight INTEGER NOT NULL DEFAULT 1, PRIMARY KEY(source,target,edge_type))",
        "kg_meta": "CREATE TABLE kg_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    }


def test_what_was_written_by_hand_stays(small, tmp_path):
    rebuild(small, tmp_path)
    small.run("INSERT INTO kg_nodes VALUES ('an idea of mine', 'idea', 1)")
    small.run("INSERT INTO kg_edges VALUES ('an idea of mine', 'x1', 'EXTENDS', 1)")
    small.run("INSERT INTO kg_meta VALUES ('note to self', 'later')")
    small.run("DELETE FROM kg_nodes WHERE name = 'x2'")
    small.run("INSERT INTO kg_nodes VALUES ('x2', 'experiment', 9)")
    small.add("x1", "x2")
    rebuild(small, tmp_path)
    nodes = rows(small.path, "SELECT * FROM kg_nodes")
    assert ("an idea of mine", "idea", 1) in nodes
    assert ("x2", "experiment", 9) in nodes
    assert ("an idea of mine", "x1", "EXTENDS", 1) in rows(small.path, "SELECT * FROM kg_edges")
    assert ("note to self", "later") in rows(small.path, "SELECT * FROM kg_meta")
    assert ("paper:4", "paper", 2) in nodes


def test_names_of_different_types_never_collide(database, tmp_path):
    """Tags that are called like papers, sources and escaped concepts."""
    tags = ("paper:1", "source:1", "concept:paper:1", "concept:", "Papers")
    for _ in range(2):
        database.add(*tags)
    rebuild(database, tmp_path)
    nodes = rows(database.path, "SELECT name, node_type FROM kg_nodes")
    assert sorted(nodes) == [
        ("Papers", "concept"),
        ("concept:concept:", "concept"),
        ("concept:concept:paper:1", "concept"),
        ("concept:paper:1", "concept"),
        ("concept:source:1", "concept"),
        ("paper:1", "paper"),
        ("paper:2", "paper"),
        ("source:1", "source"),
    ]
    names = {name for name, _ in nodes}
    assert all({source, target} <= names for source, target in rows(database.path, "SELECT source, target FROM kg_edges"))


@given(st.lists(st.one_of(st.text(max_size=6), st.sampled_from(["paper:", "concept:paper:1", "paper:1", "concept:"])), unique=True))
def test_different_labels_have_different_names_and_none_is_a_papers(labels):
    names = [concept_name(label) for label in labels]
    assert len(set(names)) == len(labels)
    assert not any(name.startswith(("paper:", "source:")) for name in names)


def test_a_pair_is_one_row_with_the_smaller_name_first(database, tmp_path):
    """`Zebra` sorts before `ant` in the table, although its key sorts after."""
    for _ in range(2):
        database.add("Zebra", "ant", "\u00e9clair")
    rebuild(database, tmp_path)
    pairs = rows(database.path, "SELECT source, target FROM kg_edges WHERE edge_type = 'CO_OCCURS'")
    assert sorted(pairs) == [("Zebra", "ant"), ("Zebra", "\u00e9clair"), ("ant", "\u00e9clair")]
    assert rows(database.path, "SELECT count(*) FROM kg_edges WHERE edge_type = 'CO_OCCURS' AND source >= target") == [(0,)]


def test_rows_without_an_item_or_a_feed_leave_no_edge_that_hangs_in_the_air(small, tmp_path):
    small.run("INSERT INTO item_tags VALUES (99, 'x1')")
    small.run("UPDATE items SET feed_id = 55 WHERE id = 2")
    rebuild(small, tmp_path)
    names = {name for (name,) in rows(small.path, "SELECT name FROM kg_nodes")}
    ends = rows(small.path, "SELECT source, target FROM kg_edges")
    assert all({source, target} <= names for source, target in ends)
    assert ("paper:2", "source:55") not in ends


def test_the_fingerprint_changes_with_every_write_to_item_tags(conn, zoo):
    seen = [kg.fingerprint(conn)]
    for sql in (
        "INSERT INTO item_tags VALUES (1, 'cat')",
        "UPDATE item_tags SET tag = 'cow' WHERE item_id = 1 AND tag = 'cat'",  # neither max(rowid) nor count(*) move
        "DELETE FROM item_tags WHERE item_id = 2",
    ):
        zoo.run(sql)
        seen.append(kg.fingerprint(conn))
    last = rows(zoo.path, "SELECT max(rowid) FROM item_tags")[0][0]
    zoo.run("DELETE FROM item_tags WHERE rowid = ?", (last,))
    zoo.run("INSERT INTO item_tags VALUES (3, 'newt')")  # takes the row id that became free
    seen.append(kg.fingerprint(conn))
    assert len(set(seen)) == len(seen)
    rowid, count, _ = seen[-1].split(":")
    assert [(int(rowid), int(count))] == rows(zoo.path, "SELECT max(rowid), count(*) FROM item_tags")


def test_stale_flips_with_the_rows_and_not_with_how_they_lie(conn, zoo):
    assert kg.is_stale(conn)  # never made
    kg.rebuild(conn)
    assert not kg.is_stale(conn)
    zoo.run("DELETE FROM item_tags WHERE item_id = 1 AND tag = 'ant'")
    assert kg.is_stale(conn)
    zoo.run("INSERT INTO item_tags VALUES (1, 'ant')")
    zoo.run("VACUUM")
    assert not kg.is_stale(conn)
    zoo.run("UPDATE items SET title = 'another title'")
    assert not kg.is_stale(conn)
    zoo.run("INSERT INTO items (id, feed_id, title, content_hash) VALUES (999, 1, 'an item without tags is a paper too', 'x')")
    assert kg.is_stale(conn)


def test_the_reader_writing_at_the_same_time_is_waited_for(zoo, tmp_path):
    """Another connection holds the write lock and lets go only after the rebuild has begun to wait; its row is in the tables."""
    writer = sqlite3.connect(zoo.path, check_same_thread=False, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO items (id, feed_id, title, content_hash) VALUES (500, 1, 'late', 'x')")
    finished = threading.Event()
    failed = []

    def work():
        try:
            rebuild(zoo, tmp_path)
        except Exception as error:
            failed.append(error)
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert not finished.wait(0.3)
    writer.execute("COMMIT")
    writer.close()
    thread.join(20)
    assert finished.is_set()
    assert failed == []
    assert ("paper:500", "paper", 0) in rows(zoo.path, "SELECT * FROM kg_nodes")


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_it_is_one_transaction_and_a_failure_leaves_the_old_tables(zoo, tmp_path, mode):
    with closing(sqlite3.connect(zoo.path)) as conn:
        conn.execute(f"PRAGMA journal_mode = {mode}")
        kg.rebuild(conn)
        before = table_dump(zoo.path)
        zoo.add("ant", "newt")
        zoo.add("ant", "newt")
        conn.execute("CREATE TRIGGER no_more BEFORE INSERT ON kg_edges WHEN new.source = 'ant' BEGIN SELECT raise(FAIL, 'no'); END")
        with pytest.raises(SourceSchema, match="nothing was written"):
            kg.rebuild(conn)
        assert not conn.in_transaction
        assert table_dump(zoo.path) == before
        conn.execute("DROP TRIGGER no_more")
        assert kg.rebuild(conn)["changed"]
        assert table_dump(zoo.path) != before


def test_an_open_transaction_is_joined_and_left_to_its_owner(conn, zoo):
    conn.execute("INSERT INTO item_tags VALUES (1, 'hen')")
    conn.execute("INSERT INTO item_tags VALUES (2, 'hen')")
    kg.rebuild(conn)
    assert conn.in_transaction
    assert not kg.is_stale(conn)
    conn.rollback()
    assert rows(zoo.path, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'kg%' AND type = 'table'") == [(0,)]


def test_its_own_write_does_not_look_like_news(zoo, tmp_path):
    source = HermesSource(zoo.path)
    before = source.fingerprint(), source.fingerprint(summaries=True)
    rebuild(zoo, tmp_path)
    assert (source.fingerprint(), source.fingerprint(summaries=True)) == before


def test_the_daemon_writes_tables_only_when_asked_to(zoo, tmp_path):
    assert materialize_if_enabled(settings_for(zoo.path, tmp_path)) is None
    assert rows(zoo.path, "SELECT count(*) FROM sqlite_master WHERE name = 'kg_nodes'") == [(0,)]
    config = tmp_path / "on.yaml"
    config.write_text("watch:\n  materialize: true\n", encoding="utf-8")
    result = materialize_if_enabled(settings_for(zoo.path, tmp_path, config=config))
    assert result is not None
    assert result.data["concepts"] == 8


def test_settings_and_aliases_in_force_are_the_ones_of_the_tables(zoo, tmp_path):
    config, aliases = tmp_path / "c.yaml", tmp_path / "a.yaml"
    config.write_text("graph:\n  min_weight: 4\n", encoding="utf-8")
    aliases.write_text("aliases:\n  elk: moose\n", encoding="utf-8")
    rebuild(zoo, tmp_path, config=config, aliases=aliases)
    assert rows(zoo.path, "SELECT * FROM kg_edges WHERE edge_type = 'CO_OCCURS'") == [("dog", "moose", "CO_OCCURS", 4)]


def test_a_missing_database_is_not_created(tmp_path):
    result = Database(tmp_path / "here.db")
    gone = tmp_path / "gone.db"
    with pytest.raises(Exception, match=r"There is no|gone\.db"):
        materialise(settings_for(gone, tmp_path), confirm=True)
    assert not gone.exists()
    assert result.path.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE kg_nodes(id INTEGER, label TEXT)",
        "CREATE TABLE kg_edges(source TEXT NOT NULL, target TEXT NOT NULL, edge_type TEXT NOT NULL, weight INTEGER, by TEXT NOT NULL)",
        "CREATE TABLE kg_meta(note TEXT)",
        "CREATE VIEW kg_nodes AS SELECT tag AS name, 'concept' AS node_type, 1 AS degree FROM item_tags",
    ],
)
def test_tables_of_another_make_are_named_and_left_alone(keeper, zoo, sql):
    zoo.run(sql)
    before = zoo.path.read_bytes()
    envelope = keeper.json("rebuild", "--confirm")
    assert envelope["exit_code"] == 3
    (problem,) = envelope["problems"]
    assert "kg_nodes, kg_edges and kg_meta" in problem["message"]
    assert "nothing was written" in problem["message"]
    assert "drop" in problem["hint"]
    assert zoo.path.read_bytes() == before
    assert keeper.json("health")["ok"]


def test_a_database_that_may_only_be_read_is_said_to_be_so(zoo, tmp_path):
    """A file of a newer write format is one that SQLite reads and refuses to write, whoever runs it."""
    with zoo.path.open("r+b") as file:
        file.seek(18)
        file.write(b"\x03")
    with pytest.raises(SourceDenied, match="may not be written"):
        rebuild(zoo, tmp_path)


def test_a_rebuild_that_fails_leaves_nothing_in_the_transaction_it_joined(conn, zoo):
    kg.rebuild(conn)
    before = table_dump(zoo.path)
    zoo.add("ant", "newt")
    zoo.add("ant", "newt")
    zoo.run("CREATE TRIGGER no_more BEFORE INSERT ON kg_edges BEGIN SELECT raise(ABORT, 'no'); END")
    conn.execute("INSERT INTO feeds VALUES (8, 'https://example.org/mine', 'Mine', NULL)")
    with pytest.raises(SourceSchema):
        kg.rebuild(conn)
    assert conn.in_transaction
    conn.commit()
    assert table_dump(zoo.path) == before
    assert rows(zoo.path, "SELECT title FROM feeds WHERE id = 8") == [("Mine",)]


def test_a_database_in_utf_16_is_not_written_twice(tmp_path):
    """Its order of names is another one."""
    path = tmp_path / "utf16.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA encoding = 'UTF-16le'")
        conn.execute("CREATE TABLE item_tags(item_id INTEGER, tag TEXT)")
        conn.executemany(
            "INSERT INTO item_tags VALUES (?, ?)", [(item, tag) for item in (1, 2) for tag in ("\u0100b", "zed", "\U0001f9ea")]
        )
        conn.commit()
        assert kg.rebuild(conn)["changed"]
        before = path.read_bytes()
        assert not kg.rebuild(conn)["changed"]
        assert path.read_bytes() == before


def test_a_database_without_items_and_feeds_has_concepts_only(database, tmp_path):
    for _ in range(2):
        database.add("x1", "x2")
    database.run("DROP TABLE items")
    database.run("DROP TABLE feeds")
    rebuild(database, tmp_path)
    assert rows(database.path, "SELECT * FROM kg_nodes") == [("x1", "concept", 1), ("x2", "concept", 1)]
    assert rows(database.path, "SELECT * FROM kg_edges") == [("x1", "x2", "CO_OCCURS", 2)]


def test_a_stamp_that_cannot_be_read_stops_no_question_and_is_written_anew(keeper, zoo, conn):
    keeper.run("rebuild", "--confirm")
    zoo.run("UPDATE kg_meta SET value = CAST(x'ff00' AS TEXT)")
    assert keeper.json("neighbors", "dog")["ok"]
    assert kg.is_stale(conn)
    assert keeper.json("rebuild", "--confirm")["data"]["changed"]
    assert not kg.is_stale(conn)


def test_a_database_in_memory_will_do(zoo):
    with closing(sqlite3.connect(":memory:")) as conn, closing(sqlite3.connect(zoo.path)) as file:
        file.backup(conn)
        conn.row_factory = sqlite3.Row
        assert kg.neighbors(conn, "dog", 1) == [{"name": "elk", "weight": 4, "distance": 1}]
        assert kg.rebuild(conn)["concepts"] == 8
        assert not kg.is_stale(conn)
        assert not kg.rebuild(conn)["changed"]
        assert not conn.in_transaction


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_second_rebuild_leaves_the_file_as_it_is_while_somebody_reads(keeper, zoo, mode):
    with closing(sqlite3.connect(zoo.path, isolation_level=None)) as reader:
        reader.execute(f"PRAGMA journal_mode = {mode}")
        assert keeper.json("rebuild", "--confirm")["data"]["changed"]
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = zoo.path.read_bytes()
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM kg_nodes").fetchone() == (8 + 21 + 1,)
        again = keeper.json("rebuild", "--confirm")
        assert (again["ok"], again["data"]["changed"]) == (True, False)
        assert zoo.path.read_bytes() == before


def test_a_writer_that_does_not_let_go_is_named_and_nothing_is_written(keeper, zoo, monkeypatch):
    monkeypatch.setattr(materialising, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(zoo.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        envelope = keeper.json("rebuild", "--confirm")
        assert (envelope["exit_code"], envelope["data"]) == (3, {})
        assert "locked" in envelope["problems"][0]["message"]
        writer.execute("ROLLBACK")
    assert rows(zoo.path, "SELECT count(*) FROM sqlite_master WHERE name = 'kg_nodes'") == [(0,)]
    assert keeper.json("rebuild", "--confirm")["ok"]
