"""macOS guards some folders program by program: what to say when it denies one, and when to expect it.

Layer 4, front. A grant given to Terminal is not the daemon's, so a vault can be open in a shell and closed to the service.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath

GUARDED = ("Desktop", "Documents", "Downloads", "Library/Mobile Documents", "Library/CloudStorage")
"""Folders of the home folder that macOS opens only to programs with a grant."""

ACCESS_HELP = """\
macOS denies this to the background service, although it may allow it in Terminal: a grant belongs to one program.
  1. Open System Settings > Privacy & Security > Full Disk Access.
  2. Press +, then Shift-Command-G, and enter the Python that the service runs:
       {binary}
  3. Switch it on, then start the service again: kg2vault service uninstall, kg2vault service install
A new version of Python is another program and needs the grant again. Or move the vault to a folder that is not guarded,
such as ~/Vaults."""


def access_help(interpreter: str, platform: str = "darwin") -> str:
    """Return how to grant access to the program that needs it: the real file behind the interpreter's links, because macOS judges that."""
    if platform != "darwin":
        return f"The service may not open it. Give the user that runs {interpreter} permission to read and write it."
    return ACCESS_HELP.format(binary=os.path.realpath(interpreter))


def guarded_folder(path: str, home: str) -> str | None:
    """Return the guarded folder of `home`, or the other volume, that `path` lies in; None when macOS does not guard it."""
    place = PurePosixPath(path)
    for name in GUARDED:
        if place.is_relative_to(PurePosixPath(home) / name):
            return f"~/{name}"
    return "/" + "/".join(place.parts[1:3]) if place.is_relative_to("/Volumes") else None
