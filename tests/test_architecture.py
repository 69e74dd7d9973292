"""The promises a reader of the tree relies on: layers, light imports, doors that open."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import residuum

SOURCE = Path(residuum.__file__).parent
# A package may import any package before it in this list.
LAYERS = [
    "doors", "limits", "errors", "printable", "files", "logic", "syntax", "relaxations", "analysis",
    "grounding", "checks", "circuits", "losses", "integrations", "results", "training", "study",
    "field", "sweeps", "advice", "reports", "explorer", "cli",
]  # fmt: skip
TORCH_LAYERS = {
    "circuits", "losses", "integrations", "training", "study", "field", "sweeps", "advice",
    "explorer",
}  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.append(str(node.module))
            if node.module == "residuum":
                found += [f"residuum.{alias.name}" for alias in node.names]
    return found


def _layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_up_the_layers_only(path):
    layer = _layer(path)
    if layer in ("__init__", "__main__", "data"):  # the door re-exports; data is read by anyone
        return
    for name in _imports(path):
        if name.startswith("residuum."):
            target = name.split(".")[1]
            if target in LAYERS:
                assert LAYERS.index(target) <= LAYERS.index(layer), f"{layer} imports {name}"
        assert name.split(".")[0] != "torch" or layer in TORCH_LAYERS


def test_every_package_stands_in_the_table_of_layers():
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert packages - {"data"} <= set(LAYERS)


def test_no_room_is_called_utils():
    vague = {"utils", "util", "helpers", "common", "misc"}
    assert not vague & {part for path in FILES for part in (path.stem, path.parent.name)}


def test_importing_residuum_loads_nothing_heavy():
    heavy = "torch scipy matplotlib sklearn typer rich flint pysat lightning transformers"
    code = f"import sys, residuum; print([m for m in '{heavy}'.split() if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_rules_are_evaluated_without_the_compiler_of_pytorch_which_takes_a_second_to_load():
    code = (
        "import sys, torch, residuum as rs\n"
        "p = torch.zeros(3, requires_grad=True)\n"
        "rs.compile('P -> Q')(P=p, Q=p).backward()\n"
        "rs.compile('P -> Q', 'exact')(P=p, Q=p).backward()\n"
        "print('torch._dynamo' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("False\n", "")


# Each package is imported first in a copy of a process that has its libraries, but nothing of it.
DOORS = """
import os, sys
import torch, scipy.optimize, typer, rich.console, lark, flint, pysat.solvers

def opens(door):
    child = os.fork()
    if child == 0:
        try:
            exec(door, {})
            os._exit(0)
        except BaseException as error:
            print(f"{door}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0

assert "residuum" not in sys.modules
sys.exit(not all([opens(door) for door in sys.stdin.read().splitlines()]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied")
def test_every_name_of_a_door_resolves_whichever_is_opened_first():
    names = [m.name for m in pkgutil.iter_modules(residuum.__path__, "residuum.")]
    doors = []
    for name in ["residuum", *names]:
        exported = [n for n in vars(importlib.import_module(name)) if not n.startswith("_")]
        doors.append(f"from {name} import {', '.join(exported)}" if exported else f"import {name}")
    assert len(doors) > 20
    done = subprocess.run(
        [sys.executable, "-c", DOORS], input="\n".join(doors), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_the_one_of_the_distribution():
    import importlib.metadata

    assert residuum.__version__ == importlib.metadata.version("residuum")
