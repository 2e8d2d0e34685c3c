"""Export: the graph for other programs.

Layer 3. The writers are pure (graph/formats); here a format is chosen and files are put in place, each as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from kg2vault.errors import ConfigError
from kg2vault.graph.formats.cypher import cypher
from kg2vault.graph.formats.drawings import dot, mermaid
from kg2vault.graph.formats.tabular import edges_csv, node_link, nodes_csv
from kg2vault.graph.formats.xml import gexf, graphml
from kg2vault.graph.model import KnowledgeGraph
from kg2vault.result import OperationResult
from kg2vault.standing import Standing
from kg2vault.storage.base import Disk
from kg2vault.storage.file_token import SIBLINGS
from kg2vault.storage.manifest_file import replace_file

_WRITERS: Mapping[str, Callable[[KnowledgeGraph], str]] = {
    "graphml": graphml,
    "gexf": gexf,
    "json": node_link,
    "cypher": cypher,
    "dot": dot,
    "mermaid": mermaid,
}
FORMATS = tuple(sorted([*_WRITERS, "csv"]))


def export(standing: Standing, format_name: str, target: Path | None, *, never: tuple[Path, ...] = ()) -> OperationResult:
    """Write the graph to a file, or return it as `text`; csv is two files, `<name>-nodes.csv` and `<name>-edges.csv`.

    `never` are databases: neither they nor the files SQLite keeps beside them are written over. Raises ConfigError for an unknown format
    and a file that can't be written.
    """
    if format_name not in FORMATS:
        raise ConfigError(f"There is no format {format_name!r}; choose one of {', '.join(FORMATS)}.")
    texts = _texts(standing.graph, format_name, target)
    data = {"format": format_name, "concepts": len(standing.graph.concepts), "edges": len(standing.graph.edges)}
    files = [str(path) for path in texts if path is not None]
    for path, text in texts.items():
        if path is not None:
            _write(path, text, never)
    data |= {"files": files, "text": "" if files else "".join(texts.values()), "stale": bool(standing.lagging)}
    return OperationResult(
        "export", data, standing.problems, summary=f"{data['concepts']} concepts, {data['edges']} edges: {', '.join(files)}"
    )


def _texts(graph: KnowledgeGraph, format_name: str, target: Path | None) -> dict[Path | None, str]:
    if format_name != "csv":
        return {target: _WRITERS[format_name](graph)}
    if target is None:
        raise ConfigError("csv is two files, of nodes and of edges.", hint="Name them with -o NAME.csv.")
    if target.is_dir():
        raise ConfigError(f"{target} is a folder; name a file in it.", path=str(target))
    base = target.with_suffix("") if target.suffix.lower() == ".csv" else target
    return {
        base.with_name(f"{base.name}-nodes.csv"): nodes_csv(graph),
        base.with_name(f"{base.name}-edges.csv"): edges_csv(graph),
    }


def _same_file(one: Path, other: Path) -> bool:
    return Path(os.path.realpath(one)) == other or (one.exists() and other.exists() and one.samefile(other))


def _write(path: Path, text: str, never: tuple[Path, ...]) -> None:
    where = str(path)
    if any(_same_file(path, Path(f"{os.path.realpath(other)}{suffix}")) for other in never for suffix in ("", "-shm", *SIBLINGS)):
        raise ConfigError(f"{where} is part of the reader's database; choose another file.", path=where)
    if path.is_dir():
        raise ConfigError(f"{where} is a folder; name a file in it.", path=where)
    try:
        data = text.encode("utf-8", "replace")
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_bytes(data)
        else:
            replace_file(Disk(), Path(os.path.realpath(path)), data)
    except OSError as error:
        raise ConfigError(f"{where} cannot be written: {error.strerror or error}.", path=where) from error
