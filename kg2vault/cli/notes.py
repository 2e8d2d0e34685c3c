"""Commands about notes: demo, init, sync, verify, conflicts, resolve, restore, trash.

Layer 4.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from kg2vault import app
from kg2vault.cli.frame import Call, command
from kg2vault.cli.progress import Progress
from kg2vault.result import OperationResult
from kg2vault.settings import Place

_SHOWN_NOTES = 200


@click.command("demo")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("kg2vault-demo"), metavar="[DIR]")
@command
def demo_command(call: Call, folder: Path) -> None:
    """Build a sample vault from a bundled reading log in DIR (default: ./kg2vault-demo)."""
    call.run("demo", lambda: app.demo(folder))


@click.command("sync")
@click.option("--dry-run", is_flag=True, help="Print what would be done and write nothing.")
@click.option("--allow-retire", is_flag=True, help="Go on when many concepts would leave the vault.")
@click.option("--allow-missing", is_flag=True, help="Go on when many notes are missing: you deleted them.")
@click.option("--rebuild-manifest", is_flag=True, help="Forget our record and adopt the notes in the vault by their ids.")
@click.option("--recluster", is_flag=True, help="Find the communities afresh.")
@click.option("--full", is_flag=True, help="Read every note again, changed or not.")
@command
def sync_command(call: Call, **flags: Any) -> None:
    """Bring the vault to what the graph says, once."""
    from kg2vault.witness import Witness

    show = _show_plan if flags["dry_run"] else None
    started = time.time_ns()

    def body() -> OperationResult:
        settings = call.settings()
        witness = None if any(flags.values()) or call.verbose else Witness(call.arguments, settings, started)
        result = app.sync(settings, app.SyncFlags(**flags), progress=progress.step, witness=witness)
        if witness is not None:
            witness.remember(result, call.printed)
        return result

    with Progress(enabled=not (call.quiet or call.json)) as progress:
        call.run("sync", body, show)


def _show_plan(result: OperationResult) -> None:
    notes = [note for note in result.data["notes"] if note["state"] in ("created", "updated", "retired")]
    verbs = {"created": "create", "updated": "update", "retired": "retire"}
    for note in notes[:_SHOWN_NOTES]:
        click.echo(f"{verbs[note['state']]:<7} {note['path']}")
    if len(notes) > _SHOWN_NOTES:
        click.echo(f"… and {len(notes) - _SHOWN_NOTES} more (--json lists them all)")
    click.echo(result.summary)


@click.command("verify")
@command
def verify_command(call: Call) -> None:
    """Read the vault back and compare it with the graph of the database."""
    call.run("verify", lambda: app.verify(call.settings()))


@click.command("init")
@command
def init_command(call: Call) -> None:
    """Find hermes.db and your Obsidian vaults, and write a commented config.yaml."""
    call.run("init", lambda: app.init(call.options, Place()))


@click.command("conflicts")
@command
def conflicts_command(call: Call) -> None:
    """List the notes that wait for a decision of yours, why, since when, and the way out."""
    call.run("conflicts", lambda: app.conflicts(call.settings()), _show_pending)


def _show_pending(result: OperationResult) -> None:
    for note in result.data["notes"]:
        since = f" since {note['since']}" if note["since"] else ""
        click.echo(f"{note['reason']:<9} {note['path']}{since}: {note['detail']}")
        click.echo(f"          → {note['way_out']}")
    click.echo(result.summary)


@click.command("resolve")
@click.argument("note")
@click.option("--mine", is_flag=True, help="Your text stays and becomes yours; the region is not written again.")
@click.option("--generated", is_flag=True, help="The generated text replaces yours.")
@click.option("--both", is_flag=True, help="Your text moves below the region.")
@command
def resolve_command(call: Call, note: str, **choices: bool) -> None:
    """Settle the conflict in NOTE (a path, a file name or a concept)."""
    chosen = [name for name, is_chosen in choices.items() if is_chosen]
    if len(chosen) != 1:
        raise click.UsageError("Say --mine, --generated or --both: one of them.")
    call.run("resolve", lambda: app.resolve(call.settings(), note, chosen[0]))


@click.command("restore")
@click.argument("note")
@command
def restore_command(call: Call, note: str) -> None:
    """Bring back NOTE, which you deleted, or the regions you removed from it."""
    call.run("restore", lambda: app.restore(call.settings(), note))


@click.group("trash")
def trash_command() -> None:
    """Notes of concepts that left the graph."""


@trash_command.command("list")
@command
def _trash_list(call: Call) -> None:
    """List the notes in the trash."""
    call.run("trash", lambda: app.trash(call.settings(), empty=False), _show_trash)


@trash_command.command("empty")
@command
def _trash_empty(call: Call) -> None:
    """Remove the notes in the trash for good."""
    call.run("trash", lambda: app.trash(call.settings(), empty=True))


def _show_trash(result: OperationResult) -> None:
    for name in result.data["notes"]:
        click.echo(name)
    click.echo(result.summary)
