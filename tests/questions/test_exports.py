"""Every export is read back by a program that knows the format, and is the graph."""

import csv
import io
import json
import re

import networkx
import pytest

from kg2vault.exporting import FORMATS
from kg2vault.graph.formats.cypher import cypher
from kg2vault.graph.formats.drawings import dot, mermaid
from kg2vault.graph.formats.facts import COLUMNS, node_facts
from kg2vault.graph.formats.tabular import edges_csv, node_link, nodes_csv
from kg2vault.graph.formats.xml import gexf, graphml
from kg2vault.graph.spelling import clean_spelling
from kg2vault.standing import Follower
from tests.conftest import corpus
from tests.graph.small import build, linked, reading, windmill
from tests.questions.conftest import settings_for
from tests.vault.test_escape import FRAGMENTS

HOSTILE = [
    'quote " and \\" more',
    "back\\slash\\",
    "]]>&amp;<b>",
    "\x01\x02 control",
    "\x03\x02 control",
    "\ufffe non-character",
    "line\u2028separator",
    "'; MATCH (n) DETACH DELETE n; //",
    "\\u0027}) DETACH DELETE (n) //",
    "=cmd|' /C calc'!A0",
    "'=cmd|' /C calc'!A0",
    "\ufeffbom",
    "a;b,c\td",
    "end",
    "graph",
    "--",
    "#quot;]]",
    "\U0001f9ea \u05e2\u05d1\u05e8\u05d9\u05ea \u202e",
    "n\u00e9e",
    "%%{init: {'theme': 'dark'}}%%",
    "style n0 fill:#f00",
    "click n0 call alert()",
    "\\N",
    "\\\\u0027",
    "/* comment",
    "${name}",
    '""',
    "-x",
    "subgraph",
    "\x85next line",
    "\ufdd0 non-character",
]


def hostile_graph():
    tags = list(dict.fromkeys([*HOSTILE, *(text for text in FRAGMENTS if clean_spelling(text).isprintable() and clean_spelling(text))]))
    return build(linked(*((tag, tags[place + 1], 2 + place % 3) for place, tag in enumerate(tags[:-1]))))


GRAPHS = {
    "none": build(reading()),
    "pair": build(linked(("x1", "x2"))),
    "isolated": build(linked(("x1", "x2"), ("x3", "x3")), include_isolated=True),
    "windmill": build(linked(*windmill(5))),
    "merged": build(reading(("LLM", "x1"), ("large-language-models", "x1"), ("X1", "llm")), "aliases: {llm: large-language-models}"),
    "hostile": hostile_graph(),
}


@pytest.fixture(params=GRAPHS, ids=str)
def graph(request):
    return GRAPHS[request.param]


def shape(graph):
    """Concepts and edges with everything a format says of them, as networkx holds it."""
    nodes = dict(node_facts(graph))
    edges = {frozenset((edge.source, edge.target)): edge.weight for edge in graph.edges}
    return nodes, edges


def read_shape(found):
    return dict(found.nodes(data=True)), {frozenset((source, target)): weight for source, target, weight in found.edges(data="weight")}


def xml_text(text):
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def equal_but_for_what_xml_cannot_write(graph, nodes, edges):
    expected, expected_edges = shape(graph)
    by_place = dict(zip(expected, nodes, strict=True))
    assert len(set(by_place.values())) == len(expected)
    for key, identity in by_place.items():
        assert identity.startswith(xml_text(key))
        assert nodes[identity] == {name: xml_text(value) if isinstance(value, str) else value for name, value in expected[key].items()}
    assert edges == {frozenset(by_place[end] for end in pair): weight for pair, weight in expected_edges.items()}


def test_graphml_is_read_by_networkx(graph):
    found = networkx.read_graphml(io.BytesIO(graphml(graph).encode()))
    assert not found.is_directed()
    equal_but_for_what_xml_cannot_write(graph, *read_shape(found))


def test_gexf_is_read_by_networkx(graph):
    found = networkx.read_gexf(io.BytesIO(gexf(graph).encode()))
    nodes, edges = read_shape(found)
    equal_but_for_what_xml_cannot_write(graph, nodes, edges)


def test_node_link_json_is_read_by_networkx(graph):
    text = node_link(graph)
    found = networkx.node_link_graph(json.loads(text))
    assert text.isascii()
    nodes, edges = read_shape(found)
    expected, expected_edges = shape(graph)
    for key, facts in expected.items():
        facts["aliases"] = list(graph.concepts[key].spellings)
    assert (nodes, edges) == (expected, expected_edges)
    communities = found.graph["communities"]
    assert [(row["id"], row["size"]) for row in communities] == [(c.id, len(c.members)) for c in graph.communities]


def test_csv_is_read_by_the_csv_module(graph):
    def cell(text):
        return text[1:] if text.startswith("'") else text

    nodes = {cell(row["id"]): row for row in csv.DictReader(io.StringIO(nodes_csv(graph), newline=""))}
    assert list(nodes) == list(graph.concepts)
    for key, facts in node_facts(graph):
        for name, kind in COLUMNS.items():
            assert kind(cell(nodes[key][name])) == facts[name]
    edges = [
        (cell(row["source"]), cell(row["target"]), int(row["weight"])) for row in csv.DictReader(io.StringIO(edges_csv(graph), newline=""))
    ]
    assert edges == [(edge.source, edge.target, edge.weight) for edge in graph.edges]


def test_no_cell_of_a_spreadsheet_begins_like_a_formula():
    for text in (nodes_csv(GRAPHS["hostile"]), edges_csv(GRAPHS["hostile"])):
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        assert not any(cell.startswith(("=", "+", "@", "-")) for cell in cells)
        assert any(cell.startswith("'=cmd") for cell in cells)


class DotReader:
    """As much of the DOT language as is needed, after its grammar: a graph of nodes, edges and attributes."""

    TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(--|[{}\[\];=,])|([A-Za-z_0-9.+-]+)|\s+', re.DOTALL)

    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            match = self.TOKEN.match(text, at)
            assert match, text[at : at + 40]
            if match[1] is not None:
                self.tokens.append(("id", match[1].replace('\\"', '"')))
            elif match[2] or match[3]:
                self.tokens.append(("punctuation", match[2]) if match[2] else ("id", match[3]))
            at = match.end()

    def read(self):
        nodes, edges = {}, []
        assert [self.take() for _ in range(3)] == ["graph", "knowledge", "{"]
        while (name := self.take()) != "}":
            if self.peek() == "--":
                self.take()
                edges.append((name, self.take(), self.attributes()))
            else:
                attributes = self.attributes()
                if name not in ("graph", "node") or "label" in attributes:
                    nodes[name] = attributes
            assert self.take() == ";"
        assert not self.tokens
        return nodes, edges

    def attributes(self):
        found = {}
        assert self.take() == "["
        while (name := self.take()) != "]":
            assert self.take() == "="
            found[name] = self.take()
            if self.peek() == ",":
                self.take()
        return found

    def take(self):
        return self.tokens.pop(0)[1]

    def peek(self):
        return self.tokens[0][1]


def test_dot_is_read_by_another_reader_of_the_language(graph):
    def written(text):
        return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", "\ufffd", text)

    nodes, edges = DotReader(dot(graph)).read()
    # Every backslash is doubled, in names and labels alike.
    key_of = {}
    for (name, facts), (key, expected) in zip(nodes.items(), node_facts(graph), strict=True):
        key_of[name] = key
        assert name.replace("\\\\", "\\").startswith(written(key))
        for column, kind in COLUMNS.items():
            assert kind(facts[column].replace("\\\\", "\\")) == (written(expected[column]) if kind is str else expected[column])
    assert [(key_of[source], key_of[target], int(facts["weight"])) for source, target, facts in edges] == [
        (edge.source, edge.target, edge.weight) for edge in graph.edges
    ]


CYPHER_STRING = r"'(?:[^'\\]|\\.)*'(?: \+ '(?:[^'\\]|\\.)*')*"


def unquoted(literal):
    """What Neo4j makes of it: unicode escapes first, wherever they stand, then the others, then the concatenation."""
    assert not re.search(r"\\[uU]", literal)
    pieces = re.findall(r"'((?:[^'\\]|\\.)*)'", literal)
    return "".join(re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), piece) for piece in pieces)


def test_cypher_statements_say_the_graph_and_nothing_else(graph):
    text = cypher(graph)
    blanked = re.sub(CYPHER_STRING, "S", text)
    constraint, *statements = [statement.strip() for statement in blanked.split(";") if statement.strip()]
    assert constraint.startswith("CREATE CONSTRAINT kg2vault_concept IF NOT EXISTS")
    number = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
    node = rf"\{{key: S(?:, \w+: (?:S|{number}|\[(?:S(?:, S)*)?\]))+\}}"
    edge = r"\{source: S, target: S, weight: \d+\}"
    for statement in statements:
        assert re.fullmatch(
            rf"UNWIND \[\n{node}(?:,\n{node})*\n\] AS row MERGE \(c:Concept \{{key: row\.key\}}\) SET c \+= row"
            rf"|UNWIND \[\n{edge}(?:,\n{edge})*\n\] AS row MATCH \(a:Concept \{{key: row\.source\}}\), "
            r"\(b:Concept \{key: row\.target\}\) MERGE \(a\)-\[r:CO_OCCURS\]->\(b\) SET r\.weight = row\.weight",
            statement,
        ), statement[:300]

    def clean(written):
        return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]", "\ufffd", written)

    keys = [unquoted(literal) for literal in re.findall(rf"\{{key: ({CYPHER_STRING}), label", text)]
    key_of = dict(zip(keys, graph.concepts, strict=True))
    assert all(written.startswith(clean(key)) for written, key in key_of.items())
    labels = [unquoted(literal) for literal in re.findall(rf"label: ({CYPHER_STRING}), items", text)]
    assert labels == [clean(concept.label) for concept in graph.concepts.values()]
    ends = re.findall(rf"\{{source: ({CYPHER_STRING}), target: ({CYPHER_STRING}), weight: (\d+)", text)
    assert [(key_of[unquoted(source)], key_of[unquoted(target)], int(weight)) for source, target, weight in ends] == [
        (edge.source, edge.target, edge.weight) for edge in graph.edges
    ]


MERMAID_LINE = re.compile(
    r'%% \d+ of \d+ concepts, \d+ of \d+ edges|graph LR|  n\d+\["[^"\[\]<>{}|`;]*(?:#\d+;[^"\[\]<>{}|`;]*)*"\]|  n\d+ ---\|\d+\| n\d+'
    r"|  class n\d+(?:,n\d+)* community\d+"
)


def test_mermaid_lines_are_the_few_that_are_meant(graph):
    lines = mermaid(graph).splitlines()
    assert all(map(MERMAID_LINE.fullmatch, lines)), [line for line in lines if not MERMAID_LINE.fullmatch(line)]
    labels = [re.sub(r"#(\d+);", lambda match: chr(int(match[1])), line.split('"')[1]) for line in lines if '["' in line]
    assert len(labels) == min(60, len(graph.concepts))
    if len(graph.concepts) <= 60:
        assert sum("---" in line for line in lines) == len(graph.edges)


def test_mermaid_is_capped_at_the_strongest():
    graph = build(linked(*[("hub", f"x{number:03d}", 2 + number % 7) for number in range(300)]))
    lines = mermaid(graph).splitlines()
    assert lines[0] == "%% 60 of 301 concepts, 59 of 300 edges"
    weights = [int(line.split("|")[1]) for line in lines if "---" in line]
    assert weights == sorted(weights, reverse=True)
    assert min(weights) == 7


@pytest.mark.parametrize("name", ["pyvideo", "jser"])
def test_a_real_graph_is_read_back_equal(name, tmp_path):
    graph = Follower(tmp_path / "cache").stand(settings_for(corpus(name, tmp_path), tmp_path)).graph
    expected = shape(graph)
    assert read_shape(networkx.read_graphml(io.BytesIO(graphml(graph).encode()))) == expected
    assert read_shape(networkx.read_gexf(io.BytesIO(gexf(graph).encode()))) == expected
    assert read_shape(networkx.node_link_graph(json.loads(node_link(graph))))[1] == expected[1]
    assert len(DotReader(dot(graph)).read()[1]) == len(graph.edges)


def test_the_command_writes_each_format_to_standard_output_or_to_a_file(keeper, tmp_path):
    for name in (name for name in FORMATS if name != "csv"):
        target = tmp_path / "out" / f"graph.{name}"
        target.parent.mkdir(exist_ok=True)
        written = keeper.run("export", name, "-o", target)
        assert written.exit_code == 0
        assert str(target) in written.stdout
        assert keeper.run("export", name).stdout == target.read_text(encoding="utf-8")
        assert keeper.json("export", name)["data"]["text"] == target.read_text(encoding="utf-8")
    assert keeper.run("export", "csv", "-o", tmp_path / "out" / "zoo.csv").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("out/zoo*")) == ["zoo-edges.csv", "zoo-nodes.csv"]
    assert len((tmp_path / "out" / "zoo-edges.csv").read_text().splitlines()) == 9


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["yaml"], "choose one of"),
        (["csv"], "-o"),
        (["dot", "-o", "."], "is a folder"),
        (["dot", "-o", "no/such/folder/x.dot"], "cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_refused(keeper, arguments, says):
    result = keeper.run("export", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_hyphen_is_standard_output_and_quiet_keeps_the_graph(keeper, tmp_path):
    expected = keeper.run("export", "dot").stdout
    assert keeper.run("export", "dot", "-o", "-").stdout == keeper.run("-q", "export", "dot").stdout == expected
    assert expected.startswith("graph knowledge {")
    assert keeper.run("export", "csv", "-o", "-").exit_code == 2
    assert keeper.run("-q", "export", "dot", "-o", tmp_path / "x.dot").stdout == ""
    assert not list(keeper.cwd.glob("-*"))


def test_a_file_that_is_there_is_replaced_as_a_whole_and_a_folder_is_refused(keeper, tmp_path):
    target, folder = tmp_path / "old.json", tmp_path / "folder"
    target.write_text("x" * 100_000, encoding="utf-8")
    folder.mkdir()
    keeper.run("export", "json", "-o", target)
    assert len(json.loads(target.read_text(encoding="utf-8"))["nodes"]) == 8
    for name in ("json", "csv"):
        refused = keeper.run("export", name, "-o", folder)
        assert refused.exit_code == 2
        assert "is a folder" in refused.stderr
    assert not list(tmp_path.glob("folder*/*"))
    assert not list(tmp_path.glob("folder-*"))


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_neither_is_what_sqlite_keeps_beside_the_database(keeper, zoo, suffix):
    beside = zoo.path.with_name(zoo.path.name + suffix)
    refused = keeper.run("export", "json", "-o", beside)
    assert refused.exit_code == 2
    assert "part of the reader's database" in refused.stderr
    assert not beside.exists()


def test_the_readers_database_is_never_written_over(keeper, zoo, tmp_path):
    link = tmp_path / "innocent.json"
    link.symlink_to(zoo.path)
    before = zoo.path.read_bytes()
    for target in (zoo.path, link):
        assert keeper.run("export", "json", "-o", target).exit_code == 2
    assert zoo.path.read_bytes() == before
