"""Sweep files: TOML that names a study, what is fixed, what is searched for, and how."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from residuum.study.common_settings import SEEDS
from residuum.sweeps.checking import check_sweep
from residuum.sweeps.definitions import PrunerName, SamplerName, Sweep
from residuum.sweeps.spaces import Choice, Dimension, Range, Space, grid_size
from residuum.sweeps.studies import TUNED, StudyName
from residuum.sweeps.values import SweepError, check_known, is_number, typed, typed_list

TUNING_SEEDS: Final = (20,)
"""What the paper tuned with."""

TOGETHER: Final[Mapping[SamplerName, int]] = {"grid": 144, "tpe": 8}
"""Trials asked for at once. A grid does not learn from them, but Optuna slows down with more."""

_KEYS: Final[Mapping[str, Any]] = {
    "study": StudyName,
    "sampler": SamplerName,
    "pruner": PrunerName,
    "least_epochs": int,
    "trials": int,
    "together": int,
    "measure": str,
    "seeds": list,
    "final_seeds": list,
    "storage": str,
    "settings": dict,
    "each": list,
    "space": dict,
    "final": dict,
}


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file; what cannot be run is refused with the path of its key."""
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        return _sweep(content, path.parent)
    except OSError as error:
        raise SweepError(
            f"{path}: it cannot be read ({error.strerror}); name a TOML file"
        ) from None
    except UnicodeDecodeError as error:
        raise SweepError(
            f"{path}: expected UTF-8 text, got another byte at {error.start}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"{path}: expected TOML: {error}") from None
    except SweepError as error:
        raise SweepError(f"{path}: {error}") from None


def _sweep(content: dict[str, Any], folder: Path) -> Sweep:
    check_known("", content, _KEYS)
    if "study" not in content:
        raise SweepError("study: expected the study to tune, digits or chunking, got none; add it")
    if not content.get("space"):
        raise SweepError("space: expected a table of settings to search for, got none; add it")
    given = {name: typed(name, value, _KEYS[name]) for name, value in content.items()}
    hints = TUNED[given["study"]].hints
    fixed = _fixed("settings", given.get("settings", {}), hints)
    if "embeddings" in fixed:
        fixed["embeddings"] = str(folder / fixed["embeddings"])
    each = [
        one
        for place, table in enumerate(given.get("each", []))
        for one in _multiplied(f"each[{place}]", table, hints)
    ]
    space = _space(given["space"], hints)
    sampler: SamplerName = given.get("sampler", "grid")
    pruner: PrunerName = given.get("pruner", "none")
    trials = _budget(given.get("trials"), sampler, space)
    whole = trials if (sampler, pruner) == ("grid", "halving") else TOGETHER[sampler]
    sweep = Sweep(
        study=given["study"],
        settings=fixed,
        configurations=tuple(each) or ({},),
        space=space,
        sampler=sampler,
        pruner=pruner,
        trials=trials,
        together=_positive("together", given.get("together", whole)),
        measure=given.get("measure", "score"),
        seeds=_seeds("seeds", given.get("seeds", list(TUNING_SEEDS))),
        final_seeds=_seeds("final_seeds", given.get("final_seeds", list(SEEDS))),
        final=_fixed("final", given.get("final", {}), hints),
        least_epochs=given.get("least_epochs", 0),
        storage=given.get("storage"),
    )
    check_sweep(sweep)
    return sweep


def _fixed(path: str, table: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
    _check_settable(path, table, hints)
    return {name: typed(f"{path}.{name}", value, hints[name]) for name, value in table.items()}


def _multiplied(path: str, table: Any, hints: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the configurations of a table: a list in it stands for one of each."""
    table = typed(path, table, dict)
    _check_settable(path, table, hints)
    columns = [
        typed_list(f"{path}.{name}", value, hints[name])
        if isinstance(value, list)
        else (typed(f"{path}.{name}", value, hints[name]),)
        for name, value in table.items()
    ]
    for values in itertools.product(*columns):
        yield dict(zip(table, values, strict=True))


def _check_settable(path: str, names: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    if "seed" in names:
        raise SweepError(
            f"{path}.seed: seeds are no setting to search for; give `seeds` for the search and "
            "`final_seeds` for its winner"
        )
    check_known(path, names, hints)


def _space(table: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Dimension]:
    _check_settable("space", table, hints)
    return {name: _dimension(f"space.{name}", value, hints[name]) for name, value in table.items()}


def _dimension(path: str, value: Any, hint: Any) -> Dimension:
    if isinstance(value, list):
        return Choice(typed_list(path, value, hint))
    if not isinstance(value, dict):
        raise SweepError(
            f"{path}: expected a list of values or a range {{low = …, high = …}}, got {value!r}; "
            "what is fixed belongs in `settings`"
        )
    if not is_number(hint):
        raise SweepError(f"{path}: expected a list of values, got a range of what is no number")
    check_known(path, value, ("low", "high", "log", "step"))
    is_whole = hint is int
    number = int if is_whole else float
    for end in ("low", "high"):
        if end not in value:
            raise SweepError(f"{path}.{end}: expected a number, got none; add it")
    low, high = (typed(f"{path}.{end}", value[end], number) for end in ("low", "high"))
    log = typed(f"{path}.log", value.get("log", False), bool)
    step = None if "step" not in value else typed(f"{path}.step", value["step"], number)
    if low >= high:
        raise SweepError(f"{path}: expected low below high, got the empty range {low} to {high}")
    if log and (low <= 0 or step is not None):
        raise SweepError(
            f"{path}.log: expected low above 0 and no step, got low {low}, step {step}"
        )
    if step is not None and step <= 0:
        raise SweepError(f"{path}.step: expected more than 0, got {step}")
    return Range(low, high, log, step, is_whole)


def _budget(trials: int | None, sampler: SamplerName, space: Space) -> int:
    if sampler == "tpe":
        if trials is None:
            raise SweepError("trials: expected how many settings tpe may try, got none; add it")
        return _positive("trials", trials)
    for name, dimension in space.items():
        if isinstance(dimension, Range):
            raise SweepError(
                f"space.{name}: expected a list for a grid, got a range; write out its values, or "
                'choose sampler = "tpe"'
            )
    size = grid_size(space)
    return size if trials is None else min(_positive("trials", trials), size)


def _positive(path: str, number: int) -> int:
    if number < 1:
        raise SweepError(f"{path}: expected at least 1, got {number}")
    return number


def _seeds(path: str, values: Any) -> tuple[int, ...]:
    seeds = typed_list(path, values, int)
    if min(seeds) < 0:
        raise SweepError(f"{path}: expected numbers from 0 on, got {min(seeds)}")
    return seeds
