"""Notes whose content is in the cloud: there, but not to be had, which is neither deleted nor a free name."""

import errno
import os
from types import SimpleNamespace

import pytest

from kg2vault.storage import vault_dir
from kg2vault.storage.vault_dir import is_placeholder
from kg2vault.syncing import sync


@pytest.mark.parametrize(
    ("flags", "platform", "there"), [(0x40000000, "darwin", True), (0x40, "darwin", False), (0x40000000, "linux", False)]
)
def test_a_file_whose_content_is_in_the_cloud_is_told_by_its_flags_without_reading_it(flags, platform, there):
    assert is_placeholder(SimpleNamespace(st_flags=flags, st_size=100, st_blocks=0), platform) is there


def test_a_note_on_a_system_without_such_flags_is_simply_a_note():
    assert not is_placeholder(SimpleNamespace(st_size=100, st_blocks=0), "darwin")


@pytest.mark.parametrize("number", [errno.EDEADLK, errno.EIO, errno.ETIMEDOUT])
def test_a_note_that_cannot_be_read_now_is_neither_deleted_nor_written_again(number, real_world, monkeypatch):
    settings = real_world.make().inforce.settings
    sync(settings)
    note = next(real_world.vault.rglob("web.md"))
    os.utime(note)
    before = {path: path.stat().st_ino for path in real_world.vault.rglob("*.md")}

    read = open

    def stuck(path, *rest, **more):
        if str(path).endswith("web.md"):
            raise OSError(number, os.strerror(number), str(path))
        return read(path, *rest, **more)

    monkeypatch.setattr(vault_dir, "open", stuck, raising=False)
    real_world.add("Meanwhile")
    counts = sync(settings).data["counts"]
    assert counts["skipped"] == 1
    assert counts["created"] == counts["retired"] == 0
    assert before.keys() == set(real_world.vault.rglob("*.md"))
    assert note.stat().st_ino == before[note]
    monkeypatch.undo()
    assert sync(settings).data["counts"]["updated"] == 1
    assert "Meanwhile" in note.read_text()
