"""`kg2vault.kg` means what the reader's own module meant (its documentation is the contract)."""

import sqlite3
from contextlib import closing

import pytest

from kg2vault import kg


def items(*tags_of_items):
    return [(number, tag) for number, tags in enumerate(tags_of_items, 1) for tag in tags]


def test_a_tag_used_once_is_absent_and_one_used_twice_is_present():
    adjacency, weights = kg.build_graph(items(("x1", "x2", "once"), ("x1", "x2")))
    assert adjacency == {"x1": {"x2"}, "x2": {"x1"}}
    assert weights == {("x1", "x2"): 2}


def test_a_pair_on_one_item_only_is_no_edge():
    adjacency, weights = kg.build_graph(items(("x1", "x2"), ("x1", "x2"), ("x1", "x3"), ("x3", "x2"), ("x3", "x4"), ("x3", "x4")))
    assert "x3" not in adjacency["x1"]
    assert weights == {("x1", "x2"): 2, ("x3", "x4"): 2}


def test_aliases_merge_before_the_filter():
    """Neither spelling is on two items, together they are."""
    adjacency, weights = kg.build_graph(items(("machine-learning", "x1"), ("machinelearning", "x1")))
    assert adjacency == {"machine-learning": {"x1"}, "x1": {"machine-learning"}}
    assert weights == {("machine-learning", "x1"): 2}


def test_a_merged_concept_has_the_neighbours_of_every_spelling():
    pairs = items(*[("machine-learning", "x1")] * 2, *[("machinelearning", "x2")] * 2, *[("ml", "x3")] * 2)
    adjacency, _ = kg.build_graph(pairs)
    assert adjacency["machine-learning"] == {"x1", "x2", "x3"}


def test_the_order_of_assignments_does_not_matter():
    pairs = items(*[("b1", "a1", "c1")] * 3, *[("c1", "d1")] * 2)
    assert kg.build_graph(pairs) == kg.build_graph(reversed(pairs)) == kg.build_graph(pairs * 2)
    assert list(kg.build_graph(reversed(pairs))[0]) == ["a1", "b1", "c1", "d1"]


@pytest.mark.parametrize(
    ("tag", "canonical"),
    [
        ("machinelearning", "machine-learning"),
        ("llm", "large-language-models"),
        ("llms", "large-language-models"),
        ("language-models", "large-language-models"),
        ("nlp", "natural-language-processing"),
        ("transformer", "transformers"),
        # folding merges onto named spellings only
        ("Machine_Learnings", "machine-learning"),
        # identity for everything the table does not know: nothing is renamed
        ("agentic-workflows", "agentic-workflows"),
        ("diabetes", "diabetes"),
        ("stochastic-processes", "stochastic-processes"),
        ("mixture-of-experts", "mixture-of-experts"),
        ("scaling-laws", "scaling-laws"),
        ("C++", "c++"),
        ("  ", ""),
    ],
)
def test_canonical_is_a_function_of_the_tag(tag, canonical):
    assert kg.canonical(tag) == canonical
    assert kg.canonical(canonical) == canonical


def test_conceptual_neighbours_are_never_merged():
    names = {kg.canonical(tag) for tag in ("deep-neural-networks", "neural-networks", "deep-learning", "machine-learning")}
    assert len(names) == 4


def test_the_alias_table_and_the_thresholds_can_be_set(monkeypatch):
    pairs = items(*[("x1", "x2")] * 2)
    monkeypatch.setitem(kg.ALIASES, "x1", "y1")
    assert kg.canonical("x1") == "y1"
    assert set(kg.build_graph(pairs)[0]) == {"x2", "y1"}
    monkeypatch.setattr(kg, "MIN_EDGE_WEIGHT", 3)
    assert kg.build_graph(pairs) == ({}, {})
    monkeypatch.setattr(kg, "MIN_EDGE_WEIGHT", 1)
    monkeypatch.setattr(kg, "MIN_TAG_USES", 3)
    assert kg.build_graph(pairs) == ({}, {})


def as_dict(cursor, row):
    return dict(zip((column[0] for column in cursor.description), row, strict=True))


@pytest.mark.parametrize("factory", [None, sqlite3.Row, as_dict])
def test_any_row_factory_will_do_and_is_left_in_place(zoo, factory):
    with closing(sqlite3.connect(zoo.path)) as plain, closing(sqlite3.connect(zoo.path)) as conn:
        conn.row_factory, conn.text_factory = factory, bytes
        for ask in (
            kg.tag_assignments,
            kg.health,
            kg.central,
            kg.communities,
            kg.fingerprint,
            kg.is_stale,
            lambda c: kg.neighbors(c, "dog"),
            lambda c: kg.shortest_path(c, "ant", "fox"),
            kg.rebuild,
        ):
            assert ask(conn) == (ask(plain) if ask is not kg.rebuild else kg.rebuild(plain) | {"changed": True})
            assert conn.row_factory is factory
            assert conn.text_factory is bytes


def test_assignments_are_every_pair_once(conn, zoo):
    zoo.run("INSERT INTO item_tags VALUES (1, '  ')")
    pairs = kg.tag_assignments(conn)
    assert pairs == sorted(set(pairs))
    assert len(pairs) == 2 * (19 + 2)
    assert pairs[0] == (1, "ant")


def test_an_unknown_concept_has_no_neighbours_and_no_path_is_claimed_for_it(conn):
    assert kg.neighbors(conn, "unicorn") == []
    with pytest.raises(ValueError, match="No concept is called 'unicorn'"):
        kg.shortest_path(conn, "ant", "unicorn")


def test_an_unknown_metric_is_refused_with_the_valid_ones(conn):
    with pytest.raises(ValueError, match="degree, betweenness, strength, pagerank"):
        kg.central(conn, metric="beauty")


@pytest.mark.parametrize(
    ("typed", "node"),
    [
        ("reinforcement learning", "reinforcement-learning"),
        ("Reinforcement Learning", "reinforcement-learning"),
        ("reinforcement-learning", "reinforcement-learning"),
        ("LLM", "large-language-models"),
        ("Large Language Model", "large-language-models"),
        ("python", "Python"),
        ("quantum chemistry", "quantum chemistry"),  # unchanged: an unknown concept is still refused
    ],
)
def test_a_typed_name_becomes_a_node(typed, node):
    adjacency = {name: set() for name in ("reinforcement-learning", "large-language-models", "Python")}
    assert kg.resolve_query(typed, adjacency) == node


@pytest.mark.parametrize(("kind", "way"), [("concept", r"kg\.concepts\(\)"), ("tag", r"kg\.concepts\(prefix=")])
def test_a_refusal_names_the_tool_that_helps(kind, way):
    members = {"large-language-models", "yak"}
    assert kg.resolve_or_raise("llm", members, kind=kind) == "large-language-models"
    assert kg.resolve_or_raise("YAK", members, kind=kind) == "yak"
    with pytest.raises(ValueError, match=f"unknown {kind} 'gnu'.*{way}"):
        kg.resolve_or_raise("gnu", members, kind=kind)


def test_the_module_follows_its_connection(conn, zoo):
    assert kg.shortest_path(conn, "ant", "hen") is None
    for _ in range(2):
        zoo.add("hen", "fox")
    assert kg.shortest_path(conn, "ant", "hen") == ["ant", "cat", "dog", "fox", "hen"]


def test_what_is_read_is_of_one_moment(conn, zoo):
    """Another program commits between two of the statements; neither does the caller's connection stay in a transaction."""
    zoo.run("PRAGMA journal_mode = wal")
    before = kg.fingerprint(conn)

    def interfere(statement):
        if statement.startswith("SELECT max(rowid)"):
            conn.set_trace_callback(None)
            zoo.add("ant", "hen")

    conn.set_trace_callback(interfere)
    assert kg.fingerprint(conn) == before
    assert not conn.in_transaction
    assert kg.fingerprint(conn) != before


@pytest.mark.parametrize("ask", [kg.health, kg.fingerprint, kg.is_stale, kg.communities, lambda conn: kg.neighbors(conn, "dog")])
def test_a_transaction_of_the_callers_is_neither_ended_nor_undone(conn, zoo, ask):
    conn.execute("INSERT INTO item_tags VALUES (1, 'hen')")
    ask(conn)
    assert conn.in_transaction
    conn.rollback()
    assert (1, "hen") not in kg.tag_assignments(conn)


def test_a_query_that_is_being_read_goes_on(conn):
    cursor = conn.execute("SELECT tag FROM item_tags ORDER BY rowid")
    first = cursor.fetchone()
    kg.health(conn)
    assert [first, *cursor.fetchall()] == conn.execute("SELECT tag FROM item_tags ORDER BY rowid").fetchall()


def test_nodes_of_a_graph_in_hand_that_differ_in_case_stay_apart():
    adjacency = {"Go": {"go"}, "go": {"Go", "x1"}, "x1": {"go"}}
    (group,) = kg.communities(None, graph=(adjacency, {("Go", "go"): 2, ("go", "x1"): 2}))
    assert (group["label"], group["members"]) == ("go", ["go", "Go", "x1"])
    assert kg.resolve_query("Go", adjacency) == "Go"
    assert kg.resolve_query("X1", adjacency) == "x1"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_leaves_nothing_leaves_nothing(conn, limit):
    assert kg.neighbors(conn, "dog", limit) == kg.central(conn, limit=limit) == kg.concepts(conn, limit=limit) == []
    assert len(kg.neighbors(conn, "dog", 10**30)) == 3
