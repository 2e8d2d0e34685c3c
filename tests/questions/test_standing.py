"""An answer is about the database as it is now, however much is remembered of an earlier one."""

import json
from dataclasses import fields, replace

import pytest

from kg2vault import asking, graphs, standing
from kg2vault.graph.model import KnowledgeGraph
from kg2vault.materialising import materialise
from kg2vault.standing import Follower
from kg2vault.storage import file_token
from kg2vault.storage.graph_cache import GraphCache, Remembered
from tests.conftest import corpus
from tests.graph.small import build, linked, reading, windmill
from tests.questions.conftest import make_terminal, settings_for


@pytest.fixture
def builds(monkeypatch):
    """How often a graph was built, and the database read for one."""
    counted = {"build": 0, "read_source": 0}

    def counting(name):
        real = getattr(graphs, name)

        def counted_call(*args, **options):
            counted[name] += 1
            return real(*args, **options)

        monkeypatch.setattr(standing.graphs, name, counted_call)

    for name in counted:
        counting(name)
    return counted


@pytest.fixture
def at_rest(monkeypatch):
    """Files written this very moment are not trusted; here every write counts as long past, as it is for people."""
    monkeypatch.setattr(file_token, "_FINE_WINDOW_NS", 0)
    monkeypatch.setattr(file_token, "_COARSE_WINDOW_NS", 0)


def path_of(found):
    return asking.path(found, "ant", "hen").data["path"]


def test_the_graph_is_built_once_while_nobody_writes(zoo, tmp_path, builds, at_rest):
    settings, follower = settings_for(zoo.path, tmp_path), Follower(tmp_path / "cache")
    first = follower.stand(settings)
    assert follower.stand(settings).graph is first.graph
    assert Follower(tmp_path / "cache").stand(settings) == first  # as another process would
    assert builds == {"build": 1, "read_source": 1}


def test_a_write_that_changes_no_row_reads_but_builds_nothing(zoo, tmp_path, builds):
    settings = settings_for(zoo.path, tmp_path)
    Follower(tmp_path / "cache").stand(settings)
    zoo.run("CREATE TABLE clicks(id INTEGER)")
    Follower(tmp_path / "cache").stand(settings)
    assert builds == {"build": 1, "read_source": 2}


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE item_tags SET tag = 'hen' WHERE tag = 'elk'",
        "DELETE FROM item_tags WHERE tag = 'cat'",
        "INSERT INTO item_tags SELECT item_id, 'hen' FROM item_tags WHERE tag = 'fox'",
    ],
)
def test_an_answer_is_never_about_an_older_database(zoo, tmp_path, at_rest, sql):
    settings, follower = settings_for(zoo.path, tmp_path), Follower(tmp_path / "cache")
    before = follower.stand(settings)
    zoo.run(sql)
    expected = graphs.build(settings, graphs.read_source(settings)).graph
    assert expected != before.graph
    assert follower.stand(settings).graph == Follower(tmp_path / "cache").stand(settings).graph == expected


def test_settings_and_aliases_count_too(zoo, tmp_path):
    aliases, config = tmp_path / "a.yaml", tmp_path / "c.yaml"
    aliases.write_text("aliases: {}\n", encoding="utf-8")
    settings, follower = settings_for(zoo.path, tmp_path, aliases=aliases), Follower(tmp_path / "cache")
    assert path_of(follower.stand(settings)) == []
    aliases.write_text("aliases: {gnu: fox}\n", encoding="utf-8")
    assert path_of(follower.stand(settings)) == ["ant", "cat", "dog", "fox", "hen"]
    config.write_text("graph:\n  min_weight: 4\n", encoding="utf-8")
    assert len(follower.stand(settings_for(zoo.path, tmp_path, config=config)).graph.edges) == 1


def test_tables_made_with_other_aliases_or_thresholds_lag_until_they_are_made_again(zoo, tmp_path):
    aliases = tmp_path / "a.yaml"
    aliases.write_text("aliases: {}\n", encoding="utf-8")
    settings, follower = settings_for(zoo.path, tmp_path, aliases=aliases), Follower(tmp_path / "cache")
    assert follower.stand(settings).lagging == ()  # never made: nothing that could lag
    materialise(settings, confirm=True)
    assert follower.stand(settings).lagging == ()
    aliases.write_text("aliases: {gnu: fox}\n", encoding="utf-8")
    assert follower.stand(settings).lagging == ("tables",)
    assert asking.health(follower.stand(settings)).data["stale"]
    materialise(settings, confirm=True)
    assert follower.stand(settings).lagging == ()
    zoo.run("UPDATE items SET title = 'no part of any table'")
    assert follower.stand(settings).lagging == ()


def test_two_databases_are_not_mixed_up(zoo, tmp_path):
    from tests.conftest import Database

    other = Database(tmp_path / "other" / "hermes.db")
    other.add("x1", "x2")
    other.add("x1", "x2")
    follower = Follower(tmp_path / "cache")
    assert set(follower.stand(settings_for(other.path, tmp_path)).graph.concepts) == {"x1", "x2"}
    assert len(follower.stand(settings_for(zoo.path, tmp_path)).graph.concepts) == 8


GRAPHS = [
    build(reading()),
    build(linked(*windmill(4))),
    build(linked(("x1", "x2"), ("x3", "x3")), include_isolated=True),
    build(reading(("LLM", "x1"), ("large-language-models", "x1"), ("\x00", "\ufffd ü")), "aliases: {llm: large-language-models}"),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=["none", "windmill", "isolated", "merged"])
def test_a_graph_comes_back_from_the_cache_as_it_was(graph, tmp_path):
    cache, remembered = GraphCache(tmp_path, "x"), Remembered("made by", "gate", "fingerprint", "content", ("a", "b"), graph)
    cache.save(remembered)
    assert cache.load() == remembered
    assert {field.name for field in fields(KnowledgeGraph)} == {
        "concepts", "edges", "metrics", "communities", "neighbours", "betweenness_sampled",
        "distinct_tags", "singleton_tags", "tagged_items", "edges_digest",
    }  # fmt: skip


def test_a_sampled_graph_and_no_stamp_come_back_too(tmp_path):
    remembered = Remembered("m", "g", "f", "c", None, replace(GRAPHS[1], betweenness_sampled=True))
    GraphCache(tmp_path, "x").save(remembered)
    assert GraphCache(tmp_path, "x").load() == remembered
    assert GraphCache(tmp_path, "y").load() is None


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text", "edited", "folder", "unwritable"])
def test_a_cache_that_is_no_good_is_no_cache(zoo, tmp_path, at_rest, harm):
    folder = tmp_path / "cache"
    settings = settings_for(zoo.path, tmp_path)
    if harm == "unwritable":
        folder.write_text("a file where the folder should be", encoding="utf-8")
    first = Follower(folder).stand(settings)
    if harm != "unwritable":
        (file,) = folder.iterdir()
        data = file.read_bytes()
        file.unlink()
        if harm == "folder":
            file.mkdir()
        elif harm == "edited":
            head, body = data.split(b"\n", 1)
            raw = json.loads(body)
            raw["graph"]["edges"] = raw["graph"]["edges"][:1]
            file.write_bytes(head + b"\n" + json.dumps(raw).encode())
        else:
            middle = len(data) // 2
            flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
            file.write_bytes({"cut": data[:middle], "flipped": flipped, "empty": b"", "text": b"hello\n{}"}[harm])
    assert Follower(folder).stand(settings) == first


def test_another_version_of_the_program_starts_afresh(zoo, tmp_path, monkeypatch):
    import kg2vault

    settings = settings_for(zoo.path, tmp_path)
    Follower(tmp_path / "cache").stand(settings)
    (file,) = (tmp_path / "cache").iterdir()
    names = str(zoo.path.resolve()), ""
    assert GraphCache(tmp_path / "cache", *names).path == file
    assert GraphCache(tmp_path / "cache", *names).load() is not None
    monkeypatch.setattr(kg2vault, "__version__", "99")
    assert GraphCache(tmp_path / "cache", *names).load() is None


def test_the_cache_is_its_owners_and_outside_of_the_vault(zoo, vault, tmp_path):
    Follower(tmp_path / "cache").stand(settings_for(zoo.path, tmp_path, vault))
    (file,) = (tmp_path / "cache").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in vault.rglob("*")] == [".obsidian"]


def test_a_question_writes_nothing_beside_the_database_or_into_the_vault(keeper, zoo, vault):
    before = sorted(zoo.path.parent.iterdir()), zoo.path.read_bytes()
    assert keeper.process("communities").returncode == 0
    assert (sorted(zoo.path.parent.iterdir()), zoo.path.read_bytes()) == before
    assert [path.name for path in vault.rglob("*")] == [".obsidian"]


def test_communities_are_the_vaults_after_a_sync(zoo, vault, tmp_path):
    """With four small changes the partition is carried on in the vault; a question says what the next sync would."""
    terminal = make_terminal(zoo.path, vault, tmp_path)
    terminal.sync()
    settings = settings_for(zoo.path, tmp_path, vault)
    ids = {community.id for community in Follower(tmp_path / "cache").stand(settings).graph.communities}
    for _ in range(2):
        zoo.add("newt", "dog", "elk")
    found = Follower(tmp_path / "cache").stand(settings)
    assert found.lagging == ("vault",)
    assert {community.id for community in found.graph.communities} == ids  # born with other members, but still the same
    assert {c.id for c in Follower(tmp_path / "cache").stand(settings_for(zoo.path, tmp_path)).graph.communities} != ids
    told = terminal.json("communities")["data"]["communities"]
    terminal.sync()
    after = terminal.json("communities")["data"]
    assert (after["communities"], after["stale"]) == (told, False)
    assert Follower(tmp_path / "cache").stand(settings).lagging == ()


def test_a_damaged_manifest_stops_no_question_but_is_told(zoo, vault, tmp_path):
    terminal = make_terminal(zoo.path, vault, tmp_path)
    terminal.sync()
    (vault / ".kg2vault" / "manifest.json").write_text("{", encoding="utf-8")
    envelope = terminal.json("neighbors", "dog")
    assert envelope["ok"]
    assert [problem["code"] for problem in envelope["problems"]] == ["manifest"]


def test_a_vault_that_is_away_stops_no_question(zoo, tmp_path):
    found = Follower(tmp_path / "cache").stand(settings_for(zoo.path, tmp_path, tmp_path / "unmounted"))
    assert len(found.graph.concepts) == 8
    assert found.lagging == ()
    assert not (tmp_path / "unmounted").exists()


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_a_real_graph_comes_back_from_the_cache_as_it_was(name, tmp_path):
    settings = settings_for(corpus(name, tmp_path), tmp_path)
    first = Follower(tmp_path / "cache").stand(settings)
    assert Follower(tmp_path / "cache").stand(settings).graph == first.graph
    loaded = GraphCache(tmp_path / "cache", str(settings.database().resolve()), "").load()
    assert loaded is not None
    assert loaded.graph == first.graph
