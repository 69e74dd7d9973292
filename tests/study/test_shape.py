"""Both studies have the same files, and a name in `study/` means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import residuum.study

ROOT = Path(residuum.study.__file__).parent
STUDIES = ("digits", "chunking")
SHAPE = {
    "data", "settings.py", "networks.py", "task.py", "experiment.py", "measures.py", "findings.py",
    "tables.py", "claims.py", "knowledge.py", "published.py",
}  # fmt: skip
INTERFACE = {
    "settings.py": {"plan", "preset"},
    "measures.py": {"measure"},
    "findings.py": {"sift", "fault_of", "of_presets"},
    "tables.py": {"tables"},
    "claims.py": {"claims", "evaluate"},
}
"""Functions that every study offers in the same file under the same name."""


def public_functions(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_all_files_of_the_shape(study):
    assert {path.name for path in (ROOT / study).iterdir()} >= SHAPE


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("file", INTERFACE)
def test_a_study_offers_the_interface(study, file):
    assert INTERFACE[file] <= {*public_functions(ROOT / study / file)}


def test_no_file_is_named_alike_in_a_study_and_beside_the_studies():
    shared = {path.name for path in ROOT.glob("*.py")} - {"__init__.py"}
    for study in STUDIES:
        assert not shared & {path.name for path in (ROOT / study).rglob("*.py")}


def test_a_function_is_defined_once_unless_it_is_part_of_the_interface():
    places = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        for name in public_functions(path):
            if name not in INTERFACE.get(path.name, ()):
                places[name].append(path.relative_to(ROOT).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
