"""A doctor's single finding: `Check`, red, yellow or green, with a way out.

Layer 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["green", "yellow", "red"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: its name, how bad it is, one sentence, and what to do unless it is green."""

    name: str
    level: Level
    message: str
    hint: str = ""


def green(name: str, message: str) -> Check:
    """Return a finding that all is well."""
    return Check(name, "green", message)


def yellow(name: str, message: str, hint: str) -> Check:
    """Return a finding that a person should know of."""
    return Check(name, "yellow", message, hint)


def red(name: str, message: str, hint: str) -> Check:
    """Return a finding that something is broken."""
    return Check(name, "red", message, hint)
