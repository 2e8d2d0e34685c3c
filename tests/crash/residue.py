"""What in a note is the user's, found without the program's own parser."""

import re

_REGION = re.compile(rb"^%% kg2vault:begin (\S+) [0-9a-f]{8} %%\r?$.*?^%% kg2vault:end \1 %%\r?$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(rb"\A(\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_SHARED = (b"aliases:", b"tags:")


def residue(data):
    """Return the bytes of a note without our regions, our `kg_` lines and the two lists that we share with the user."""
    block = _BLOCK.match(data)
    front, body = (data[: block.end()], data[block.end() :]) if block else (b"", data)
    kept, ours = [], False
    for line in front.splitlines(keepends=True):
        if not line.startswith((b" ", b"\t", b"- ")):
            ours = line.startswith((b"kg_", *_SHARED))
        if not ours:
            kept.append(line)
    return b"".join(kept) + _REGION.sub(rb"<\1>", body)


def words_only(data):
    """Return the residue's lines that say something, for when whole regions come or go with the blank lines around them."""
    return [line.rstrip() for line in re.sub(rb"<(concept|items|community|home|note)>", b"", residue(data)).splitlines() if line.strip()]
