"""The benchmark: `python -m tests.bench [CORPUS ...]`. Prints Markdown; `--help` tells the rest."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.bench.corpus import Shape, ten_thousand_concepts, write_corpus
from tests.bench.processes import Runner
from tests.bench.rounds import Measured, Wish, measure
from tests.bench.tables import report
from tests.bench.targets import verdicts

TEN_THOUSAND = "10000-concepts"
SIZES = {"5000": Shape(5_000), "50000": Shape(50_000), "500000": Shape(500_000), TEN_THOUSAND: ten_thousand_concepts()}
_GRAPH_ONLY_FROM = 100_000  # items: above, the first sync is left out unless asked for


def main() -> None:
    """Measure what was asked for."""
    options = _options()
    repetitions = options.repetitions or (1 if options.quick else 3)
    names = options.corpora or (["5000"] if options.quick else list(SIZES))
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="kg2vault-bench-", dir=options.folder) as folder:
        runner = Runner(Path(folder))
        for name in names:
            print(f"measuring {name}", file=sys.stderr, flush=True)
            measured.append(measure(_wish(name, options), runner, repetitions, options.patience))
    generated = [corpus for corpus in measured if corpus.name.removesuffix(" items").replace(",", "") in ("5000", "50000", "500000")]
    if options.json:
        print(json.dumps({"corpora": [asdict(one) for one in measured], "targets": [asdict(one) for one in verdicts(measured)]}, indent=1))
    else:
        print(report(measured, generated))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure kg2vault against the floor and the usual way.")
    parser.add_argument(
        "corpora", nargs="*", metavar="CORPUS", help=f"{', '.join(SIZES)} (generated), or the path of a hermes.db; default: all"
    )
    parser.add_argument("--repetitions", type=int, metavar="N", help="rounds for each corpus, of which the median counts (default: 3)")
    parser.add_argument("--quick", action="store_true", help="one round, by default of the smallest corpus only")
    parser.add_argument("--json", action="store_true", help="print every number instead of tables")
    parser.add_argument("--yardstick", action=argparse.BooleanOptionalAction, default=True, help="measure the usual way too (default: yes)")
    parser.add_argument("--patience", type=float, default=300, metavar="SECONDS", help="stop the usual way after that time (default: 300)")
    parser.add_argument("--graph-only", action="store_true", help="build graphs and make no vault; as always from 100,000 items")
    parser.add_argument("--whole", action="store_true", help="make a vault of the largest corpora too")
    parser.add_argument("--folder", type=Path, help="where to work: the file system that is measured (default: that of temporary files)")
    options = parser.parse_args()
    for name in options.corpora:
        if name not in SIZES and not Path(name).is_file():
            parser.error(f"{name} is neither a file nor one of {', '.join(SIZES)}")
    return options


def _wish(name: str, options: argparse.Namespace) -> Wish:
    shape = SIZES.get(name)
    if shape is None:
        path = Path(name)
        shown = path.parent.name if path.name == "hermes.db" and path.parent.name else path.name
        return Wish(shown, lambda target: shutil.copyfile(path, target) and None, options.yardstick, not options.graph_only)
    vault = not options.graph_only and (options.whole or shape.items < _GRAPH_ONLY_FROM)
    shown = "10,000 concepts" if name == TEN_THOUSAND else f"{shape.items:,} items"
    return Wish(shown, lambda target: write_corpus(target, shape), options.yardstick, vault)


if __name__ == "__main__":
    main()
