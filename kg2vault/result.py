"""One result for every operation, printed as text or as the JSON envelope; nothing else reaches standard output.

Layer 3. The envelope is `{"operation", "ok", "data", "problems": [{"code", "message", "path", "hint"}], "exit_code"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kg2vault.errors import ExitCode, Kg2VaultError


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a person should know: a stable `code`, one sentence, what it is about, and the way out."""

    code: str
    message: str
    path: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What an operation did. `ok` is False exactly when `exit_code` is not 0; `summary` is the one line a person reads."""

    operation: str
    data: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    exit_code: int = ExitCode.FINE
    summary: str = ""

    @property
    def ok(self) -> bool:
        """Whether the operation did all it was asked for."""
        return self.exit_code == ExitCode.FINE

    def envelope(self) -> dict[str, Any]:
        """Return the JSON form."""
        problems = [{"code": p.code, "message": p.message, "path": p.path, "hint": p.hint} for p in self.problems]
        return {"operation": self.operation, "ok": self.ok, "data": dict(self.data), "problems": problems, "exit_code": int(self.exit_code)}

    def to_json(self) -> str:
        """Return the envelope as one line of JSON; text that is not valid Unicode is escaped."""
        return json.dumps(self.envelope(), ensure_ascii=True, default=str)


def failure(operation: str, error: Kg2VaultError) -> OperationResult:
    """Return the result of an operation that an error ended."""
    problem = Problem(error.code, error.message, error.path, error.hint)
    return OperationResult(operation, {}, (problem,), error.exit_code, str(error))
