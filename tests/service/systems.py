"""Stand-ins for launchctl and systemctl at the `Runner` seam, with the real ones' habits, and a clock that only sleeping moves."""

import plistlib
from pathlib import Path

from kg2vault.service.base import Completed, Timing


class FakeTime:
    def __init__(self):
        self.seconds = 1000.0
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.seconds += seconds

    def timing(self):
        return Timing(lambda: self.seconds, self.sleep)


class Killed(Exception):
    """The installing program was killed just before a command."""


class Countdown:
    """Lets `die_in` commands pass and kills the program at the next."""

    die_in: int | None = None

    def count(self):
        if self.die_in == 0:
            self.die_in = None
            raise Killed
        if self.die_in is not None:
            self.die_in -= 1


class FakeLaunchctl(Countdown):
    """Jobs of one graphical session. A booted-out label stays for `lingers` seconds; bootstrap of a label still there is error 5."""

    def __init__(self, time, uid=501, lingers=0.0, io_errors=0, session=True):
        self.time, self.domain = time, f"gui/{uid}"
        self.lingers, self.io_errors, self.session = lingers, io_errors, session
        self.jobs, self.leaving, self.disabled, self.stopped = {}, {}, set(), {}
        self.calls = []

    def __call__(self, argv):
        self.count()
        self.calls.append(tuple(argv))
        program, verb, *rest = argv
        assert program == "launchctl"
        if not self.session:
            return self._no_session(verb)
        for label in [label for label, end in self.leaving.items() if end <= self.time.seconds]:
            del self.leaving[label], self.jobs[label]
        return getattr(self, f"_{verb}")(*rest)

    def changes(self):
        """Return the verbs that changed something."""
        return [call[1] for call in self.calls if call[1] != "print"]

    def running(self, label):
        return label in self.jobs and label not in self.leaving and label not in self.stopped

    def end_job(self, label, code):
        self.stopped[label] = code

    def _no_session(self, verb):
        if verb == "bootstrap":
            return Completed(125, "", "Bootstrap failed: 125: Domain does not support specified action\n")
        return Completed(
            125, "", "Could not find domain for user gui: 501\n" if verb == "print" else "Domain does not support specified action\n"
        )

    def _label(self, target):
        domain, _, label = target.rpartition("/")
        assert domain == self.domain
        return label

    def _print(self, target):
        label = self._label(target)
        if label not in self.jobs:
            return Completed(113, "", f'Bad request.\nCould not find service "{label}" in domain for user gui: 501\n')
        code = self.stopped.get(label)
        state = "SIGTERMed" if label in self.leaving else "running" if code is None else "not running"
        lines = [f"\tstate = {state}", "\tprogram = /x", "\tdefault environment = {", "\t\tpid = 99", "\t}"]
        lines += ["\tpid = 4711", "\tlast exit code = (never exited)"] if code is None else [f"\tlast exit code = {code}: reason"]
        return Completed(0, "\n".join([f"{target} = {{", *lines, "}", ""]))

    def _enable(self, target):
        self.disabled.discard(self._label(target))
        return Completed(0)

    def _bootstrap(self, domain, path):
        assert domain == self.domain
        plist = plistlib.loads(Path(path).read_bytes())
        label = plist["Label"]
        if label in self.jobs or label in self.disabled or self.io_errors:
            self.io_errors = max(0, self.io_errors - 1)
            return Completed(5, "", "Bootstrap failed: 5: Input/output error\nTry re-running the command as root for richer errors.\n")
        assert Path(plist["StandardErrorPath"]).parent.is_dir(), "launchd makes the log file, not its folder"
        self.jobs[label] = plist
        self.stopped.pop(label, None)
        return Completed(0)

    def _bootout(self, target):
        label = self._label(target)
        if label not in self.jobs:
            return Completed(3, "", "Boot-out failed: 3: No such process\n")
        self.leaving[label] = self.time.seconds + self.lingers
        return Completed(36, "", "Boot-out failed: 36: Operation now in progress\n") if self.lingers else Completed(0)

    def _kickstart(self, target):
        self.stopped.pop(self._label(target), None)
        return Completed(0)


class FakeSystemctl(Countdown):
    """One user's manager over the real unit folder: what it knows of a file is what the last daemon-reload read."""

    def __init__(self, folder, bus=True, linger=False):
        self.folder, self.bus, self.linger = Path(folder), bus, linger
        self.known, self.active, self.failed = {}, {}, {}
        self.calls = []

    def __call__(self, argv):
        self.count()
        self.calls.append(tuple(argv))
        if argv[0] == "loginctl":
            return Completed(0, f"Linger={'yes' if self.linger else 'no'}\n")
        program, user, verb, *rest = argv
        assert (program, user) == ("systemctl", "--user")
        if not self.bus:
            return Completed(1, "", "Failed to connect to bus: No medium found\n")
        return getattr(self, "_" + verb.replace("-", "_"))(*rest)

    def changes(self):
        return [call[2] for call in self.calls if call[0] == "systemctl" and call[2] != "show"]

    def running(self, label):
        return f"{label}.service" in self.active

    def end_job(self, label, code):
        self.active.pop(f"{label}.service")
        self.failed[f"{label}.service"] = code

    def _link(self, unit):
        return self.folder / "default.target.wants" / unit

    def _show(self, _properties, unit):
        file = self.folder / unit
        text = file.read_bytes() if file.exists() else None
        state = "active" if unit in self.active else "failed" if unit in self.failed else "inactive"
        found = {
            "LoadState": "loaded" if unit in self.known or text is not None else "not-found",
            "ActiveState": state,
            "SubState": {"active": "running", "failed": "failed", "inactive": "dead"}[state],
            "UnitFileState": ("enabled" if self._link(unit).is_symlink() else "disabled") if text is not None else "",
            "NeedDaemonReload": "yes" if unit in self.known and self.known[unit] != text else "no",
            "MainPID": "4711" if state == "active" else "0",
            "ExecMainStatus": str(self.failed.get(unit, 0)),
        }
        return Completed(0, "".join(f"{key}={value}\n" for key, value in found.items()))

    def _daemon_reload(self):
        self.known = {file.name: file.read_bytes() for file in sorted(self.folder.glob("*.service"))}
        return Completed(0)

    def _enable(self, unit):
        if unit not in self.known:
            return Completed(1, "", f"Failed to enable unit: Unit file {unit} does not exist.\n")
        self._link(unit).parent.mkdir(exist_ok=True)
        if not self._link(unit).is_symlink():
            self._link(unit).symlink_to(self.folder / unit)
        return Completed(0)

    def _restart(self, unit):
        if unit not in self.known:
            return Completed(5, "", f"Failed to restart {unit}: Unit {unit} not found.\n")
        assert unit not in self.failed, "a unit that ran into its start limit is not started before reset-failed"
        self.active[unit] = self.known[unit]
        return Completed(0)

    def _reset_failed(self, unit):
        if self.failed.pop(unit, None) is None and unit not in self.known:
            return Completed(1, "", f"Failed to reset failed state of unit {unit}: Unit {unit} not loaded.\n")
        return Completed(0)

    def _stop(self, unit):
        if self.active.pop(unit, None) is None and unit not in self.known:
            return Completed(5, "", f"Failed to stop {unit}: Unit {unit} not loaded.\n")
        return Completed(0)

    def _disable(self, unit):
        if not (self.folder / unit).exists():
            return Completed(1, "", f"Failed to disable unit: Unit file {unit} does not exist.\n")
        self._link(unit).unlink(missing_ok=True)
        return Completed(0)
