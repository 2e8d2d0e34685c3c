"""What macOS guards, told apart from what is merely absent."""

import pytest

from kg2vault.service.install import install
from kg2vault.service.privacy import access_help, guarded_folder
from tests.service.conftest import make_spec


def test_the_help_names_the_grant_and_the_file_that_needs_it(tmp_path):
    real = tmp_path / "Cellar" / "python3.12"
    real.parent.mkdir()
    real.touch()
    (tmp_path / "python").symlink_to(real)
    text = access_help(str(tmp_path / "python"))
    assert f"\n       {real.resolve()}\n" in text
    assert "Privacy & Security > Full Disk Access" in text
    assert max(len(line) for line in text.splitlines() if str(real.resolve()) not in line) <= 140


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/Users/a/Documents/Vault", "~/Documents"),
        ("/Users/a/Desktop", "~/Desktop"),
        ("/Users/a/Library/Mobile Documents/iCloud~md~obsidian/Documents/V", "~/Library/Mobile Documents"),
        ("/Volumes/USB/Vault", "/Volumes/USB"),
        ("/Users/a/Documents2/Vault", None),
        ("/Users/b/Documents/Vault", None),
        ("/Users/a/Vaults/Documents", None),
    ],
)
def test_guarded_folders_are_recognised(path, folder):
    assert guarded_folder(path, "/Users/a") == folder


def test_installing_for_a_guarded_vault_warns_and_for_another_does_not(mac):
    guarded = install(mac.manager, make_spec(mac.home, vault="Documents/Vault"))
    assert [hint for hint in guarded.hints if "macOS guards ~/Documents" in hint]
    free = install(mac.manager, make_spec(mac.home, vault="Vaults/V"))
    assert [hint for hint in free.hints if "guards" in hint] == []
