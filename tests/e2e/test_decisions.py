"""What a person decides: conflicts, resolve, restore, trash."""

import pytest

MINE = "- my own reading of this, in your list\n"


@pytest.fixture
def conflict(terminal, topics):
    """A note edited inside our region whose body then changed."""
    terminal.sync()
    path = terminal.note("web")
    path.write_text(path.read_text().replace("## Related concepts\n", f"## Related concepts\n{MINE}"))
    topics.add("web", "wasm")
    return path


def test_a_conflict_is_listed_with_why_since_when_and_the_way_out(terminal, conflict):
    before = conflict.read_bytes()
    synced = terminal.run("sync")
    assert synced.exit_code == 1
    assert "Concepts/web.md" in synced.stderr
    assert "resolve NOTE" in synced.stderr
    envelope = terminal.json("conflicts")
    assert envelope["exit_code"] == 1
    (note,) = envelope["data"]["notes"]
    assert note["path"].endswith("Concepts/web.md")
    assert note["reason"] == "conflict"
    assert note["since"].startswith("20")
    assert "--mine" in note["way_out"]
    first = note["since"]
    terminal.run("sync")
    assert terminal.json("conflicts")["data"]["notes"][0]["since"] == first
    assert MINE in conflict.read_text()
    assert conflict.read_bytes().count(MINE.encode()) == before.count(MINE.encode())


def test_every_sync_says_of_a_conflict_what_it_is(terminal, conflict, topics):
    for news in ((), (), ("web", "wasm"), ()):
        if news:
            topics.add(*news)
        (problem,) = terminal.json("sync")["problems"]
        assert problem["message"].split(": ", 1)[1] in ("edited by you inside our region (concept)", "other parts of the note were updated")


def test_mine_keeps_the_text_and_lets_go_of_the_region_for_good(terminal, conflict, topics):
    terminal.run("sync")
    result = terminal.run("resolve", "web", "--mine")
    assert result.exit_code == 0, result.output
    text = conflict.read_text()
    assert MINE in text
    assert "kg2vault:begin concept" not in text
    assert "kg2vault:begin items" in text
    topics.add("web", "wasm")
    assert terminal.counts()["conflict"] == 0
    assert "kg2vault:begin concept" not in conflict.read_text()
    assert MINE in conflict.read_text()
    assert terminal.run("conflicts").exit_code == 0


def test_generated_puts_our_text_back(terminal, conflict):
    assert terminal.run("resolve", "web", "--generated").exit_code == 0
    assert MINE not in conflict.read_text()
    assert "wasm]] — 3 shared items" in conflict.read_text()
    assert terminal.run("verify").exit_code == 0


def test_both_keeps_the_text_below_and_generates_the_region_again(terminal, conflict):
    assert terminal.run("resolve", str(conflict.relative_to(terminal.vault)), "--both").exit_code == 0
    text = conflict.read_text()
    assert text.index("kg2vault:end concept") < text.index(MINE)
    assert "wasm]] — 3 shared items" in text[: text.index("kg2vault:end concept")]
    assert terminal.run("verify").exit_code == 0
    assert terminal.counts()["updated"] == 0


def test_a_deleted_note_is_restored_on_request_with_the_links_to_it(terminal):
    terminal.sync()
    path = terminal.note("wasm")
    path.unlink()
    terminal.sync()
    assert not path.exists()
    assert "[[Knowledge Graph/Concepts/wasm" not in terminal.note("web").read_text()
    listed = terminal.json("conflicts")
    assert listed["exit_code"] == 0
    assert listed["data"]["notes"][0]["reason"] == "deleted"
    assert terminal.run("restore", "wasm").exit_code == 0
    assert path.exists()
    assert "[[Knowledge Graph/Concepts/wasm|wasm]]" in terminal.note("web").read_text()
    assert terminal.run("verify").exit_code == 0


def test_a_removed_region_is_restored_on_request(terminal):
    terminal.sync()
    path = terminal.note("wasm")
    text = path.read_text()
    start, end = text.index("%% kg2vault:begin items"), text.index("%% kg2vault:end items %%")
    path.write_text(text[:start] + text[end + len("%% kg2vault:end items %%\n") :])
    terminal.sync()
    assert "kg2vault:begin items" not in path.read_text()
    assert terminal.run("restore", "wasm").exit_code == 0
    assert "kg2vault:begin items" in path.read_text()


def test_a_name_that_means_no_note_is_refused_with_those_that_could_be_meant(terminal, conflict):
    result = terminal.run("resolve", "nonesuch", "--mine")
    assert result.exit_code == 2
    assert "Concepts/web.md" in result.stderr
    assert terminal.run("restore", "web").exit_code == 2


@pytest.mark.parametrize("choices", [(), ("--mine", "--generated"), ("--both", "--mine")])
def test_resolve_with_no_choice_or_two_is_a_usage_error_and_changes_nothing(choices, terminal, conflict):
    before = conflict.read_bytes()
    assert terminal.run("resolve", "web", *choices).exit_code == 2
    assert conflict.read_bytes() == before


def test_the_trash_is_emptied_only_on_request(terminal, topics):
    terminal.sync()
    topics.untag("django")
    terminal.sync("--allow-retire")
    assert "django.md" in terminal.json("trash", "list")["data"]["notes"]
    terminal.sync()
    trash = terminal.vault / ".kg2vault" / "trash" / "django.md"
    assert trash.exists()
    assert terminal.run("trash", "empty").exit_code == 0
    assert not trash.exists()


def test_a_damaged_note_is_listed_until_it_is_mended(terminal):
    terminal.sync()
    path = terminal.note("rust")
    whole = path.read_text()
    path.write_text(whole.replace("%% kg2vault:end concept %%", "%% kg2vault:end %%"))
    assert terminal.run("sync").exit_code == 1
    assert terminal.json("conflicts")["data"]["notes"][0]["reason"] == "damaged"
    path.write_text(whole)
    assert terminal.run("sync").exit_code == 0
    assert terminal.run("conflicts").exit_code == 0


@pytest.mark.parametrize("choice", ["--generated", "--both"])
def test_a_conflict_is_settled_although_links_in_it_lead_nowhere_any_more(choice, terminal):
    terminal.sync()
    path = terminal.note("web (community)")
    path.write_text(path.read_text().replace("## Concepts\n", f"## Concepts\n{MINE}"))
    assert terminal.run("sync").exit_code == 1
    terminal.note("python").rename(terminal.vault / "Python as I call it.md")
    assert terminal.run("sync").exit_code == 1
    result = terminal.run("resolve", path.stem, choice)
    assert result.exit_code == 0, result.output
    assert path.read_text().count(MINE) == (choice == "--both")
    assert "[[Python as I call it|python]]" in path.read_text()
    assert terminal.run("conflicts").exit_code == 0
    assert terminal.counts()["conflict"] == 0
