"""Tables for people: `show_table` prints with rich on a terminal and as plain aligned columns everywhere else.

Layer 4. Cells come from tags and are hostile text: what could move a cursor or turn text round is taken out.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

import click

from kg2vault.vault.escape import plain

Cell = str | int | float


def show_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print rows under a header; columns of numbers are right-aligned."""
    if not rows:
        return
    numeric = [all(isinstance(row[column], int | float) for row in rows) for column in range(len(header))]
    cells = [[_shown(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich(header, cells, numeric)
        return
    lines = [list(header), *cells]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        gaps = [" " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        padded = [gap + cell if right else cell + gap for cell, gap, right in zip(line, gaps, numeric, strict=True)]
        click.echo("  ".join(padded).rstrip())


def _rich(header: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in zip(header, numeric, strict=True):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))  # Text: a tag called [bold] is no markup
    Console().print(table)


def _width(cell: str) -> int:
    """Columns a cell takes: letters of East Asia and most emoji are two wide, accents of their own none."""
    if cell.isascii():
        return len(cell)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in cell)


def _shown(cell: Cell) -> str:
    return plain(cell) if isinstance(cell, str) else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
