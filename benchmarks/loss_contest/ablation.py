"""What each device of a route gains: residuum with that device switched off, beside the whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from loss_contest.contenders import RESIDUUM, Contender
from loss_contest.workloads import Penalties, Workload
from residuum.losses.routes import thresholds
from residuum.losses.routes.minima import MinimaRoute

WORTH_KEEPING = 1.15
"""A device stays if some case takes at least this many times as long without it."""


class Device(NamedTuple):
    """A device of a route: what it does, and a function that switches it off in this process."""

    told: str
    switch_off: Callable[[], None]


def _never(threshold: str) -> None:
    setattr(thresholds, threshold, sys.maxsize)


def _no_minima() -> None:
    setattr(MinimaRoute, "prepare", lambda *_: "it is switched off")  # noqa: B010


DEVICES: Mapping[str, Device] = {
    "minima": Device("only the worst groundings are differentiated (`minima.py`)", _no_minima),
    "cross": Device("the cross of a table (`crosses.py`)", partial(_never, "WORTH_OF_A_CROSS")),
    "marks": Device("marks of the likeliest class beside its place (`fused_logits.py`)",
                    partial(_never, "MANY_SOFTMAXES")),
}  # fmt: skip


def _without(device: Device, workload: Workload, relaxation: str) -> Penalties:
    device.switch_off()
    return workload.compile(relaxation)


CONTENDERS: Mapping[str, Contender] = {
    f"without {name}": Contender(partial(_without, device)) for name, device in DEVICES.items()
}
"""Residuum without each device. Each of them needs a process of its own."""


def markdown(record: Mapping[str, Any]) -> str:
    """Return the table: the cases that take longest without each device, and whether it stays."""
    times: dict[tuple[str, str], dict[str, float]] = {}
    for one in record["results"]:
        times.setdefault((one["workload"], one["relaxation"]), {})[one["contender"]] = one["ms"]
    machine = ", ".join(f"{key} {value}" for key, value in record["machine"].items())
    lines = [
        f"{machine}. Clock: {record['clock']}.",
        "",
        f"| device | most | where | other cases above {WORTH_KEEPING} | it stays |",
        "| --- | --: | --- | --- | --- |",
    ]
    for name, device in DEVICES.items():
        ratios = {case: own[f"without {name}"] / own[RESIDUUM] for case, own in times.items()}
        (worst, most), *others = sorted(ratios.items(), key=lambda one: -one[1])
        above = [ratio for _, ratio in others if ratio >= WORTH_KEEPING]
        told = f"{len(above)}, {min(above):.2f} to {max(above):.2f} times" if above else "none"
        cells = device.told, f"{most:.2f}", f"{worst[0]}, `{worst[1]}`", told
        lines.append(f"| {' | '.join(cells)} | {'yes' if most >= WORTH_KEEPING else 'no'} |")
    return "\n".join(lines)
