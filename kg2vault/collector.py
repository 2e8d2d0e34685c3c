"""The collector of cyclic garbage, and the end, of programs that are over before there is any: `leave_off()` and `leave()`.

Layer 3. Every program of ours but `watch` and `mcp` keeps nearly all it makes until it ends. Going through that again and again, and taking
it apart on the way out, took a tenth of the time of a first sync; memory that is not in a cycle is freed all the same.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys


def leave_off() -> None:
    """Never look for garbage in this process, not even when the interpreter ends; `gc.enable()` takes it back but for the end."""
    gc.disable()
    atexit.register(gc.freeze)


def leave(code: object) -> None:
    """End this process with an exit code as `sys.exit` would; return when somebody turned the collector on again, or for other codes.

    All files are closed and all locks given back by now, and the system frees memory at once. Output that nobody takes any more is for the
    interpreter's own way out to tell.
    """
    if gc.isenabled() or not isinstance(code, int | None):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code or 0)
