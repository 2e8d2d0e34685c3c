"""A real client of the SDK, over standard input and output, to a real process; and the raw lines of one."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from kg2vault import asking, kg
from tests.questions.conftest import add_twice, make_terminal, rows, settings_for, table_dump, tools_for

mcp = pytest.importorskip("mcp")
from mcp.client.stdio import stdio_client  # noqa: E402

TOOLS = ["kg_central", "kg_communities", "kg_concepts", "kg_health", "kg_neighbors", "kg_note", "kg_path", "kg_rebuild"]
KEYS = {f"kg_{operation}": {"ok", "message", "stale", *keys} for operation, keys in asking.EMPTY.items()}
GOOD = [
    ("kg_neighbors", {"node": "Dog"}),
    ("kg_neighbors", {"node": "dog", "limit": 2}),
    ("kg_neighbors", {"node": "dog", "limit": "2"}),
    ("kg_path", {"source": "ant", "target": "fox"}),
    ("kg_path", {"source": "ant", "target": "hen"}),
    ("kg_central", {}),
    ("kg_central", {"metric": "betweenness", "limit": 3}),
    ("kg_communities", {}),
    ("kg_communities", {"min_size": 2}),
    ("kg_concepts", {"prefix": "D"}),
    ("kg_health", {}),
    ("kg_note", {"name": "dog"}),
    ("kg_rebuild", {"confirm": True}),
]
BAD = [
    ("kg_neighbors", {}),
    ("kg_neighbors", {"node": None}),
    ("kg_neighbors", {"node": "unicorn"}),
    ("kg_neighbors", {"node": ["dog"]}),
    ("kg_neighbors", {"node": "dog", "limit": 0}),
    ("kg_neighbors", {"node": "dog", "limit": "many"}),
    ("kg_neighbors", {"node": "dog", "limit": {}}),
    ("kg_neighbors", {"node": "dog", "limit": "9" * 5000}),
    ("kg_neighbors", {"node": "-x"}),
    ("kg_neighbors", {"node": "\x00"}),
    ("kg_neighbors", {"node": "q" * 100_000}),
    ("kg_neighbors", {"node": "null"}),
    ("kg_path", {"source": "ant"}),
    ("kg_path", {"source": "ant", "target": "unicorn"}),
    ("kg_central", {"metric": "beauty"}),
    ("kg_central", {"limit": True}),
    ("kg_central", {"limit": 1.5}),
    ("kg_communities", {"min_size": -1}),
    ("kg_concepts", {"limit": None}),
    ("kg_note", {}),
    ("kg_note", {"name": "unicorn"}),
    ("kg_rebuild", {}),
    ("kg_rebuild", {"confirm": False}),
    ("kg_rebuild", {"confirm": "yes"}),
]


@asynccontextmanager
async def connected(terminal, errors):
    command = [*terminal.options, "mcp"]
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "kg2vault", *command], env=dict(os.environ), cwd=str(terminal.cwd)
    )
    with errors.open("w") as stderr:
        async with stdio_client(server, errlog=stderr) as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()
            yield session


async def call(session, tool, /, **arguments):
    result = (await session.call_tool(tool, arguments)).model_dump(by_alias=True)
    assert not result["isError"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def in_session(terminal, tmp_path, story):
    errors = tmp_path / "stderr.txt"

    async def run():
        async with connected(terminal, errors) as session:
            return await story(session)

    found = asyncio.run(asyncio.wait_for(run(), 60))
    assert errors.read_text() == ""
    return found


def test_the_tools_are_listed_with_what_they_take(keeper, tmp_path):
    async def story(session):
        return [tool.model_dump(by_alias=True) for tool in (await session.list_tools()).tools]

    listed = {tool["name"]: tool for tool in in_session(keeper, tmp_path, story)}
    assert sorted(listed) == TOOLS
    assert all(tool["description"] for tool in listed.values())
    schema = listed["kg_neighbors"]["inputSchema"]
    assert schema["required"] == ["node"]
    assert (schema["properties"]["node"]["type"], schema["properties"]["limit"]["type"]) == ("string", "integer")
    assert listed["kg_path"]["inputSchema"]["required"] == ["source", "target"]
    assert listed["kg_rebuild"]["inputSchema"]["properties"]["confirm"]["type"] == "boolean"
    assert [name for name, tool in sorted(listed.items()) if not tool["annotations"]["readOnlyHint"]] == ["kg_rebuild"]


def test_every_tool_answers_good_and_bad_arguments_in_its_one_shape(keeper, tmp_path, zoo):
    keeper.sync()
    before = zoo.path.read_bytes()

    async def story(session):
        bad = [await call(session, name, **arguments) for name, arguments in BAD]
        untouched = zoo.path.read_bytes()
        return bad, untouched, [await call(session, name, **arguments) for name, arguments in GOOD]

    bad, untouched, good = in_session(keeper, tmp_path, story)
    assert untouched == before
    for (name, arguments), answer in zip([*BAD, *GOOD], [*bad, *good], strict=True):
        assert set(answer) == KEYS[name], (name, arguments)
        assert len(answer["message"]) < 400
        assert answer["message"]
        assert answer["ok"] == ((name, arguments) in GOOD), (name, arguments, answer["message"])
    for (name, _), answer in zip(BAD, bad, strict=True):
        empty = asking.EMPTY[name.removeprefix("kg_")]
        assert {key: answer[key] for key in empty} == dict(empty)
    by_call = {(name, *arguments.values()): answer for (name, arguments), answer in zip(GOOD, good, strict=True)}
    assert by_call["kg_neighbors", "Dog"]["node"] == "dog"
    assert by_call["kg_path", "ant", "fox"]["path"] == ["ant", "cat", "dog", "fox"]
    assert by_call["kg_rebuild", True]["concepts"] == 8
    assert "elk" in by_call["kg_note", "dog"]["generated"]


def test_the_server_follows_the_database_and_says_what_lags(keeper, tmp_path, zoo):
    keeper.sync()

    async def story(session):
        seen = [await call(session, "kg_path", source="ant", target="hen")]
        for _ in range(2):
            zoo.add("hen", "fox")
        seen.append(await call(session, "kg_path", source="ant", target="hen"))
        keeper.sync()
        seen.append(await call(session, "kg_health"))
        seen.append(await call(session, "kg_rebuild", confirm=True))
        seen.append(await call(session, "kg_health"))
        zoo.run("UPDATE item_tags SET tag = 'emu' WHERE tag = 'yak'")
        seen.append(await call(session, "kg_concepts"))
        zoo.path.rename(zoo.path.with_suffix(".away"))
        seen.append(await call(session, "kg_health"))
        zoo.path.with_suffix(".away").rename(zoo.path)
        seen.append(await call(session, "kg_health"))
        return seen

    apart, joined, synced, rebuilt, fresh, changed, gone, back = in_session(keeper, tmp_path, story)
    assert (apart["connected"], apart["stale"]) == (False, False)
    assert (joined["path"], joined["stale"]) == (["ant", "cat", "dog", "fox", "hen"], True)
    assert not synced["stale"]
    assert rebuilt["changed"]
    assert not fresh["stale"]
    assert changed["stale"]
    assert (gone["ok"], gone["health"], "There is no" in gone["message"]) == (False, {}, True)
    assert back["ok"]


def test_calls_made_at_once_are_answered_each_as_if_alone(keeper, tmp_path):
    questions = [("kg_path", {"source": "ant", "target": "fox"}), ("kg_health", {}), ("kg_neighbors", {"node": "dog"})] * 3

    async def story(session):
        alone = [await call(session, name, **arguments) for name, arguments in questions]
        return alone, await asyncio.gather(*(call(session, name, **arguments) for name, arguments in questions))

    alone, at_once = in_session(keeper, tmp_path, story)
    assert at_once == alone


def test_nothing_but_json_rpc_reaches_standard_output(keeper):
    """Also when the alias table is broken, the process is told to be talkative and to warn, and a line is no JSON at all."""
    messages = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "kg_health", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "kg_nothing", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 4, "method": "no/such/method"},
    ]
    (keeper.cwd / "aliases.yaml").write_text("aliases: [", encoding="utf-8")
    command = [sys.executable, "-m", "kg2vault", *keeper.options, "-vv", "--json", "mcp"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=keeper.cwd,
        env={**os.environ, "PYTHONWARNINGS": "always"},
        text=True,
        bufsize=1,
    )
    answers, waiting = [], {message["id"] for message in messages if "id" in message}
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.write("this is not JSON\n")
    while waiting:
        answers.append(json.loads(process.stdout.readline()))
        waiting.discard(answers[-1].get("id"))
    rest, _ = process.communicate(timeout=30)  # closes its standard input, upon which it ends
    answers.extend(json.loads(line) for line in rest.splitlines())
    assert process.returncode == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    health = next(answer for answer in answers if answer.get("id") == 2)["result"]["structuredContent"]
    assert not health["ok"]
    assert "aliases.yaml" in health["message"]
    assert health["health"] == {}


def test_a_configuration_that_is_broken_from_the_start_ends_the_program(keeper):
    (keeper.cwd / "settings.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    process = keeper.process("mcp")
    assert (process.returncode, process.stdout) == (2, "")
    assert "unknown key nonsense" in process.stderr


def test_lists_are_capped_with_the_true_count_beside(database, tmp_path):
    many = [f"topic-{number:03d}" for number in range(120)]
    add_twice(database, [("hub", name) for name in many])
    tools = tools_for(settings_for(database.path, tmp_path))
    for answer, key, count in (
        (tools.kg_neighbors("hub", 1000), "neighbors", 120),
        (tools.kg_central("degree", 1000), "concepts", 121),
        (tools.kg_concepts("topic", 1000), "concepts", 120),
        (tools.kg_concepts(), "concepts", 121),
    ):
        assert (len(answer[key]), answer["count"]) == (50, count)


def test_communities_are_a_summary_however_large_they_are(database, tmp_path):
    add_twice(database, [(f"g{group}", f"g{group}-{number}") for group in range(60) for number in range(14)])
    answer = tools_for(settings_for(database.path, tmp_path)).kg_communities()
    assert (len(answer["communities"]), answer["count"]) == (50, 60)
    assert {row["size"] for row in answer["communities"]} == {15}
    assert {len(row["members"]) for row in answer["communities"]} == {asking.TOP_MEMBERS}


def test_a_tool_call_is_the_command_and_the_module(keeper, tools, conn, zoo):
    """One body: whatever a command answers, the tool answers too, and the tables it writes are the module's."""
    for command, answer in (
        (["neighbors", "elk", "--limit", "1"], tools.kg_neighbors("elk", 1)),
        (["path", "bee", "elk"], tools.kg_path("bee", "elk")),
        (["central", "--metric", "strength"], tools.kg_central("strength")),
        (["communities"], tools.kg_communities()),
        (["concepts", "--prefix", "f"], tools.kg_concepts("f")),
        (["health"], tools.kg_health()),
    ):
        data = keeper.json(*command)["data"]
        assert {key: answer[key] for key in data} == data
    tools.kg_rebuild(confirm=True)
    dump = table_dump(zoo.path)
    for name in ("kg_nodes", "kg_edges", "kg_meta"):
        zoo.run(f"DROP TABLE {name}")
    kg.rebuild(conn)
    assert table_dump(zoo.path) == dump
    assert rows(zoo.path, "SELECT degree FROM kg_nodes WHERE name = 'dog'") == [(kg.central(conn)[1]["score"],)]


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -float("inf"), 2.5, -1, 0, True, "1e3", None, [], "\u00b2"])
def test_what_is_no_whole_number_is_refused_and_is_no_bug(tools, number):
    for answer in (tools.kg_neighbors("dog", number), tools.kg_communities(number), tools.kg_concepts("", number)):
        assert not answer["ok"]
        assert "must be a whole number of at least 1" in answer["message"]


@pytest.mark.parametrize("number", [2, 2.0, "2", " 2 "])
def test_a_whole_number_may_be_written_in_several_ways(tools, number):
    assert len(tools.kg_neighbors("dog", number)["neighbors"]) == 2


def test_a_path_stays_whole_however_long_it_is(database, tmp_path):
    names = [f"n{number:03d}" for number in range(60)]
    add_twice(database, list(pairwise(names)))
    answer = tools_for(settings_for(database.path, tmp_path)).kg_path(names[0], names[-1])
    assert (answer["path"], answer["length"]) == (names, 59)


def test_another_database_in_its_place_is_another_graph(zoo, tools, tmp_path):
    from tests.conftest import Database

    assert tools.kg_health()["health"]["nodes"] == 8
    other = add_twice(Database(tmp_path / "other.db"), [("x1", "x2")])
    other.path.replace(zoo.path)
    assert [row["name"] for row in tools.kg_concepts()["concepts"]] == ["x1", "x2"]
    zoo.path.write_bytes(b"")
    assert "is empty" in tools.kg_health()["message"]


def test_a_vault_that_is_away_is_said_to_be_and_stops_only_its_own_question(zoo, tmp_path):
    tools = tools_for(settings_for(zoo.path, tmp_path, tmp_path / "unmounted"))
    assert tools.kg_neighbors("dog")["ok"]
    assert "does not exist" in tools.kg_note("dog")["message"]
    assert "No vault is set" in tools_for(settings_for(zoo.path, tmp_path)).kg_note("dog")["message"]


def test_without_the_sdk_it_is_said_what_to_install(keeper, monkeypatch):
    for name in ("mcp", "mcp.server", "mcp.server.mcpserver", "mcp.server.fastmcp"):
        monkeypatch.setitem(sys.modules, name, None)
    result = keeper.run("mcp")
    assert result.exit_code == 2
    assert "kg2vault[mcp]" in result.stderr


def test_a_note_is_found_where_the_user_put_it(zoo, vault, tmp_path):
    terminal = make_terminal(zoo.path, vault, tmp_path)
    tools = tools_for(settings_for(zoo.path, tmp_path, vault))
    assert "sync" in tools.kg_note("dog")["message"]
    terminal.sync()
    note = terminal.note("dog")
    moved = vault / "Animals" / "my dog.md"
    moved.parent.mkdir()
    moved.write_text(note.read_text(encoding="utf-8") + "\nWhat I think of dogs.\n", encoding="utf-8")
    note.unlink()
    answer = tools.kg_note("DOG")
    assert (answer["ok"], answer["name"], answer["path"]) == (True, "dog", "Animals/my dog.md")
    assert "elk" in answer["generated"]
    assert "What I think" not in answer["generated"]
    assert "kg2vault:" not in answer["generated"]
    community = tools.kg_note("cat")["path"]
    assert community.endswith("cat.md")
    moved.unlink()
    terminal.sync()
    deleted = tools.kg_note("dog")
    assert (deleted["ok"], deleted["path"]) == (False, "")
    assert "you deleted it" in deleted["message"]
