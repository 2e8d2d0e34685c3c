"""Disks that stop the program: at the k-th effect, before it or in the middle of it, and for good."""

from kg2vault.storage.base import Disk

EFFECTS = ("write_new", "chmod", "replace", "link", "unlink", "mkdir", "rmdir", "sync_folder", "flush")


class Crash(BaseException):
    """The process is gone. No `except OSError` or `except Exception` may act after it."""


class CountingDisk(Disk):
    """A real disk that remembers the name of every effect, and calls `at` before each."""

    def __init__(self):
        self.effects = []

    def at(self, name, path):
        """Do what a test wants to happen just before an effect."""


class FailingDisk(CountingDisk):
    """Crashes at effect `k` (counted from 0): before it, or with `torn`, half-way through a write. Afterwards no effect works any more."""

    def __init__(self, k, *, torn=False):
        super().__init__()
        self.k, self.torn, self.crashed = k, torn, False

    def at(self, name, path):
        if self.crashed or (len(self.effects) == self.k and not (self.torn and name == "write_new")):
            self.crashed = True
            raise Crash(f"at effect {self.k}: {name} {path}")

    def write_new(self, path, data, *, durable, mode=0o666):
        if self.torn and len(self.effects) == self.k:
            self.crashed = True
            Disk.write_new(self, path, data[: len(data) // 2], durable=durable, mode=mode)
            raise Crash(f"in the middle of effect {self.k}: write_new {path}")
        super().write_new(path, data, durable=durable, mode=mode)


def _watched(name):
    effect = getattr(Disk, name)

    def perform(self, *args, **named):
        self.at(name, args[1] if name in ("replace", "link") else args[0] if args else None)
        self.effects.append(name)
        return effect(self, *args, **named)

    return perform


for _name in EFFECTS:
    setattr(CountingDisk, _name, _watched(_name))
