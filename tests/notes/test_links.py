"""Which edges are links, and how their weight shows to other programs: `config.links` in a real vault."""

import re
from collections import Counter

import pytest

from kg2vault.vault.linkscan import parse_links
from kg2vault.vault.note import parse
from tests.conftest import corpus
from tests.e2e.conftest import Terminal, tree


@pytest.fixture
def wheel(database):
    """A hub with six spokes of weights 2 to 7, and a light rim."""
    for number in range(6):
        for _ in range(number + 2):
            database.add("hub", f"spoke{number}")
    for number in range(6):
        for _ in range(2):
            database.add(f"spoke{number}", f"spoke{(number + 1) % 6}")
    return database


def related(path):
    """Return the lines of a note's related concepts."""
    text = path.read_text(encoding="utf-8")
    return [line for line in text.partition("## Related concepts\n")[2].split("%%", 1)[0].split("\n") if line.startswith("- ")]


def test_a_backbone_leaves_the_other_neighbours_in_words_in_the_same_list(wheel, with_settings):
    terminal = with_settings("links:\n  backbone: topk\n  top_k: 1\n")
    terminal.sync()
    lines = related(terminal.note("spoke0"))
    assert [re.sub(r"\[\[.*?\|(.*?)\]\]", r"[[\1]]", line) for line in lines] == [
        "- [[hub]] — 2 shared items",
        "- spoke1 — 2 shared items",
        "- spoke5 — 2 shared items",
    ]
    assert len(related(terminal.note("hub"))) == 6
    assert terminal.run("verify").exit_code == 0


@pytest.mark.parametrize("backbone", ["topk\n  top_k: 3", "disparity\n  alpha: 0.2"])
def test_both_ends_agree_on_what_is_a_link_and_no_concept_is_without(backbone, tmp_path, vault, no_aliases):
    config = tmp_path / "settings.yaml"
    config.write_text(f"links:\n  backbone: {backbone}\n", encoding="utf-8")
    terminal = Terminal(corpus("jser", tmp_path), vault, tmp_path, "--aliases", str(no_aliases), "--config", str(config))
    terminal.sync()
    ends, words = set(), 0
    for path in (vault / "Knowledge Graph" / "Concepts").glob("*.md"):
        here = f"Knowledge Graph/Concepts/{path.stem}"
        targets = [parse_links(line) for line in related(path)]
        assert any(targets)
        ends |= {(here, found[0].target.removesuffix(".md")) for found in targets if found}
        words += sum(not found for found in targets)
    assert all((there, here) in ends for here, there in ends)
    assert len(ends) + words == 2 * 2299
    assert words > len(ends)
    assert terminal.run("verify").exit_code == 0


BREAKAGES = {
    "a weight in words is wrong": ("- spoke1 — 2", "- spoke1 — 3", "wrong-weight"),
    "a name in words is gone": ("- spoke1 — 2 shared items\n", "", "missing-name"),
    "a link too many": ("- spoke1 — 2", "- [[Knowledge Graph/Concepts/spoke1|spoke1]] — 2", "extra-link"),
    "a link became words": ("[[Knowledge Graph/Concepts/hub|hub]] — 2", "hub — 2", "missing-link"),
}


@pytest.mark.parametrize("what", BREAKAGES)
def test_verify_knows_the_backbone_and_names_it_when(what, wheel, with_settings):
    terminal = with_settings("links:\n  backbone: topk\n  top_k: 1\n")
    terminal.sync()
    old, new, code = BREAKAGES[what]
    path = terminal.note("spoke0")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert code in {problem["code"] for problem in terminal.json("verify")["problems"]}


def test_dataview_gets_a_field_whose_number_is_still_the_first_after_the_link(wheel, with_settings):
    terminal = with_settings("links:\n  dataview: true\n  backbone: topk\n  top_k: 1\n")
    terminal.sync()
    lines = related(terminal.note("spoke0"))
    assert lines[0].endswith("|hub]] — (weight:: 2) shared items")
    assert lines[1] == "- spoke1 — (weight:: 2) shared items"
    assert terminal.run("verify").exit_code == 0


def test_bands_are_link_properties_that_together_hold_every_link_once(wheel, with_settings):
    terminal = with_settings("links:\n  bands: true\n")
    terminal.sync()
    properties = parse(terminal.note("hub").read_text(encoding="utf-8")).properties
    links = [link for name in ("kg_strong", "kg_medium", "kg_weak") for link in properties.get(name, [])]
    assert links == [f"[[Knowledge Graph/Concepts/spoke{n}|spoke{n}]]" for n in (5, 4, 3, 2, 1, 0)]
    assert properties["kg_medium"] == links[:3]
    assert "kg_strong" not in properties


def test_bands_stay_from_run_to_run_and_go_when_they_are_turned_off(wheel, with_settings, vault):
    terminal = with_settings("links:\n  bands: true\n")
    terminal.sync()
    before = tree(vault)
    terminal.sync()
    assert tree(vault) == before
    with_settings("").sync()
    assert "kg_weak" not in terminal.note("hub").read_text(encoding="utf-8")


def test_strong_links_are_repeated_where_they_count_and_do_not_show(wheel, with_settings):
    terminal = with_settings("links:\n  repeat: 3\n")
    terminal.sync()
    text = terminal.note("hub").read_text(encoding="utf-8")
    found = Counter(link.target.rsplit("/", 1)[-1] for link in parse_links(text) if "Concepts/" in link.target)
    assert found == {"spoke0": 2, "spoke1": 2, "spoke2": 3, "spoke3": 3, "spoke4": 3, "spoke5": 3}
    hidden = [line for line in text.split("\n") if line.startswith("%% [[")]
    assert len(hidden) == 1
    assert hidden[0].endswith("]] %%")
    assert terminal.run("verify").exit_code == 0
    assert terminal.counts()["updated"] == 0


def test_size_is_a_whole_number_extended_graph_can_read(wheel, with_settings):
    terminal = with_settings("links:\n  size: true\n")
    terminal.sync()
    assert "\nkg_size: 100\n" in terminal.note("hub").read_text(encoding="utf-8")
    assert "\nkg_size: 80\n" in terminal.note("spoke0").read_text(encoding="utf-8")


def test_by_default_nothing_is_added_that_disturbs_backlinks(wheel, with_settings, vault):
    terminal = with_settings("")
    terminal.sync()
    text = terminal.note("hub").read_text(encoding="utf-8")
    assert not any(sign in text for sign in ("weight::", "kg_strong", "kg_weak", "kg_size", "%% [["))
    targets = Counter(link.target for link in parse_links(text.partition("## Related concepts")[2]) if "Concepts/" in link.target)
    assert set(targets.values()) == {1}
    assert sorted(path.name for path in (vault / "Knowledge Graph").iterdir() if path.is_dir()) == ["Communities", "Concepts"]
