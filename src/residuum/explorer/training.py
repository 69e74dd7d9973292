"""A miniature training: two small networks learn a toy rule under two relaxations, side by side.

Pictures of a digit are noisy points. The network says which digit a picture shows and which digit
comes next. Labels say the first for some pictures; nothing but the rule says the second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from residuum.explorer.given import (
    as_json_number,
    read_choice,
    read_integer,
    read_number,
    read_text,
)
from residuum.losses import compile as compile_rule
from residuum.losses.facts import facts
from residuum.losses.rules import CompiledRule

CLASSES: Final = 5
PICTURES: Final = 200
LABELLED: Final = 50
NOISE: Final = 0.25
WRONG: Final = 3.0
"""How wrong a network is that begins confidently wrong, in logits."""

RULE: Final = f"forall d in digit: Digit(d) -> Next((d + 1) mod {CLASSES})"

DIVERGED: Final = 10.0
"""A run has diverged if its penalty ever exceeds this many times the first, plus one."""

PAUSE: Final = 0.02
"""Seconds between two parts of the answer, so that one sees the curves grow."""

PARTS: Final = 150
"""The number of points of a curve."""


class _Run(NamedTuple):
    """One network with its optimizer and its rule."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    rule: CompiledRule


class _Data(NamedTuple):
    """Pictures and the digits that they show."""

    pictures: Tensor
    digits: Tensor


def train(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the measures of both networks as they learn, and at the end what happened to each."""
    seed = read_integer(given, "seed", 0, 2**31)
    steps = read_integer(given, "steps", 1, 3000)
    runs = [_start(given, read_text(given, name, 100), seed) for name in ("first", "second")]
    data = _draw(seed)
    weight = read_number(given, "weight", 0, 1000)
    labelled = read_number(given, "labels", 0, 1000)
    every = max(1, steps // PARTS)
    history: list[list[dict[str, Any]]] = [[], []]
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            measured = [_measure(run, data) for run in runs]
            for past, one in zip(history, measured, strict=True):
                past.append(one)
            yield {"step": step, "of": steps, "runs": measured}
            time.sleep(PAUSE)
        for run in runs:
            _step(run, data, weight, labelled)
    yield {"ended": [_what_happened(past) for past in history]}


def _draw(seed: int) -> _Data:
    generator = torch.Generator().manual_seed(seed)
    digits = torch.arange(PICTURES) % CLASSES
    centres = torch.eye(CLASSES)[digits]
    return _Data(centres + NOISE * torch.randn(centres.shape, generator=generator), digits)


def _start(given: dict[str, Any], relaxation: str, seed: int) -> _Run:
    """Return a run; both begin with the same parameters."""
    outputs = read_choice(given, "outputs", ("softmax", "sigmoid"))
    kind = "exclusive" if outputs == "softmax" else "independent"
    rule = compile_rule(
        RULE, relaxation, domains={"digit": CLASSES}, outputs={"Digit": kind, "Next": kind}
    )
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        last = nn.Linear(16, 2 * CLASSES)
        network = nn.Sequential(nn.Linear(CLASSES, 16), nn.Tanh(), last)
    if read_choice(given, "begin", ("fresh", "wrong")) == "wrong":
        with torch.no_grad():  # every digit at once, and none that comes next
            last.bias.add_(WRONG * torch.tensor([1.0, -1.0]).repeat_interleave(CLASSES))
    rate = read_number(given, "rate", 1e-6, 1e6)
    optimizers = {"Adam": torch.optim.Adam, "SGD": torch.optim.SGD}
    chosen = optimizers[read_choice(given, "optimizer", tuple(optimizers))]
    return _Run(network, chosen(network.parameters(), lr=rate), rule)


def _outputs(run: _Run, data: _Data) -> dict[str, Tensor]:
    digit, following = run.network(data.pictures).chunk(2, dim=1)
    return {"Digit": digit, "Next": following}


def _loss_of_labels(run: _Run, outputs: dict[str, Tensor], data: _Data) -> Tensor:
    """Return the loss of the labelled pictures: cross-entropy, of a softmax or of sigmoids."""
    logits, digits = outputs["Digit"][:LABELLED], data.digits[:LABELLED]
    if run.rule.plan.slots[0].is_exclusive:
        return facts(logits, digits)
    targets = torch.eye(CLASSES)[digits]
    return nn.functional.binary_cross_entropy_with_logits(logits, targets)


def _step(run: _Run, data: _Data, weight: float, labelled: float) -> None:
    outputs = _outputs(run, data)
    loss = weight * run.rule(outputs) + labelled * _loss_of_labels(run, outputs, data)
    run.optimizer.zero_grad()
    loss.backward()
    run.optimizer.step()


def _measure(run: _Run, data: _Data) -> dict[str, Any]:
    outputs = _outputs(run, data)
    if not all(bool(one.isfinite().all()) for one in outputs.values()):
        return {"diverged": True}
    following = (data.digits + 1) % CLASSES
    penalty = run.rule(outputs)
    parameters = list(run.network.parameters())
    pulls = torch.autograd.grad(penalty, parameters, materialize_grads=True)
    return {
        "penalty": as_json_number(float(penalty.detach())),
        "gradient": as_json_number(float(torch.cat([one.flatten() for one in pulls]).norm())),
        "obeyed": float(run.rule.satisfied(outputs).double().mean()),
        "digit": _right(outputs["Digit"], data.digits),
        "next": _right(outputs["Next"], following),
    }


def _right(logits: Tensor, digits: Tensor) -> float:
    return float((logits.argmax(1) == digits).double().mean())


def _what_happened(past: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about a run from its measures."""
    first, last = past[0], past[-1]
    if last.get("diverged"):
        return "Diverged: its outputs are no longer finite."
    peak = max(one["penalty"] for one in past)
    if peak > DIVERGED * (1 + first["penalty"]):
        return f"Diverged: its penalty rose from {first['penalty']:.3g} to {peak:.3g}."
    right, obeyed = last["next"], last["obeyed"]
    if right > 0.8:
        return f"Learnt: {right:.0%} of the next digits are right, without a label."
    if last["gradient"] == 0 and obeyed < 0.9:
        return (
            f"A dead gradient: it is exactly 0, though the rule is broken for {1 - obeyed:.0%} of "
            "the pictures."
        )
    if obeyed > 0.8:
        return (
            f"A trivial solution: the rule is obeyed for {obeyed:.0%} of the pictures, but only "
            f"{right:.0%} of the next digits are right."
        )
    return f"Not learnt yet: {right:.0%} of the next digits are right."
