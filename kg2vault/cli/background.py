"""Commands of what runs in the background: watch, service, status, doctor.

Layer 4.
"""

from __future__ import annotations

import os
import sys

import click

from kg2vault.cli.frame import Call, command
from kg2vault.errors import Kg2VaultError
from kg2vault.result import failure
from kg2vault.settings import Place


@click.command("watch")
@click.option("--polling", is_flag=True, help="Only look every poll interval; do not ask the system for events.")
@command
def watch_command(call: Call, polling: bool) -> None:
    """Keep the vault in step with the database, until stopped."""
    from kg2vault.daemon.run import Manner, watch
    from kg2vault.service.spec import final_status

    try:
        code = watch(call.options, Place(), Manner(polling, None, call.verbose, call.quiet))
    except Kg2VaultError as error:
        call.show(failure("watch", error))
        code = int(error.exit_code)
    sys.exit(final_status(code, os.environ))
