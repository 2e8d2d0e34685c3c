"""What every command shares: the global options, the one way to run an operation, the one way to print a result.

Layer 4. The global options may stand before or after the command. Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from kg2vault.errors import ExitCode, Kg2VaultError
from kg2vault.result import OperationResult, Problem, failure
from kg2vault.settings import Options, Place, Settings, gather

_SHOWN_PROBLEMS = 20
_PIPE_ENDED = 128 + 13  # as if by SIGPIPE
_Command = TypeVar("_Command", bound=Callable[..., Any])
ARGUMENTS = "kg2vault.arguments"  # where click's context has the arguments as they were given
_GLOBAL = ("config", "db", "vault", "aliases", "verbose", "quiet", "as_json")


def global_options(function: _Command) -> _Command:
    """Add the options that every command takes."""
    path = click.Path(path_type=Path)
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON envelope."),
        click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
        click.option("-v", "--verbose", count=True, help="Say more on standard error."),
        click.option("--aliases", type=path, metavar="FILE", help="The alias table."),
        click.option("--vault", type=path, metavar="DIR", help="The Obsidian vault."),
        click.option("--db", type=path, metavar="FILE", help="The reader's hermes.db."),
        click.option("--config", type=path, metavar="FILE", help="The config.yaml."),
    ):
        function = option(function)
    return function


class Call:
    """One call of a command: its global options, and how its result is shown."""

    def __init__(self, options: dict[str, Any], arguments: list[str]) -> None:
        self.arguments = arguments
        self.options = Options(options.get("config"), options.get("db"), options.get("vault"), options.get("aliases"))
        self.json = bool(options.get("as_json"))
        self.quiet = bool(options.get("quiet"))
        self.verbose = int(options.get("verbose") or 0)

    def settings(self) -> Settings:
        """Return the settings in force; raises ConfigError."""
        return gather(self.options, Place())

    def run(self, operation: str, body: Callable[[], OperationResult], show: Callable[[OperationResult], None] | None = None) -> None:
        """Run an operation, print its result and leave with its exit code."""
        level = logging.WARNING if not self.verbose else logging.INFO if self.verbose == 1 else logging.DEBUG
        logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(message)s")
        try:
            result = body()
        except Kg2VaultError as error:
            result = failure(operation, error)
        except KeyboardInterrupt:
            sys.exit(130)
        except Exception as error:
            if self.verbose:
                raise
            problem = Problem("bug", f"Unexpected {type(error).__name__}: {error}", None, "This is a bug in kg2vault; -v shows where.")
            result = OperationResult(operation, {}, (problem,), ExitCode.BUG, f"{problem.message} {problem.hint}")
        try:
            self.show(result, show)
        except OSError as error:
            sys.exit(_unheard(error))
        sys.exit(int(result.exit_code))

    def printed(self, result: OperationResult) -> str:
        """Return what a result without problems prints on standard output."""
        text = result.to_json() if self.json else "" if self.quiet else result.summary
        return f"{text}\n" if text else ""

    def show(self, result: OperationResult, show: Callable[[OperationResult], None] | None = None) -> None:
        """Print a result: the envelope, or its text form."""
        if self.json:
            click.echo(result.to_json())
            return
        if result.exit_code > ExitCode.UNFINISHED:
            click.echo(f"kg2vault: {result.summary}", err=True)
            return
        if not self.quiet:
            if show is not None:
                show(result)
            elif result.summary:
                click.echo(result.summary)
        show_problems(result.problems)


def _unheard(error: OSError) -> int:
    """Return the exit code for an answer that could not be printed, and keep the interpreter from trying once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # `| head` has seen enough
        return _PIPE_ENDED
    click.echo(f"kg2vault: the answer cannot be printed: {error.strerror or error}.", err=True)
    return int(ExitCode.UNFINISHED)


def unusable(error: click.UsageError, *, as_json: bool) -> NoReturn:
    """End with exit code 2 and the envelope of what is wrong with the arguments, or raise the error again for click to show."""
    hint = f"`{error.ctx.command_path} --help` says what there is." if error.ctx is not None else None
    takes_names = error.ctx is not None and any(isinstance(parameter, click.Argument) for parameter in error.ctx.command.params)
    if isinstance(error, click.NoSuchOption) and takes_names:
        hint = "A name that begins with a hyphen goes after `--`."
        if not as_json:
            raise click.UsageError(f"{error.format_message()} {hint}", error.ctx) from error
    if not as_json:
        raise error
    operation = error.ctx.info_name if error.ctx is not None and error.ctx.parent is not None else None
    problem = Problem("usage", error.format_message(), None, hint)
    click.echo(OperationResult(operation or "kg2vault", {}, (problem,), ExitCode.CONFIG).to_json())
    sys.exit(int(ExitCode.CONFIG))


def show_problems(problems: tuple[Problem, ...]) -> None:
    """Print problems on standard error, at most twenty, each kind's way out once."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        click.echo(f"  {problem.code}: {problem.message}", err=True)
    if problems[_SHOWN_PROBLEMS:] and problems[-1].code == "more":
        click.echo(f"  … {problems[-1].message}", err=True)
    elif problems[_SHOWN_PROBLEMS:]:
        click.echo(f"  … and {len(problems) - _SHOWN_PROBLEMS} more (--json lists them all)", err=True)
    for hint in dict.fromkeys(problem.hint for problem in problems if problem.hint):
        click.echo(f"  → {hint}", err=True)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the global options; it receives them as one `Call`, first."""

    def wrapper(ctx: click.Context, /, **options: Any) -> None:
        before = ctx.find_root().obj or {}
        own = {name: options.pop(name) for name in _GLOBAL}
        merged = {**before, **{key: value for key, value in own.items() if value not in (None, False, 0)}}
        function(Call(merged, ctx.meta[ARGUMENTS]), **options)

    return global_options(update_wrapper(click.pass_context(wrapper), function))
