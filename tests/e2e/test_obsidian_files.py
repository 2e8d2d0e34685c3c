"""Obsidian's own files: our colour groups, property types, base and canvas, beside everything a person has there."""

import json
import re

import pytest

from kg2vault.vault.graph_json import matches
from kg2vault.vault.note import parse
from kg2vault.vault.types_json import TYPES
from tests.e2e.conftest import Terminal, contents, tree

GRAPH = """{
\t"collapse-filter": false,
\t"search": "-path:Archive",
\t"colorGroups": [
\t\t{"query": "path:Diary", "color": {"a": 1, "rgb": 255}},
\t\t{"query": "tag:#kg/community/web OR tag:#work", "color": {"rgb": 16711680, "a": 0.5}}
\t],
\t"a key of some plugin": {"x": [1, 2.50, "\\u00e9"]},
\t"scale": 0.25
}
"""
TYPES_TEXT = '{\r\n  "types": {\r\n    "due": "date",\r\n    "KG_Items": "text"\r\n  },\r\n  "other": true\r\n}\r\n'
CANVAS = '{"nodes":[{"id":"1","type":"text","text":"mine","x":0,"y":0,"width":100,"height":100}],"edges":[]}'


@pytest.fixture
def lived_in(vault):
    """A vault with a person's notes, settings and canvas in it."""
    for path, text in {
        ".obsidian/graph.json": GRAPH,
        ".obsidian/types.json": TYPES_TEXT,
        ".obsidian/app.json": '{"useMarkdownLinks": true}',
        ".obsidian/workspace.json": "{}",
        "Diary/Monday.md": "---\r\ntags: [kg/community/web]\r\n---\r\n[[web]] and [[Tuesday]]\r\n",
        "web.md": "My own note of that name.\n",
        "Knowledge Graph/communities.canvas": CANVAS,
        "Knowledge Graph/Notes to self.md": "%% not a marker %%\n",
    }.items():
        target = vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    return vault


@pytest.fixture
def drawing(lived_in, topics, tmp_path):
    """A terminal on that vault with everything turned on."""
    config = tmp_path / "settings.yaml"
    config.write_text("limits:\n  settle_seconds: 0\nobsidian:\n  canvas: true\n", encoding="utf-8")
    return Terminal(topics.path, lived_in, tmp_path, "--config", str(config))


def is_ours(path):
    return re.match(r"Knowledge Graph/(Concepts/|Communities/|Knowledge Graph\.)", path) is not None


def test_everything_of_the_user_is_byte_identical_but_for_our_groups_and_keys(drawing, lived_in):
    before = contents(lived_in)
    drawing.sync()
    after = contents(lived_in)
    assert {path for path in after.keys() - before.keys() if not is_ours(path)} == set()
    assert {path for path in before if after[path] != before[path]} == {".obsidian/graph.json", ".obsidian/types.json"}
    graph = after[".obsidian/graph.json"].decode()
    head, tail = GRAPH.split('"rgb": 16711680, "a": 0.5}}')
    assert graph.startswith(head)
    assert graph.endswith(tail)
    assert len(json.loads(graph)["colorGroups"]) == 4
    types = after[".obsidian/types.json"].decode()
    assert types.startswith(TYPES_TEXT.split('"KG_Items": "text"')[0])
    assert types.endswith('},\r\n  "other": true\r\n}\r\n')
    registry = json.loads(types)["types"]
    assert {name: kind for name, kind in registry.items() if name not in TYPES} == {"due": "date", "KG_Items": "text"}
    assert "kg_items" not in registry


def test_every_colour_query_finds_a_note_and_every_community_has_one(drawing, lived_in):
    drawing.sync()
    groups = json.loads((lived_in / ".obsidian" / "graph.json").read_text(encoding="utf-8"))["colorGroups"]
    ours = [group for group in groups if re.fullmatch(r"tag:#kg/community/\S+", group["query"])]
    assert len(ours) == 2
    tags = [tag for path in (lived_in / "Knowledge Graph" / "Concepts").glob("*.md") for tag in [set_of_tags(path)]]
    for group in ours:
        assert any(matches(group["query"], found) for found in tags)
    assert all(any(matches(group["query"], found) for group in ours) for found in tags)
    assert len({group["color"]["rgb"] for group in ours}) == 2


def set_of_tags(path):
    return parse(path.read_text(encoding="utf-8")).properties["tags"]


def test_a_second_sync_leaves_all_of_it_alone_and_a_moved_slider_too(drawing, lived_in):
    drawing.sync()
    path = lived_in / ".obsidian" / "graph.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"scale": 0.25', '"scale": 0.75'), encoding="utf-8")
    before = contents(lived_in)
    drawing.sync()
    assert contents(lived_in) == before


def test_colours_can_be_turned_off(topics, lived_in, tmp_path):
    config = tmp_path / "settings.yaml"
    config.write_text("obsidian:\n  graph_colors: false\n  property_types: false\n  base: false\n", encoding="utf-8")
    before = contents(lived_in)
    Terminal(topics.path, lived_in, tmp_path, "--config", str(config)).sync()
    after = contents(lived_in)
    assert {path: after[path] for path in before} == before
    assert all(path.endswith(".md") for path in after.keys() - before.keys())


@pytest.mark.parametrize("name", ["graph.json", "types.json"])
@pytest.mark.parametrize("text", [b"", b'{"colorGroups": [', b"[]", b'{"colorGroups": {}, "types": 3}', b"\xff\xfe\x00"])
def test_a_corrupt_file_is_left_alone_and_reported_and_the_notes_are_written(name, text, drawing, lived_in):
    path = lived_in / ".obsidian" / name
    path.write_bytes(text)
    envelope = drawing.json("sync")
    assert path.read_bytes() == text
    assert envelope["exit_code"] == 0
    told = [problem for problem in envelope["problems"] if problem["path"] == f".obsidian/{name}"]
    assert len(told) == 1
    assert f"{name} was left alone" in told[0]["message"]
    assert drawing.run("verify").exit_code == 0


def test_a_folder_that_obsidian_never_opened_gets_no_settings_folder(topics, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    Terminal(topics.path, folder, tmp_path).sync()
    assert not (folder / ".obsidian").exists()


def test_the_first_graph_settings_hide_what_links_to_everything(terminal, vault):
    terminal.sync()
    settings = json.loads((vault / ".obsidian" / "graph.json").read_text(encoding="utf-8"))
    assert settings["search"] == 'path:"Knowledge Graph/" -tag:#kg/communities -tag:#kg/home'
    for tag in ("kg/communities", "kg/home"):
        assert any(tag in parse(path.read_text(encoding="utf-8")).properties["tags"] for path in vault.rglob("*.md"))


@pytest.fixture
def canvas(terminal, vault, tmp_path):
    """A terminal that draws the canvas, after its first sync, and the canvas."""
    config = tmp_path / "work" / "canvas.yaml"
    config.write_text("limits:\n  settle_seconds: 0\nobsidian:\n  canvas: true\n", encoding="utf-8")
    drawing = Terminal(terminal.db, vault, terminal.cwd, "--config", str(config))
    drawing.sync()
    return drawing, vault / "Knowledge Graph" / "communities.canvas"


def nodes(path):
    return {node["id"]: node for node in json.loads(path.read_text(encoding="utf-8"))["nodes"]}


def test_the_canvas_maps_the_communities_in_their_colours(canvas, vault):
    _, path = canvas
    graph = json.loads((vault / ".obsidian" / "graph.json").read_text(encoding="utf-8"))
    colours = {f"#{group['color']['rgb']:06x}" for group in graph["colorGroups"]}
    assert {node["color"] for node in nodes(path).values()} == colours
    assert all((vault / node["file"]).is_file() for node in nodes(path).values())
    assert [edge["label"] for edge in json.loads(path.read_text(encoding="utf-8"))["edges"]] == ["2"]


def test_cards_keep_their_places_and_follow_a_note_the_user_moved(canvas, vault, topics):
    drawing, path = canvas
    before = nodes(path)
    moved = next((vault / "Knowledge Graph" / "Communities").glob("*.md"))
    (vault / "Mine").mkdir()
    moved.rename(vault / "Mine" / moved.name)
    for _ in range(3):
        topics.add("poetry", "verse", "rhyme")
    drawing.sync()
    after = nodes(path)
    assert len(after) == 3
    assert all((after[key]["x"], after[key]["y"]) == (before[key]["x"], before[key]["y"]) for key in before)
    assert {node["file"] for node in after.values()} > {f"Mine/{moved.name}"}


def test_a_canvas_the_user_changed_or_deleted_is_left_alone(canvas, topics):
    drawing, path = canvas
    drawn = json.loads(path.read_text(encoding="utf-8"))
    drawn["nodes"].append({"id": "mine", "type": "text", "text": "hello", "x": -900, "y": 0, "width": 100, "height": 60})
    path.write_text(json.dumps(drawn), encoding="utf-8")
    changed = path.read_bytes()
    for _ in range(3):
        topics.add("poetry", "verse", "rhyme")
    drawing.sync()
    assert path.read_bytes() == changed
    path.unlink()
    drawing.sync()
    assert not path.exists()


OFF = "limits:\n  settle_seconds: 0\nobsidian:\n  graph_colors: false\n  base: false\n  canvas: false\n"


def test_what_is_turned_off_goes_and_comes_back_when_it_is_turned_on(drawing, lived_in, tmp_path):
    config = tmp_path / "settings.yaml"
    on = config.read_text(encoding="utf-8")
    (lived_in / "Knowledge Graph" / "communities.canvas").unlink()
    drawing.sync()
    drawn = contents(lived_in)
    config.write_text(OFF, encoding="utf-8")
    drawing.sync()
    left = contents(lived_in)
    gone = {"Knowledge Graph/communities.canvas", "Knowledge Graph/Knowledge Graph.base"}
    assert left[".obsidian/graph.json"] == GRAPH.encode()
    assert left == {path: data for path, data in drawn.items() if path not in gone} | {".obsidian/graph.json": GRAPH.encode()}
    assert {path.name for path in (lived_in / ".kg2vault" / "trash").iterdir()} == {path.rsplit("/", 1)[1] for path in gone}
    before = tree(lived_in)
    drawing.sync()
    assert tree(lived_in) == before
    config.write_text(on, encoding="utf-8")
    drawing.sync()
    assert contents(lived_in) == drawn


def test_a_file_of_ours_that_the_user_changed_stays_when_it_is_turned_off(drawing, lived_in, tmp_path):
    paths = [lived_in / "Knowledge Graph" / name for name in ("communities.canvas", "Knowledge Graph.base")]
    paths[0].unlink()
    drawing.sync()
    for path in paths:
        path.write_bytes(path.read_bytes().replace(b"name", b"my name").replace(b'"x":', b'"x":1'))
    changed = [path.read_bytes() for path in paths]
    (tmp_path / "settings.yaml").write_text(OFF, encoding="utf-8")
    for _ in range(2):
        drawing.sync()
        assert [path.read_bytes() for path in paths] == changed


def test_another_folder_takes_the_base_along(terminal, vault):
    terminal.sync()
    (terminal.cwd / "settings.yaml").write_text("limits:\n  settle_seconds: 0\nvault:\n  folder: Tags\n", encoding="utf-8")
    terminal.sync()
    assert [path.name for path in vault.rglob("*.base") if ".kg2vault" not in path.parts] == ["Tags.base"]


def test_the_folders_of_items_and_feeds_go_with_their_last_note_and_those_of_the_user_stay(terminal, vault):
    config = terminal.cwd / "settings.yaml"
    plain = config.read_text(encoding="utf-8")
    terminal.sync()
    before = contents(vault)
    config.write_text(f"{plain}notes:\n  items: true\n  feeds: true\n", encoding="utf-8")
    terminal.sync()
    (vault / "Reading").mkdir()
    item = min((vault / "Knowledge Graph" / "Items" / "2026").iterdir())
    item.rename(vault / "Reading" / item.name)
    config.write_text(plain, encoding="utf-8")
    terminal.sync()
    assert contents(vault) == before
    assert {path.name for path in (vault / "Knowledge Graph").iterdir() if path.is_dir()} == {"Concepts", "Communities"}
    assert (vault / "Reading").is_dir()
