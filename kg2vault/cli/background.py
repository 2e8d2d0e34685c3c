"""Commands of what runs in the background: watch, status, doctor, and service from services.py.

Layer 4.
"""

from __future__ import annotations

import gc
import os
import sys

import click

from kg2vault.cli.frame import Call, command
from kg2vault.errors import Kg2VaultError
from kg2vault.result import OperationResult, failure
from kg2vault.settings import Place, gather

_MARKS = {"red": "✗", "yellow": "!", "green": "✓"}
_COLOURS = {"red": "red", "yellow": "yellow", "green": "green"}


@click.command("watch")
@click.option("--polling", is_flag=True, help="Only look every poll interval; do not ask the system for events.")
@command
def watch_command(call: Call, polling: bool) -> None:
    """Keep the vault in step with the database, until stopped."""
    from kg2vault.cli.services import log_file
    from kg2vault.daemon.run import Manner, watch
    from kg2vault.service.spec import SYSTEM_VARIABLE, final_status

    gc.enable()  # this one stays
    place = Place()
    try:
        vault = call.options.vault or gather(call.options, place).vault()
        file = log_file(os.environ, str(vault), place.home)
        patient = bool(os.environ.get(SYSTEM_VARIABLE))
        code = watch(call.options, place, Manner(polling, patient, file, call.verbose, call.quiet))
    except Kg2VaultError as error:
        call.show(failure("watch", error))
        code = int(error.exit_code)
    sys.exit(final_status(code, os.environ))


@click.command("status")
@command
def status_command(call: Call) -> None:
    """Say whether the daemon lives, whether the vault is current, and which notes need you."""
    from kg2vault.status import status

    call.run("status", lambda: status(call.settings()))


@click.command("doctor")
@command
def doctor_command(call: Call) -> None:
    """Check everything, and say how to mend what is wrong."""
    from kg2vault.cli.services import service_checks
    from kg2vault.doctor import doctor

    call.run("doctor", lambda: _unlisted(doctor(call.settings(), service_checks(call.options, Place())), call.json), _show_checks)


def _unlisted(result: OperationResult, as_json: bool) -> OperationResult:
    """Leave the problems out where the checks show them already."""
    return result if as_json else OperationResult(result.operation, result.data, (), result.exit_code, result.summary)


def _show_checks(result: OperationResult) -> None:
    for check in result.data["checks"]:
        mark = click.style(_MARKS[check["level"]], fg=_COLOURS[check["level"]])
        click.echo(f"{mark} {check['name']:<14} {check['message']}")
        if check["hint"] and check["level"] != "green":
            for number, line in enumerate(check["hint"].splitlines()):
                click.echo(f"{'':<17}{'→ ' if number == 0 else '  '}{line}")
    click.echo(result.summary)


def __getattr__(name: str) -> object:
    if name == "service_command":
        from kg2vault.cli.services import service_command

        return service_command
    raise AttributeError(name)
