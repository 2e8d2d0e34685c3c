"""Commands that ask the graph, and those that hand it on: neighbors … health, rebuild, export, mcp.

Layer 4.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import click

from kg2vault import asking
from kg2vault.cli.frame import Call, command
from kg2vault.cli.tables import show_table
from kg2vault.graph.queries import METRICS
from kg2vault.result import OperationResult
from kg2vault.standing import Follower, Standing

_COUNT = click.IntRange(min=1)


def _ask(call: Call, operation: str, answer: Callable[[Standing], OperationResult], show: Callable[[OperationResult], None]) -> None:
    call.run(operation, lambda: answer(Follower().stand(call.settings())), show)


@click.command("neighbors")
@click.argument("node")
@click.option("--limit", type=_COUNT, default=20, show_default=True, help="How many.")
@command
def neighbors_command(call: Call, node: str, limit: int) -> None:
    """List the concepts linked to NODE directly, most shared items first. A NODE that begins with a hyphen goes after `--`."""

    def show(result: OperationResult) -> None:
        show_table(["concept", "shared items"], [[row["name"], row["weight"]] for row in result.data["neighbors"]])
        click.echo(result.summary)

    _ask(call, "neighbors", lambda standing: asking.neighbors(standing, node, limit), show)


@click.command("path")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@command
def path_command(call: Call, source: str, target: str) -> None:
    """Show the shortest path from concept A to concept B."""

    def show(result: OperationResult) -> None:
        names, weights = result.data["path"], result.data["weights"]
        show_table(["concept", "shared items"], [[name, weight] for name, weight in zip(names, ["", *weights], strict=False)])
        click.echo(result.summary)

    _ask(call, "path", lambda standing: asking.path(standing, source, target), show)


@click.command("central")
@click.option("--metric", type=click.Choice(METRICS), default="degree", show_default=True, help="What makes a concept central.")
@click.option("--limit", type=_COUNT, default=10, show_default=True, help="How many.")
@command
def central_command(call: Call, metric: str, limit: int) -> None:
    """Rank the concepts: most connected (degree, strength, pagerank) or most bridging (betweenness)."""

    def show(result: OperationResult) -> None:
        rows = result.data["concepts"]
        shares = ["share"] if metric == "betweenness" else []
        show_table(["concept", metric, *shares], [[row["name"], row["score"], *(row[name] for name in shares)] for row in rows])
        click.echo(result.summary)

    _ask(call, "central", lambda standing: asking.central(standing, metric, limit), show)


@click.command("communities")
@click.option("--min-size", type=_COUNT, help="The smallest one to list (default: communities.min_size of the configuration).")
@command
def communities_command(call: Call, min_size: int | None) -> None:
    """List the groups of concepts, the largest first, with their most connected members."""

    def show(result: OperationResult) -> None:
        rows = [[row["name"], row["size"], ", ".join(row["members"])] for row in result.data["communities"]]
        show_table(["community", "size", "most connected members"], rows)
        click.echo(result.summary)

    _ask(call, "communities", lambda standing: asking.communities(standing, min_size or standing.terms.community_min_size), show)


@click.command("concepts")
@click.option("--prefix", default="", metavar="TEXT", help="Only those with a spelling that begins so.")
@click.option("--limit", type=_COUNT, default=50, show_default=True, help="How many.")
@command
def concepts_command(call: Call, prefix: str, limit: int) -> None:
    """List the concepts, those on most items first."""

    def show(result: OperationResult) -> None:
        rows = [[row["name"], row["items"], row["degree"], row["community"]] for row in result.data["concepts"]]
        show_table(["concept", "items", "degree", "community"], rows)
        click.echo(result.summary)

    _ask(call, "concepts", lambda standing: asking.concepts(standing, prefix, limit), show)


@click.command("health")
@command
def health_command(call: Call) -> None:
    """Show the numbers that say whether the graph is usable."""

    def show(result: OperationResult) -> None:
        show_table(["measure", "value"], [[name, str(value)] for name, value in result.data["health"].items()])
        click.echo(result.summary)

    _ask(call, "health", asking.health, show)


@click.command("rebuild")
@click.option("--confirm", is_flag=True, help="Really write; without it nothing happens.")
@command
def rebuild_command(call: Call, confirm: bool) -> None:
    """Write the graph into hermes.db, as the tables kg_nodes, kg_edges and kg_meta."""
    from kg2vault.materialising import materialise

    call.run("rebuild", lambda: materialise(call.settings(), confirm=confirm))


@click.command("export")
@click.argument("format_name", metavar="FORMAT")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE; - is standard output.")
@command
def export_command(call: Call, format_name: str, output: Path | None) -> None:
    """Write the graph for other programs; FORMAT is graphml, gexf, json, csv, cypher, dot or mermaid."""
    from kg2vault.exporting import export

    target = None if output == Path("-") else output
    call.quiet = call.quiet and target is not None  # what was asked for is no chatter

    def body() -> OperationResult:
        settings = call.settings()
        return export(Follower().stand(settings), format_name, target, never=(settings.database(),))

    def show(result: OperationResult) -> None:
        click.echo(result.data["text"].encode("utf-8", "replace"), nl=False) if not result.data["files"] else click.echo(result.summary)

    call.run("export", body, show)


@click.command("mcp")
@command
def mcp_command(call: Call) -> None:
    """Answer the same questions over the Model Context Protocol, on standard input and output."""
    from kg2vault.mcp_server import serve

    gc.enable()  # this one stays
    call.json = False  # standard output is the client's
    call.run("mcp", lambda: serve(call.settings), lambda result: None)
