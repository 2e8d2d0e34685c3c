"""Other programs and other users, for tests of what they may do to a database: real processes, ended at the end of the test."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NOBODY = 65534

_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("ready", flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def open_elsewhere(path, *statements):
    """Run statements in another process, which keeps its connection open until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), *statements], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def as_ordinary_user(function, *arguments):
    """Call a function as somebody whom file permissions hold for, and return what it returns or raise what it raises."""
    if os.geteuid() != 0:
        return function(*arguments)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_drop_and_call, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    outcome, value = ours.recv()
    process.join()
    if outcome == "raised":
        raise value
    return value


def _drop_and_call(pipe, function, arguments):
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    try:
        pipe.send(("returned", function(*arguments)))
    except Exception as error:
        pipe.send(("raised", error))


@contextlib.contextmanager
def open_folder():
    """A folder everybody may enter: pytest's own are for their owner only."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            folder.chmod(0o755)


def files_of(folder):
    """What lies in a folder, so exactly that any trace shows."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.iterdir())}
