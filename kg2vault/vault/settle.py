"""Settling a conflict in a note's text: keep the user's version, give the region back to us, or have both.

Layer 1, pure. Each is one edit of the text that leaves every word of the user in place; what we generate is put in by the next sync.
"""

from __future__ import annotations

from kg2vault.vault.note import Region
from kg2vault.vault.regions import end_marker, line_break


def keep_mine(text: str, region: Region) -> str:
    """Take the markers away: the text between them is the user's own from now on."""
    last = region.end - len(end_marker(region.name))
    rest = text[region.end :]
    for ending in ("\r\n", "\n"):
        if rest.startswith(ending):
            rest = rest[len(ending) :]
            break
    return text[: region.start] + text[region.at : last] + rest


def give_back(text: str, region: Region) -> str:
    """Call the text between the markers ours, whatever its links mean to whom: the next sync replaces it."""
    at = region.start + len(f"%% kg2vault:begin {region.name} ")
    return text[:at] + region.digest_as_it_stands() + text[at + 8 :]


def keep_both(text: str, region: Region) -> str:
    """Put the user's version below the region and give the region back."""
    newline = line_break(text)
    copied = text[: region.end] + newline + newline + region.body + text[region.end :]
    return give_back(copied, region)
