"""From hermes.db to a vault, and back: what `sync` and `verify` promise."""

import random
import re
import sqlite3
import subprocess
import sys

import pytest

from tests.conftest import Database, corpus
from tests.e2e.conftest import Terminal, contents, tree


def test_a_first_sync_writes_one_note_per_concept_and_community_and_a_home_note(terminal, vault):
    result = terminal.sync()
    assert result.stdout.startswith("6 concepts, 7 edges, 2 communities: 9 created, 0 updated, 0 identical, 0 retired")
    notes = {path.relative_to(vault / "Knowledge Graph").as_posix() for path in (vault / "Knowledge Graph").rglob("*.md")}
    assert {f"Concepts/{name}.md" for name in ("python", "django", "web", "rust", "wasm", "compilers")} < notes
    assert "Knowledge Graph.md" in notes
    assert sum(note.startswith("Communities/") for note in notes) == 2


def test_a_first_sync_imports_nothing_that_only_other_commands_or_later_syncs_need(terminal):
    script = (
        "import sys; from kg2vault.cli import command_group\n"
        "try:\n    command_group(sys.argv[1:])\nexcept SystemExit:\n    print(*sys.modules)"
    )
    call = [sys.executable, "-c", script, *terminal.options, "sync"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=terminal.cwd, check=True)
    assert "9 created" in done.stdout
    loaded = set(done.stdout.splitlines()[-1].split())
    ours = {name.removeprefix("kg2vault.") for name in loaded if name.startswith("kg2vault.")}
    assert not ours & {"deciding", "starting", "verifying", "vault.readback", "vault.compare", "sync.recover"}
    assert not ours & {"sync.merge", "vault.note", "vault.linkscan", "vault.item_notes", "vault.canvas"}
    assert not loaded & {"socket", "rich", "watchdog", "mcp"}


def test_a_concept_note_shows_weights_in_order_and_both_ends_link_each_other(terminal):
    terminal.sync()
    web, wasm = terminal.note("web").read_text(), terminal.note("wasm").read_text()
    assert "- [[Knowledge Graph/Concepts/wasm|wasm]] — 2 shared items" in web
    assert "- [[Knowledge Graph/Concepts/web|web]] — 2 shared items" in wasm
    assert "4 items · linked to 3 concepts · community [[" in web
    assert "- [Item 1](https://example.org/1) — Example feed, 2026-01-01" in web


@pytest.mark.parametrize(("name", "concepts", "edges"), [("pyvideo", 752, 3077), ("jser", 329, 2299)])
def test_a_real_corpus_becomes_exactly_its_graph(name, concepts, edges, tmp_path, vault, no_aliases):
    terminal = Terminal(corpus(name, tmp_path), vault, tmp_path, "--aliases", no_aliases)
    envelope = terminal.json("sync")
    assert (envelope["data"]["concepts"], envelope["data"]["edges"]) == (concepts, edges)
    assert envelope["data"]["counts"]["failed"] == 0
    verified = terminal.run("verify")
    assert verified.exit_code == 0, verified.output
    assert len(verified.stdout.splitlines()) == 1
    before = tree(vault)
    again = terminal.json("sync")
    assert again["data"]["counts"]["created"] == again["data"]["counts"]["updated"] == 0
    assert tree(vault) == before


@pytest.mark.parametrize(("name", "concepts", "edges"), [("pyvideo", 752, 3077), ("jser", 329, 2299)])
def test_an_independent_reader_of_the_vault_finds_the_same_graph(name, concepts, edges, tmp_path, vault, no_aliases):
    import obsidiantools.api as otools

    db = corpus(name, tmp_path)
    Terminal(db, vault, tmp_path, "--aliases", no_aliases).sync()
    graph = otools.Vault(vault).connect().graph
    folder = vault / "Knowledge Graph" / "Concepts"
    notes = {path.stem for path in folder.glob("*.md")}

    def concept(node):
        stem = str(node).rsplit("/", 1)[-1]
        return stem.removesuffix(".md") if stem not in notes else stem

    found = {tuple(sorted((concept(a), concept(b)))) for a, b in graph.edges() if concept(a) in notes and concept(b) in notes}
    assert len(notes) == concepts
    assert len({pair for pair in found if pair[0] != pair[1]}) == edges


def test_a_second_sync_touches_no_file_and_no_folder(terminal, vault):
    terminal.sync()
    before = tree(vault)
    counts = terminal.counts()
    assert counts["identical"] == 9
    assert sum(counts.values()) == 9
    assert tree(vault) == before


def test_a_dry_run_prints_the_plan_and_writes_nothing_at_all(terminal, vault, tmp_path):
    before = tree(tmp_path)
    result = terminal.sync("--dry-run")
    assert "create  Knowledge Graph/Concepts/python.md" in result.stdout
    assert "would be 9 created" in result.stdout
    assert tree(tmp_path) == before
    terminal.sync()
    before = tree(vault)
    assert "would be 0 created, 0 updated" in terminal.sync("--dry-run").stdout
    assert tree(vault) == before


@pytest.mark.parametrize("seed", range(4))
def test_neither_row_order_nor_hash_seed_changes_a_byte(seed, tmp_path, topics, no_aliases):
    rows = sqlite3.connect(topics.path).execute("SELECT item_id, tag FROM item_tags").fetchall()
    random.Random(seed).shuffle(rows)
    shuffled = Database(tmp_path / f"shuffled{seed}" / "hermes.db")
    with sqlite3.connect(shuffled.path) as connection:
        connection.execute("ATTACH ? AS old", (str(topics.path),))
        connection.execute("INSERT INTO items SELECT * FROM old.items ORDER BY id DESC")
        connection.executemany("INSERT INTO item_tags VALUES (?, ?)", rows)
    vaults = []
    for db, hash_seed in ((topics.path, "0"), (shuffled.path, str(seed + 1))):
        folder = tmp_path / f"vault-{hash_seed}"
        folder.mkdir()
        done = Terminal(db, folder, tmp_path).process("sync", env={"PYTHONHASHSEED": hash_seed})
        assert done.returncode == 0, done.stderr
        vaults.append(contents(folder))
    assert vaults[0] == vaults[1]


def test_two_spellings_used_once_each_are_one_concept_used_twice(database, vault, tmp_path):
    table = tmp_path / "aliases.yaml"
    table.write_text("aliases:\n  LLM: large-language-models\n", encoding="utf-8")
    database.add("LLM", "agents")
    database.add("large-language-models", "agents")
    database.add("LLM", "large-language-models", "tools")
    terminal = Terminal(database.path, vault, tmp_path, "--aliases", table)
    terminal.sync()
    note = terminal.note("large-language-models").read_text()
    assert "kg_items: 3" in note
    assert 'aliases: ["LLM"]' in note
    assert "[[Knowledge Graph/Concepts/agents|agents]] — 2 shared items" in note


BREAKAGES = {
    "a note is gone": (lambda t: t.note("wasm").unlink(), "missing-note"),
    "a link is gone": (lambda t: edit(t, "web", "- [[Knowledge Graph/Concepts/wasm|wasm]] — 2 shared items\n", ""), "missing-link"),
    "a weight is wrong": (lambda t: edit(t, "web", "wasm]] — 2", "wasm]] — 3"), "wrong-weight"),
    "a link too many": (
        lambda t: edit(
            t, "django", "## Related concepts\n", "## Related concepts\n- [[Knowledge Graph/Concepts/rust|rust]] — 2 shared items\n"
        ),
        "extra-link",
    ),
    "a link leads nowhere": (lambda t: edit(t, "web", "Concepts/wasm|", "Concepts/wasn|"), "ghost-link"),
    "a concept changed its community": (lambda t: swap_community(t), "wrong-community"),
    "a member is not listed": (lambda t: drop_member(t), "missing-member"),
    "a foreign concept": (lambda t: add_foreign(t), "extra-note"),
    "a copy of a note": (lambda t: (t.vault / "copy.md").write_bytes(t.note("web").read_bytes()), "duplicate"),
}


def edit(terminal, name, old, new):
    path = terminal.note(name)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def swap_community(terminal):
    link = re.search(r'kg_community: "(.*)"', terminal.note("rust").read_text())[1]
    text = terminal.note("django").read_text()
    terminal.note("django").write_text(re.sub(r'kg_community: ".*"', lambda _: f'kg_community: "{link}"', text))


def drop_member(terminal):
    for path in (terminal.vault / "Knowledge Graph" / "Communities").glob("*.md"):
        text = path.read_text()
        path.write_text(re.sub(r"- \[\[.*?\|(rust|django)\]\].*\n", "", text))


def add_foreign(terminal):
    text = terminal.note("rust").read_text().replace("concept/rust", "concept/fortran")
    (terminal.vault / "fortran.md").write_text(text)


@pytest.mark.parametrize("what", BREAKAGES)
def test_verify_fails_and_names_it_when(what, terminal):
    terminal.sync()
    breaking, code = BREAKAGES[what]
    breaking(terminal)
    envelope = terminal.json("verify")
    assert envelope["exit_code"] == 1
    assert code in {problem["code"] for problem in envelope["problems"]}


@pytest.mark.parametrize("name", ["A copy of web.md", "copy.md", "Knowledge Graph/Concepts/web 1.md"])
def test_a_copy_of_a_note_is_one_difference_whatever_it_is_called_and_however_old_it_is(name, terminal, topics):
    terminal.sync()
    (terminal.vault / name).write_bytes(terminal.note("web").read_bytes())
    topics.add("web", "python")
    terminal.run("sync")
    envelope = terminal.json("verify")
    assert [(problem["code"], problem["path"]) for problem in envelope["problems"]] == [("duplicate", name)]
    assert "kg_id" in envelope["problems"][0]["hint"]


def test_a_community_note_that_the_user_deleted_is_one_difference_with_the_way_back(terminal):
    terminal.sync()
    sorted((terminal.vault / "Knowledge Graph" / "Communities").glob("*.md"))[0].unlink()
    terminal.sync()
    envelope = terminal.json("verify")
    assert [problem["code"] for problem in envelope["problems"]] == ["missing-note"]
    assert "kg2vault restore" in envelope["problems"][0]["hint"]
    note = terminal.note("rust" if 'kg_community: "[[' not in terminal.note("rust").read_text() else "web")
    note.write_text(re.sub('kg_community: ".*"', 'kg_community: "another"', note.read_text()))
    assert "wrong-community" in {problem["code"] for problem in terminal.json("verify")["problems"]}


def test_verify_shows_twenty_differences_and_counts_the_rest(tmp_path, vault, database):
    for number in range(40):
        database.add(f"a{number}", f"b{number}")
        database.add(f"a{number}", f"b{number}")
    terminal = Terminal(database.path, vault, tmp_path)
    terminal.sync()
    for path in (vault / "Knowledge Graph" / "Concepts").glob("a*.md"):
        path.unlink()
    result = terminal.run("verify")
    assert result.exit_code == 1
    count = int(re.search(r"(\d+) differences", result.stdout)[1])
    assert count >= 40
    assert f"{count - 20} more differences" in result.stderr


def test_a_newer_database_is_a_difference_until_the_next_sync(terminal, topics):
    terminal.sync()
    topics.add("python", "rust")
    topics.add("python", "rust")
    assert terminal.run("verify").exit_code == 1
    terminal.sync()
    assert terminal.run("verify").exit_code == 0


def test_the_bundled_sample_becomes_a_vault_that_is_its_graph(tmp_path):
    command = [sys.executable, "-m", "kg2vault", "demo", str(tmp_path / "demo")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert 3 <= len(done.stdout.splitlines()) <= 6
    terminal = Terminal(tmp_path / "demo" / "hermes.db", tmp_path / "demo" / "vault", tmp_path)
    envelope = terminal.json("verify")
    assert envelope["ok"], envelope["problems"]
    assert envelope["data"]["concepts"] >= 60
    assert envelope["data"]["communities"] >= 5
    before = contents(tmp_path / "demo" / "vault")
    subprocess.run(command, capture_output=True, cwd=tmp_path, check=True)
    assert contents(tmp_path / "demo" / "vault") == before
