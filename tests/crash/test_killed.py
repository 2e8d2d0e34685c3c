"""A real process, killed for real at random moments, over a source that changes and a user who writes in between."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.crash.world import World

KILLS = 100
TAGS = [f"tag{number}" for number in range(24)]


def command(world):
    config = world.root / "config.yaml"
    config.write_text("limits:\n  settle_seconds: 0\n", encoding="utf-8")
    return [
        sys.executable, "-m", "kg2vault", "--config", str(config), "--db", str(world.db), "--vault", str(world.vault),
        "--aliases", str(world.root / "aliases.yaml"), "sync", "--allow-retire", "--allow-missing",
    ]  # fmt: skip


class Chaos:
    """Changes the source, writes words into notes, and knows which words must be there."""

    def __init__(self, world, seed):
        self.world, self.random, self.words = world, random.Random(seed), []

    def change(self):
        for _ in range(4):
            self.world.tags(*self.random.sample(TAGS, 3), times=1)
        if self.random.random() < 0.3:
            self.world.untag(self.random.choice(TAGS))

    def write(self):
        notes = sorted(path for paths in self.world.ids().values() for path in paths)
        if notes:
            path = self.world.vault / self.random.choice(notes)
            self.words.append(f"word{len(self.words)}x")
            with path.open("ab") as handle:
                handle.write(f"\n{self.words[-1]}\n".encode())

    def check(self):
        files = self.world.visible()
        present = set(re.findall(rb"word\d+x", b"\n".join(files.values())))
        assert {word.encode() for word in self.words} <= present
        for path, data in files.items():
            if not path.endswith(".md"):
                continue
            assert data.startswith(b"---\n"), path
            for kind in (b"begin", b"end"):
                assert data.count(b"%% kg2vault:" + kind) == len(re.findall(rb"(?m)^%% kg2vault:end \S+ %%$", data)), path
        assert all(len(paths) == 1 for paths in self.world.ids().values())
        assert not re.search(rb"word\d+x", b"\n".join(self.world.trash().values()))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_hundred_real_kills_lose_no_word_and_the_next_sync_makes_it_good(tmp_path):
    world = World(tmp_path / "world")
    (world.root / "aliases.yaml").write_text("aliases: {}\n", encoding="utf-8")
    chaos, kills, mended = Chaos(world, seed=3), 0, 0
    chaos.change()
    began = time.monotonic()
    subprocess.run(command(world), stdout=subprocess.DEVNULL, check=True)
    usual = time.monotonic() - began
    while kills < KILLS:
        chaos.change()
        chaos.write()
        process = subprocess.Popen(command(world), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(chaos.random.uniform(0.3, 1.1) * usual)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        killed = process.returncode == -signal.SIGKILL
        kills += killed
        mended += bool(world.temporary())
        chaos.check()
        if killed and chaos.random.random() < 0.5:
            done = subprocess.run(command(world), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            chaos.check()
            assert world.temporary() == []
            before = world.stamps()
            again = subprocess.run(command(world), capture_output=True, text=True, check=False)
            assert ": 0 created, 0 updated," in again.stdout, again.stdout
            assert world.stamps() == before
    print(f"\n{kills} kills, {mended} of them with a temporary file left behind, {len(chaos.words)} words kept")
