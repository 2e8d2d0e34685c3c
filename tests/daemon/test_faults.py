"""Whatever fails, the vault stays as it was, the state says why and since when, and it heals by itself: real files, made-up time."""

import errno
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from kg2vault.storage.base import Disk
from kg2vault.storage.hermes import HermesSource


@pytest.fixture
def world(real_world):
    return real_world


def assert_held_up_and_healed(world, state, code, *, vault_is_there=True):
    assert state.fault["code"] == code
    assert 7 <= state.fault["tries"] <= 12, "ever less often"
    assert state.started < state.fault["since"] < state.beat
    assert state.last_success < state.fault["since"]
    if vault_is_there:
        assert world.seen["during"][0] == world.seen["before"][0]
    assert len([line for line in world.lines if state.fault["message"] in line and not line.startswith("Over")]) == 1
    assert world.state.fault == {}
    assert world.state.last_error["message"] == state.fault["message"]
    assert world.shows("Healed")


def overwrite(path, data):
    path.write_bytes(data)


def run(db, *statements):
    with closing(sqlite3.connect(db)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


DAMAGE = {
    "missing": ("source-missing", lambda db: db.unlink()),
    "truncated": ("source", lambda db: overwrite(db, db.read_bytes()[: db.stat().st_size // 2])),
    "empty": ("source", lambda db: overwrite(db, b"")),
    "not a database": ("source", lambda db: overwrite(db, b"Dear Sir or Madam, " * 500)),
    "half-written": ("source", lambda db: overwrite(db, db.read_bytes()[:8192] + bytes(db.stat().st_size - 8192))),
    "without its tables": ("source-schema", lambda db: run(db, "ALTER TABLE item_tags RENAME TO labels")),
    "with another column": ("source-schema", lambda db: run(db, "ALTER TABLE item_tags RENAME COLUMN tag TO label")),
    "without rows": ("refused", lambda db: run(db, "DELETE FROM item_tags")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_database_that_is(damage, world, tmp_path):
    code, break_it = DAMAGE[damage]
    good = tmp_path / "good.db"
    shutil.copyfile(world.reader.path, good)
    state = world.suffer(lambda: break_it(world.reader.path), lambda: good.replace(world.reader.path))
    assert_held_up_and_healed(world, state, code)


def test_a_database_whose_folder_is_unmounted_and_back(world):
    folder = world.reader.path.parent
    away = folder.with_name("away")
    state = world.suffer(lambda: folder.rename(away), lambda: away.rename(folder))
    assert_held_up_and_healed(world, state, "source-missing")


def test_a_database_locked_by_a_writer_that_will_not_end(world, monkeypatch):
    monkeypatch.setitem(HermesSource.__init__.__kwdefaults__, "busy_timeout", 0.0)
    holder = sqlite3.connect(world.reader.path, isolation_level=None)
    state = world.suffer(lambda: (world.add("Not yet"), holder.execute("BEGIN EXCLUSIVE")), lambda: holder.execute("ROLLBACK"))
    holder.close()
    assert_held_up_and_healed(world, state, "source-busy")


def test_a_database_that_a_killed_writer_left_with_a_journal_is_read_as_it_was_before_that(world, tmp_path):
    path = world.reader.path

    def die():
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("PRAGMA cache_size = 1")
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("UPDATE items SET title = title || hex(randomblob(3000))")
            shutil.copyfile(path, tmp_path / "torn.db")
            shutil.copyfile(f"{path}-journal", tmp_path / "torn.db-journal")
        shutil.copyfile(tmp_path / "torn.db", path)
        shutil.copyfile(tmp_path / "torn.db-journal", f"{path}-journal")

    state = world.suffer(die, lambda: None)
    assert state.fault == {}
    assert world.seen["during"][0] == world.seen["before"][0]
    assert world.shows("Healed")


def test_a_database_restored_from_an_older_backup_takes_the_vault_back_with_it(world, tmp_path):
    backup = tmp_path / "backup.db"
    shutil.copyfile(world.reader.path, backup)
    world.at(10, lambda: world.add("Lost again"))
    world.at(40, lambda: world.look("newer"))
    world.at(50, lambda: (backup.replace(world.reader.path), world.hint("db")))
    world.run(100)
    assert "Lost again" in str(world.seen["newer"][0])
    assert not world.shows("Lost again")


# --- the vault


def test_a_vault_that_is_away_is_missed_within_a_poll_and_looked_at_when_it_is_back(world):
    away = world.folder / "away"
    world.at(50, lambda: world.vault.rename(away))
    world.at(130, lambda: world.look("during"))
    world.at(250, lambda: away.rename(world.vault))
    world.at(310, lambda: world.look("after"))
    world.run(600)
    assert world.seen["after"][1].fault == {}, "the poll sees it come back, before the next attempt would be due"
    assert world.seen["during"][1].fault["code"] == "vault"
    assert "is its drive mounted?" in world.seen["during"][1].fault["message"]
    assert world.state.fault == {}


def test_a_vault_whose_empty_mount_point_is_left_is_not_written(world):
    away = world.folder / "away"
    state = world.suffer(lambda: (world.vault.rename(away), world.vault.mkdir()), lambda: (world.vault.rmdir(), away.rename(world.vault)))
    assert world.seen["during"][0] == {}
    assert_held_up_and_healed(world, state, "vault", vault_is_there=False)


def test_a_vault_restored_from_a_backup_is_brought_up_to_date_without_a_commit(world):
    backup = world.folder / "backup"
    world.at(10, lambda: shutil.copytree(world.vault, backup))
    world.at(20, lambda: world.add("After the backup"))
    world.at(50, lambda: (shutil.rmtree(world.vault), backup.rename(world.vault), world.look("restored")))
    world.run(200)
    assert "After the backup" not in str(world.seen["restored"][0])
    assert world.shows("After the backup")


def test_a_vault_that_somebody_else_synced_is_looked_at_once_and_found_well(world):
    world.at(50, lambda: os.utime(world.vault / ".kg2vault" / "manifest.json"))
    world.run(600)
    assert (world.state.syncs, world.state.looks) == (1, 1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EDQUOT])
def test_a_vault_that_takes_no_writing(number, world, monkeypatch):
    write = Disk.write_new
    failing = []

    def refuse(disk, path, *rest, **more):
        if failing and path.is_relative_to(world.vault):
            raise OSError(number, os.strerror(number), str(path))
        write(disk, path, *rest, **more)

    monkeypatch.setattr(Disk, "write_new", refuse)
    state = world.suffer(lambda: (failing.append(1), world.add("Not yet")), failing.clear)
    assert os.strerror(number) in state.fault["message"]
    assert_held_up_and_healed(world, state, "vault")


@pytest.mark.parametrize("number", [errno.EPERM, errno.EIO])
def test_a_record_that_cannot_be_read_now_is_waited_for_and_not_taken_for_damaged(number, world, monkeypatch):
    read = Path.read_bytes
    failing = []

    def refuse(path):
        if failing and path.name == "manifest.json":
            raise OSError(number, os.strerror(number), str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", lambda path: refuse(path))
    world.at(49.5, lambda: world.add("Not yet"))
    world.at(389, failing.clear)  # for the story to compare
    world.at(391, lambda: failing.append(1))
    state = world.suffer(lambda: failing.append(1), failing.clear)
    assert os.strerror(number) in state.fault["message"]
    assert "rebuild" not in state.fault["hint"]
    assert_held_up_and_healed(world, state, "vault")


@pytest.fixture
def small_disk(world):
    """A real file system of 300 kB in the vault's place; skips where nothing may be mounted."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(world.vault)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here")
    (world.vault / ".obsidian").mkdir()
    yield lambda options: subprocess.run(["mount", "-o", f"remount,{options}", str(world.vault)], check=True)
    subprocess.run(["umount", "-l", str(world.vault)], check=True)


def test_a_vault_on_a_disk_that_is_really_full(small_disk, world):
    filler = world.vault / "filler.bin"

    def fill():
        with pytest.raises(OSError, match="No space left"):
            filler.write_bytes(bytes(400_000))
        world.add("Not yet")

    world.at(48, filler.touch)
    state = world.suffer(fill, filler.unlink)
    for _, notes in (("before", world.seen["before"][0]), ("during", world.seen["during"][0])):
        notes.pop("filler.bin")
    assert "No space left" in state.fault["message"]
    assert_held_up_and_healed(world, state, "vault")


def test_a_vault_on_a_disk_that_is_really_mounted_read_only(small_disk, world):
    state = world.suffer(lambda: (small_disk("ro"), world.add("Not yet")), lambda: small_disk("rw"))
    assert "cannot be written" in state.fault["message"]
    assert_held_up_and_healed(world, state, "vault")
