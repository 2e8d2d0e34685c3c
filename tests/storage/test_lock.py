"""One writer per vault, proven with real processes: the lock ends with its holder, whatever way that ends."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from kg2vault.errors import LockHeldError, VaultError
from kg2vault.storage.lock import Holder, VaultLock
from tests.storage.other_programs import as_ordinary_user, open_folder

_HOLD = """
import pathlib, sys
from kg2vault.storage.lock import VaultLock
sys.argv[:] = ["/usr/local/bin/kg2vault", "watch"]
with VaultLock(pathlib.Path(sys.stdin.readline().rstrip("\\n"))).acquire():
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(vault):
    """Another process that holds the lock until told otherwise."""
    process = subprocess.Popen([sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(f"{vault}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_told_who_holds_the_vault(vault, elsewhere):
    with pytest.raises(LockHeldError) as caught, VaultLock(vault).acquire():
        pytest.fail("two writers")
    assert f"process {elsewhere.pid} (kg2vault watch, since 20" in str(caught.value)
    assert str(vault) in str(caught.value)
    assert VaultLock(vault).holder().pid == elsewhere.pid


def test_waiting_ends_with_the_time_given(vault, elsewhere):
    started = time.monotonic()
    with pytest.raises(LockHeldError), VaultLock(vault).acquire(0.3):
        pytest.fail("two writers")
    assert 0.25 < time.monotonic() - started < 5


def test_waiting_is_rewarded_when_the_holder_finishes(vault, elsewhere):
    elsewhere.stdin.write("\n")
    elsewhere.stdin.flush()
    with VaultLock(vault).acquire(30):
        assert VaultLock(vault).holder().pid == os.getpid()
    assert elsewhere.stdout.readline() == "released\n"


def test_a_killed_holder_holds_nothing(vault, elsewhere):
    elsewhere.send_signal(signal.SIGKILL)
    elsewhere.wait()
    assert (vault / ".kg2vault" / "lock-holder.json").exists()
    assert VaultLock(vault).holder() is None
    with VaultLock(vault).acquire():
        assert VaultLock(vault).holder().pid == os.getpid()
    assert not (vault / ".kg2vault" / "lock-holder.json").exists()


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff", json.dumps({"pid": 1}).encode()])
def test_a_damaged_note_about_the_holder_locks_nobody_out(left, vault, elsewhere):
    (vault / ".kg2vault" / "lock-holder.json").write_bytes(left)
    with pytest.raises(LockHeldError, match="another process"), VaultLock(vault).acquire():
        pytest.fail("two writers")
    elsewhere.kill()
    elsewhere.wait()
    with VaultLock(vault).acquire():
        assert VaultLock(vault).holder().pid == os.getpid()


def test_a_note_about_a_process_that_is_gone_is_not_believed(vault, elsewhere):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    note = vault / ".kg2vault" / "lock-holder.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "pid": gone.pid}))
    with pytest.raises(LockHeldError, match="another process"), VaultLock(vault).acquire():
        pytest.fail("two writers")


def test_a_holder_on_another_machine_is_believed():
    assert Holder(2**30, "kg2vault sync", "2026-01-01 00:00:00", "a-host-that-is-not-this-one").is_alive()


def test_the_same_process_cannot_hold_it_twice(vault):
    with VaultLock(vault).acquire(), pytest.raises(LockHeldError), VaultLock(vault).acquire():
        pytest.fail("two writers")


def test_the_lock_is_free_again_after_an_error_inside(vault):
    with pytest.raises(ValueError, match="inside"), VaultLock(vault).acquire():
        raise ValueError("inside")
    with VaultLock(vault).acquire():
        assert VaultLock(vault).holder() is not None


def test_a_vault_reached_by_another_path_is_the_same_vault(vault, tmp_path):
    (tmp_path / "link").symlink_to(vault)
    with VaultLock(vault).acquire(), pytest.raises(LockHeldError), VaultLock(tmp_path / "link").acquire():
        pytest.fail("two writers")


def test_two_names_are_two_locks(vault):
    with VaultLock(vault, "daemon").acquire(), VaultLock(vault).acquire():
        assert VaultLock(vault, "daemon").holder() is not None


def test_a_child_process_does_not_inherit_the_lock(vault):
    with VaultLock(vault).acquire():
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        with VaultLock(vault).acquire():
            assert child.poll() is None
    finally:
        child.communicate()


def test_making_a_lock_and_asking_for_its_holder_create_nothing(vault):
    assert VaultLock(vault).holder() is None
    assert list(vault.iterdir()) == []


def test_locking_again_changes_no_file(vault):
    with VaultLock(vault).acquire():
        pass
    before = [(path.name, path.stat().st_ino, path.stat().st_mtime_ns) for path in (vault / ".kg2vault").iterdir()]
    with VaultLock(vault).acquire():
        pass
    assert [(path.name, path.stat().st_ino, path.stat().st_mtime_ns) for path in (vault / ".kg2vault").iterdir()] == before


def test_a_vault_that_is_not_mounted_is_not_created(tmp_path):
    with pytest.raises(VaultError, match="no folder"), VaultLock(tmp_path / "unmounted").acquire():
        pytest.fail("a lock on nothing")
    assert not (tmp_path / "unmounted").exists()


def test_a_vault_that_cannot_be_written_says_so():
    def acquire(folder):
        with pytest.raises(VaultError, match="cannot be locked") as caught, VaultLock(folder).acquire():
            pytest.fail("a lock in a folder that can't be written")
        return str(caught.value)

    with open_folder() as folder:
        folder.chmod(0o555)
        assert "Permission denied" in as_ordinary_user(acquire, folder)
        folder.chmod(0o755)
        (folder / ".kg2vault").write_text("a file is in the way")
        with pytest.raises(VaultError), VaultLock(folder).acquire():
            pytest.fail("a lock in a file")
