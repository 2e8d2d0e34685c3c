"""What can go wrong, as one tree, and the exit code each branch ends the program with.

Layer 0: imported by everything, imports nothing of ours.

    Kg2VaultError                70  a bug, when it is raised bare
    ├── ConfigError               2  config.yaml, aliases.yaml or the command line
    ├── SourceError               3  hermes.db: missing, unreadable, not the reader's schema
    │   ├── SourceMissing         3  there is no such file (or none was found)
    │   ├── SourceDenied          3  it is there, but we may not read it
    │   ├── SourceSchema          3  it lacks the table or column everything comes from
    │   └── SourceBusy            3  somebody holds the database; trying again helps
    ├── VaultError                4  the vault: missing, not writable, not mounted
    ├── ManifestError             5  our own state is corrupt or from a newer version
    ├── RefusedError              6  a guard said no; the message names the flag that says yes
    ├── LockHeldError             7  another process is writing this vault
    └── ServiceError              8  launchd or systemd

Every error says in one sentence what is wrong and what to do, and carries the path or key it is about.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes users may rely on; 128 + n is added by the shell for a signal."""

    FINE = 0
    UNFINISHED = 1  # finished, but some notes failed, are in conflict, or a check found differences
    CONFIG = 2
    SOURCE = 3
    VAULT = 4
    MANIFEST = 5
    REFUSED = 6
    LOCKED = 7
    SERVICE = 8
    BUG = 70


class Kg2VaultError(Exception):
    """Base of every error that is meant for the user.

    `message` is one sentence; `path` the file, key or row it is about; `hint` what to do, when the message does not say it already.
    """

    exit_code: ExitCode = ExitCode.BUG
    code: str = "bug"
    retryable: bool = False

    def __init__(self, message: str, *, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class ConfigError(Kg2VaultError):
    """The configuration, the alias table or an argument cannot be used."""

    exit_code = ExitCode.CONFIG
    code = "config"


class SourceError(Kg2VaultError):
    """hermes.db is missing, unreadable, or not a reader's database."""

    exit_code = ExitCode.SOURCE
    code = "source"


class SourceMissing(SourceError):
    """There is no database where one was named, or none in any of the usual places."""

    code = "source-missing"


class SourceDenied(SourceError):
    """The database is there, but the system does not let this program read it."""

    code = "source-denied"


class SourceSchema(SourceError):
    """The database lacks the table or the column everything comes from."""

    code = "source-schema"


class SourceBusy(SourceError):
    """The database is locked by its writer; the same call may work in a moment."""

    code = "source-busy"
    retryable = True


class VaultError(Kg2VaultError):
    """The vault is missing, not mounted, not writable, or full."""

    exit_code = ExitCode.VAULT
    code = "vault"
    retryable = True


class ManifestError(Kg2VaultError):
    """Our record of what we wrote is corrupt or was written by a newer version."""

    exit_code = ExitCode.MANIFEST
    code = "manifest"


class RefusedError(Kg2VaultError):
    """A guard stopped the run before anything was written."""

    exit_code = ExitCode.REFUSED
    code = "refused"


class LockHeldError(Kg2VaultError):
    """Another process is writing this vault."""

    exit_code = ExitCode.LOCKED
    code = "locked"
    retryable = True


class ServiceError(Kg2VaultError):
    """launchd or systemd refused, or is not there."""

    exit_code = ExitCode.SERVICE
    code = "service"
