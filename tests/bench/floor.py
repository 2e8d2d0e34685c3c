"""The floor, for comparison: the same bytes to the same number of files, and nothing else. `python -m tests.bench.floor VAULT TARGET`.

Prints the seconds of a plain loop of writes into folders that are there already, and those of looking at size and date of every note.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main(vault: Path, target: Path) -> None:
    """Write what a sync wrote; `target` must not exist."""
    files = [
        (target / path.relative_to(vault), path.read_bytes())
        for path in sorted(vault.rglob("*"))
        if path.is_file() and ".kg2vault" not in path.parts
    ]
    for folder in sorted({path.parent for path, _ in files}):
        folder.mkdir(parents=True, exist_ok=True)
    plain = [(str(path), data) for path, data in files]
    begun = time.perf_counter()
    for path, data in plain:
        with open(path, "wb") as file:  # noqa: PTH123 - the floor is what is fastest
            file.write(data)
    written = time.perf_counter() - begun
    begun = time.perf_counter()
    for folder, _, names in os.walk(vault):
        for name in names:
            os.stat(f"{folder}/{name}")  # noqa: PTH116
    seen = time.perf_counter() - begun
    print(json.dumps({"write": written, "stat": seen, "files": len(files), "bytes": sum(len(data) for _, data in files)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
