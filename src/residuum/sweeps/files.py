"""Sweep files: TOML that names a study, what is fixed, what is searched for, and how."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from residuum.errors import ResiduumError
from residuum.study.planning import SEEDS
from residuum.sweeps.spaces import Choice, Dimension, Range, Space, grid_size
from residuum.sweeps.studies import TUNED, StudyName
from residuum.sweeps.values import SweepError, check_known, is_number, typed, typed_list

SamplerName = Literal["grid", "tpe"]
PrunerName = Literal["none", "halving"]

TUNING_SEEDS: Final = (20,)
"""What the paper tuned with."""

TOGETHER: Final[Mapping[SamplerName, int]] = {"grid": 144, "tpe": 8}
"""Trials asked for at once. A grid does not learn from them, but Optuna slows down with more."""

REDUCTION: Final = 3
"""Of so many trials one survives a rung."""

MOST_CHECKED: Final = 100_000
"""Settings that are tried out before anything runs."""

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


@dataclass(frozen=True)
class Sweep:
    """What a sweep file says.

    Each of the `configurations` is a search of its own, with settings beside the fixed ones.
    `final` are settings that only the winners' runs have, such as more epochs. With halving,
    trials are first trained for `least_epochs`.
    """

    study: StudyName
    settings: Mapping[str, Any]
    configurations: tuple[Mapping[str, Any], ...]
    space: Space
    sampler: SamplerName
    pruner: PrunerName
    trials: int
    together: int
    measure: str
    seeds: tuple[int, ...]
    final_seeds: tuple[int, ...]
    final: Mapping[str, Any]
    least_epochs: int = 0
    storage: str | None = None

    def name(self, configuration: Mapping[str, Any]) -> str:
        """Return what the search of a configuration is called: a digest of all that decides it.

        The budget does not: a search with a larger one goes on.
        """
        decisive = {
            "settings": {**self.settings, **configuration},
            "space": {name: dimension.plain for name, dimension in self.space.items()},
            "how": [self.sampler, self.pruner, self.least_epochs, self.together, self.measure],
            "seeds": self.seeds,
        }
        text = json.dumps(decisive, sort_keys=True)
        return f"{self.study}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def rungs(self) -> tuple[int | None, ...]:
        """The epochs after which the worst trials are given up; None stands for all epochs."""
        if self.pruner == "none":
            return (None,)
        count = math.ceil(math.log(self.settings["epochs"] / self.least_epochs, REDUCTION) - 1e-9)
        return (*(self.least_epochs * REDUCTION**rung for rung in range(count)), None)


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
    _check_names(sweep)
    _check_halving(sweep)
    _check_settings(sweep)
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


def _check_names(sweep: Sweep) -> None:
    """Refuse a setting that stands twice, one that all runs share, and an unknown measure."""
    tuned = TUNED[sweep.study]
    for configuration in sweep.configurations:
        for name in configuration:
            if name in sweep.settings or name in sweep.space:
                raise SweepError(f"each.{name}: {name} stands in another table, too; remove one")
    for name in sweep.space:
        if name in sweep.settings:
            raise SweepError(f"space.{name}: {name} is also fixed in `settings`; remove one")
    for configuration in sweep.configurations:
        tables = {"each": configuration, "space": sweep.space, "final": sweep.final}
        for path, name in itertools.product(tables, tuned.shared):
            if name in tables[path]:
                raise SweepError(f"{path}.{name}: all runs share it; it belongs in `settings`")
        known = tuned.measures({**sweep.settings, **configuration})
        if sweep.measure not in known:
            raise SweepError(
                f"measure: expected a measure on DEV ({', '.join(known)}), got {sweep.measure!r}"
            )


def _check_halving(sweep: Sweep) -> None:
    if sweep.pruner == "none":
        if sweep.least_epochs:
            raise SweepError('least_epochs: only pruner = "halving" has them; remove one')
        return
    if "epochs" not in sweep.settings:
        raise SweepError("settings.epochs: halving needs one number of epochs for all; fix it here")
    epochs = sweep.settings["epochs"]
    if not 1 <= sweep.least_epochs < epochs:
        raise SweepError(
            f"least_epochs: expected the epochs before the first halving, from 1 to below "
            f"{epochs}, got {sweep.least_epochs}"
        )


def _check_settings(sweep: Sweep) -> None:
    """Try out settings: all of a grid, the ends of ranges."""
    tuned = TUNED[sweep.study]
    for configuration in sweep.configurations:
        given = {**sweep.settings, **configuration, **sweep.space}
        for name in tuned.required:
            if name not in given:
                raise SweepError(f"settings.{name}: expected a value, got none; add it")
    corners = itertools.product(*(dimension.extremes for dimension in sweep.space.values()))
    for corner in itertools.islice(corners, MOST_CHECKED // len(sweep.configurations)):
        varied = dict(zip(sweep.space, corner, strict=True))
        for configuration in sweep.configurations:
            for final in {}, sweep.final:
                values = {**sweep.settings, **configuration, **varied, **final}
                if message := _fault(sweep, values):
                    raise SweepError(_blame(sweep, configuration, values, message))


def _fault(sweep: Sweep, values: Mapping[str, Any]) -> str | None:
    """Return what is wrong with settings."""
    try:
        TUNED[sweep.study].make({**values, "seed": 0})
    except ResiduumError as error:
        return str(error)
    return None


def _blame(
    sweep: Sweep, configuration: Mapping[str, Any], values: Mapping[str, Any], message: str
) -> str:
    """Return a message with the path of the setting at fault.

    That is the one it begins with, or a name that is unknown, or else one whose other values are
    possible.
    """
    name, _, rest = message.partition(":")
    quoted = [one for one, value in values.items() if f"called `{value}`" in message]
    if name not in values and quoted:
        name, rest = quoted[0], f" {message}"
    tables = {
        "final": sweep.final,
        "space": sweep.space,
        "each": configuration,
        "settings": sweep.settings,
    }
    for table, content in tables.items():
        if name in content:
            return f"{table}.{name}:{rest}"
    for name, dimension in sweep.space.items():
        if any(_fault(sweep, {**values, name: other}) is None for other in dimension.extremes):
            return f"space.{name}: {values[name]!r} is not possible: {message}"
    return f"settings: {message}"
