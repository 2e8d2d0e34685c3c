"""Which hermes.db is meant: what was named wins, and a doubt is never settled silently."""

import pytest

from kg2vault.errors import SourceDenied, SourceError, SourceMissing
from kg2vault.storage.discover import SKILL_PATH, find_database
from kg2vault.storage.hermes import HermesSource
from tests.conftest import Database
from tests.storage.other_programs import as_ordinary_user, open_folder


class Places:
    """A home, a current folder and an environment of one's own."""

    def __init__(self, root):
        self.home, self.cwd, self.env = root / "somebody", root / "here", {}
        self.home.mkdir()
        self.cwd.mkdir()

    def database(self, path, *tags):
        database = Database(path)
        if tags:
            database.add(*tags)
        return path

    def find(self, explicit=None, configured=None):
        return find_database(explicit, configured, self.env, self.home, self.cwd)


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path)


def test_the_order_is_command_line_configuration_variables_skill_folder_current_folder(places):
    places.database(places.cwd / "hermes.db", "x")
    assert places.find() == places.cwd / "hermes.db"
    (places.cwd / "hermes.db").rename(places.cwd / "later.db")
    skill = places.database(places.home / SKILL_PATH, "x")
    assert places.find() == skill
    places.env["RSS_DB"] = str(places.database(places.home / "rss.db"))
    assert places.find() == places.home / "rss.db"
    places.env["ATTEST_DB"] = str(places.database(places.home / "attest.db"))
    assert places.find() == places.home / "attest.db"
    configured = places.database(places.home / "configured.db")
    assert places.find(configured=configured) == configured
    explicit = places.database(places.home / "explicit.db")
    assert places.find(explicit, configured) == explicit


@pytest.mark.parametrize("named_by", ["--db", "db: in the configuration", "$ATTEST_DB", "$RSS_DB"])
def test_a_named_path_that_is_missing_is_an_error_even_when_others_exist(named_by, places):
    places.database(places.cwd / "hermes.db", "x")
    gone = places.home / "gone.db"
    if named_by.startswith("$"):
        places.env[named_by[1:]] = str(gone)
    with pytest.raises(SourceMissing) as caught:
        places.find(gone if named_by == "--db" else None, gone if named_by.startswith("db:") else None)
    assert str(gone) in caught.value.message
    assert named_by in caught.value.message
    assert not gone.exists()


def test_an_empty_variable_names_nothing(places):
    places.env.update(ATTEST_DB="", RSS_DB="")
    assert places.find(configured=places.database(places.home / "c.db")) == places.home / "c.db"


def test_a_tilde_is_the_home_and_a_relative_path_starts_in_the_current_folder(places):
    places.database(places.home / "data" / "h.db")
    places.database(places.cwd / "data" / "h.db")
    places.env["RSS_DB"] = "~/data/h.db"
    assert places.find() == places.home / "data" / "h.db"
    places.env["RSS_DB"] = "data/h.db"
    assert places.find() == places.cwd / "data" / "h.db"


def test_with_no_candidate_every_place_that_was_tried_is_named(places):
    with pytest.raises(SourceMissing) as caught:
        places.find()
    for place in ("--db", "db:", "$ATTEST_DB", "$RSS_DB", str(places.home / SKILL_PATH), str(places.cwd / "hermes.db")):
        assert place in str(caught.value)
    assert list(places.cwd.iterdir()) == []


def test_of_two_usual_places_the_one_that_holds_tags_is_meant(places):
    skill = places.database(places.home / SKILL_PATH, "x")
    places.database(places.cwd / "hermes.db")
    assert places.find() == skill
    (places.cwd / "hermes.db").write_bytes(b"")
    assert places.find() == skill


def test_of_two_that_hold_tags_none_is_chosen(places):
    skill = places.database(places.home / SKILL_PATH, "x")
    here = places.database(places.cwd / "hermes.db", "y")
    with pytest.raises(SourceError, match="both hold data") as caught:
        places.find()
    assert str(skill) in str(caught.value)
    assert str(here) in str(caught.value)


def test_of_two_without_tags_none_is_chosen(places):
    places.database(places.home / SKILL_PATH)
    places.database(places.cwd / "hermes.db")
    with pytest.raises(SourceError, match="neither holds any tags"):
        places.find()


def test_one_file_under_two_names_is_one_candidate(places):
    skill = places.database(places.home / SKILL_PATH, "x")
    (places.cwd / "hermes.db").symlink_to(skill)
    assert places.find() == skill


def test_a_single_database_is_meant_even_when_it_is_empty(places):
    (places.cwd / "hermes.db").write_bytes(b"")
    assert places.find() == places.cwd / "hermes.db"
    with pytest.raises(SourceError, match="empty"):
        HermesSource(places.find()).read()


def test_a_database_that_may_not_be_looked_into_is_found_and_then_denied():
    def look(places):
        with pytest.raises(SourceDenied):
            HermesSource(places.find()).read()
        return places.find()

    with open_folder() as folder:
        places = Places(folder)
        skill = places.database(places.home / SKILL_PATH, "x")
        skill.parent.chmod(0o000)
        assert as_ordinary_user(look, places) == skill
        skill.parent.chmod(0o755)


def test_a_database_that_may_not_be_looked_into_counts_as_one_with_data():
    def look(places):
        with pytest.raises(SourceError, match="both hold data"):
            places.find()

    with open_folder() as folder:
        places = Places(folder)
        skill = places.database(places.home / SKILL_PATH, "x")
        places.database(places.cwd / "hermes.db", "y")
        skill.chmod(0o000)
        as_ordinary_user(look, places)
