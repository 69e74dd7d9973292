"""A rehearsal: small networks learn made-up examples of the user's rules under each relaxation.

The rules, the evidence and the labels are the user's; only the inputs are invented (`made_up.py`).
Networks of several seeds and weights are trained at once. They share no parameter, and Adam treats
each parameter alone, so that each learns as it would by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.advice.fitting import RUNS, work_by_rule
from residuum.advice.made_up import Output, Stage, make_up, unweighted
from residuum.advice.samples import Sample
from residuum.advice.work import Budget, Counting
from residuum.circuits.compiling import WORK, compile_circuit
from residuum.circuits.ground_rules import ground_rule
from residuum.errors import CircuitError
from residuum.losses.inputs.evidence import IGNORED
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Knowledge

WEIGHTS: Final = (0.003, 0.03, 0.3, 3.0)
"""The weights of the rules that are rehearsed; the best counts."""

SEEDS: Final = RUNS // len(WEIGHTS)
STEPS: Final = 120
RATE: Final = 0.03
HIDDEN: Final = 16

MOST_GROUND: Final = 20_000
MOST_NUMBERS: Final = 1 << 22
"""`exact` is rehearsed if an example has no more groundings than the first, and the nodes of the
circuit times all examples of all runs are no more than the second."""

Penalty = Callable[[Mapping[str, Tensor]], Tensor]
Network = list[Tensor]


@dataclass(frozen=True)
class Rehearsed:
    """How well small networks learnt under a relaxation; None stands for no rule at all.

    `points` is their score from 0 to 100 with the best `weight` of the rules, the mean over seeds.
    `at_weights` has the scores of all weights.
    """

    relaxation: str | None
    points: float
    weight: float
    at_weights: tuple[float, ...]


class Rehearsal:
    """Made-up examples of rules, on which relaxations are tried one after the other.

    `scales` are the weights of rules about members: how many groundings a row has. Unless `over` is
    asked for, they cost the mean over rows.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        sample: Sample,
        scales: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self._knowledge = knowledge
        self._scales = {n: one for n, one in (scales or {}).items() if n in knowledge.rules}
        self._stage = make_up(knowledge, sample, SEEDS, seed)

    def try_out(
        self,
        relaxation: Relaxation | None,
        budget: Budget | None = None,
        *,
        over: str | None = None,
    ) -> Rehearsed | None:
        """Return how well networks learn under a relaxation; None if the budget is too small.

        `over` is that of `compile`: how the penalties of groundings come together.
        """
        penalty = None if relaxation is None else self._penalty(relaxation, over)
        points = _trained(self._stage, penalty, budget or Budget(math.inf, math.inf))
        if points is None:
            return None
        at_weights = points.reshape(len(WEIGHTS), SEEDS).mean(1)
        best = int(at_weights.argmax())
        return Rehearsed(
            None if relaxation is None else relaxation.name,
            float(at_weights[best]),
            0.0 if relaxation is None else WEIGHTS[best],
            tuple(at_weights.tolist()),
        )

    def _penalty(self, relaxation: Relaxation, over: str | None) -> Penalty:
        stage = self._stage
        # `exact` takes the circuit of all rules together, and needs none of each.
        is_exact = relaxation == EXACT
        chosen = "s-product" if is_exact else relaxation
        if over is None:
            rules = unweighted(self._knowledge, chosen, scales=self._scales)
        else:
            said = {name for name, rule in self._knowledge.rules.items() if rule.over is not None}
            overs = {name: over for name in self._knowledge.rules
                     if name not in said - set(self._scales)}  # fmt: skip
            rules = unweighted(self._knowledge, chosen, overs)
        of_examples = rules.rule_of(None) if is_exact else rules.total
        copies = len(WEIGHTS)
        observed = {name: _copied(one, copies) for name, one in stage.observed.items()}
        data = {name: _copied(one, copies) for name, one in stage.data.items()}
        lengths = None if stage.lengths is None else _copied(stage.lengths, copies)
        return lambda outputs: of_examples(
            {**data, **outputs}, lengths=lengths, observed=observed or None
        )


def is_feasible(knowledge: Knowledge, sample: Sample) -> bool:
    """Return whether `exact` can be rehearsed: whether its circuit is small and soon found."""
    if sum(work_by_rule(knowledge, sample).values()) > MOST_GROUND:
        return False
    plan = unweighted(knowledge, "s-product").rule_of(None).plan
    lengths = {
        domain.name: sample.logits[slot.name].shape[1 + place]
        for slot in plan.given
        for place, domain in enumerate(slot.domains)
        if domain.is_sequence and slot.name in sample.logits
    }
    ground = ground_rule(plan, lengths)
    try:
        circuit = compile_circuit(ground.propositions, ground.root, WORK[:2])
    except CircuitError:
        return False
    return len(circuit) * sample.examples * RUNS <= MOST_NUMBERS


def _copied(tensor: Tensor, copies: int) -> Tensor:
    return tensor.repeat(copies, *(1,) * (tensor.dim() - 1))


def _trained(stage: Stage, penalty: Penalty | None, budget: Budget) -> Tensor | None:
    """Return the points of each run, or None if the budget is too small."""
    copies = len(WEIGHTS)
    outputs = {
        name: one._replace(
            truth=_copied(one.truth, copies),
            labels=None if one.labels is None else _copied(one.labels, copies),
            features=_copied(one.features, copies),
            fresh=_copied(one.fresh, copies),
        )
        for name, one in stage.outputs.items()
    }
    networks = _networks(outputs)
    weights = torch.tensor(WEIGHTS).repeat_interleave(SEEDS)
    optimizer = torch.optim.Adam([one for layers in networks.values() for one in layers], lr=RATE)

    def step() -> bool:
        """Take a step, and return whether there was anything to learn from."""
        with torch.enable_grad():
            found = {n: _applied(networks[o.network], o.features, o) for n, o in outputs.items()}
            loss = sum((_labelled_loss(found[n], o) for n, o in outputs.items()), torch.zeros(()))
            if penalty is not None:
                loss = loss + (weights * penalty(found).mean(1)).sum()
            if loss.requires_grad:
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
        if loss.requires_grad:
            optimizer.step()
        return loss.requires_grad

    counting = Counting()
    with counting:
        is_learning = step()
    if not budget.take(STEPS * counting.work):
        return None
    for _ in range(STEPS - 1 if is_learning else 0):
        if budget.is_late:
            return None
        step()
    unlabelled = [one for one in outputs.values() if one.labels is None]
    with torch.no_grad():
        scores = [
            _score(_applied(networks[one.network], one.fresh, one), one)
            for one in unlabelled or outputs.values()
        ]
    return 100 * torch.stack(scores).mean(0)


def _networks(outputs: Mapping[str, Output]) -> dict[str, Network]:
    """Return perceptrons with a hidden layer. All weights of the rules begin alike."""
    generator = torch.Generator().manual_seed(1)
    copies = len(WEIGHTS)
    networks: dict[str, Network] = {}
    for one in outputs.values():
        if one.network in networks:
            continue
        layers = networks[one.network] = []
        sizes = (one.features.shape[-1], HIDDEN, one.width)
        for size, width in pairwise(sizes):
            drawn = torch.randn(SEEDS, size, width, generator=generator) / math.sqrt(size)
            layers.append(_copied(drawn, copies).requires_grad_())
            layers.append(torch.zeros(copies * SEEDS, 1, width).requires_grad_())
    return networks


def _applied(network: Network, features: Tensor, output: Output) -> Tensor:
    first, first_bias, second, second_bias = network
    hidden = torch.tanh(torch.baddbmm(first_bias, features.flatten(1, -2), first))
    found = torch.baddbmm(second_bias, hidden, second)
    if output.slot.is_exclusive:
        return found.reshape(*output.truth.shape, output.width)
    return found.reshape(output.truth.shape)


def _labelled_loss(found: Tensor, output: Output) -> Tensor:
    """Return the sum over runs of the mean loss of the labels."""
    labels = output.labels
    if labels is None:
        return found.new_zeros(())
    if output.is_number:
        known = ~labels.isnan()
        losses = functional.smooth_l1_loss(found, labels.nan_to_num(), reduction="none")
    elif output.slot.is_exclusive:
        known = labels != IGNORED
        rows, targets = found.flatten(0, -2), labels.clamp(min=0).flatten()
        losses = functional.cross_entropy(rows, targets, reduction="none").reshape(labels.shape)
    else:
        known = labels != IGNORED
        targets = labels.clamp(min=0).to(found.dtype)
        losses = functional.binary_cross_entropy_with_logits(found, targets, reduction="none")
    counts = known.flatten(1).sum(1).clamp(min=1)
    return ((losses * known).flatten(1).sum(1) / counts).sum()


def _score(found: Tensor, output: Output) -> Tensor:
    """Return accuracy of a softmax, F1 of sigmoids, or R² of numbers, of each run."""
    truth = output.truth
    if output.is_number:
        spread = (truth - truth.flatten(1).mean(1).reshape(-1, *(1,) * (truth.dim() - 1))).flatten(
            1
        )
        error = (found - truth).flatten(1).square().sum(1)
        return (1 - error / spread.square().sum(1).clamp(min=1e-9)).clamp(min=0)
    if output.slot.is_exclusive:
        return (found.argmax(-1) == truth).flatten(1).float().mean(1)
    predicted, true = (found > 0).flatten(1), truth.flatten(1) == 1
    both = (predicted & true).sum(1).float()
    return 2 * both / (predicted.sum(1) + true.sum(1)).clamp(min=1)
