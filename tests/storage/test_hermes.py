"""What HermesSource makes of the rows: every odd value has a rule, and one of them never costs the rest."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.errors import SourceSchema
from kg2vault.graph.model import Feed, Item
from kg2vault.storage.hermes import HermesSource
from tests.conftest import SCHEMA, corpus


def make(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.executescript(statement)
    return path


def read(path, **options):
    return HermesSource(path).read(**options)


@pytest.fixture
def loose(tmp_path):
    """A database whose columns take any value, and a function that adds tag rows to it."""
    path = make(tmp_path / "loose.db", "CREATE TABLE item_tags(item_id, tag)")

    def add(*rows):
        return read(make(path, *[("INSERT INTO item_tags VALUES (?, ?)", row) for row in rows]))

    return add


def test_everything_is_read_sorted_and_once(database):
    database.add("web", "python", title="Second", published="2026-02-02 00:00:00", item_id=2)
    database.add("python", title="First", published="2026-02-01 00:00:00", item_id=1)
    reading = read(database.path)
    assert list(reading.assignments) == [(1, "python"), (2, "python"), (2, "web")]
    assert list(reading.items) == [1, 2]
    assert reading.items[2] == Item(2, "Second", "https://example.org/2", "2026-02-02 00:00:00", 1)
    assert reading.feeds == {1: Feed(1, "https://example.org/feed", "Example feed")}
    assert (reading.skipped, reading.decoded) == ({}, 0)


@pytest.mark.parametrize(("name", "rows", "items", "feeds"), [("pyvideo", 15416, 6763, 479), ("jser", 30288, 12939, 258)])
def test_the_real_corpora_are_read_whole(name, rows, items, feeds, tmp_path):
    path = corpus(name, tmp_path)
    before = sorted(tmp_path.iterdir())
    reading = read(path)
    assert (len(reading.assignments), len(reading.items), len(reading.feeds)) == (rows, items, feeds)
    assert (reading.skipped, reading.decoded) == ({}, 0)
    assert sorted(tmp_path.iterdir()) == before


def test_summaries_are_read_only_on_request(database):
    database.add("python", item_id=7)
    database.run("UPDATE items SET summary = 'What it is about'")
    assert read(database.path).items[7].summary == ""
    assert read(database.path, summaries=True).items[7].summary == "What it is about"


def test_a_tag_that_is_not_text_is_taken_as_its_text_form(loose):
    assert list(loose((1, 2024), (2, 3.5), (3, b"blob")).assignments) == [(1, "2024"), (2, "3.5"), (3, "blob")]


def test_bytes_that_are_not_utf8_cost_neither_their_row_nor_the_others(database):
    item = database.add("good")
    database.run("INSERT INTO item_tags VALUES (?, CAST(x'ff41' AS TEXT))", (item,))
    database.run("INSERT INTO item_tags VALUES (?, CAST(x'eda080' AS TEXT))", (item,))
    reading = read(database.path)
    assert [tag for _, tag in reading.assignments] == ["good", "\ufffdA", "\ufffd\ufffd\ufffd"]
    assert reading.decoded == 2


def test_a_replacement_character_that_was_stored_is_no_damage(loose):
    assert loose((1, "a\ufffdb")).decoded == 0


def test_a_title_that_is_not_utf8_is_replaced_and_counted(database):
    database.add("python", title="Whole", item_id=1)
    database.add("python", title="Broken", item_id=2)
    database.run("UPDATE items SET title = CAST(x'c3285a' AS TEXT) WHERE id = 2")
    reading = read(database.path)
    assert [item.title for item in reading.items.values()] == ["Whole", "\ufffd(Z"]
    assert reading.decoded == 1


def test_null_blank_and_invisible_tags_are_skipped_and_counted(loose):
    reading = loose((1, None), (None, "x"), (1, ""), (1, " \t\n"), (1, "\u200b\ufeff"), (1, "\x00\x07"), (1, "x"))
    assert list(reading.assignments) == [(1, "x")]
    assert reading.skipped == {"blank": 4, "null": 2}


def test_a_nul_inside_a_tag_stays_where_it_is(loose):
    assert list(loose((1, "a\x00b")).assignments) == [(1, "a\x00b")]


def test_an_item_id_that_is_no_number_is_skipped_and_counted(loose):
    reading = loose(("guid-1", "x"), (1.5, "x"), ("12", "x"), (3.0, "x"))
    assert list(reading.assignments) == [(3, "x"), (12, "x")]
    assert reading.skipped == {"item id": 2}


def test_the_least_and_the_greatest_whole_number_are_ids_however_they_are_stored(loose):
    least, greatest = -(2**63), 2**63 - 1
    assert list(loose((float(least), "x"), (least, "y"), (greatest, "x"), (2.0**63, "x")).assignments) == [
        (least, "x"),
        (least, "y"),
        (greatest, "x"),
    ]


def test_a_pair_stored_twice_counts_once(loose):
    assert list(loose((1, "x"), (1, "x"), (1.0, "x"), (1, 5), (1, "5")).assignments) == [(1, "5"), (1, "x")]


def test_a_tag_row_without_its_item_still_counts(database):
    database.add("python")
    database.run("INSERT INTO item_tags VALUES (99, 'orphan')")
    reading = read(database.path)
    assert (99, "orphan") in reading.assignments
    assert 99 not in reading.items


def test_very_long_texts_come_through_whole(database):
    database.add("t" * 100_000, title="T" * 100_000, item_id=1)
    reading = read(database.path)
    assert len(reading.assignments[0][1]) == len(reading.items[1].title) == 100_000


def test_a_tag_is_one_object_however_often_it_is_used(loose):
    reading = loose(*[(number, "same") for number in range(50)])
    assert len({id(tag) for _, tag in reading.assignments}) == 1


@pytest.mark.parametrize(
    ("stored", "read_as"),
    [
        ("  2026-01-02 03:04:05\n", "2026-01-02 03:04:05"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("Tue, 06 Jan 2026 10:00:00 GMT", "Tue, 06 Jan 2026 10:00:00 GMT"),
        (1767323045, "2026-01-02 03:04:05"),
        (1767323045.9, "2026-01-02 03:04:05"),
        (1767323045000, "2026-01-02 03:04:05"),
        (1767323045000000, "2026-01-02 03:04:05"),
        ("1767323045", "2026-01-02 03:04:05"),
        (-86400, "1969-12-31 00:00:00"),
        ("20260102", "20260102"),
        ("2026", "2026"),
        (None, ""),
        (b"2026-01-02", "2026-01-02"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
    ],
)
def test_a_date_is_kept_as_stored_and_a_number_becomes_one(stored, read_as, tmp_path):
    path = make(
        tmp_path / "dates.db",
        "CREATE TABLE item_tags(item_id, tag); CREATE TABLE items(id, published)",
        "INSERT INTO item_tags VALUES (1, 'x')",
        ("INSERT INTO items VALUES (1, ?)", (stored,)),
    )
    assert read(path).items[1].published == read_as


@pytest.mark.parametrize(
    "tables",
    [
        "",
        "CREATE TABLE items(id INTEGER PRIMARY KEY)",
        "CREATE TABLE items(title, url)",
        "CREATE TABLE feeds(title); CREATE TABLE items(ID, feed_id)",
    ],
    ids=["no items", "only ids", "no ids", "no feed ids"],
)
def test_missing_tables_and_columns_only_cost_their_facts(tables, tmp_path):
    path = make(
        tmp_path / "old.db", "CREATE TABLE item_tags(item_id, tag, added_at)", "INSERT INTO item_tags VALUES (1, 'x', 'now')", tables
    )
    if "(id" in tables.lower():
        make(path, "INSERT INTO items(id) VALUES (1)")
    reading = read(path)
    assert list(reading.assignments) == [(1, "x")]
    assert set(reading.items.values()) <= {Item(1)}
    assert reading.feeds == {}


def test_names_of_tables_and_columns_may_be_written_in_any_case(tmp_path):
    path = make(tmp_path / "caps.db", "CREATE TABLE Item_Tags(ITEM_ID, Tag)", "INSERT INTO item_tags VALUES (1, 'x')")
    assert list(read(path).assignments) == [(1, "x")]


def test_a_view_serves_as_well_as_a_table(tmp_path):
    path = make(
        tmp_path / "view.db",
        "CREATE TABLE items(id INTEGER PRIMARY KEY, title, tags)",
        ("INSERT INTO items VALUES (1, 'A', ?)", ('["x", "y", 2024]',)),
        "CREATE VIEW item_tags AS SELECT items.id AS item_id, each.value AS tag FROM items, json_each(items.tags) AS each",
    )
    assert list(read(path).assignments) == [(1, "2024"), (1, "x"), (1, "y")]


def test_an_items_view_that_gives_an_id_twice_is_read_the_same_way_in_any_order(tmp_path):
    readings = []
    for order in ("ASC", "DESC"):
        path = make(
            tmp_path / f"{order}.db",
            "CREATE TABLE item_tags(item_id, tag); INSERT INTO item_tags VALUES (1, 'x'); CREATE TABLE raw(id, title, feed_id)",
            "INSERT INTO raw VALUES (1, 'A', NULL), (1, 'A', 3), (1, 'B', 2)",
            f"CREATE VIEW items AS SELECT * FROM raw ORDER BY rowid {order}",
        )
        readings.append(read(path))
    assert readings[0].items == readings[1].items
    assert readings[0].fingerprint == readings[1].fingerprint


def test_a_virtual_table_whose_extension_is_missing_does_not_matter(database):
    database.add("python")
    with closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        for name in ("vec_items", "kg_search"):
            sql = f"CREATE VIRTUAL TABLE {name} USING vec0(embedding float[384])"
            connection.execute("INSERT INTO sqlite_master VALUES ('table', ?, ?, 0, ?)", (name, name, sql))
    with closing(sqlite3.connect(database.path)) as connection, pytest.raises(sqlite3.OperationalError, match="vec0"):
        connection.execute("SELECT * FROM vec_items")
    assert len(read(database.path).assignments) == 1


def test_feeds_behind_a_missing_extension_cost_only_their_titles(tmp_path):
    path = make(tmp_path / "odd.db", "CREATE TABLE item_tags(item_id, tag); INSERT INTO item_tags VALUES (1, 'x')")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES ('table', 'feeds', 'feeds', 0, 'CREATE VIRTUAL TABLE feeds USING vec0(a)')")
    assert read(path).feeds == {}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("CREATE TABLE items(id); CREATE TABLE feeds(id)", ["no table item_tags", "it has feeds, items"]),
        ("CREATE VIEW v AS SELECT 1", ["no table item_tags", "it has v"]),
        ("CREATE TABLE item_tags(item_id, label)", ["no column tag", "it has item_id, label"]),
        ("CREATE TABLE item_tags(item, tag)", ["no column item_id", "it has item, tag"]),
        ("CREATE VIEW item_tags AS SELECT item_id, tag FROM gone", ["gone"]),
    ],
)
def test_what_is_missing_is_named_with_what_was_found(schema, words, tmp_path):
    path = make(tmp_path / "other.db", schema)
    with pytest.raises(SourceSchema) as caught:
        read(path)
    assert str(path) in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_database_in_utf16_reads_the_same(tmp_path):
    make(tmp_path / "wide.db", "PRAGMA encoding = 'UTF-16le'", SCHEMA, "INSERT INTO item_tags VALUES (1, 'café 机器学习')")
    assert list(read(tmp_path / "wide.db").assignments) == [(1, "café 机器学习")]


values = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(), st.binary(max_size=6))


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(values, values), max_size=8), facts=st.lists(st.tuples(values, values, values, values, values), max_size=4))
def test_any_values_in_any_order_give_the_same_reading(rows, facts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    readings = []
    for name, turn in (("one.db", 1), ("other.db", -1)):
        path = make(
            folder / name,
            "CREATE TABLE item_tags(item_id, tag); CREATE TABLE items(id, title, url, published, feed_id)",
            *[("INSERT INTO item_tags VALUES (?, ?)", row) for row in rows[::turn]],
            *[("INSERT INTO items VALUES (?, ?, ?, ?, ?)", fact) for fact in facts[::turn]],
        )
        readings.append(read(path))
    assert readings[0] == readings[1]
    assert readings[0].fingerprint == HermesSource(folder / "one.db").fingerprint()
    assert list(readings[0].assignments) == sorted(set(readings[0].assignments))
    assert len(readings[0].assignments) + sum(readings[0].skipped.values()) <= len(rows)
