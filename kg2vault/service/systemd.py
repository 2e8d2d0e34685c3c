"""Linux: `Systemd` writes a user unit and drives `systemctl --user`.

Layer 4, front. Promise: every word of ExecStart reaches the program as it is, whatever quotes, `%`, `$` or backslashes a path holds; a bug
restarts the daemon at most 20 times an hour, a fault that only a person can mend never.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kg2vault.errors import ServiceError
from kg2vault.service.base import Completed, JobState, Runner, run_command
from kg2vault.service.spec import PERMANENT, RESTART_SECONDS, STOP_SECONDS, ServiceSpec

_ENV = "/usr/bin/env"
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_/.:=@+,-]+")
_NO_BUS = ("failed to connect to bus", "failed to connect to user scope bus", "no medium found", "$dbus_session_bus_address")
_ABSENT = ("does not exist", "not loaded", "not-found", "no such file")
_PROPERTIES = ("LoadState", "ActiveState", "SubState", "UnitFileState", "NeedDaemonReload", "MainPID", "ExecMainStatus")
_ALIVE = ("active", "activating", "reloading")


class Systemd:
    """User units below `config` (normally ~/.config) of the user `uid`."""

    system = "systemd"

    def __init__(self, config: Path, uid: int, runner: Runner = run_command) -> None:
        self._folder = config / "systemd" / "user"
        self._uid = str(uid)
        self._run = runner

    def file_of(self, label: str) -> Path:
        """Return the unit's place."""
        return self._folder / f"{label}.service"

    def render(self, spec: ServiceSpec) -> bytes:
        """Return the unit. Keys: systemd.unit(5), systemd.service(5), systemd.exec(5). Raises ServiceError."""
        lines = [
            "[Unit]",
            "Description=kg2vault: keeps an Obsidian vault in step with the reading log",
            "StartLimitIntervalSec=3600",
            "StartLimitBurst=20",
            "",
            "[Service]",
            "Type=exec",
            f"ExecStart={_command_line(spec.arguments)}",
            *(f"Environment={escape_word(f'{name}={value}', dollars=False)}" for name, value in spec.environment(self.system)),
            "WorkingDirectory=/",
            "Restart=on-failure",
            f"RestartSec={RESTART_SECONDS}",
            f"RestartPreventExitStatus={' '.join(str(int(code)) for code in PERMANENT)}",
            "SuccessExitStatus=143",
            f"TimeoutStopSec={STOP_SECONDS}",
            "Nice=10",
            "IOSchedulingClass=idle",
            "NoNewPrivileges=yes",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
        return "\n".join(lines).encode("utf-8")

    def settings_in(self, data: bytes) -> Mapping[str, object]:
        """Return each setting's values by `Section.Key`; raises ValueError on a line that is not one."""
        section, found = "", dict[str, list[str]]()
        for line in data.decode("utf-8").split("\n"):
            text = line.strip()
            if not text or text[0] in "#;":
                continue
            if text.startswith("[") and text.endswith("]"):
                section = text[1:-1]
                continue
            key, equals, value = text.partition("=")
            if not equals or not section:
                raise ValueError(f"not a setting: {text!r}")
            found.setdefault(f"{section}.{key.strip()}", []).append(value.strip())
        return {key: tuple(values) for key, values in found.items()}

    def arguments_in(self, data: bytes) -> tuple[str, ...]:
        """Return ExecStart's words; raises ValueError when it is not in the form this module writes."""
        lines = self.settings_in(data).get("Service.ExecStart")
        if not isinstance(lines, tuple) or len(lines) != 1:
            raise ValueError("there is not exactly one ExecStart")
        first, *others = _split(lines[0])
        return (first, *(word.replace("$$", "$") for word in others))

    def state(self, label: str) -> JobState:
        """Ask `systemctl --user show`; raises ServiceError when there is no user manager."""
        done = self._systemctl("show", f"--property={','.join(_PROPERTIES)}", f"{label}.service")
        if done.code != 0:
            raise _fault(done, f"systemd cannot be asked about {label}")
        found = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
        active = found.get("ActiveState", "")
        pid, status = _number(found.get("MainPID", "")), _number(found.get("ExecMainStatus", ""))
        known = found.get("LoadState") == "loaded" and found.get("UnitFileState") == "enabled" and found.get("NeedDaemonReload") != "yes"
        return JobState(known, active in _ALIVE, pid or None, status, f"{active} ({found.get('SubState', '')})")

    def load(self, label: str) -> None:
        """Read the unit, enable and restart it; raises ServiceError."""
        self._must("daemon-reload")
        self._must("enable", f"{label}.service")
        self.start(label)

    def start(self, label: str) -> None:
        """Start it afresh, whatever start limit it ran into; raises ServiceError."""
        self._systemctl("reset-failed", f"{label}.service")
        self._must("restart", f"{label}.service")

    def unload(self, label: str) -> None:
        """Disable and stop it, which returns when the process has ended; raises ServiceError. A unit without a file is stopped too."""
        for command in ("stop", "disable"):
            done = self._systemctl(command, f"{label}.service")
            if done.code != 0 and not any(phrase in done.said.lower() for phrase in _ABSENT):
                raise _fault(done, f"systemd did not {command} {label}")

    def forget(self, label: str) -> None:
        """Make systemd see that the file is gone, and drop a link to it that `disable` could not find."""
        link = self._folder / "default.target.wants" / f"{label}.service"
        if link.is_symlink():
            link.unlink(missing_ok=True)
        self._must("daemon-reload")
        self._systemctl("reset-failed", f"{label}.service")

    def hints(self, spec: ServiceSpec) -> tuple[str, ...]:
        """Return where the log is and, unless the user lingers, that the service ends at logout."""
        log = f"Its log: journalctl --user -u {spec.label}"
        done = self._run(("loginctl", "show-user", self._uid, "--property=Linger"))
        if done.code == 0 and done.out.strip() == "Linger=yes":
            return (log,)
        return (log, "It runs while you are logged in. To keep it running after logout: loginctl enable-linger")

    def _systemctl(self, *words: str) -> Completed:
        return self._run(("systemctl", "--user", *words))

    def _must(self, *words: str) -> None:
        done = self._systemctl(*words)
        if done.code != 0:
            raise _fault(done, f"`systemctl --user {' '.join(words)}` failed")


def escape_word(word: str, *, dollars: bool = True) -> str:
    """Return one word for a unit file (systemd.syntax(7), "Quoting"; `%` is a specifier, `$` a variable of a command line).

    Raises ServiceError on a control character: a newline would start a setting of its own.
    """
    if any(ord(char) < 32 or ord(char) == 127 for char in word):
        raise ServiceError(f"A unit file cannot carry the control character in {word!r}. Rename the file or folder.", path=word)
    if _PLAIN_WORD.fullmatch(word):
        return word
    inner = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{inner.replace("$", "$$") if dollars else inner}"'


def _command_line(words: tuple[str, ...]) -> str:
    """Return the words of ExecStart; a program whose path systemd itself cannot run is started by env(1), which takes any but one with `=`.

    systemd refuses quotes and backslashes in the program's path ("Executable name contains special characters"). It replaces variables
    in argv[0], by which Python finds its environment, but not in the path: so there is no way to write a `${` or `$$` in both.
    """
    program = words[0]
    if re.search(r"[\"'\\]|\$[{$]", program):
        if "=" in program:
            raise ServiceError(f"systemd cannot run a path like {program}. Install kg2vault where no name has quotes or `=`.", path=program)
        return " ".join((_ENV, *(escape_word(word) for word in words)))
    return " ".join((escape_word(program, dollars=False), *(escape_word(word) for word in words[1:])))


def _split(line: str) -> list[str]:
    words = re.findall(r'"(?:[^"\\]|\\.)*"|[^\s"]+', line)
    if not words or re.sub(r"\s", "", "".join(words)) != re.sub(r"\s", "", line):
        raise ValueError(f"not a command line of ours: {line!r}")
    plain = (re.sub(r"\\(.)", r"\1", word[1:-1]) if word.startswith('"') else word for word in words)
    return [word.replace("%%", "%") for word in plain]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _fault(done: Completed, what: str) -> ServiceError:
    if any(phrase in done.said.lower() for phrase in _NO_BUS):
        return ServiceError(
            "There is no systemd user manager to talk to: in a container, under sudo or su, and without systemd there is none. "
            "Log in as the user itself (or `machinectl shell USER@`), or run `kg2vault watch` under whatever starts programs here."
        )
    return ServiceError(f"{what}: {done.said or 'no reason given'} (exit code {done.code}). See `journalctl --user`.")
