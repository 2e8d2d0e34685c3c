"""What a child of the daemon does: one sync, unless nothing has changed, and its result as one line of JSON.

Layer 3. `python -m kg2vault.daemon.job` reads a pickled `Job` from standard input. SIGTERM and SIGINT let it finish the note in hand, as
does the death of the process that started it. What it prints holds counts and problems, no list of notes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kg2vault import __version__, collector
from kg2vault.errors import ExitCode, Kg2VaultError
from kg2vault.result import OperationResult, Problem, failure
from kg2vault.settings import Settings

_SHOWN_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class Job:
    """A sync to be done; without `must_sync` it is done only when rows or settings differ from what the vault was made of."""

    settings: Settings
    must_sync: bool


def carry_out(job: Job, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Return the envelope of the sync, with `ran`, `version` and `summary` added to its data; raises nothing."""
    ran = True
    try:
        known = None if job.must_sync else _unchanged(job.settings)
        ran = known is None
        result = OperationResult("sync", {"fingerprint": known}) if known is not None else _sync(job.settings, should_stop)
    except Kg2VaultError as error:
        result = failure("sync", error)
    except MemoryError:
        result = _bug("MemoryError")
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        result = _bug(f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}")
    envelope = result.envelope()
    envelope["data"].pop("notes", None)
    envelope["problems"] = envelope["problems"][:_SHOWN_PROBLEMS]
    envelope["data"] |= {"ran": ran, "version": __version__, "summary": result.summary}
    return envelope


def _unchanged(settings: Settings) -> str | None:
    """Return the fingerprint of the rows if the vault was made of them and of these settings; None when a sync is needed."""
    from kg2vault.storage.hermes import HermesSource
    from kg2vault.storage.manifest_file import ManifestFile
    from kg2vault.syncing import notes_digest

    manifest = ManifestFile(settings.vault()).load()
    if manifest is None or manifest.settings != notes_digest(settings):
        return None
    found = HermesSource(settings.database()).fingerprint(summaries=settings.config.notes.items)
    return found if found == manifest.fingerprint else None


def _sync(settings: Settings, should_stop: Callable[[], bool]) -> OperationResult:
    from kg2vault.syncing import sync

    result = sync(settings, should_stop=should_stop)
    if settings.config.watch.materialize:
        after_sync(settings)
    return result


def after_sync(settings: Settings) -> None:
    """Do what `watch.materialize` asks for, once a sync has come to its end; raises SourceError."""
    from kg2vault.materialising import materialize_if_enabled

    materialize_if_enabled(settings)


def _bug(what: str) -> OperationResult:
    problem = Problem("bug", f"Unexpected {what}.", None, "This is a bug in kg2vault; `kg2vault sync -v` shows where.")
    return OperationResult("sync", {}, (problem,), ExitCode.BUG, problem.message)


def _import_everything() -> None:
    """Load what a sync needs before the job is there: the daemon starts this process when the quiet period begins, not when it ends."""
    with contextlib.suppress(Exception):  # what is missing is for the sync to report
        import graspologic_native  # noqa: F401
        import rustworkx  # noqa: F401

        from kg2vault import syncing  # noqa: F401


def main() -> None:
    """Get ready, read the job, do it, print the envelope."""
    stop = False

    def ask_to_stop(_signal: int, _frame: object) -> None:
        nonlocal stop
        stop = True

    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), ask_to_stop)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    parent = os.getppid()
    collector.leave_off()
    _import_everything()
    given = sys.stdin.buffer.read()
    if not given:  # whoever started us thought better of it, or is gone
        return
    job = pickle.loads(given)
    print(json.dumps(carry_out(job, lambda: stop or os.getppid() != parent), default=str))


if __name__ == "__main__":
    # A pickle names this module as its importer knows it, not as `__main__`.
    from kg2vault.daemon.job import main as imported_main

    imported_main()
