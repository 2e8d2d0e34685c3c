"""`service`: install, uninstall, status, print; and what the doctor finds about the service.

Layer 4.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kg2vault.checking import Check, green, red, yellow
from kg2vault.cli.frame import Call, command
from kg2vault.errors import ConfigError, ExitCode, ServiceError, SourceMissing
from kg2vault.result import OperationResult, Problem
from kg2vault.service import install as services
from kg2vault.service.base import ServiceManager
from kg2vault.service.privacy import access_help
from kg2vault.service.spec import SYSTEM_VARIABLE, ServiceSpec, label_for, stable_interpreter
from kg2vault.settings import Options, Place, Settings, gather
from kg2vault.status import Standing

_INHERITED = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")  # the daemon must look where the commands in a shell look
_SYSTEM = click.option("--system", type=click.Choice(["launchd", "systemd"]), help="Default: this machine's.")


def manager(system: str | None, place: Place) -> ServiceManager:
    """Return the manager of the named system, or this machine's; raises ServiceError where there is none."""
    uid = os.getuid() if hasattr(os, "getuid") else 0
    return services.manager_for(system, platform=sys.platform, home=place.home, uid=uid, env=place.env)


def spec_of(options: Options, settings: Settings, place: Place, system: str, *, polling: bool = False) -> ServiceSpec:
    """Return the service that does what `watch` would do here with these options; raises ServiceError, SourceError or ConfigError."""
    config = settings.config
    try:
        database = None if options.db is None and config.db is not None else str(settings.database())
    except SourceMissing as error:
        if error.path is None:
            raise
        database = error.path
    aliases = settings.aliases if options.aliases is not None or config.origin is None else None
    return ServiceSpec(
        interpreter=stable_interpreter(sys.executable, sys.prefix),
        vault=str(settings.vault()),
        logs=services.logs_for(system, place.home, place.env),
        home=str(place.home),
        config=os.path.abspath(config.origin) if config.origin is not None else None,  # noqa: PTH100 - links stay links
        db=database,
        aliases=os.path.abspath(aliases) if aliases is not None else None,  # noqa: PTH100
        options=("--polling",) if polling else (),
        env=tuple((name, place.env[name]) for name in _INHERITED if place.env.get(name)),
    )


def log_file(env: dict[str, str] | os._Environ[str], vault: str, home: Path) -> Path | None:
    """Return the file the daemon itself writes and rotates when launchd runs it, which would let it grow; None elsewhere."""
    if env.get(SYSTEM_VARIABLE) != "launchd":
        return None
    return Path(services.logs_for("launchd", home, env)) / f"{label_for(vault)}.log"


@click.group("service")
def service_command() -> None:
    """The daemon as a service of this machine (launchd on macOS, systemd on Linux)."""


@service_command.command("install")
@click.option("--polling", is_flag=True, help="Let the daemon only look, without events.")
@_SYSTEM
@command
def _install(call: Call, polling: bool, system: str | None) -> None:
    """Install the service and start it; doing it again brings it up to date."""

    def body() -> OperationResult:
        place = Place()
        settings = gather(call.options, place)
        target = manager(system, place)
        return _outcome("install", services.install(target, spec_of(call.options, settings, place, target.system, polling=polling)))

    call.run("service", body)


@service_command.command("uninstall")
@_SYSTEM
@command
def _uninstall(call: Call, system: str | None) -> None:
    """Stop the service and remove it; the vault stays as it is."""

    def body() -> OperationResult:
        target = manager(system, Place())
        return _outcome("uninstall", services.uninstall(target, _label(call, target)))

    call.run("service", body)


@service_command.command("status")
@_SYSTEM
@command
def _status(call: Call, system: str | None) -> None:
    """Say whether the service is installed, running, and what this version would install."""

    def body() -> OperationResult:
        place = Place()
        settings = gather(call.options, place)
        target = manager(system, place)
        found = services.status(target, _spec_as_installed(target, call.options, settings, place))
        checks = list(_judge(found))
        problems = tuple(Problem(check.name, check.message, found.path, check.hint) for check in checks if check.level != "green")
        code = ExitCode.UNFINISHED if problems else ExitCode.FINE
        return OperationResult("service", {"action": "status", **asdict(found)}, problems, code, "; ".join(c.message for c in checks))

    call.run("service", body)


@service_command.command("print")
@click.option("--polling", is_flag=True, help="As for install.")
@_SYSTEM
@command
def _print(call: Call, polling: bool, system: str | None) -> None:
    """Print the file that `install` would write, and write nothing."""

    def body() -> OperationResult:
        place = Place()
        settings = gather(call.options, place)
        target = manager(system, place)
        spec = spec_of(call.options, settings, place, target.system, polling=polling)
        text = services.preview(target, spec)
        data = {"action": "print", "system": target.system, "path": str(target.file_of(spec.label)), "text": text}
        return OperationResult("service", data, (), ExitCode.FINE, text.rstrip("\n"))

    call.run("service", body)


def service_checks(options: Options, place: Place) -> Callable[[Standing], Iterable[Check]]:
    """Return the doctor's checks of the service; they raise nothing."""

    def checks(standing: Standing) -> Iterable[Check]:
        try:
            target = manager(None, place)
            found = services.status(target, _spec_as_installed(target, options, standing.settings, place))
        except (ServiceError, ConfigError, SourceMissing) as error:
            return [yellow("service", str(error), "`kg2vault watch` works without a service.")]
        return [*_judge(found), *_denied(standing)]

    return checks


def _spec_as_installed(target: ServiceManager, options: Options, settings: Settings, place: Place) -> ServiceSpec:
    """Return the spec with those options of `watch` that the installed file has: choosing them is no drift."""
    plain = spec_of(options, settings, place, target.system)
    try:
        words = target.arguments_in(target.file_of(plain.label).read_bytes())
    except (OSError, ValueError):
        return plain
    return spec_of(options, settings, place, target.system, polling="--polling" in words)


def _judge(found: services.ServiceStatus) -> Iterable[Check]:
    again = "Run `kg2vault service install`."
    if not found.installed:
        yield yellow("service", f"No service is installed ({found.path}).", f"{again[:-1]} to keep the vault current by itself.")
        return
    if found.unreachable is not None:
        yield yellow("service", found.unreachable, "Ask again in a session of your own.")
    elif not found.job.loaded:
        yield red("service", f"{found.path} is there, but {found.system} has not loaded it.", again)
    elif not found.job.running:
        ended = f" with exit code {found.job.last_exit}" if found.job.last_exit is not None else ""
        yield red("service", f"The service has ended{ended}.", again)
    else:
        yield green("service", f"{found.system} runs it{f' as process {found.job.pid}' if found.job.pid else ''}")
    if found.drift is not None:
        yield yellow("service file", found.drift, again)
    else:
        yield green("service file", f"{found.path} is what this version would write")
    if found.missing:
        yield red("service paths", f"The service file names what is not there: {', '.join(found.missing)}.", again)
    else:
        yield green("service paths", "every path in it is there")


def _denied(standing: Standing) -> Iterable[Check]:
    """Yield how to grant access, when the daemon, judged by macOS as a program of its own, was refused."""
    fault: Any = standing.fault
    message = str(fault.get("message", ""))
    denied = fault.get("code") == "source-denied" or "Operation not permitted" in message or "may not see it" in message
    if denied:
        yield red(
            "access", f"The daemon was denied access: {message}", access_help(stable_interpreter(sys.executable, sys.prefix), sys.platform)
        )


def _label(call: Call, target: ServiceManager) -> str:
    try:
        return label_for(str(gather(call.options, Place()).vault()))
    except ConfigError:
        labels = services.installed_labels(target)
        if len(labels) == 1:
            return labels[0]
        raise


def _outcome(action: str, outcome: services.ServiceOutcome) -> OperationResult:
    line = {
        "installed": f"Installed {outcome.path} and started it.",
        "updated": f"Brought {outcome.path} up to date and started it anew.",
        "unchanged": f"{outcome.path} is as it should be.",
        "removed": f"Stopped the service and removed {outcome.path}.",
        "absent": "There was no service of this vault.",
    }[outcome.action]
    data = {**asdict(outcome), "action": action, "did": outcome.action}
    return OperationResult("service", data, (), ExitCode.FINE, "\n".join((line, *outcome.hints)))
