"""What is not there, not allowed or no database: one clear sentence each, and nothing created or changed."""

import os
import sqlite3
from contextlib import closing

import pytest

from kg2vault.errors import SourceDenied, SourceError, SourceMissing
from kg2vault.storage.hermes import HermesSource
from tests.conftest import Database
from tests.storage.other_programs import as_ordinary_user, open_folder


def fill(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO item_tags VALUES (?, ?)", [(number, f"tag {number}") for number in range(2, 2000)])


def test_a_missing_path_is_named_and_not_created(tmp_path):
    path = tmp_path / "nowhere" / "hermes.db"
    for wanted in (path, tmp_path / "hermes.db"):
        with pytest.raises(SourceMissing) as caught:
            HermesSource(wanted).read()
        assert caught.value.code == "source-missing"
        assert str(wanted) in str(caught.value)
    assert list(tmp_path.iterdir()) == [tmp_path / "home"]


def test_a_path_below_a_file_is_missing(database):
    with pytest.raises(SourceMissing):
        HermesSource(database.path / "hermes.db").read()


def test_a_link_to_nowhere_is_missing(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "gone.db")
    with pytest.raises(SourceMissing, match=r"link\.db"):
        HermesSource(tmp_path / "link.db").read()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"Just a text file, and not a short one either." * 40, "is not an SQLite database"),
        (b"SQLite format 3\0", "is not an SQLite database"),
        (b"SQLite", "is not an SQLite database"),
    ],
)
def test_what_is_no_database_is_said_to_be_none(content, words, tmp_path):
    path = tmp_path / "hermes.db"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=words) as caught:
        HermesSource(path).read()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_folder_and_a_pipe_are_no_databases(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="is a folder"):
        HermesSource(tmp_path).read()
    with pytest.raises(SourceError, match="is not a file"):
        HermesSource(tmp_path / "pipe").read()


def test_a_database_cut_short_is_called_damaged(database):
    fill(database.path)
    size = database.path.stat().st_size
    os.truncate(database.path, size // 2)
    with pytest.raises(SourceError, match=r"damaged.*backup"):
        HermesSource(database.path).read()


def test_a_damaged_page_is_called_damaged(database):
    fill(database.path)
    with database.path.open("r+b") as handle:
        handle.seek(4096)
        handle.write(b"\xa5" * (database.path.stat().st_size - 8192))
    with pytest.raises(SourceError, match="damaged"):
        HermesSource(database.path).read()


def refused(path):
    """What reading says when it is not allowed to, and that the file looks present all the while."""
    with pytest.raises(SourceDenied) as caught:
        HermesSource(path).read()
    return str(caught.value), os.path.lexists(path)


def test_a_database_one_may_not_read_is_denied_and_not_absent():
    with open_folder() as folder:
        path = Database(folder / "hermes.db").path
        path.chmod(0o000)
        message, present = as_ordinary_user(refused, path)
    assert present
    assert "may not read" in message
    assert "There is no" not in message


def test_a_folder_one_may_not_enter_is_denied_and_not_absent():
    with open_folder() as folder:
        path = Database(folder / "closed" / "hermes.db").path
        path.parent.chmod(0o000)
        message, _ = as_ordinary_user(refused, path)
        path.parent.chmod(0o755)
    assert "may not read" in message
