"""The user writes while we write; disks fail; the next run makes it good."""

import errno
import os
import shutil
import time

import pytest

from kg2vault.errors import VaultError
from kg2vault.storage.base import Disk
from tests.crash.disk import CountingDisk
from tests.crash.residue import residue
from tests.crash.world import World, writes


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "world")
    made.tags("python", "django", "web")
    made.tags("rust", "wasm", "compilers")
    made.tags("web", "wasm")
    made.tags("rust", "wasm", "compilers", "llvm")
    return made


@pytest.fixture
def synced(world):
    world.sync()
    world.append("web", "\nmine\n")
    world.sync()
    world.tags("web", "python")
    return world


class ActingDisk(CountingDisk):
    """Calls `act` once, just before the first effect `name` on a path that `where` is part of."""

    def __init__(self, name, act, where=""):
        super().__init__()
        self.name, self.act, self.where, self.acted = name, act, where, False

    def at(self, name, path):
        if name == self.name and self.where in str(path) and not self.acted:
            self.acted = True
            self.act()


class BrokenDisk(Disk):
    """Raises an OSError for effects that `hits` picks."""

    def __init__(self, hits, code=errno.EIO):
        self.hits, self.code = hits, code

    def _fail(self, name, path):
        if self.hits(name, path):
            raise OSError(self.code, os.strerror(self.code), str(path))

    def write_new(self, path, data, *, durable, mode=0o666):
        if self.hits("write_new", path):
            Disk.write_new(self, path, data[: len(data) // 2], durable=False, mode=mode)
            self._fail("write_new", path)
        super().write_new(path, data, durable=durable, mode=mode)

    def replace(self, source, target):
        self._fail("replace", target)
        super().replace(source, target)

    def link(self, source, target):
        self._fail("link", target)
        super().link(source, target)

    def mkdir(self, path):
        self._fail("mkdir", path)
        super().mkdir(path)


def counts(result):
    return result.data["counts"]


@pytest.mark.parametrize("effect", ["write_new", "chmod"])
def test_a_note_that_changes_between_reading_and_writing_is_left_for_the_next_run(effect, synced):
    def type_more():
        for name in ("web", "python", "django", "wasm"):
            synced.append(name, f"\nsudden words in {name}\n")

    disk = ActingDisk(effect, type_more)
    result = synced.sync(disk=disk)
    assert disk.acted
    assert counts(result)["skipped"] >= 2
    assert result.exit_code == 0
    for name in ("web", "python", "django", "wasm"):
        assert synced.text(name).endswith(f"\nsudden words in {name}\n")
    assert synced.temporary() == []
    result = synced.sync()
    assert counts(result)["skipped"] == 0
    assert "6 items" in synced.text("web")
    assert synced.text("web").endswith("\nmine\n\nsudden words in web\n")
    assert writes(synced.sync()) == 0


def test_a_note_that_is_deleted_between_reading_and_writing_is_not_written_again(synced):
    disk = ActingDisk("chmod", lambda: synced.path("python").unlink() if synced.has("python") else None)
    synced.sync(disk=disk)
    synced.sync()
    assert not synced.has("python")


def test_a_note_that_is_moved_between_reading_and_writing_is_followed_in_the_next_run(synced):
    target = synced.vault / "Elsewhere.md"
    result = synced.sync(disk=ActingDisk("write_new", lambda: synced.path("web").rename(target)))
    assert counts(result)["skipped"] >= 1
    synced.sync()
    assert "6 items" in target.read_text()
    assert len(synced.ids()["concept/web"]) == 1


def test_a_file_that_appears_where_a_new_note_goes_is_not_overwritten(world):
    folder = world.vault / "Knowledge Graph" / "Concepts"
    result = world.sync(disk=ActingDisk("link", lambda: (folder / "web.md").write_text("somebody else's\n"), where="Concepts"))
    assert counts(result)["skipped"] == 1
    assert (folder / "web.md").read_text() == "somebody else's\n"
    world.sync()
    assert (folder / "web.md").read_text() == "somebody else's\n"
    assert 'kg_id: "concept/web"' in world.text("web (concept)")
    assert world.temporary() == []


@pytest.mark.parametrize("act", ["remove", "move"])
def test_our_folder_that_goes_in_the_middle_of_a_sync_is_made_again(act, world):
    folder = world.vault / "Knowledge Graph" / "Concepts"

    class AfterTheFirstNote(ActingDisk):
        def at(self, name, path):
            if any(folder.glob("[!.]*")):
                super().at(name, path)

    def take_away():
        shutil.rmtree(folder) if act == "remove" else folder.rename(world.vault / "Elsewhere")

    result = world.sync(disk=AfterTheFirstNote("write_new", take_away, where="Concepts/"))
    assert result.data["counts"]["failed"] == result.data["counts"]["skipped"] == 0
    assert folder.is_dir()
    world.sync()
    assert writes(world.sync()) == 0


@pytest.mark.parametrize("moment", ["mkdir", "replace"])
def test_a_note_that_gets_words_while_it_is_being_retired_stays(moment, synced):
    synced.untag("compilers")
    where = "trash"
    result = synced.sync(disk=ActingDisk(moment, lambda: synced.append("compilers", "\nlast words\n"), where=where))
    assert counts(result)["retired"] == 0
    assert synced.text("compilers").endswith("\nlast words\n")
    assert synced.trash() == {}
    synced.sync()
    assert synced.text("compilers").endswith("\nlast words\n")
    assert 'kg_status: "left"' in synced.text("compilers")
    assert synced.trash() == {}


def test_a_note_edited_a_moment_ago_is_left_for_the_next_run_and_that_is_no_failure(synced):
    synced.append("web", "\nstill typing\n")
    synced.clock.ahead = -60  # the next sync is now
    result = synced.sync()
    assert counts(result)["skipped"] == 1
    assert result.exit_code == 0
    assert "4 items" in synced.text("web")
    assert "kg_items: 4" in synced.text("python")
    result = synced.sync()
    assert counts(result)["skipped"] == 0
    assert "6 items" in synced.text("web")
    assert synced.text("web").endswith("\nstill typing\n")


def test_a_note_with_a_time_in_the_future_is_not_skipped_for_ever(synced):
    path = synced.path("web")
    synced.append("web", "\nfrom a machine with a wrong clock\n")
    os.utime(path, (time.time() + 86400, time.time() + 86400))
    result = synced.sync()
    assert counts(result)["skipped"] == 0
    assert "6 items" in synced.text("web")


def test_a_note_edited_a_moment_ago_is_not_retired(synced):
    synced.edit("compilers", "kg_items: 4", "kg_items: 4 ")
    synced.untag("compilers")
    synced.clock.ahead = -60
    assert counts(synced.sync())["skipped"] == 1
    assert synced.has("compilers")
    assert counts(synced.sync())["retired"] == 1


@pytest.mark.parametrize("size", [0, 40, 100, 400])
def test_a_note_that_obsidian_is_writing_at_this_moment_is_not_taken_for_deleted(size, synced):
    path = synced.path("web")
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    synced.clock.ahead = -60
    result = synced.sync()
    assert counts(result)["skipped"] == 1
    assert result.exit_code == 0
    assert path.read_bytes() == whole[:size]
    assert "[[Knowledge Graph/Concepts/web|web]]" in synced.text("wasm")
    path.write_bytes(whole)
    synced.sync()
    assert "6 items" in synced.text("web")
    assert len(synced.ids()["concept/web"]) == 1


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.EROFS, errno.EPERM])
def test_one_note_that_cannot_be_written_does_not_stop_the_others(code, world):
    broken = BrokenDisk(lambda name, path: name in ("link", "replace") and path.name == "rust.md", code)
    result = world.sync(disk=broken)
    assert result.exit_code == 1
    assert counts(result)["failed"] == 1
    assert counts(result)["created"] == 9
    problem = next(problem for problem in result.problems if problem.code == "failed")
    assert problem.path == "Knowledge Graph/Concepts/rust.md"
    assert os.strerror(code) in problem.message
    assert world.temporary() == []
    result = world.sync()
    assert counts(result)["created"] == 1
    assert result.exit_code == 0
    assert writes(world.sync()) == 0


def test_one_note_that_cannot_be_updated_is_whole_and_tried_again(synced):
    old = synced.text("web")
    for run in range(2):
        result = synced.sync(disk=BrokenDisk(lambda name, path: name == "replace" and path.name == "web.md"))
        assert result.exit_code == 1
        assert counts(result)["failed"] == 1
        assert synced.text("web") == old
        assert "kg_items: 4" in synced.text("python"), run
    synced.sync()
    assert "6 items" in synced.text("web")
    assert residue(synced.path("web").read_bytes()) == residue(old.encode())


def test_one_note_that_cannot_be_retired_is_tried_again(synced):
    synced.untag("compilers")
    result = synced.sync(disk=BrokenDisk(lambda name, path: name == "replace" and "trash" in path.parts))
    assert result.exit_code == 1
    assert synced.has("compilers")
    assert counts(synced.sync())["retired"] == 1
    assert list(synced.trash()) == ["compilers.md"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_fails_its_notes_and_no_others(synced):
    shut = synced.vault / "Shut"
    shut.mkdir()
    synced.path("web").rename(shut / "web.md")
    shut.chmod(0o555)
    try:
        result = synced.sync()
        assert result.exit_code == 1
        assert counts(result)["failed"] == 1
        assert "kg_items: 4" in synced.text("python")
        assert "4 items" in synced.text("web")
    finally:
        shut.chmod(0o755)
    synced.sync()
    assert "6 items" in synced.text("web")


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_a_full_disk_tears_nothing_and_the_next_sync_finishes(kept, world):
    left = [1 + kept]  # our record comes first

    def full(name, path):
        if name != "write_new":
            return False
        left[0] -= 1
        return left[0] < 0

    with pytest.raises(VaultError, match="No space left"):
        world.sync(disk=BrokenDisk(full, errno.ENOSPC))
    assert world.temporary() == []
    assert len([path for path in world.visible() if path.endswith(".md")]) == kept
    assert all(data.endswith(b"%%\n") for data in world.visible().values())
    result = world.sync()
    assert result.exit_code == 0
    assert len([path for path in world.visible() if path.endswith(".md")]) == 10
    assert writes(world.sync()) == 0


def test_a_disk_that_fills_up_during_an_update_leaves_every_note_whole(synced):
    before = synced.visible()
    with pytest.raises(VaultError, match="No space left"):
        synced.sync(disk=BrokenDisk(lambda name, path: name == "write_new", errno.ENOSPC))
    assert synced.visible() == before
    assert synced.temporary() == []
    synced.sync()
    assert "6 items" in synced.text("web")


def test_a_manifest_that_cannot_be_written_says_so_and_the_next_run_heals(synced):
    with pytest.raises(VaultError, match=r"manifest\.json cannot be written"):
        synced.sync(disk=BrokenDisk(lambda name, path: name == "replace" and path.name == "manifest.json"))
    assert synced.temporary() == []
    result = synced.sync()
    assert result.exit_code == 0
    assert writes(synced.sync()) == 0
    assert "6 items" in synced.text("web")


class LookingDisk(CountingDisk):
    """Lists every visible file at every effect."""

    def __init__(self, world):
        super().__init__()
        self.world, self.seen, self.temporary = world, set(), set()

    def at(self, name, path):
        self.seen |= {found.name for found in self.world.vault.rglob("*") if found.is_file()}


def test_temporary_files_are_hidden_in_the_same_folder_and_gone_at_the_end(synced):
    synced.untag("compilers")
    synced.tags("rust", "go")
    disk = LookingDisk(synced)
    synced.sync(disk=disk)
    temporary = {name for name in disk.seen if name.endswith(".tmp")}
    assert temporary
    assert all(name.startswith(".kg2vault-") for name in temporary)
    notes = {name for name in disk.seen if name.endswith(".md") and not name.startswith(".")}
    assert notes == {path.rsplit("/", 1)[-1] for path in synced.visible() if path.endswith(".md")} | {"compilers.md"}
    assert synced.temporary() == []


def test_what_a_killed_run_left_behind_is_swept_and_files_of_others_are_not(synced):
    ours = [
        synced.vault / "Knowledge Graph" / "Concepts" / ".kg2vault-0123456789ab.tmp",
        synced.vault / ".kg2vault-0123456789ab.tmp",
        synced.vault / ".kg2vault" / ".kg2vault-0123456789ab.tmp",
    ]
    others = [synced.vault / name for name in ("web.md.tmp", ".web.md.tmp", "Knowledge Graph/.tmp", "kg2vault-1.tmp")]
    for path in [*ours, *others]:
        path.write_text("half a no")
    synced.sync()
    assert not any(path.exists() for path in ours)
    assert all(path.read_text() == "half a no" for path in others)


def test_updates_wait_for_the_medium_and_creations_do_not(world):
    class DurableDisk(CountingDisk):
        """Remembers of every note that is put in place whether its bytes were on the medium by then."""

        def __init__(self):
            super().__init__()
            self.durable = {}

        def write_new(self, path, data, *, durable, mode=0o666):
            self.last = durable
            super().write_new(path, data, durable=durable, mode=mode)

        def at(self, name, path):
            if name in ("link", "replace") and path.suffix in (".md", ".json"):
                self.durable.setdefault(f"{name} {path.name}", self.last)

    first = DurableDisk()
    world.sync(disk=first)
    assert [durable for name, durable in first.durable.items() if name.startswith("link ")] == [False] * 10
    assert first.effects.count("flush") == 1
    last_note = max(at for at, name in enumerate(first.effects) if name == "link")
    assert first.effects.index("flush") > last_note
    assert first.durable["replace manifest.json"]
    assert max(at for at, name in enumerate(first.effects) if name == "replace") > first.effects.index("flush"), "the manifest comes last"
    world.tags("web", "python")
    second = DurableDisk()
    world.sync(disk=second)
    assert second.durable["replace web.md"]
    assert all(second.durable.values())
    assert "sync_folder" in second.effects
    assert "flush" not in second.effects


def test_a_disk_without_hard_links_gets_its_notes_too(world):
    result = world.sync(disk=BrokenDisk(lambda name, path: name == "link", errno.EOPNOTSUPP))
    assert counts(result)["created"] == 10
    assert world.temporary() == []
    assert writes(world.sync()) == 0


def test_a_settings_folder_that_cannot_be_written_is_named_and_not_a_temporary_file_in_it(world):
    (world.vault / ".obsidian").mkdir(exist_ok=True)
    result = world.sync(disk=BrokenDisk(lambda name, path: name == "write_new" and path.parent.name == ".obsidian", errno.EACCES))
    assert result.exit_code == 0
    told = {problem.message for problem in result.problems if problem.code == "obsidian"}
    assert told == {f"{world.vault / '.obsidian'}: {os.strerror(errno.EACCES)}"}
