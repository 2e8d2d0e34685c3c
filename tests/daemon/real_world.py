"""A world in which time and events are made up, and database, vault and syncs are real."""

from kg2vault.daemon.job import carry_out
from kg2vault.daemon.run import _kept
from kg2vault.storage.hermes import HermesSource
from tests.daemon.world import World
from tests.e2e.conftest import contents


class RealWorld(World):
    """Time and events are made up; database, vault and syncs are real."""

    def __init__(self, folder, topics):
        super().__init__(folder, config="limits:\n  settle_seconds: 0\n", db=False)
        self.reader = topics
        self.config.write_text(self.config.read_text().replace("hermes.db", str(topics.path)))
        (self.vault / ".obsidian").mkdir()
        self.seen = {}

    def gate(self, path):
        return HermesSource(path).gate().partition(" fresh@")[0]  # in made-up time nothing was written a moment ago

    def kept(self, vault):
        return _kept(vault)

    def carry_out(self, job):
        return carry_out(job, lambda: False)

    def add(self, title):
        """The reader adds an item."""
        self.reader.add("web", "wasm", title=title)
        self.hint("db")

    def look(self, name):
        """Remember the vault and the state as they are now."""
        self.seen[name] = contents(self.vault) if self.vault.is_dir() else {}, self.state

    def shows(self, text):
        return text in next(self.vault.rglob("web.md")).read_text()

    def suffer(self, fault, mend):
        """Live through a fault from second 50 to second 400; returns the state during the fault."""
        self.at(49, lambda: self.look("before"))
        self.at(50, lambda: (fault(), self.hint("db")))
        self.at(390, lambda: self.look("during"))
        self.at(400, mend)
        self.at(401, lambda: self.add("Healed"))
        self.run(900)
        return self.seen["during"][1]
