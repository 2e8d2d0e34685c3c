"""The graph of a database, with its metrics and communities, and nothing more: `python -m tests.bench.graph_only DB`.

Prints a JSON object: seconds by stage, and how large the graph is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kg2vault import collector
from tests.bench.timed import Watch


def main(path: Path) -> None:
    """Read and build as a sync does."""
    collector.leave_off()
    watch = Watch()
    watch.call("import", _imports)
    from kg2vault.graph import build
    from kg2vault.graph.aliases import AliasTable
    from kg2vault.storage.hermes import HermesSource, no_collector

    watch.over(build, "measure", "metrics")
    watch.over(build, "find_communities", "communities")
    with no_collector():
        reading = watch.call("read", HermesSource(path).read)
        graph = watch.call("build", lambda: build.build_graph(reading, AliasTable.empty(), build.GraphSettings()))
    size = {
        "items": len(reading.items),
        "rows": len(reading.assignments),
        "concepts": len(graph.concepts),
        "edges": len(graph.edges),
        "communities": len(graph.communities),
    }
    print(json.dumps({"stages": watch.seconds, "beside": watch.beside, "size": size}))
    collector.leave(0)


def _imports() -> None:
    import kg2vault.graph.build
    import kg2vault.storage.hermes  # noqa: F401


if __name__ == "__main__":
    main(Path(sys.argv[1]))
