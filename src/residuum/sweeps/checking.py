"""Checks of a sweep before it runs. An error names the path of the key at fault."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

from residuum.errors import ResiduumError
from residuum.sweeps.definitions import Sweep, SweepError
from residuum.sweeps.tuned_studies import TUNED

MOST_CHECKED: Final = 100_000
"""The most settings that are tried out before a sweep runs."""


def check_sweep(sweep: Sweep) -> None:
    """Raise SweepError if a run of the sweep would be impossible."""
    _check_names(sweep)
    _check_halving(sweep)
    _check_settings(sweep)


def _check_names(sweep: Sweep) -> None:
    """Check that each setting stands in one table, the right one, and that the measure is known."""
    tuned = TUNED[sweep.study]
    for configuration in sweep.configurations:
        for name in configuration:
            if name in sweep.settings or name in sweep.space:
                raise SweepError(
                    f"each.{name}: expected {name} in one table, got it in another too; remove one"
                )
    for name in sweep.space:
        if name in sweep.settings:
            raise SweepError(
                f"space.{name}: expected {name} in one table, got it in `settings` too; remove one"
            )
    for configuration in sweep.configurations:
        tables = {"each": configuration, "space": sweep.space, "final": sweep.final}
        for path, name in itertools.product(tables, tuned.shared):
            if name in tables[path]:
                raise SweepError(
                    f"{path}.{name}: expected the same {name} for all runs, got it here; move it "
                    "to `settings`"
                )
        known = tuned.measures({**sweep.settings, **configuration})
        if sweep.measure not in known:
            raise SweepError(
                f"measure: expected a measure on DEV ({', '.join(known)}), got {sweep.measure!r}; "
                "name one of these"
            )


def _check_halving(sweep: Sweep) -> None:
    if sweep.pruner == "none":
        if sweep.least_epochs:
            raise SweepError(
                'least_epochs: expected pruner = "halving" with it, got another; remove one'
            )
        return
    if "epochs" not in sweep.settings:
        raise SweepError(
            "settings.epochs: halving expects one number of epochs for all runs, got none; add it"
        )
    epochs = sweep.settings["epochs"]
    if not 1 <= sweep.least_epochs < epochs:
        raise SweepError(
            f"least_epochs: expected the epochs before the first halving, from 1 to below "
            f"{epochs}, got {sweep.least_epochs}; change it"
        )


def _check_settings(sweep: Sweep) -> None:
    """Make the settings of runs: all of a grid, and the ends of ranges."""
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
                if message := _refusal(sweep, values):
                    raise SweepError(_with_path(sweep, configuration, values, message))


def _refusal(sweep: Sweep, values: Mapping[str, Any]) -> str | None:
    """Return the message of the error that these settings raise, or None."""
    try:
        TUNED[sweep.study].make({**values, "seed": 0})
    except ResiduumError as error:
        return str(error)
    return None


def _with_path(
    sweep: Sweep, configuration: Mapping[str, Any], values: Mapping[str, Any], message: str
) -> str:
    """Return a message with the path of the setting at fault in front.

    The setting is the one that the message begins with, else the one whose value the message
    quotes, else one that has another value without the error.
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
        if any(_refusal(sweep, {**values, name: other}) is None for other in dimension.extremes):
            return f"space.{name}: {values[name]!r} is not possible: {message}"
    return f"settings: {message}"
