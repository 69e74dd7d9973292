"""Doors of packages: files load when they are first used, and not before."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import residuum
from residuum.doors import door

SOURCE = Path(residuum.__file__).parent
OPEN = [
    path
    for path in sorted(SOURCE.rglob("__init__.py"))
    if "door(" in path.read_text(encoding="utf-8")
]
ASKED = """
import sys, torch
import residuum as rs
rule = rs.compile("forall x in d: P(x) -> Q(x)", domains={"d": 3})
rule(P=torch.zeros(2, 3, requires_grad=True), Q=torch.zeros(2, 3)).backward()
print(*sorted(name for name in sys.modules if name.startswith("residuum.")))
"""


def package_of(path):
    return ".".join(("residuum", *path.relative_to(SOURCE).parts[:-1]))


def names_for_type_checkers(path):
    """Return the names that a package imports for type checkers alone, with their files."""
    [block] = [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return [(node.module, alias.name) for node in block.body for alias in node.names]


@pytest.mark.parametrize("path", OPEN, ids=package_of)
def test_a_door_finds_what_type_checkers_find(path):
    package = importlib.import_module(package_of(path))
    for file, name in names_for_type_checkers(path):
        found = getattr(package, name)
        if file == package_of(path):
            assert found is importlib.import_module(f"{file}.{name}")
        else:
            assert found is getattr(importlib.import_module(file), name)


def test_a_plain_rule_loads_no_machinery_that_it_does_not_use():
    loaded = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"residuum.losses.rules", "residuum.losses.routes.clauses"} <= set(loaded)
    unused = (
        "analysis", "checks", "circuits", "losses.knowledge", "losses.theory", "losses.bundles",
        "losses.network_calls", "losses.questions.", "losses.relations.", "losses.routes.exact",
        "losses.routes.blocks", "losses.routes.steps", "losses.routes.minima",
        "losses.routes.cuda_graphs", "losses.routes.torch_compile", "losses.inputs.numbers",
        "losses.aggregation.aggregators",
    )  # fmt: skip
    assert [
        name for name in loaded if name.startswith(tuple(f"residuum.{n}" for n in unused))
    ] == []


def test_a_door_refuses_a_name_that_nothing_has():
    find = door("residuum.losses", {"Theory": "residuum.losses.theory"})
    assert find("Theory") is residuum.Theory
    assert find("theory") is importlib.import_module("residuum.losses.theory")
    for name in ("Teory", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match="no attribute"):
            find(name)


def test_a_door_says_what_is_missing_inside_a_file(tmp_path, monkeypatch):
    package = tmp_path / "made_up_house"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "room.py").write_text("import a_library_that_nobody_has")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_library_that_nobody_has"):
        door("made_up_house")("room")
