"""The console script: `main()` answers `--version` at once and hands everything else to the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the program and leave with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from kg2vault import __version__

        print(f"kg2vault {__version__}")
        return
    from kg2vault.cli import command_line

    command_line()


if __name__ == "__main__":
    main()
