"""Notes are the user's to move, rename, copy and delete; what is not ours is nobody's business of ours."""

import os
import re
import shutil
import unicodedata

import pytest

from tests.crash.world import stamps
from tests.e2e.conftest import contents


def change_source(topics):
    topics.add("web", "python")


def links_to(terminal, name, target):
    return f"[[{target}|" in terminal.note(name).read_text()


def move(terminal, name, target, *, rewrite=None):
    """Move a note; with `rewrite`, as Obsidian does it: every link in the vault to it becomes `rewrite`."""
    old, new = terminal.note(name), terminal.vault / target
    linked = old.relative_to(terminal.vault).as_posix().removesuffix(".md")
    new.parent.mkdir(parents=True, exist_ok=True)
    old.rename(new)
    if rewrite is not None:
        for path in terminal.vault.rglob("*.md"):
            text = path.read_text()
            changed = text.replace(f"[[{linked}|", f"[[{rewrite}|")
            if changed != text:
                path.write_text(changed)
    return new


PLACES = [
    "Areas/Dev/Web things.md", "web.md", "Knowledge Graph/Concepts/World wide web.md", "Knowledge Graph/Communities/web.md",
    "日本/ウェブ.md", "a.b/c.d.md",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_note_moved_outside_obsidian_is_followed_and_linked_at_its_new_place(place, terminal, topics, vault):
    terminal.sync()
    new = move(terminal, "web", place)
    for run in range(3):
        change_source(topics)
        terminal.sync()
        assert f"{5 + run} items" in new.read_text()
        assert [path for path in vault.rglob("*.md") if 'kg_id: "concept/web"' in path.read_text()] == [new]
        target = place if "." in place.removesuffix(".md").rsplit("/", 1)[-1] else place.removesuffix(".md")
        assert links_to(terminal, "wasm", target)
        assert not links_to(terminal, "wasm", "Knowledge Graph/Concepts/web")
    assert terminal.run("verify").exit_code == 0


def test_a_note_moved_outside_obsidian_is_linked_at_its_new_place_without_news_from_the_source(terminal):
    terminal.sync()
    move(terminal, "web", "Areas/Web.md")
    terminal.sync()
    for name in ("python", "django", "wasm"):
        assert links_to(terminal, name, "Areas/Web"), name
    assert terminal.run("verify").exit_code == 0


@pytest.mark.parametrize("rewrite", ["The web", "Areas/The web", "../../Areas/The web"])
def test_the_links_that_obsidian_rewrites_after_a_rename_are_no_edit(rewrite, terminal, topics, vault):
    terminal.sync()
    new = move(terminal, "web", "Areas/The web.md", rewrite=rewrite)
    before = contents(vault)
    counts = terminal.counts()
    assert counts["conflict"] == 0
    assert {path: data for path, data in contents(vault).items() if b"%%" not in data} == {
        path: data for path, data in before.items() if b"%%" not in data
    }
    change_source(topics)
    terminal.sync()
    assert "5 items" in new.read_text()
    assert terminal.run("verify").exit_code == 0


def test_links_that_obsidian_rewrote_and_that_still_lead_there_are_not_rewritten_back(terminal, vault):
    terminal.sync()
    move(terminal, "web", "Areas/The web.md", rewrite="The web")
    terminal.sync()
    before = stamps(vault)
    terminal.sync()
    assert stamps(vault) == before


def test_a_community_note_that_was_renamed_is_followed(terminal, topics, vault):
    terminal.sync()
    old = sorted((vault / "Knowledge Graph" / "Communities").glob("*.md"))[0]
    new = old.with_name("My field.md")
    old.rename(new)
    change_source(topics)
    terminal.sync()
    assert sorted(path.name for path in new.parent.iterdir()).count("My field.md") == 1
    assert len(list(new.parent.iterdir())) == 2
    assert terminal.run("verify").exit_code == 0


def test_our_whole_folder_moved_is_followed(terminal, topics, vault):
    terminal.sync()
    (vault / "Archive").mkdir()
    (vault / "Knowledge Graph").rename(vault / "Archive" / "KG")
    change_source(topics)
    terminal.sync()
    assert not (vault / "Knowledge Graph").exists()
    assert len(list((vault / "Archive" / "KG").rglob("*.md"))) == 9
    assert terminal.run("verify").exit_code == 0


def test_a_note_whose_letter_case_changed_is_the_same_note(terminal, topics, vault):
    terminal.sync()
    new = move(terminal, "web", "Knowledge Graph/Concepts/WEB.md")
    change_source(topics)
    terminal.sync()
    assert "5 items" in new.read_text()
    assert len(list(new.parent.iterdir())) == 6


def test_a_name_that_a_sync_tool_decomposed_is_the_same_note(database, vault, tmp_path, terminal):
    for _ in range(2):
        database.add("café", "web")
    terminal.sync()
    old = terminal.note("café")
    new = old.with_name(unicodedata.normalize("NFD", old.name))
    old.rename(new)
    database.add("café", "web")
    terminal.sync()
    assert [path for path in old.parent.iterdir() if path.name.startswith("caf")] == [new]
    assert "3 items" in new.read_text()
    assert terminal.run("verify").exit_code == 0


def test_of_two_notes_with_one_id_the_one_we_know_wins_and_the_other_is_reported_and_untouched(terminal, topics, vault):
    terminal.sync()
    original = terminal.note("web")
    copies = [vault / "0 first.md", original.with_name("web (conflict 2026-01-01).md"), vault / "Z" / "web.md"]
    for copy in copies:
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(original, copy)
        copy.write_text(copy.read_text() + "\nmine\n")
    before = [copy.read_bytes() for copy in copies]
    for run in range(3):
        change_source(topics)
        envelope = terminal.json("sync")
        assert envelope["data"]["counts"]["duplicate"] == 3
        reported = {problem["path"] for problem in envelope["problems"] if problem["code"] == "duplicate"}
        assert reported == {copy.relative_to(vault).as_posix() for copy in copies}
        assert [copy.read_bytes() for copy in copies] == before
        assert f"{5 + run} items" in original.read_text()


def test_when_the_known_one_of_two_goes_the_other_takes_its_place(terminal, topics, vault):
    terminal.sync()
    original = terminal.note("web")
    shutil.copyfile(original, vault / "copy.md")
    terminal.sync()
    original.unlink()
    change_source(topics)
    terminal.sync()
    assert "5 items" in (vault / "copy.md").read_text()
    assert not original.exists()


@pytest.mark.parametrize("hidden", [False, True])
def test_which_of_two_wins_does_not_depend_on_the_order_of_the_disk(hidden, terminal, topics, vault):
    terminal.sync()
    original = terminal.note("web")
    for name in ("b.md", "a.md") if hidden else ("a.md", "b.md"):
        shutil.copyfile(original, vault / name)
    original.unlink()
    change_source(topics)
    terminal.run("sync")
    assert "5 items" in (vault / "a.md").read_text()
    assert "4 items" in (vault / "b.md").read_text()


def test_a_note_the_user_deleted_stays_deleted_and_links_to_it_become_words(terminal, topics, vault):
    terminal.sync()
    gone = terminal.note("web")
    gone.unlink()
    for _ in range(3):
        counts = terminal.counts()
        assert counts["created"] == 0
        assert not gone.exists()
        for name in ("python", "django", "wasm"):
            text = terminal.note(name).read_text()
            assert "Concepts/web|" not in text
            assert "- web — " in text
        topics.add("web", "python")
    assert not [path for path in vault.rglob("*.md") if 'kg_id: "concept/web"' in path.read_text()]


@pytest.mark.parametrize("name", ["Knowledge Graph", "community"])
def test_a_home_or_community_note_the_user_deleted_stays_deleted(name, terminal, topics, vault):
    terminal.sync()
    gone = vault / "Knowledge Graph" / "Knowledge Graph.md"
    if name == "community":
        gone = sorted((vault / "Knowledge Graph" / "Communities").glob("*.md"))[0]
    gone.unlink()
    for _ in range(2):
        topics.add("web", "python")
        terminal.sync()
        assert not gone.exists()
    for path in vault.rglob("*.md"):
        assert f"[[{gone.relative_to(vault).as_posix().removesuffix('.md')}" not in path.read_text()


def test_a_deleted_note_stays_deleted_when_its_concept_leaves_and_returns(terminal, topics):
    terminal.sync()
    gone = terminal.note("compilers")
    gone.unlink()
    terminal.sync()
    topics.untag("compilers")
    terminal.sync()
    for _ in range(2):
        topics.add("rust", "compilers")
    for _ in range(2):
        terminal.sync()
        assert not list(terminal.vault.rglob("compilers*.md"))


def test_a_deleted_note_that_is_put_back_by_hand_is_ours_again_with_its_links(terminal, topics):
    terminal.sync()
    path = terminal.note("web")
    kept = path.read_bytes() + b"\nmine\n"
    path.unlink()
    terminal.sync()
    path.write_bytes(kept)
    change_source(topics)
    terminal.sync()
    assert "5 items" in path.read_text()
    assert path.read_text().endswith("\nmine\n")
    assert links_to(terminal, "wasm", "Knowledge Graph/Concepts/web")
    assert terminal.run("verify").exit_code == 0


def test_a_note_from_which_the_user_took_the_id_is_theirs_and_stays_deleted_for_us(terminal, topics):
    terminal.sync()
    path = terminal.note("web")
    path.write_text(re.sub(r"(?m)^kg_id.*\n", "", path.read_text()))
    before = path.read_bytes()
    for _ in range(2):
        change_source(topics)
        terminal.sync()
        assert path.read_bytes() == before
        assert path.parent.joinpath("web (concept).md").exists() is False


def strangers(vault):
    """Files of others in and around our folder, some at the very places our notes would take."""
    folder = vault / "Knowledge Graph" / "Concepts"
    folder.mkdir(parents=True)
    (folder / "python.md").write_text("My own note on snakes.\n")
    (folder / "DJANGO.MD").write_text("---\ntitle: Reinhardt\n---\nJazz.\n")
    (folder / "web.md").mkdir()
    (folder / "web.md" / "spider.txt").write_text("eight legs")
    (folder / "rust.md").write_bytes(b"")
    (vault / "real.md").write_text("the real one\n")
    (folder / "wasm.md").symlink_to(vault / "real.md")
    (folder / "compilers.md").symlink_to(vault / "nowhere.md")
    (folder / "README.md").write_text("readme\n")
    (folder / "mine.canvas").write_text("{}")
    (folder / ".DS_Store").write_bytes(b"\x00\x01")
    (folder / "python (conflict).md").write_text("a conflict copy of something\n")
    (folder / "python.md.tmp").write_text("somebody's temporary file")
    (folder / ".python.md.swp").write_text("an editor's")
    (vault / "Knowledge Graph" / "Knowledge Graph.md").write_text("my own home\n")
    (vault / ".obsidian" / "app.json").write_text("{}")
    (vault / ".trash").mkdir()
    (vault / ".trash" / "web.md").write_text('---\nkg_id: "concept/web"\n---\n')


def test_files_of_others_are_never_written_moved_or_removed_and_our_notes_take_other_names(terminal, topics, vault):
    strangers(vault)
    before = stamps(vault)
    for _ in range(3):
        terminal.sync()
        after = stamps(vault)
        for path, state in before.items():
            if not (vault / path).is_dir():
                assert after[path] == state, path
            assert (vault / path).is_symlink() == (path.rsplit("/", 1)[-1] in ("wasm.md", "compilers.md"))
        change_source(topics)
    folder = vault / "Knowledge Graph" / "Concepts"
    for name in ("python", "django", "web", "rust", "wasm", "compilers"):
        text = (folder / f"{name} (concept).md").read_text()
        assert f'kg_id: "concept/{name}"' in text
    assert (vault / "real.md").read_text() == "the real one\n"
    assert "[[Knowledge Graph/Concepts/wasm (concept)|wasm]]" in (folder / "web (concept).md").read_text()
    terminal.sync()
    assert terminal.run("verify").exit_code == 0


def test_a_concept_that_leaves_takes_nothing_of_others_with_it(terminal, topics, vault):
    strangers(vault)
    terminal.sync()
    before = stamps(vault)
    topics.untag("compilers")
    terminal.sync()
    after = stamps(vault)
    gone = {path for path in before.keys() - after.keys() if "Communities" not in path}
    assert gone == {"Knowledge Graph/Concepts/compilers (concept).md"}
    for path in vault.rglob("*.md"):
        if path.is_file() and ".kg2vault" not in path.parts:
            assert "compilers (concept)" not in path.read_text()


def test_a_name_that_the_user_took_elsewhere_in_the_vault_is_not_taken_twice(terminal, vault):
    (vault / "Diary").mkdir()
    (vault / "Diary" / "Web.md").write_text("my own\n")
    terminal.sync()
    assert 'kg_id: "concept/web"' in terminal.note("web (concept)").read_text()


def test_a_symlinked_folder_is_not_followed(terminal, topics, vault, tmp_path):
    terminal.sync()
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copyfile(terminal.note("web"), outside / "web copy.md")
    (vault / "Link").symlink_to(outside)
    before = (outside / "web copy.md").read_bytes()
    terminal.note("web").unlink()
    change_source(topics)
    terminal.sync()
    assert (outside / "web copy.md").read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_note_keeps_the_permissions_that_the_user_gave_it(terminal, topics):
    terminal.sync()
    terminal.note("web").chmod(0o600)
    change_source(topics)
    terminal.sync()
    assert terminal.note("web").stat().st_mode & 0o777 == 0o600


def test_tags_that_differ_only_in_case_or_in_unicode_form_get_names_that_differ(database, vault, tmp_path, terminal):
    config = terminal.cwd / "case.yaml"
    config.write_text("spelling:\n  case: false\nlimits:\n  settle_seconds: 0\n")
    terminal.more = ("--config", str(config))
    for _ in range(2):
        database.add("C#", "c#", "café", "cafe\u0301", "References", "references", "Straße", "STRASSE")
    terminal.sync()
    keys = [unicodedata.normalize("NFC", path.name).casefold() for path in vault.rglob("*.md")]
    assert len(keys) == len(set(keys))
    assert terminal.run("verify").exit_code == 0


HOSTILE = [
    "../../x", "/etc/x", "a\\..\\b", "..", "C:\\x", "con", "nul.txt", "~/.ssh/x", "???", "...", "#", "🚀", "   x   ", "\u200b",
    "机器学习", "한글", "x" * 300, "a/b", "aux.c",
]  # fmt: skip


def test_no_tag_leads_a_note_out_of_its_folder_or_to_a_name_without_letters(database, vault, terminal, tmp_path):
    for tag in HOSTILE:
        for _ in range(2):
            database.add(tag, "hub", "spoke")
    before = stamps(tmp_path)
    terminal.sync()
    folder = vault / "Knowledge Graph" / "Concepts"
    new = {path for path in stamps(tmp_path) if path not in before and not path.startswith(("vault/", "home/"))}
    assert new == set()
    names = [path.name for path in folder.iterdir()]
    assert len(names) == len({name.casefold() for name in names}) >= 2 + len(HOSTILE) - 2
    for name in names:
        assert name.endswith(".md")
        assert len(name.encode()) <= 255
        assert name[0] not in ". "
    assert "机器学习.md" in names
    assert "한글.md" in names
    assert terminal.run("verify").exit_code == 0


def test_two_notes_that_swapped_names_behind_obsidians_back_are_no_conflict(terminal):
    terminal.sync()
    one, other = terminal.note("rust"), terminal.note("web")
    spare = one.with_name("spare.md")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)
    counts = terminal.counts()
    assert counts["conflict"] == 0
    assert terminal.run("verify").exit_code == 0
    assert terminal.counts()["updated"] == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "\n" + text,
        lambda text: "a word of mine\n" + text,
        lambda text: text.replace("---\n", "--\n", 1),
        lambda text: text.replace("---\n", "---\n- a\n", 1),
    ],
    ids=["blank line first", "text first", "first rule broken", "no mapping"],
)
@pytest.mark.parametrize("flags", [(), ("--full",)])
def test_a_note_whose_id_cannot_be_read_any_more_is_damaged_and_not_deleted(spoil, flags, terminal, topics):
    terminal.sync()
    path = terminal.note("rust")
    whole = path.read_text()
    path.write_bytes(spoil(whole).encode())
    spoiled = path.read_bytes()
    for _ in range(3):
        topics.add("rust", "wasm")
        result = terminal.run("sync", *flags)
        assert result.exit_code == 1, result.output
        assert "rust.md" in result.stderr
        assert path.read_bytes() == spoiled
        assert "Concepts/rust|rust]]" in terminal.note("wasm").read_text()
    assert terminal.json("conflicts")["data"]["notes"][0]["reason"] == "damaged"
    path.write_text(whole)
    terminal.sync()
    assert terminal.run("verify").exit_code == 0


@pytest.mark.parametrize("name", ["web", "web (community)"])
def test_verify_tells_how_a_deleted_note_comes_back_whatever_it_is_called_by_now(name, terminal, topics):
    terminal.sync()
    path = terminal.note(name)
    path.unlink()
    terminal.sync()
    for _ in range(9):
        topics.add("WEB", "wasm")
    terminal.sync()
    problems = [problem for problem in terminal.json("verify")["problems"] if problem["code"] == "missing-note"]
    assert len(problems) == 1
    assert "kg2vault restore" in problems[0]["hint"]
    assert terminal.run("restore", path.name).exit_code == 0
    assert terminal.run("verify").exit_code == 0


def test_a_new_note_goes_to_our_folder_however_its_letters_are_written_by_now(terminal, topics, vault):
    terminal.sync()
    (vault / "Knowledge Graph").rename(vault / "knowledge graph")
    (vault / "knowledge graph" / "Concepts").rename(vault / "knowledge graph" / "CONCEPTS")
    terminal.sync()
    for _ in range(2):
        topics.add("web", "zig")
    terminal.sync()
    assert terminal.note("zig").relative_to(vault).as_posix() == "knowledge graph/CONCEPTS/zig.md"
    assert not (vault / "Knowledge Graph").exists()
    assert terminal.run("verify").exit_code == 0


def test_verify_says_where_the_copy_of_a_note_is_whose_community_left(terminal, topics, vault):
    terminal.sync()
    (vault / "Copy.md").write_bytes(terminal.note("wasm (community)").read_bytes())
    for tag in ("rust", "compilers"):
        topics.untag(tag)
    terminal.sync()
    problem = next(problem for problem in terminal.json("verify")["problems"] if problem["code"] == "extra-note")
    assert problem["path"] == "Copy.md"
    assert "take its kg_id out" in problem["hint"]


def test_links_to_a_moved_note_are_mended_in_a_region_whose_digest_is_not_right(terminal):
    terminal.sync()
    path = terminal.note("wasm")
    path.write_text(re.sub(r"begin concept [0-9a-f]{8}", "begin concept 00000000", path.read_text()))
    move(terminal, "web", "Areas/Web.md")
    terminal.sync()
    assert links_to(terminal, "wasm", "Areas/Web")
    assert terminal.run("verify").exit_code == 0


@pytest.mark.parametrize("news", [False, True])
@pytest.mark.parametrize("lost", ["manifest.json", "."])
def test_links_to_a_copy_that_was_the_note_until_the_manifest_was_lost_are_no_edit(lost, news, terminal, topics, vault):
    terminal.sync()
    original = terminal.note("web")
    text = original.read_text()
    move(terminal, "web", "Areas/Copy.md")
    terminal.sync()
    assert links_to(terminal, "wasm", "Areas/Copy")
    original.write_text(text)  # put back from a backup
    gone = vault / ".kg2vault" / lost
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    if news:
        change_source(topics)
    counts = terminal.json("sync")["data"]["counts"]
    assert counts["conflict"] == 0
    assert counts["duplicate"] == 1
    assert links_to(terminal, "wasm", "Knowledge Graph/Concepts/web")
    assert terminal.counts()["updated"] == 0
