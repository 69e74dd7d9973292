"""Sweep files: TOML that names a study, its fixed settings, the space to search, and the sampler.

Each value is held to the type of its setting. An error names the path of its key.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from residuum.errors import ResiduumError, shown, suggest
from residuum.study.common_settings import SEEDS, check_choice
from residuum.sweeps.checking import check_sweep
from residuum.sweeps.definitions import (
    Choice,
    Dimension,
    PrunerName,
    Range,
    SamplerName,
    Space,
    Sweep,
    SweepError,
    grid_size,
)
from residuum.sweeps.tuned_studies import TUNED

TUNING_SEEDS: Final = (20,)
"""The seed with which the paper tuned."""

TOGETHER: Final[Mapping[SamplerName, int]] = {"grid": 144, "tpe": 8}
"""Trials that Optuna is asked for at once. TPE learns from earlier trials, so it is asked for few.
A grid does not, but with more trials at once Optuna becomes slow."""

_KEYS: Final[Mapping[str, Any]] = {
    "study": str,
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
_WORDS: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    dict: "a table",
    list: "a list",
}


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file. A SweepError names the path of a key that cannot be run."""
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        return _sweep(content, path.parent)
    except OSError as error:
        raise SweepError(
            f"{path}: the file cannot be read ({error.strerror}); name a TOML file"
        ) from None
    except UnicodeDecodeError as error:
        raise SweepError(
            f"{path}: expected UTF-8 text, got another byte at {error.start}; save it as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"{path}: expected TOML, got a mistake: {error}; correct it") from None
    except SweepError as error:
        raise SweepError(f"{path}: {error}") from None


def _sweep(content: dict[str, Any], folder: Path) -> Sweep:
    _check_known("", content, _KEYS)
    if "study" not in content:
        raise SweepError(f"study: expected {' or '.join(TUNED)}, got none; name the study to tune")
    if not content.get("space"):
        raise SweepError("space: expected a table of settings to search for, got none; add it")
    given = {name: _typed(name, value, _KEYS[name]) for name, value in content.items()}
    study = given["study"]
    if study not in TUNED:
        raise SweepError(
            f"study: expected {' or '.join(TUNED)}, got {shown(study)}.{suggest(study, TUNED)}"
        )
    hints = TUNED[study].hints
    fixed = _fixed("settings", given.get("settings", {}), hints)
    for name in fixed.keys() & TUNED[study].paths:
        fixed[name] = str(folder / fixed[name])
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
        study=study,
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
    return {name: _typed(f"{path}.{name}", value, hints[name]) for name, value in table.items()}


def _multiplied(path: str, table: Any, hints: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the configurations of a table: one for each combination of values from its lists."""
    table = _typed(path, table, dict)
    _check_settable(path, table, hints)
    columns = [
        _typed_list(f"{path}.{name}", value, hints[name])
        if isinstance(value, list)
        else (_typed(f"{path}.{name}", value, hints[name]),)
        for name, value in table.items()
    ]
    for values in itertools.product(*columns):
        yield dict(zip(table, values, strict=True))


def _check_settable(path: str, names: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    if "seed" in names:
        raise SweepError(
            f"{path}.seed: expected settings other than the seed, got it; give `seeds` for the "
            "search and `final_seeds` for its winner"
        )
    _check_known(path, names, hints)


def _space(table: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Dimension]:
    _check_settable("space", table, hints)
    return {name: _dimension(f"space.{name}", value, hints[name]) for name, value in table.items()}


def _dimension(path: str, value: Any, hint: Any) -> Dimension:
    if isinstance(value, list):
        return Choice(_typed_list(path, value, hint))
    if not isinstance(value, dict):
        raise SweepError(
            f"{path}: expected a list of values or a range {{low = …, high = …}}, got {value!r}; "
            "put a fixed value into `settings`"
        )
    if not _is_number(hint):
        raise SweepError(
            f"{path}: expected a list of values, because it is no number, got a range; write a list"
        )
    _check_known(path, value, ("low", "high", "log", "step"))
    is_whole = hint is int
    number = int if is_whole else float
    for end in ("low", "high"):
        if end not in value:
            raise SweepError(f"{path}.{end}: expected a number, got none; add it")
    low, high = (_typed(f"{path}.{end}", value[end], number) for end in ("low", "high"))
    log = _typed(f"{path}.log", value.get("log", False), bool)
    step = None if "step" not in value else _typed(f"{path}.step", value["step"], number)
    if low >= high:
        raise SweepError(
            f"{path}: expected low below high, got the empty range {low} to {high}; change one end"
        )
    if log and (low <= 0 or step is not None):
        raise SweepError(
            f"{path}.log: expected low above 0 and no step, got low {low}, step {step}; remove "
            "`log`, or change these"
        )
    if step is not None and step <= 0:
        raise SweepError(f"{path}.step: expected more than 0, got {step}; change it, or remove it")
    return Range(low, high, log, step, is_whole)


def _budget(trials: int | None, sampler: SamplerName, space: Space) -> int:
    if sampler == "tpe":
        if trials is None:
            raise SweepError(
                "trials: expected the number of settings that tpe may try, got none; add it"
            )
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
        raise SweepError(f"{path}: expected at least 1, got {number}; raise it")
    return number


def _seeds(path: str, values: Any) -> tuple[int, ...]:
    seeds = _typed_list(path, values, int)
    if min(seeds) < 0:
        raise SweepError(f"{path}: expected whole numbers from 0 on, got {min(seeds)}; change it")
    return seeds


def _check_known(path: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise SweepError unless all names are known."""
    known = list(known)
    for name in names:
        if name not in known:
            where = f"{path}.{name}" if path else name
            raise SweepError(
                f"{where}: expected one of {', '.join(known)}, got {name!r}.{suggest(name, known)}"
            )


def _typed(path: str, value: Any, hint: Any) -> Any:
    """Return a value as its type asks for; raise SweepError if it has another type.

    >>> _typed("space.weight", 1, float)
    1.0
    >>> _typed("trials", "many", int)
    Traceback (most recent call last):
    residuum.sweeps.definitions.SweepError: trials: expected a whole number, got 'many'
    """
    if get_origin(hint) is Literal:
        try:
            check_choice(path, value, hint)
        except ResiduumError as error:
            raise SweepError(str(error)) from None
        return value
    if get_origin(hint) in (Union, UnionType):  # TOML has no None
        [hint] = [one for one in get_args(hint) if one is not NoneType]
    is_one = isinstance(value, hint)
    if hint is float:
        is_one = isinstance(value, int | float) and math.isfinite(value)
    if not is_one or (isinstance(value, bool) and hint is not bool):
        raise SweepError(f"{path}: expected {_WORDS[hint]}, got {value!r}")
    return float(value) if hint is float else value


def _typed_list(path: str, values: Any, hint: Any) -> tuple[Any, ...]:
    """Return the values of a list of one type; it must not be empty nor repeat a value."""
    values = _typed(path, values, list)
    if not values:
        raise SweepError(f"{path}: expected at least one value, got an empty list; add some")
    found = tuple(_typed(f"{path}[{place}]", value, hint) for place, value in enumerate(values))
    for place, value in enumerate(found):
        if value in found[:place]:
            raise SweepError(
                f"{path}[{place}]: expected each value once, got {value!r} twice; remove one"
            )
    return found


def _is_number(hint: Any) -> bool:
    """Return whether a type is a number, of which there are ranges."""
    return hint in (int, float) or bool({int, float} & set(get_args(hint)))
