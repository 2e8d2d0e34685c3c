"""Imports point down only, and the pure layers stay pure."""

import ast
from pathlib import Path

import pytest

import kg2vault

ROOT = Path(kg2vault.__file__).parent
LAYERS = {"errors": 0, "config": 0, "settings_yaml": 0, "graph": 1, "vault": 2, "sync": 3, "storage": 4, "demo": 4}
APP, FRONT = 5, 6
FRONT_ENDS = {"cli", "mcp_server", "service", "__main__"}
IMPURE = {"os", "sqlite3", "time", "random", "secrets", "logging", "subprocess", "tempfile", "shutil", "socket", "threading"}
IMPURE_CALLS = {"open", "print", "input"}


def modules():
    return sorted(path for path in ROOT.rglob("*.py"))


def part_of(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else ""


def layer(part: str) -> int:
    if part in FRONT_ENDS:
        return FRONT
    return LAYERS.get(part, APP)


def imported(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inside = node.module == "kg2vault"
                yield (f"kg2vault.{alias.name}" if inside else node.module), node.lineno


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_from_layers_below_its_own(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    for name, line in imported(ast.parse(path.read_text(encoding="utf-8"))):
        if not name.startswith("kg2vault"):
            continue
        other = part_of(name)
        if other in ("", own, "__version__"):
            continue
        assert layer(other) <= layer(own), f"{path}:{line} imports {name} from above"
        if layer(own) == FRONT:
            assert layer(other) < FRONT or own in ("__main__", "cli"), f"{path}:{line}: front ends do not import each other"


@pytest.mark.parametrize("path", [p for p in modules() if p.relative_to(ROOT).parts[0] in ("graph", "vault", "sync")], ids=lambda p: p.name)
def test_a_pure_module_touches_neither_disk_nor_clock(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, line in imported(tree):
        assert name.split(".")[0] not in IMPURE, f"{path}:{line} imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in IMPURE_CALLS, f"{path}:{node.lineno} calls {node.func.id}"


def test_sync_does_not_know_the_graph():
    for path in (ROOT / "sync").glob("*.py"):
        names = [name for name, _ in imported(ast.parse(path.read_text(encoding="utf-8")))]
        assert not any(name.startswith("kg2vault.graph") for name in names), path


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_says_what_it_is_for_and_stays_short(path):
    text = path.read_text(encoding="utf-8")
    if not text.strip():
        pytest.fail(f"{path} is empty: say what the package is for")
    assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"
    assert text.count("\n") <= 350, f"{path} is longer than 350 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{path}:{node.lineno} {node.name} is longer than 60 lines"
