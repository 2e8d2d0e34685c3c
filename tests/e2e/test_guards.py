"""What looks like an accident is refused before anything is written, with the counts and the flag that means yes."""

import json
import os
import shutil

import pytest

from tests.crash.world import stamps
from tests.e2e.conftest import Terminal, contents


@pytest.fixture
def topics(topics):
    """Two groups, so large that both stay communities when one concept leaves."""
    for _ in range(2):
        topics.add("rust", "wasm", "compilers", "llvm")
    return topics


def limits(terminal, **values):
    config = terminal.cwd / "settings.yaml"
    config.write_text("limits:\n  settle_seconds: 0\n" + "".join(f"  {key}: {value}\n" for key, value in values.items()))


def refused(terminal, vault, code, *words):
    """Sync, expect a refusal in one line with these words, and not a byte, inode or time in the vault changed."""
    before = stamps(vault)
    result = terminal.run("sync")
    assert result.exit_code == code, result.output
    assert len(result.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in result.stderr, result.stderr
    assert stamps(vault) == before


def retired(terminal, *flags):
    """Sync and return which concepts' notes left."""
    notes = terminal.json("sync", *flags)["data"]["notes"]
    return [note["path"].split("/", 1)[1] for note in notes if note["state"] == "retired" and note["id"].startswith("concept/")]


def mine(terminal):
    path = terminal.note("web")
    path.write_text(path.read_text() + "\nMine.\n")
    return path


def test_a_source_that_shrank_too_much_is_refused_and_the_flag_says_yes(terminal, topics, vault):
    limits(terminal, max_retire_count=1, max_retire_share=0.2)
    terminal.sync()
    topics.untag("compilers")
    topics.untag("django")
    refused(terminal, vault, 6, "2 of 7 concepts", "--allow-retire", "max_retire_share")
    assert retired(terminal, "--allow-retire") == ["Concepts/compilers.md", "Concepts/django.md"]


def test_a_source_that_shrank_a_little_is_synced(terminal, topics):
    limits(terminal, max_retire_count=1, max_retire_share=0.2)
    terminal.sync()
    topics.untag("compilers")
    assert retired(terminal) == ["Concepts/compilers.md"]


def test_many_may_leave_when_they_are_a_small_share_and_a_large_share_when_they_are_few(terminal, topics):
    limits(terminal, max_retire_count=1, max_retire_share=0.5)
    terminal.sync()
    topics.untag("compilers")
    topics.untag("django")
    assert retired(terminal) == ["Concepts/compilers.md", "Concepts/django.md"]
    limits(terminal, max_retire_count=3, max_retire_share=0)
    topics.untag("llvm")
    assert retired(terminal) == ["Concepts/llvm.md"]


EMPTIED = {
    "its tags are gone": "DELETE FROM item_tags",
    "its items are gone, their tags are not": "UPDATE item_tags SET tag = 't' || rowid",
}


@pytest.mark.parametrize("what", EMPTIED)
def test_a_source_from_which_every_concept_went_is_refused_when(what, terminal, topics, vault):
    terminal.sync()
    kept = mine(terminal)
    before = kept.read_bytes()
    topics.run(EMPTIED[what])
    for _ in range(2):
        refused(terminal, vault, 6, "7 of 7 concepts", "--allow-retire")
    assert kept.read_bytes() == before


def test_a_vault_of_one_concept_pair_is_guarded_too(database, terminal, vault):
    database.run("DELETE FROM item_tags")
    for _ in range(2):
        database.add("a", "b")
    terminal.sync()
    database.run("DELETE FROM item_tags WHERE tag = 'a'")
    refused(terminal, vault, 6, "2 of 2 concepts")


def test_a_setting_that_lets_nothing_pass_is_refused(terminal, vault):
    terminal.sync()
    config = terminal.cwd / "settings.yaml"
    config.write_text(config.read_text() + "graph:\n  min_items: 200\n")
    refused(terminal, vault, 6, "7 of 7 concepts")


def test_a_source_that_is_empty_on_purpose_is_followed_with_the_flag_and_words_are_kept(terminal, topics, vault):
    terminal.sync()
    kept = mine(terminal)
    topics.run("DELETE FROM item_tags")
    terminal.sync("--allow-retire")
    notes = [path for path in contents(vault) if path.endswith(".md")]
    assert notes == ["Knowledge Graph/Concepts/web.md", "Knowledge Graph/Knowledge Graph.md"]
    assert kept.read_text().endswith("Mine.\n")
    for _ in range(2):
        topics.add("web", "python")
    terminal.sync()
    assert "Related concepts" in kept.read_text()
    assert kept.read_text().endswith("Mine.\n")


def test_a_source_that_is_gone_for_a_moment_changes_nothing(terminal, topics, vault):
    terminal.sync()
    mine(terminal)
    away = topics.path.with_name("away.db")
    topics.path.rename(away)
    refused(terminal, vault, 3, "hermes.db")
    assert not topics.path.exists()
    topics.path.write_bytes(b"")
    refused(terminal, vault, 3)
    topics.path.unlink()
    away.rename(topics.path)
    assert sum(terminal.counts()[state] for state in ("created", "retired")) == 0


def test_many_notes_missing_at_once_are_no_deletions_until_the_flag_says_so(terminal, vault):
    limits(terminal, max_missing_count=1, max_missing_share=0.1)
    terminal.sync()
    gone = [terminal.note(name) for name in ("web", "rust")]
    kept = {path: path.read_bytes() for path in gone}
    for path in gone:
        path.unlink()
    refused(terminal, vault, 4, "2 of 10 notes are missing", "--allow-missing", "max_missing_share")
    for path, data in kept.items():
        path.write_bytes(data)
    assert terminal.counts()["identical"] == 10
    for path in gone:
        path.unlink()
    assert terminal.counts("--allow-missing")["created"] == 0
    assert not any(path.exists() for path in gone)
    terminal.sync()
    assert not any(path.exists() for path in gone)


def test_a_vault_that_lost_every_note_is_taken_for_unmounted(terminal, vault):
    terminal.sync()
    for path in list((vault / "Knowledge Graph").rglob("*.md")):
        path.unlink()
    refused(terminal, vault, 4, "10 of 10 notes are missing")


def test_a_vault_folder_that_is_gone_is_not_made_anew(terminal, vault):
    terminal.sync()
    vault.rename(vault.with_name("unmounted"))
    assert terminal.run("sync").exit_code == 4
    assert not vault.exists()
    vault.with_name("unmounted").rename(vault)
    assert terminal.counts()["identical"] == 10


def test_a_note_that_is_not_on_this_disk_yet_is_not_deleted(terminal, topics, vault):
    terminal.sync()
    path = terminal.note("web")
    data = path.read_bytes()
    path.unlink()
    placeholder = path.with_name(".web.md.icloud")
    placeholder.write_bytes(b"bplist00")
    for _ in range(2):
        topics.add("web", "python")
        envelope = terminal.json("sync")
        assert envelope["exit_code"] == 0
        assert envelope["data"]["counts"]["skipped"] == 1
        assert not path.exists()
        assert "[[Knowledge Graph/Concepts/web|web]]" in terminal.note("wasm").read_text()
    placeholder.unlink()
    path.write_bytes(data)
    terminal.sync()
    assert "6 items" in path.read_text()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read anything")
def test_a_folder_that_cannot_be_looked_into_makes_no_deletions(terminal, topics, vault):
    terminal.sync()
    (vault / "Private").mkdir()
    terminal.note("web").rename(vault / "Private" / "web.md")
    (vault / "Private").chmod(0)
    try:
        topics.add("web", "python")
        assert terminal.counts()["skipped"] == 1
        assert not (vault / "Knowledge Graph" / "Concepts" / "web.md").exists()
    finally:
        (vault / "Private").chmod(0o755)
    terminal.sync()
    assert "5 items" in (vault / "Private" / "web.md").read_text()


CORRUPT = {
    "it is cut in half": lambda text: text[: len(text) // 2],
    "it is empty": lambda text: "",
    "it is an empty mapping": lambda text: "{}",
    "it is a list": lambda text: "[]",
    "it is null": lambda text: "null",
    "it is no JSON": lambda text: "hello",
    "it has zeros for text": lambda text: "\0" * len(text),
    "it is newer": lambda text: json.dumps({**json.loads(text), "version": 999}),
    "it has an older version": lambda text: json.dumps({**json.loads(text), "version": 0}),
    "a field is missing": lambda text: json.dumps({key: value for key, value in json.loads(text).items() if key != "communities"}),
    "the entries are a mapping": lambda text: json.dumps({**json.loads(text), "entries": {}}),
    "an entry is short": lambda text: json.dumps({**json.loads(text), "entries": [row[:5] for row in json.loads(text)["entries"]]}),
    "an entry has a state of its own": lambda text: text.replace('"live"', '"undead"', 1),
    "a path is a number": lambda text: json.dumps(
        {**json.loads(text), "entries": [[row[0], 7, *row[2:]] for row in json.loads(text)["entries"]]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CORRUPT)
def test_a_manifest_that_cannot_be_understood_stops_the_run_and_is_rebuilt_without_duplicates_when(what, terminal, topics, vault):
    terminal.sync()
    mine(terminal)
    terminal.note("rust").rename(vault / "Rust.md")
    manifest = vault / ".kg2vault" / "manifest.json"
    manifest.write_text(CORRUPT[what](manifest.read_text()))
    topics.add("web", "python")
    refused(terminal, vault, 5, "manifest.json", "kg2vault sync --rebuild-manifest")
    counts = terminal.counts("--rebuild-manifest")
    assert counts["created"] == 0
    assert len([path for path in contents(vault) if path.endswith(".md")]) == 10
    assert "5 items" in terminal.note("web").read_text()
    assert terminal.note("web").read_text().endswith("Mine.\n")
    assert sum(terminal.counts()[state] for state in ("created", "updated", "retired")) == 0
    assert terminal.run("verify").exit_code == 0


def test_a_lost_manifest_makes_no_duplicates_and_keeps_the_communities(terminal, topics, vault):
    terminal.sync()
    mine(terminal)
    names = {path: data for path, data in contents(vault).items() if "Communities" in path}
    (vault / ".kg2vault" / "manifest.json").unlink()
    counts = terminal.counts()
    assert counts["identical"] == 10
    assert counts["created"] == counts["updated"] == 0
    assert {path: data for path, data in contents(vault).items() if "Communities" in path} == names
    topics.add("web", "python")
    terminal.sync()
    assert terminal.note("web").read_text().endswith("Mine.\n")
    assert len([path for path in contents(vault) if path.endswith(".md")]) == 10


def test_a_lost_manifest_leaves_no_tag_of_a_community_that_the_concept_is_not_in_any_more(terminal, topics, vault):
    terminal.sync()
    path = terminal.note("llvm")
    before = [tag for tag in path.read_text().splitlines() if tag.startswith("tags: ")]
    path.write_text(path.read_text().replace('"kg/concept"', '"mine", "kg/concept"'))
    (vault / ".kg2vault" / "manifest.json").unlink()
    topics.untag("llvm")
    for _ in range(9):
        topics.add("llvm", "python", "django", "web")
    terminal.sync()
    after = [tag for tag in path.read_text().splitlines() if tag.startswith("tags: ")]
    assert before == ['tags: ["kg/concept", "kg/community/wasm"]']
    assert after == ['tags: ["mine", "kg/concept", "kg/community/web"]']


def test_our_whole_state_folder_lost_makes_no_duplicates(terminal, vault):
    terminal.sync()
    before = contents(vault)
    shutil.rmtree(vault / ".kg2vault")
    terminal.sync()
    assert contents(vault) == before


def test_an_edit_in_a_region_is_seen_even_when_the_manifest_was_lost(terminal, topics, vault):
    terminal.sync()
    path = terminal.note("web")
    path.write_text(path.read_text().replace("2 shared items", "two", 1))
    (vault / ".kg2vault" / "manifest.json").unlink()
    topics.add("web", "python")
    assert terminal.json("sync")["data"]["counts"]["conflict"] == 1
    assert "— two" in path.read_text()


def test_a_manifest_of_an_older_day_loses_nothing_and_makes_no_duplicates(terminal, topics, vault):
    terminal.sync()
    manifest = vault / ".kg2vault" / "manifest.json"
    old = manifest.read_bytes()
    for _ in range(2):
        topics.add("rust", "go")
    topics.untag("django")
    terminal.sync()
    mine(terminal)
    terminal.note("rust").rename(vault / "Rust.md")
    terminal.sync()
    manifest.write_bytes(old)
    topics.add("web", "python")
    terminal.run("sync", "--allow-missing")
    ids = [line for data in contents(vault).values() for line in data.splitlines() if line.startswith(b"kg_id")]
    assert len(ids) == len(set(ids))
    assert terminal.note("web").read_text().endswith("Mine.\n")
    assert "go" in {path.stem for path in vault.rglob("*.md")}


def test_without_a_manifest_a_vault_that_cannot_be_read_whole_is_refused(terminal, vault):
    terminal.sync()
    (vault / ".kg2vault" / "manifest.json").unlink()
    terminal.note("web").with_name(".web.md.icloud").write_bytes(b"bplist00")
    terminal.note("web").unlink()
    refused(terminal, vault, 4, "web.md")


def test_a_vault_inside_a_vault_that_is_synced_already_is_refused(terminal, vault):
    terminal.sync()
    inner = Terminal(terminal.db, vault / "Knowledge Graph", terminal.cwd, *terminal.more)
    before = contents(vault)
    envelope = inner.json("sync")
    assert envelope["exit_code"] == 4
    assert f"lies inside the vault {vault}" in envelope["problems"][0]["message"]
    assert contents(vault) == before
    assert terminal.counts()["identical"] == 10


@pytest.mark.parametrize("name", [".photo.png.icloud", ".a.paper.pdf.icloud"])
def test_a_picture_that_is_not_on_this_disk_yet_hides_no_note(name, terminal, topics, vault):
    (vault / name).write_bytes(b"bplist00")
    terminal.sync()
    terminal.note("web").unlink()
    terminal.sync()
    assert terminal.json("conflicts")["data"]["notes"][0]["reason"] == "deleted"
    (vault / ".kg2vault" / "manifest.json").unlink()
    assert terminal.run("sync").exit_code == 0


def test_our_folder_behind_a_link_in_the_vault_is_refused(terminal, vault):
    (vault / "Real").mkdir()
    (vault / "Knowledge Graph").symlink_to("Real")
    envelope = terminal.json("sync")
    assert envelope["exit_code"] == 4
    assert "is a link to" in envelope["problems"][0]["message"]
    assert list((vault / "Real").iterdir()) == []


def test_a_file_in_the_place_of_our_folder_is_refused(terminal, vault):
    (vault / "Knowledge Graph").write_text("mine", encoding="utf-8")
    for flags in ([], ["--dry-run"]):
        envelope = terminal.json("sync", *flags)
        assert envelope["exit_code"] == 4
        assert "is a file, not a folder" in envelope["problems"][0]["message"]
    assert (vault / "Knowledge Graph").read_text(encoding="utf-8") == "mine"


def test_notes_in_a_folder_behind_a_link_are_not_written(terminal, vault):
    (vault / "Real").mkdir()
    (vault / "Knowledge Graph").mkdir()
    (vault / "Knowledge Graph" / "Concepts").symlink_to("../Real")
    envelope = terminal.json("sync")
    assert envelope["exit_code"] == 1
    assert "notes behind a link" in envelope["problems"][0]["message"]
    assert list((vault / "Real").iterdir()) == []


@pytest.mark.parametrize("flag", ["lost", "rebuilt"])
def test_a_concept_that_left_while_the_manifest_was_lost_makes_no_other_note_look_edited(flag, terminal, topics, vault):
    terminal.sync()
    topics.untag("llvm")
    if flag == "lost":
        (vault / ".kg2vault" / "manifest.json").unlink()
    terminal.sync(*(["--rebuild-manifest"] if flag == "rebuilt" else []))
    assert "llvm" not in terminal.note("rust").read_text()
    assert terminal.run("conflicts").exit_code == 0
    problems = terminal.json("verify")["problems"]
    assert {problem["path"] for problem in problems} == {"Knowledge Graph/Concepts/llvm.md"}
    assert "take its kg_id out" in next(problem["hint"] for problem in problems if problem["code"] == "extra-note")
    terminal.note("llvm").unlink()
    assert terminal.run("sync").exit_code == 0
    assert terminal.run("verify").exit_code == 0


def test_a_lost_manifest_keeps_the_label_and_the_tag_of_a_community_that_was_born_with_another(terminal, topics, vault):
    terminal.sync()
    topics.add("web", "django", "asgi")
    topics.add("python", "django", "asgi")
    topics.add("web", "python", "asgi")
    topics.untag("web")
    terminal.sync()
    community = next(path for path in (vault / "Knowledge Graph" / "Communities").iterdir() if path.stem.startswith("web"))
    assert '"kg/community/web"' in community.read_text()
    assert 'kg_name: "web"' not in community.read_text()
    for _ in range(3):
        topics.add("asgi", "rust")
    terminal.sync()
    before = {path: data for path, data in contents(vault).items() if "Communities" in path}
    (vault / ".kg2vault" / "manifest.json").unlink()
    terminal.sync()
    assert {path: data for path, data in contents(vault).items() if "Communities" in path} == before


def test_verify_names_a_note_that_is_out_of_reach_and_no_sync_that_would_not_help(terminal):
    terminal.sync()
    path = terminal.note("web")
    path.rename(path.with_name(".web.md.icloud"))
    assert {problem["hint"].split(" is there")[0] for problem in terminal.json("verify")["problems"]} == {"Knowledge Graph/Concepts/web.md"}
    path.with_name(".web.md.icloud").rename(path.with_name("web.txt"))
    path.symlink_to("web.txt")
    assert "as a link" in terminal.json("verify")["problems"][0]["hint"]


def test_a_sync_that_could_write_nothing_does_not_say_that_it_wrote_the_others(terminal, vault):
    (vault / "Knowledge Graph").mkdir()
    for name in ("Concepts", "Communities"):
        (vault / "Knowledge Graph" / name).write_text("mine", encoding="utf-8")
    first = terminal.json("sync")
    assert {problem["hint"] for problem in first["problems"]} == {"The other notes were written; the next sync tries this one again."}
    second = terminal.json("sync")
    assert {problem["hint"] for problem in second["problems"]} == {"No note was written; mend that, and the next sync tries again."}
    assert second["data"]["counts"]["failed"] == 9


def test_notes_that_could_not_be_read_are_told_in_one_line(terminal, vault):
    terminal.sync()
    for name in ("web", "rust", "python"):
        path = terminal.note(name)
        path.rename(path.with_name(f".{name}.md.icloud"))
    for _ in range(2):
        envelope = terminal.json("sync")
        (problem,) = envelope["problems"]
        assert (envelope["exit_code"], problem["code"]) == (0, "skipped")
        assert problem["message"].startswith("3 notes were left as before: ")
        assert "Concepts/python.md" in problem["message"]


def test_our_folder_moved_while_the_manifest_was_lost_and_a_concept_left_makes_no_note_look_edited(terminal, topics, vault):
    terminal.sync()
    (vault / "Knowledge Graph").rename(vault / "Topics")
    (vault / ".kg2vault" / "manifest.json").unlink()
    topics.untag("llvm")
    terminal.sync()
    assert "[[Topics/Concepts/wasm|wasm]]" in terminal.note("rust").read_text()
    assert "llvm" not in terminal.note("rust").read_text()
    assert terminal.counts("--full") == {**dict.fromkeys(terminal.counts(), 0), "identical": 9}
