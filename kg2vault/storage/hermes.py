"""The reading side: everything the graph and the notes need from hermes.db, in one read transaction.

Layer 2. `HermesSource(path).read()` returns a `Reading`; nothing is written, created or kept open. Only item_tags is indispensable: where
the tables items or feeds, or one of their columns, are missing, the facts are empty. A tag row whose item is not in items still counts as
an item.
"""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kg2vault.graph.model import Reading
from kg2vault.storage.access import read_in_peace
from kg2vault.storage.fingerprint import content_digest, file_token
from kg2vault.storage.rows import Rows, has_tags, read_rows


class HermesSource:
    """A reader's database at a path. Connections are short: a database that was replaced is simply opened anew."""

    def __init__(self, path: Path, *, busy_timeout: float = 5.0) -> None:
        self.path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would name another file in messages
        self.busy_timeout = busy_timeout

    def read(self, *, summaries: bool = False) -> Reading:
        """Read everything; item summaries only on request.

        Raises SourceMissing, SourceDenied, SourceSchema, SourceBusy after `busy_timeout` seconds, or SourceError.
        """
        with no_collector():
            rows = self._rows(summaries=summaries)
            return Reading(
                assignments=rows.assignments,
                items={item.id: item for item in rows.items},
                feeds={feed.id: feed for feed in rows.feeds},
                fingerprint=content_digest(rows.assignments, rows.items, rows.feeds),
                skipped=rows.skipped,
                decoded=rows.decoded,
            )

    def fingerprint(self, *, summaries: bool = False) -> str:
        """Return the `fingerprint` that `read()` of the same `summaries` would give, without its objects; raises what it raises."""
        with no_collector():
            rows = self._rows(summaries=summaries)
            return content_digest(rows.assignments, rows.items, rows.feeds)

    def gate(self) -> str:
        """Return a token of the files as they lie, without opening any; never raises.

        Equal tokens mean that nothing was written between the calls; take it *before* a read. Different ones ask for `fingerprint()`.
        """
        return file_token(Path(os.path.realpath(self.path)))

    def has_tags(self) -> bool:
        """Tell whether there is at least one row in item_tags; raises what `read()` raises."""
        return read_in_peace(self.path, self.busy_timeout, lambda connection: has_tags(connection, self.path))

    def _rows(self, *, summaries: bool) -> Rows:
        def work(connection: sqlite3.Connection) -> Rows:
            return read_rows(connection, self.path, summaries=summaries)

        return read_in_peace(self.path, self.busy_timeout, work)


@contextmanager
def no_collector() -> Iterator[None]:
    """Millions of small tuples, none of them in a cycle: the collector would walk them again and again (a third of the time)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
