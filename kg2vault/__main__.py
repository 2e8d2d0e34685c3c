"""The console script: `main()` answers `--version` at once, and so it does `sync` when there is nothing to do.

Everything else is handed to the command line.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the program and leave with its exit code."""
    _with_streams()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from kg2vault import __version__

        print(f"kg2vault {__version__}")
        return
    _in_utf8()
    if "sync" in sys.argv[1:]:
        from kg2vault.unchanged import answer

        found = answer(sys.argv[1:])
        if found is not None:
            with suppress(OSError):  # the long way tells who does not take the answer
                sys.stdout.write(found)
                sys.stdout.flush()
                return
    from kg2vault import collector

    collector.leave_off()
    from kg2vault.cli import command_line

    try:
        command_line()
    except SystemExit as end:
        collector.leave(end.code)
        raise


def _with_streams() -> None:
    """Open what was closed to us, as by `>&-`: else the next file opened takes its number, and whatever is printed lands in there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _in_utf8() -> None:
    """Start again in UTF-8 where the locale has another encoding: a vault's file names are UTF-8 on every machine it is synced to."""
    if os.name == "posix" and sys.getfilesystemencoding().lower() not in ("utf-8", "utf8"):
        command = [sys.executable, "-X", "utf8", "-m", "kg2vault", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONUTF8": "1"})


if __name__ == "__main__":
    main()
