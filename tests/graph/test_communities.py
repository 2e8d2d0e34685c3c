"""Groups of concepts, and how they keep their identity from run to run."""

import pytest

from kg2vault.graph.communities import Partition, PreviousCommunity, fresh_partition, modularity, partition_of
from tests.graph.small import build, clique, linked, reading, windmill


def before(*communities):
    """Return an earlier partition of other edges; each community is (id, name, members), its label the first member."""
    return Partition("of other edges", tuple(PreviousCommunity(i, name, members[0], tuple(members)) for i, name, members in communities))


def names(graph):
    return {community.id: community.name for community in graph.communities}


def members(graph):
    return [set(community.members) for community in graph.communities]


A, B = [f"a{i}" for i in range(5)], [f"b{i}" for i in range(5)]
TWO_CLIQUES = [*clique("a", 5), *clique("b", 5), ("a0", "b0")]
# One clique of ten: whatever the partition was, it is one community now.
MERGED = [(x, y) for x in A + B for y in A + B if x < y]


@pytest.mark.parametrize("triangles", [2, 3, 5, 8])
def test_a_hub_joined_to_triangles_gives_a_community_for_each_and_the_hub_is_in_one(triangles):
    graph = build(linked(*windmill(triangles)))
    assert len(graph.communities) == triangles
    assert sorted(len(community.members) for community in graph.communities) == [3] * (triangles - 1) + [4]
    assert sum("hub" in community.members for community in graph.communities) == 1


def test_the_label_is_the_member_of_highest_degree_then_strength_then_key():
    graph = build(linked(*clique("b", 5), *clique("far", 7), ("b1", "x"), ("b3", "y"), ("b4", "z"), ("b3", "b0")))
    community = next(community for community in graph.communities if "b0" in community.members)
    # b1, b3 and b4 have five neighbours; b3 is the stronger one, and b1 comes before b4.
    assert community.members == ("b3", "b1", "b4", "b0", "b2", "x", "y", "z")
    assert (community.label, community.name) == ("b3", "b3")


def test_small_groups_and_isolated_concepts_are_in_no_community():
    rows = reading(*[(a, b) for a, b, _ in clique("a", 3)] * 2, *[("x", "y")] * 2, *[("alone",)] * 2)
    graph = build(rows, include_isolated=True)
    assert members(graph) == [{"a0", "a1", "a2"}]
    assert len(build(rows, community_min_size=2).communities) == 2


def test_a_first_run_depends_on_the_rows_alone():
    first, second = build(linked(*TWO_CLIQUES)), build(linked(*reversed(TWO_CLIQUES)))
    assert first.communities == second.communities
    assert all(len(community.id) == 8 and int(community.id, 16) >= 0 for community in first.communities)


def test_unchanged_edges_keep_the_communities_as_they_are():
    rows = linked(*TWO_CLIQUES)
    standing = partition_of(build(rows))
    odd = Partition(standing.edges_digest, before(("11111111", "Odd", [*A, "b4"]), ("22222222", "Even", B[:4])).communities)
    graph = build(rows, previous=odd)
    assert names(graph) == {"11111111": "Odd", "22222222": "Even"}
    assert members(graph) == [{*A, "b4"}, set(B[:4])]
    assert partition_of(graph).communities == tuple(
        PreviousCommunity(c.id, c.name, c.label, c.members) for c in sorted(graph.communities, key=lambda c: c.id)
    )


def test_a_weight_alone_moves_nobody_but_an_edge_or_a_setting_is_a_reason_to_look_again():
    rows = linked(*TWO_CLIQUES)
    standing = partition_of(build(rows))
    odd = Partition(standing.edges_digest, before(("11111111", "Odd", [*A, "b4"]), ("22222222", "Even", B[:4])).communities)
    assert members(build(linked(*TWO_CLIQUES, ("a0", "a1")), previous=odd)) == [{*A, "b4"}, set(B[:4])]
    for graph in (build(linked(*TWO_CLIQUES, ("a0", "b1")), previous=odd), build(rows, previous=odd, resolution=1.1)):
        assert members(graph) == [set(A), set(B)]
        assert names(graph) == {"11111111": "Odd", "22222222": "Even"}


def test_one_more_item_keeps_ids_and_names_even_when_sizes_swap():
    first = build(linked(*clique("a", 6), *clique("b", 5), ("a0", "b0")))
    grown = build(linked(*clique("a", 5), *clique("b", 8), ("a0", "b0")), previous=partition_of(first))
    assert [len(community.members) for community in grown.communities] == [8, 5]
    assert names(grown) == names(first)
    assert [community.name for community in grown.communities] == ["b0", "a0"]


def test_the_larger_part_of_a_split_keeps_the_identity():
    rows = linked(*clique("a", 6), *clique("b", 4))
    graph = build(rows, previous=before(("11111111", "Both", [*(f"b{i}" for i in range(4)), *(f"a{i}" for i in range(6))])))
    large, small = graph.communities
    assert (large.id, large.name, large.label) == ("11111111", "Both", "a0")  # b0, the label so far, has left
    assert small.id != "11111111"
    assert small.name == "b0"


def test_a_merge_keeps_the_identity_of_the_larger_one():
    graph = build(linked(*MERGED), previous=before(("11111111", "Small", A[:4]), ("22222222", "Large", [*B, "a4"])))
    assert names(graph) == {"22222222": "Large"}


def test_stragglers_do_not_carry_a_name_into_another_topic():
    """Nine of ten members of Topic are gone from the graph; the tenth joined a large group, of which most were in Other."""
    earlier = before(("11111111", "Topic", ["a0", *(f"gone{i}" for i in range(9))]), ("22222222", "Other", ["a1", "a2", "a3"]))
    graph = build(linked(*clique("a", 5)), previous=earlier)
    assert names(graph) == {"22222222": "Other"}


def test_a_few_members_that_went_elsewhere_found_a_new_identity():
    earlier = before(("11111111", "Topic", [*A, "b0"]), ("22222222", "Other", [*(f"c{i}" for i in range(6)), "b1", "b2"]))
    graph = build(linked(*clique("a", 5), *clique("b", 5), *clique("c", 6)), previous=earlier)
    born = next(community for community in graph.communities if "b0" in community.members)
    assert set(names(graph)) == {"11111111", "22222222", born.id}
    assert len(set(names(graph))) == 3


def test_the_label_changes_only_when_its_member_leaves_and_the_name_not_even_then():
    first = before(("11111111", "Old name", ["a3", "a1", "a2"]))
    edges = [*clique("a", 5), ("a0", "x"), *clique("far", 7)]
    stays = build(linked(*edges), previous=first)
    assert [(c.name, c.label) for c in stays.communities if c.id == "11111111"] == [("Old name", "a3")]
    leaves = build(linked(*[edge for edge in edges if "a3" not in edge]), previous=partition_of(stays))
    assert [(c.name, c.label) for c in leaves.communities if c.id == "11111111"] == [("Old name", "a0")]


@pytest.mark.parametrize("taken", ["b0", "B0"])
def test_two_communities_never_share_a_name(taken):
    earlier = before(("11111111", taken, A))  # born when b0 was its best connected member
    graph = build(linked(*TWO_CLIQUES), previous=earlier)
    assert sorted(names(graph).values()) == sorted([taken, "b0, b1"])


def test_an_id_is_never_given_twice_even_to_the_same_founders():
    founded = build(linked(*clique("a", 5)))
    (first,) = founded.communities
    wandered = before((first.id, first.name, B))  # its members are all new ones by now
    graph = build(linked(*TWO_CLIQUES), previous=wandered)
    assert {community.id for community in graph.communities if "b1" in community.members} == {first.id}
    assert len({community.id for community in graph.communities}) == 2
    assert build(linked(*TWO_CLIQUES), previous=wandered) == graph


def test_a_community_that_came_apart_is_split_although_it_was_one():
    graph = build(linked(*clique("a", 4), *clique("b", 4)), previous=before(("11111111", "Both", [*A[:4], *B[:4]])), stickiness=5.0)
    assert sorted(map(sorted, members(graph))) == [A[:4], B[:4]]


def test_reclustering_starts_afresh_and_still_carries_names_over():
    rows = linked(*TWO_CLIQUES)
    digest = partition_of(build(rows)).edges_digest
    odd = Partition(digest, before(("11111111", "Odd", [*A, *B[:2]]), ("22222222", "Even", B[2:])).communities)
    graph = build(rows, previous=odd, recluster=True)
    assert members(graph) == [set(A), set(B)]
    assert names(graph) == {"11111111": "Odd", "22222222": "Even"}


def test_members_the_graph_no_longer_has_are_dropped():
    graph = build(linked(*clique("a", 4)), previous=before(("11111111", "Topic", [*A[:4], "gone", "gone too"])))
    assert members(graph) == [set(A[:4])]
    assert graph.communities[0].id == "11111111"
    assert build(reading(), previous=partition_of(graph)).communities == ()


def test_modularity_of_two_triangles_and_a_bridge():
    """Seven edges of one weight, six of them inside, each side with half of the ends: 6/7 - 2 * (1/2)²."""
    graph = build(linked(*clique("a", 3), *clique("b", 3), ("a0", "b0")))
    assert modularity(graph, partition_of(graph)) == pytest.approx(6 / 7 - 1 / 2)
    assert modularity(graph, fresh_partition(graph)) == pytest.approx(6 / 7 - 1 / 2)
    assert modularity(graph, Partition("", ())) == pytest.approx(-4 * (2 / 14) ** 2 - 2 * (3 / 14) ** 2)
    assert modularity(build(reading()), Partition("", ())) == 0.0
