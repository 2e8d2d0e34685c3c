"""What a concept's note tells: when it was read about, where it leads, what would fit."""

import re

import pytest

from kg2vault.graph.model import Item, Reading
from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.sparkline import last_year, sparkline, timeline
from tests.graph.small import clique, linked
from tests.notes.desk import lines_of, notes_of, reading

TWO_CLIQUES = linked(*clique("a", 4), *clique("b", 4), ("a0", "b0", 2))


def line(note, start):
    found = [text for text in lines_of(note) if text.startswith(start)]
    assert len(found) <= 1
    return found[0] if found else None


def test_bars_show_each_year_against_the_best_and_a_year_without_items_lies_flat():
    days = ["2019-05-01"] * 7 + ["2021-01-01"] + ["2022-06-30"] * 4
    assert timeline(days) == "Seen from 2019-05-01 to 2022-06-30 · items per year █▁▂▅"


def test_a_short_time_is_told_by_the_month():
    assert timeline(["2026-01-31", "2025-11-01", "2025-11-02"]) == "Seen from 2025-11-01 to 2026-01-31 · items per month █▁▅"
    assert timeline(["2024-01-01", "2025-12-31"]).count("month") == 1
    assert timeline(["2024-01-01", "2026-01-01"]).count("year") == 1


def test_a_single_day_and_a_single_month_need_no_bars():
    assert timeline(["2026-01-31"]) == "Seen on 2026-01-31"
    assert timeline(["2026-01-31", "2026-01-01"]) == "Seen from 2026-01-01 to 2026-01-31"
    assert timeline([]) == ""


def test_a_stray_date_does_not_draw_two_thousand_bars():
    drawn = timeline(["0001-01-01", "2026-01-01"]).rpartition(" ")[2]
    assert len(drawn) == 40


def test_only_zero_is_the_lowest_bar():
    assert sparkline([0, 1, 1000]) == "▁▂█"
    assert sparkline([]) == ""


def test_the_recent_year_ends_with_the_concepts_own_newest_item():
    assert last_year(["2020-03-01", "2021-03-01", "2021-03-02", "2022-03-01"]) == 2
    assert last_year(["2024-02-29", "2023-02-28"]) == 1


def test_an_item_that_nobody_dated_is_not_on_the_timeline():
    items = {1: Item(1, "One", published="2026-02-30"), 2: Item(2, "Two", published=""), 3: Item(3, "Three", published="2026-01-05 10:00")}
    rows = [(number, tag) for number in items for tag in ("x", "y")]
    note = notes_of(Reading(rows, items, {}))["concept/x"]
    assert line(note, "Seen") == "Seen on 2026-01-05"
    assert note.properties["kg_first"] == note.properties["kg_last"] == "2026-01-05"


def test_a_concept_between_two_groups_names_its_neighbour_in_the_other():
    notes = notes_of(TWO_CLIQUES)
    assert line(notes["concept/a0"], "Bridges") == "Bridges to other communities: b0"
    assert line(notes["concept/a1"], "Bridges") is None


def test_what_shares_neighbours_without_a_link_is_suggested_in_words():
    notes = notes_of(TWO_CLIQUES)
    fits = line(notes["concept/b0"], "Shares neighbours")
    assert fits == "Shares neighbours with, but no link yet: a1 · a2 · a3"
    assert not parse_links(fits)


def test_a_suggestion_stays_until_another_fits_clearly_better():
    from kg2vault.vault.render import Before

    spokes = [("hub", f"s{n}") for n in range(6)]
    source = linked(*spokes)
    first = notes_of(source)["concept/s0"].kept["fits"].split("\n")
    assert first == ["s1", "s2", "s3"]
    before = Before({"concept/s0": {"fits": "s4\ns5\ns3"}})
    kept = notes_of(source, before=before)["concept/s0"].kept["fits"].split("\n")
    assert kept == ["s3", "s4", "s5"]
    closer = linked(*spokes, ("s0", "mid"), ("mid", "s1"))
    assert "s1" in notes_of(closer, before=before)["concept/s0"].kept["fits"].split("\n")


@pytest.mark.parametrize(
    "hostile", ["[[Diary]]", "%% kg2vault:end concept %%", "<% tp.system %>", "`= dv.x`", "![](http://x/y.png)", "#tag"]
)
def test_a_name_in_words_links_and_runs_nothing(hostile):
    source = linked((hostile, "hub"), ("hub", "other"), ("hub", "third"))
    note = notes_of(source)["concept/other"]
    told = line(note, "Shares neighbours")
    assert not parse_links(told)
    assert not any(sign in re.sub(r"\\.", "", told) for sign in ("<%", "%%", "`", "[", "]", "#"))


def test_a_number_stays_as_shown_while_it_is_about_right():
    from kg2vault.vault.numbers import steady

    assert steady(0.01234, None, 0.0001) == 0.012
    assert steady(0.0129, "0.012", 0.0001) == 0.012
    assert steady(0.0134, "0.012", 0.0001) == 0.013
    assert steady(0.00014, "0.0001", 0.0001) == 0.0001
    assert steady(0.0, "0.012", 0.0001) == 0.0
    assert steady(0.0123456, None, 0.01) == 0.01
    assert steady(0.5, "rubbish", 0.0001) == 0.5
    for value in (0.0, 0.00004, 0.00006, 0.0155, 0.99, 1.0):
        once = steady(value, None, 0.0001)
        assert steady(value, repr(once), 0.0001) == once


def test_an_isolated_concept_has_a_note_without_a_list():
    note = notes_of(reading(("alone",), ("alone",)), include_isolated=True)["concept/alone"]
    assert lines_of(note) == ["2 items · linked to 0 concepts", "Seen from 2026-01-02 to 2026-01-03"]
