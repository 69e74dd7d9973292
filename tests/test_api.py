"""The names of the package: `residuum.__all__`, and the page that explains them."""

import inspect
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

import residuum

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
DOOR = (ROOT / "src" / "residuum" / "__init__.py").read_text(encoding="utf-8")


def groups_of_the_page():
    """Return the names in the tables of the page, by heading."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        cells = re.findall(r"^\| (`.*?) \|", body, re.MULTILINE)
        found[heading] = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    return found


def groups_of_the_door():
    """Return the names of `__all__` by the comment above them."""
    [listed] = re.findall(r"__all__ = \[.*?\n(.*?)\]", DOOR, re.DOTALL)
    groups = re.split(r"^ *# (.*)\n", listed, flags=re.MULTILINE)[1:]
    return {
        heading: re.findall(r'"(\w+)"', names)
        for heading, names in zip(groups[::2], groups[1::2], strict=True)
    }


def test_the_page_has_every_name_in_the_groups_of_the_package():
    assert groups_of_the_page() == groups_of_the_door()
    assert [*chain(*groups_of_the_door().values())] == residuum.__all__


def test_no_name_is_listed_twice():
    assert len(residuum.__all__) == len(set(residuum.__all__))


@pytest.mark.parametrize("name", residuum.__all__)
def test_every_name_is_there(name):
    assert getattr(residuum, name) is not None


@pytest.mark.parametrize("name", residuum.__all__)
def test_every_name_has_a_docstring_with_an_example(name):
    thing = getattr(residuum, name)
    described = inspect.getdoc(thing)
    assert described
    assert ">>> " in described, "doctests run it"


def test_completion_offers_the_listed_names_and_no_others():
    assert set(dir(residuum)) == {*residuum.__all__, "__version__"}


@pytest.mark.parametrize("name", ["size", "depth", "steps", "fold", "PAPER"])
def test_names_that_say_little_alone_are_left_to_their_packages(name):
    assert not hasattr(residuum, name)


@pytest.mark.parametrize("files", ["os", "residuum.losses.compile, residuum.losses.facts"])
def test_functions_are_not_hidden_by_files_of_their_names(files):
    code = f"import {files}; import residuum as rs; print(callable(rs.compile), callable(rs.facts))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("True True\n", "")


def test_without_pytorch_a_loss_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import residuum as rs\n"
        "try:\n    rs.compile\nexcept rs.ResiduumError as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'residuum[learn]'" in result.stdout
