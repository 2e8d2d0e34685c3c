"""A crash at every single effect, then what may happen next, then a sync: the vault is the one without the crash."""

import itertools
import re
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from kg2vault.verifying import verify
from tests.crash.disk import CountingDisk, Crash, FailingDisk
from tests.crash.world import World, writes

WORDS = "kept-word"
HISTORY_LINES = re.compile(
    rb"^(aliases: \[\]|kg_pagerank|kg_betweenness|Shares neighbours|- .* \xe2\x80\x94 betweenness).*\n|(?<=begin )\w+ [0-9a-f]{8} %%$",
    re.MULTILINE,
)


def topics(world):
    world.tags("python", "django", "web")
    world.tags("rust", "wasm", "compilers")
    world.tags("web", "wasm")
    world.tags("rust", "wasm", "compilers", "llvm")


def settled(world):
    """A synced vault in which the user has written above, below and in the frontmatter of two notes."""
    topics(world)
    world.sync()
    for name in ("web", "python"):
        world.edit(name, "---\n%% kg2vault:begin", f"mine: {WORDS}-1 # a comment\n---\n{WORDS}-2 above\n\n%% kg2vault:begin")
        world.append(name, f"\n{WORDS}-3 below\n")
    world.sync()


def first_sync(world):
    topics(world)


def update_of_several(world):
    settled(world)
    world.tags("python", "web")


def create_update_and_retire(world):
    settled(world)
    world.untag("compilers")
    world.tags("rust", "go")


def orphaned_note(world):
    settled(world)
    world.append("compilers", f"\n{WORDS}-4\n")
    world.untag("compilers")


def tombstone(world):
    settled(world)
    world.path("django").unlink()


def region_refresh(world):
    """The user's own version of a region is the one we are about to write: only the digest in its marker is old."""
    settled(world)
    twin = world.copy(world.root.parent / f"{world.root.name}-ahead")
    for one in (world, twin):
        one.tags("python", "web")
    twin.sync()
    body = twin.text("web").split("%%\n", 1)[1].split("\n%% kg2vault:end", 1)[0]
    old = world.text("web").split("%%\n", 1)[1].split("\n%% kg2vault:end", 1)[0]
    assert body != old
    world.edit("web", old, body)
    shutil.rmtree(twin.root)


def lost_manifest(world):
    settled(world)
    world.append("rust", f"\n{WORDS}-5\n")
    (world.vault / ".kg2vault" / "manifest.json").unlink()
    world.tags("python", "web")


def moved_in_obsidian(world):
    """Obsidian renames a note and rewrites the links to it, in our regions too."""
    settled(world)
    (world.vault / "Areas").mkdir()
    world.path("web").rename(world.vault / "Areas" / "The web.md")
    for path, data in world.visible().items():
        (world.vault / path).write_bytes(data.replace(b"[[Knowledge Graph/Concepts/web|", b"[[The web|"))
    world.tags("django", "web")


def moved_by_hand(world):
    settled(world)
    (world.vault / "Areas").mkdir()
    world.path("web").rename(world.vault / "Areas" / "The web.md")


def put_back(world):
    """A note that the user deleted, and that stayed deleted, is where it was again."""
    settled(world)
    kept = world.text("django")
    path = world.path("django")
    path.unlink()
    world.sync()
    path.write_text(kept + f"\n{WORDS}-6\n", encoding="utf-8")


def merged_by_alias(world):
    settled(world)
    world.append("django", f"\n{WORDS}-7\n")
    world.aliases = "aliases:\n  django: python\n  compilers: rust\n"


def dissolved_community(world):
    settled(world)
    world.append("wasm (community)", f"\n{WORDS}-9\n")
    for tag in ("rust", "wasm", "llvm"):
        world.untag(tag)
    world.tags("compilers", "web", "python", times=4)


def moved_and_leaving(world):
    """Two concepts leave, and the note of the second links to that of the first by its short name."""
    settled(world)
    (world.vault / "Areas").mkdir()
    world.path("compilers").rename(world.vault / "Areas" / "Compiling.md")
    for path, data in world.visible().items():
        (world.vault / path).write_bytes(data.replace(b"[[Knowledge Graph/Concepts/compilers|", b"[[Compiling|"))
    world.untag("compilers")
    world.untag("wasm")


def lost_copy(world):
    """A concept leaves of whose note there is a copy."""
    settled(world)
    (world.vault / "copy.md").write_bytes(world.path("compilers").read_bytes())
    world.untag("compilers")


SCENARIOS = [
    first_sync, update_of_several, create_update_and_retire, orphaned_note, tombstone, region_refresh, lost_manifest, moved_in_obsidian,
    moved_by_hand, moved_and_leaving, put_back, merged_by_alias, dissolved_community, lost_copy,
]  # fmt: skip
QUICK = [first_sync, create_update_and_retire, lost_manifest]


def nothing(world):
    pass


def source_changes(world):
    """Within the communities: which group a concept joins may depend on the run before, and here that may not have come so far."""
    world.tags("django", "web")
    world.tags("rust", "wasm")


def user_edits(world):
    if world.has("python"):
        world.append("python", f"\n{WORDS}-8 written between the crash and the next sync\n")


def concept_returns(world):
    world.aliases = "aliases: {}\n"
    world.tags("rust", "wasm", "compilers")


NEXT = [nothing, source_changes, user_edits, concept_returns]
# What was, matters: a community that never fell apart keeps its identity, a note that was not yet retired stays the one its copy is a copy
# of, a region that the user wrote just as we would have is ours only when we have seen it before it is out of date, and a note that has not
# left yet when its concept returns is where the user moved it.
HISTORY = {
    (dissolved_community, concept_returns),
    (lost_copy, concept_returns),
    (region_refresh, source_changes),
    (moved_and_leaving, source_changes),
    (moved_and_leaving, concept_returns),
}


@dataclass
class Matrix:
    """One scenario, prepared once and copied for every point at which the program may stop."""

    folder: Path
    base: World
    count: int = 0
    points: int = 0

    def copy_of(self, world):
        self.count += 1
        return world.copy(self.folder / f"w{self.count}")


@pytest.fixture
def matrix(tmp_path):
    return Matrix(tmp_path, World(tmp_path / "base"))


def crashed_worlds(matrix, uncrashed):
    """Yield (name of the point, world) for every effect of the sync that is due, and for every write that can be torn.

    Points that leave the same files as the one before (an fsync writes nothing) are counted, but not gone into again.
    """
    before, after, seen = matrix.base.visible(), uncrashed.visible(), None
    for torn in (False, True):
        k, done = 0, False
        while not done:
            world, disk = matrix.copy_of(matrix.base), FailingDisk(k, torn=torn)
            try:
                world.sync(disk=disk)
                done = True
            except Crash as crash:
                if not torn or "middle" in str(crash):
                    matrix.points += 1
                    found = files(world)
                    if found != seen:
                        assert_nothing_is_torn(world, before, after)
                        yield str(crash), world
                    seen = found
            shutil.rmtree(world.root, ignore_errors=True)
            k += 1


def files(world):
    """Return every file and folder below the vault, temporary files without the random part of their names."""
    found = []
    for path in world.vault.rglob("*"):
        if not path.name.startswith("lock"):
            name = "temporary" if path.suffix == ".tmp" else path.name
            found.append((str(path.parent.relative_to(world.vault)), name, path.read_bytes() if path.is_file() else b""))
    return sorted(found)


def assert_nothing_is_torn(world, before, after):
    """Every visible file is the one of before or the one of after; a note that moved to the trash did so whole."""
    for path, data in world.visible().items():
        assert data in (before.get(path), after.get(path)), path
    for data in world.trash().values():
        assert data in before.values()
    assert words(before) <= words(world.visible())


def words(files):
    """Return every word of the user in these files."""
    return {found for data in files.values() for found in data.split() if found.startswith(WORDS.encode())}


def without_history(files):
    """Return notes without the numbers and choices that start from what the note said before, and without the digests over them.

    Properties are sorted: those that were taken out and put in again stand at the end.
    """
    found = {}
    for path, data in files.items():
        front, rule, body = HISTORY_LINES.sub(b"", data).partition(b"\n---\n")
        found[path] = sorted(front.splitlines()), rule, body
    return found


def assert_recovered(world, expected, *, exactly):
    world.sync()
    found = world.visible()
    compared = (found, expected) if exactly else (without_history(found), without_history(expected))
    assert compared[0] == compared[1]
    assert words(expected) <= words(found)
    assert world.temporary() == []
    assert not words(world.trash())
    before = world.stamps()
    assert writes(world.sync()) == 0
    assert world.stamps() == before


@pytest.mark.parametrize("scenario", QUICK, ids=lambda made: made.__name__)
def test_a_crash_at_any_effect_is_repaired_by_the_next_sync(scenario, matrix):
    explore(scenario, matrix, [nothing])


def test_a_first_sync_that_was_cut_off_leaves_no_note_that_nobody_knows_when_the_source_is_another_one(matrix):
    first_sync(matrix.base)
    uncrashed = matrix.copy_of(matrix.base)
    uncrashed.sync()
    for point, world in crashed_worlds(matrix, uncrashed):
        with sqlite3.connect(world.db) as connection:
            connection.execute("DELETE FROM item_tags")
        connection.close()
        world.tags("sun", "moon", "stars")
        world.tags("sun", "rust")
        world.sync()
        kinds = {note_id.partition("/")[2] for note_id in world.ids()}
        assert not kinds & {"python", "django", "web", "wasm", "compilers"}, point
        assert verify(world.settings()).exit_code == 0, point
        shutil.rmtree(world.root)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "then"),
    [pair for pair in itertools.product(SCENARIOS, NEXT) if pair not in HISTORY],
    ids=lambda made: made.__name__,
)
def test_a_crash_at_any_effect_is_repaired_whatever_happens_before_the_next_sync(scenario, then, matrix):
    explore(scenario, matrix, [then])


def explore(scenario, matrix, thens):
    scenario(matrix.base)
    uncrashed = matrix.copy_of(matrix.base)
    disk = CountingDisk()
    uncrashed.sync(disk=disk)
    assert words(matrix.base.visible()) == words(uncrashed.visible())
    outcomes = {then: expectations(matrix, uncrashed, then) for then in thens}
    for point, crashed in crashed_worlds(matrix, uncrashed):
        for then in thens:
            world = matrix.copy_of(crashed)
            expected, obsidian, memory = outcomes[then][then is not user_edits or world.has("python")]
            then(world)
            try:
                assert_recovered(world, expected, exactly=then in (nothing, user_edits))
                assert world.settings_files() == obsidian
                assert then not in (nothing, user_edits) or world.memory() == memory
            except AssertionError as error:
                raise AssertionError(f"after a crash {point}, then {then.__name__}: {error}") from error
            shutil.rmtree(world.root)
    assert matrix.points == len(disk.effects) + disk.effects.count("write_new")


def expectations(matrix, uncrashed, then):
    """Return the vault and what is remembered of it without the crash; for the user's edit also without it: there may be no note yet."""
    found = {}
    for happens in (True, False):
        twin = matrix.copy_of(uncrashed)
        if happens:
            then(twin)
        twin.sync()
        found[happens] = twin.visible(), twin.settings_files(), twin.memory()
    return found


def test_a_note_that_a_stopped_sync_made_is_ours_wherever_the_user_moves_it_before_its_concept_leaves(matrix):
    topics(matrix.base)
    uncrashed = matrix.copy_of(matrix.base)
    uncrashed.sync()
    moved = 0
    for point, world in crashed_worlds(matrix, uncrashed):
        if world.has("llvm"):
            world.path("llvm").rename(world.vault / "My compiler.md")
            moved += 1
        world.untag("llvm")
        world.sync()
        assert not world.has("llvm"), point
        assert not world.has("My compiler"), point
        assert verify(world.settings()).exit_code == 0, point
        shutil.rmtree(world.root)
    assert moved > 0
