"""What the notes of communities and the home note tell."""

import re

import pytest

from tests.graph.small import clique, linked
from tests.notes.desk import lines_of, notes_of

SOURCE = linked(*clique("a", 4, 3), *clique("b", 5, 2), ("a1", "b2", 4))


def community(notes, member):
    return next(note for note in notes.values() if note.kind == "community" and f"[[concept/{member}|" in "\n".join(lines_of(note)))


def below(note, heading):
    lines = lines_of(note)
    start = lines.index(f"## {heading}") + 1
    end = next((at for at in range(start, len(lines)) if lines[at] == ""), len(lines))
    return lines[start:end]


def test_one_line_says_what_a_community_is_about():
    note = community(notes_of(SOURCE), "a0")
    lines = lines_of(note)
    assert lines[0] == "4 concepts · density 1"
    assert re.fullmatch(r"About a\d, a\d, a\d and a\d\.", lines[1])
    assert lines[1].startswith(f"About {note.name}")


def test_the_strongest_ties_inside_come_first_and_the_bridges_name_the_concepts_between():
    notes = notes_of(linked(*clique("a", 4, 3), ("a2", "a3", 2), *clique("b", 5, 2), ("a1", "b2", 4)))
    note = community(notes, "a0")
    assert below(note, "Strongest ties")[0] == "- [[concept/a2|a2]] – [[concept/a3|a3]] — 5 shared items"
    other = community(notes, "b0")
    assert below(note, "Bridges to other communities") == [f"- [[{other.id}|{other.name}]] — 4 shared items, all between a1 and b2"]


@pytest.mark.parametrize(("more", "said"), [(0, "all"), (3, "most"), (4, "strongest")])
def test_a_bridge_says_how_much_of_it_its_strongest_link_is(more, said):
    ties = [("a1", "b2", 4), *([("a0", "b0", min(more, 3))] if more else []), *([("a3", "b3", 2)] if more > 3 else [])]
    note = community(notes_of(linked(*clique("a", 4, 9), *clique("b", 5, 9), *ties)), "a0")
    assert below(note, "Bridges to other communities")[0].endswith(f", {said} between a1 and b2")


def test_all_members_are_listed_and_no_concept_of_another_community_is_linked():
    note = community(notes_of(SOURCE), "b0")
    linked_ids = set(re.findall(r"\[\[concept/(\w+)\|", "\n".join(lines_of(note))))
    assert linked_ids == {f"b{n}" for n in range(5)}
    assert (note.properties["kg_members"], note.properties["kg_density"]) == (5, 1.0)


def test_the_home_note_has_the_whole_graph_at_a_glance():
    notes = notes_of(SOURCE)
    home = notes["home"]
    assert lines_of(home)[0].startswith("9 concepts · 17 edges · 2 communities · from ")
    sizes = [re.search(r"— (\d) concepts: ", line)[1] for line in below(home, "Communities")]
    assert sizes == ["5", "4"]
    assert below(home, "Most connected")[0].endswith(" links")
    bridges = below(home, "Best bridges")
    assert [re.search(r"concept/(\w+)", line)[1] for line in bridges] == ["b2", "a1"]
    assert bridges[0].endswith("— betweenness 0.57, between b2 and a1")
    assert bridges[1].endswith("— betweenness 0.54, between a1 and b2")
    assert lines_of(home)[1].startswith("Health: ")


def test_what_is_new_is_counted_from_the_newest_item_not_from_today():
    home = notes_of(SOURCE)["home"]
    heading = next(line for line in lines_of(home) if line.startswith("## New in the 30 days up to 2026-01-28: "))
    assert heading.endswith(" items")
    assert len(below(home, heading.removeprefix("## "))) == 10


def test_concept_and_home_note_show_one_betweenness():
    from kg2vault.vault.render import Before

    before = Before({"concept/a1": {"betweenness": "0.55"}})
    notes = notes_of(SOURCE, before=before)
    assert notes["concept/a1"].properties["kg_betweenness"] == 0.55
    assert "[[concept/a1|a1]] — betweenness 0.55" in "\n".join(lines_of(notes["home"]))
