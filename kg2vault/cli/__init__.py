"""The command line: flags in, one operation of the layer below, one result out.

Layer 4. `command_line()` is what the console script runs. The commands stand in `notes.py` (sync, verify and everything about notes),
`questions.py` (questions to the graph) and `background.py` (the daemon and its service); a module is imported when one of its commands
is used, so that starting stays quick.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from kg2vault import __version__
from kg2vault.cli.frame import ARGUMENTS, global_options, unusable

_COMMANDS = {
    "notes": ("conflicts", "demo", "init", "resolve", "restore", "sync", "trash", "verify"),
    "questions": ("central", "communities", "concepts", "export", "health", "mcp", "neighbors", "path", "rebuild"),
    "background": ("doctor", "service", "status", "watch"),
}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they were given: a sync's answer is remembered for exactly this call."""
        ctx.meta[ARGUMENTS] = list(map(str, args))
        with _told_as_asked(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named; a wrong argument of its own is told here too."""
        with _told_as_asked(ctx):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command's name."""
        return sorted(name for names in _COMMANDS.values() for name in names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing it first."""
        for module, names in _COMMANDS.items():
            if cmd_name in names:
                command = getattr(importlib.import_module(f"kg2vault.cli.{module}"), f"{cmd_name}_command")
                assert isinstance(command, click.Command)
                return command
        return None


@contextmanager
def _told_as_asked(ctx: click.Context) -> Iterator[None]:
    """Let arguments that make no sense be told in the envelope where that was asked for."""
    try:
        yield
    except click.UsageError as error:
        given = ctx.meta[ARGUMENTS]
        unusable(error, as_json="--json" in given[: given.index("--")] if "--" in given else "--json" in given)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="kg2vault", message="%(prog)s %(version)s")
@global_options
@click.pass_context
def command_group(ctx: click.Context, /, **options: object) -> None:
    """Mirror the tags of a local RSS reader into an Obsidian vault, as a knowledge graph."""
    ctx.obj = {key: value for key, value in options.items() if value not in (None, False, 0)}


def command_line() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    command_group(prog_name="kg2vault")


__all__ = ["command_group", "command_line"]
