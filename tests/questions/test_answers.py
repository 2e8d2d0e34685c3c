"""Answers worked out on paper, the same ones from the command, the module and the MCP tool."""

import pytest

from kg2vault import kg


def named(rows, *facts):
    return [tuple(row[fact] for fact in ("name", *facts)) for row in rows]


def test_neighbours_are_direct_and_heaviest_first(keeper, conn, tools):
    expected = [("elk", 4, 1), ("cat", 2, 1), ("fox", 2, 1)]
    for rows in (
        keeper.json("neighbors", "dog")["data"]["neighbors"],
        kg.neighbors(conn, "dog"),
        tools.kg_neighbors("dog")["neighbors"],
    ):
        assert named(rows, "weight", "distance") == expected
    assert named(kg.neighbors(conn, "dog", limit=1), "weight") == [("elk", 4)]
    limited = tools.kg_neighbors("dog", limit=1)
    assert len(limited["neighbors"]) == 1
    assert limited["count"] == 3


@pytest.mark.parametrize(
    ("ends", "expected", "weights"),
    [
        (("ant", "fox"), ["ant", "cat", "dog", "fox"], [2, 2, 2]),
        (("fox", "ant"), ["fox", "dog", "cat", "ant"], [2, 2, 2]),
        (("gnu", "hen"), ["gnu", "hen"], [2]),
        (("ant", "ant"), ["ant"], []),
    ],
)
def test_a_path_is_the_shortest_one(keeper, conn, tools, ends, expected, weights):
    data = keeper.json("path", *ends)["data"]
    tool = tools.kg_path(*ends)
    assert data["path"] == kg.shortest_path(conn, *ends) == tool["path"] == expected
    assert data["weights"] == tool["weights"] == weights
    assert data["length"] == tool["length"] == len(weights)
    assert data["connected"]


def test_two_concepts_in_different_components_have_no_path_and_that_is_no_error(keeper, conn, tools):
    envelope = keeper.json("path", "ant", "hen")
    assert envelope["exit_code"] == 0
    assert (envelope["data"]["path"], envelope["data"]["length"], envelope["data"]["connected"]) == ([], None, False)
    assert kg.shortest_path(conn, "ant", "hen") is None
    tool = tools.kg_path("ant", "hen")
    assert tool["ok"]
    assert (tool["path"], tool["connected"]) == ([], False)
    assert "no path" in tool["message"]
    assert "no path" in keeper.run("path", "ant", "hen").stdout


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("degree", [("cat", 3), ("dog", 3), ("ant", 2), ("bee", 2), ("elk", 2), ("fox", 2), ("gnu", 1), ("hen", 1)]),
        ("strength", [("dog", 8), ("cat", 6), ("elk", 6), ("ant", 5), ("bee", 5), ("fox", 4), ("gnu", 2), ("hen", 2)]),
        # cat lies between {ant, bee} and {dog, elk, fox}: 2 x 3 pairs; dog between {ant, bee, cat} and {elk, fox}: 3 x 2
        ("betweenness", [("cat", 6), ("dog", 6), ("ant", 0), ("bee", 0), ("elk", 0), ("fox", 0), ("gnu", 0), ("hen", 0)]),
    ],
)
def test_central_concepts_are_ranked_ties_by_name(keeper, conn, tools, metric, expected):
    for rows in (
        keeper.json("central", "--metric", metric, "--limit", "50")["data"]["concepts"],
        kg.central(conn, metric, limit=50),
        tools.kg_central(metric, 50)["concepts"],
    ):
        assert named(rows, "score") == expected
    assert named(kg.central(conn, metric, limit=2), "score") == expected[:2]


def test_betweenness_is_also_given_as_the_share_the_notes_show(tools):
    first = tools.kg_central("betweenness", 1)["concepts"][0]
    assert first["share"] == pytest.approx(6 / 21)  # of the 7 * 6 / 2 pairs of other concepts


def test_pagerank_of_a_lonely_pair_is_its_share_of_the_graph(keeper, conn, tools):
    # Within a component of two, nothing flows in or out: each holds 1/8.
    for rows in (
        keeper.json("central", "--metric", "pagerank", "--limit", "50")["data"]["concepts"],
        kg.central(conn, "pagerank", 50),
        tools.kg_central("pagerank", 50)["concepts"],
    ):
        score = {row["name"]: row["score"] for row in rows}
        assert score["gnu"] == score["hen"] == pytest.approx(0.125)
        assert sum(score.values()) == pytest.approx(1)
        assert rows[0]["name"] == "dog"


def test_communities_are_the_two_triangles(keeper, conn, tools):
    expected = {("cat", 3, ("cat", "ant", "bee")), ("dog", 3, ("dog", "elk", "fox"))}
    for rows in (keeper.json("communities")["data"]["communities"], kg.communities(conn), tools.kg_communities()["communities"]):
        assert {(row["label"], row["size"], tuple(row["members"])) for row in rows} == expected


def test_small_communities_are_found_when_asked_for(keeper, conn, tools):
    for rows in (
        keeper.json("communities", "--min-size", "2")["data"]["communities"],
        kg.communities(conn, min_size=2),
        tools.kg_communities(2)["communities"],
    ):
        assert [row["size"] for row in rows] == [3, 3, 2]
        assert (rows[2]["label"], list(rows[2]["members"])) == ("gnu", ["gnu", "hen"])
    assert tools.kg_communities(4)["communities"] == kg.communities(conn, min_size=4) == []


def test_communities_can_be_asked_of_a_graph_in_hand(conn):
    graph = kg.build_graph(kg.tag_assignments(conn))
    assert kg.communities(None, 3, graph=graph) == kg.communities(conn, 3)
    with pytest.raises(TypeError, match="a connection or a graph"):
        kg.communities(None)


def test_concepts_are_listed_with_those_on_most_items_first(keeper, conn, tools):
    expected = [("dog", 9), ("ant", 6), ("cat", 6), ("elk", 6), ("bee", 5), ("fox", 5), ("gnu", 2), ("hen", 2)]
    answer = tools.kg_concepts()
    assert named(answer["concepts"], "items") == named(keeper.json("concepts")["data"]["concepts"], "items") == expected
    assert kg.concepts(conn) == [name for name, _ in expected]
    assert {row["community"] for row in answer["concepts"]} == {"cat", "dog", ""}
    assert [row["name"] for row in tools.kg_concepts("E")["concepts"]] == ["elk"]
    assert tools.kg_concepts("", 2)["count"] == 8


def test_health_is_what_was_counted_on_paper(keeper, conn, tools):
    expected = {
        "nodes": 8,
        "edges": 8,
        "distinct_tags": 9,
        "singleton_rate": round(1 / 9, 4),
        "degree_1_pct": 25.0,
        "median_degree": 2.0,
        "max_degree": 3,
        "hub_dominance_pct": 37.5,
        "communities": 2,
        "largest_community_pct": 37.5,
    }
    found = kg.health(conn)
    assert {name: found[name] for name in expected} == expected
    assert found == keeper.json("health")["data"]["health"] == tools.kg_health()["health"]


def test_what_is_no_concept_is_in_no_answer(keeper, conn):
    """A tag on one item and a pair on one item are not in the graph."""
    adjacency, weights = kg.build_graph(kg.tag_assignments(conn))
    assert "yak" not in adjacency
    assert ("ant", "fox") not in weights
    assert "fox" not in adjacency["ant"]
    assert keeper.json("neighbors", "yak")["exit_code"] == 2


def test_an_empty_database_gives_empty_answers(database, tmp_path, vault):
    from tests.questions.conftest import make_terminal, settings_for, tools_for

    terminal, tools = make_terminal(database.path, vault, tmp_path), tools_for(settings_for(database.path, tmp_path))
    for command in ("central", "communities", "concepts", "health"):
        assert terminal.json(command)["ok"]
    assert tools.kg_central("betweenness")["concepts"] == tools.kg_communities()["communities"] == []
    assert tools.kg_health()["health"]["nodes"] == 0
    assert not tools.kg_neighbors("ant")["ok"]
