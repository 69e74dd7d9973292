"""The pages of tasks: found in `examples/field`, below the current folder or beside the source."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import residuum
from residuum.errors import ResiduumError, suggest
from residuum.field.task import Task

FOLDER: Final = Path("examples") / "field"


def task_names() -> list[str]:
    """Return the names of all tasks, in alphabetical order.

    A task is called as its file is, with dashes.
    """
    return sorted(path.stem.replace("_", "-") for path in _folder().glob("[a-z]*.py"))


def find_tasks() -> list[Task]:
    """Return all tasks, by their names."""
    return [find_task(name) for name in task_names()]


def find_task(name: str) -> Task:
    """Return the task of this name, from its page of code."""
    names = task_names()
    if name not in names:
        raise ResiduumError(
            f"expected a task of `residuum field --list`, got {name!r}.{suggest(name, names)}"
        )
    path = (_folder() / f"{name.replace('-', '_')}.py").resolve()
    task = getattr(_module(path), "TASK", None)
    if not isinstance(task, Task) or task.name != name:
        found = "no TASK" if task is None else f"the name {getattr(task, 'name', None)!r}"
        raise ResiduumError(
            f"{path}: expected a page with `TASK = residuum.field.Task({name!r}, …)`, found "
            f"{found}; correct the page"
        )
    return task


def _module(path: Path) -> ModuleType:
    """Return the module of a page, which runs once."""
    name = f"residuum_field_{path.stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path):
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, ModuleNotFoundError):
            raise ResiduumError(
                f"{path}: expected the libraries of this page, found no {error.name}; install it"
            ) from None
        raise
    return module


def _folder() -> Path:
    beside_source = Path(residuum.__file__).parents[2] / FOLDER
    for folder in (FOLDER, beside_source):
        if folder.is_dir():
            return folder
    raise ResiduumError(
        f"expected the folder {FOLDER} with the tasks, found none; run this in a clone of residuum"
    )
