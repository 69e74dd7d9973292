"""A rehearsal: small networks learn made-up examples of a user's rules under each relaxation.

The truth of the examples is drawn from the user's predictions and moved until it obeys the rules,
with what is observed or labelled held fixed. Features show the truth through noise. So the
rehearsal has the user's rules, evidence and labels, and only the inputs are invented.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from residuum.advice.samples import Sample, slots_of
from residuum.grounding.plans import Slot
from residuum.losses import compile as compile_rule
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.knowledge import CompiledKnowledge
from residuum.relaxations import Relaxation
from residuum.syntax import Knowledge

WEIGHTS: Final = (0.003, 0.03, 0.3, 3.0)
"""The weights of the rules that are rehearsed; the best counts."""

SEEDS: Final = 4
STEPS: Final = 120
RATE: Final = 0.03
FEATURES: Final = 8
HIDDEN: Final = 16
NOISE: Final = 1.0

MOVES: Final = 100
LENGTH: Final = 0.5
"""Draws follow S-Product's gradient for so many steps of this length until they obey the rules."""


@dataclass(frozen=True)
class Rehearsed:
    """How well small networks learnt under a relaxation; None stands for no rule at all.

    `points` is their score from 0 to 100 with the best of the weights, the mean of all seeds.
    """

    relaxation: str | None
    points: float
    weight: float


class Stage(NamedTuple):
    """Made-up examples of several runs. Tensors have the runs, then the examples in front."""

    slots: Mapping[str, Slot]
    truth: Mapping[str, Tensor]
    labels: Mapping[str, Tensor]
    observed: Mapping[str, Tensor]
    given: Mapping[str, Tensor]
    features: Mapping[str, Tensor]
    fresh: Mapping[str, Tensor]
    lengths: Tensor | None


def rehearse(
    knowledge: Knowledge, sample: Sample, relaxations: Sequence[Relaxation], *, seed: int = 0
) -> Iterator[Rehearsed]:
    """Yield how well networks learn the made-up examples, first without rules."""
    generator = torch.Generator().manual_seed(seed)
    stage = _staged(knowledge, sample, generator)
    for relaxation in (None, *relaxations):
        rules = _compiled(knowledge, relaxation) if relaxation else None
        points = _trained(stage, rules).reshape(len(WEIGHTS), SEEDS).mean(1)
        best = int(points.argmax())
        name = relaxation.name if relaxation else None
        yield Rehearsed(name, float(points[best]), WEIGHTS[best] if relaxation else 0.0)


def _compiled(knowledge: Knowledge, relaxation: str | Relaxation) -> CompiledKnowledge:
    weights = dict.fromkeys(knowledge.rules, 1.0)
    return compile_rule(knowledge, relaxation, weights=weights, reduction="none")


# Made-up examples


def _staged(knowledge: Knowledge, sample: Sample, generator: torch.Generator) -> Stage:
    slots = slots_of(knowledge)
    runs = len(WEIGHTS) * SEEDS
    truth = _drawn(knowledge, slots, sample, generator)
    repeated = {name: one.expand(SEEDS, *one.shape) for name, one in truth.items()}
    given = {n: t for n, t in truth.items() if slots[n].compared is None and _is_data(knowledge, n)}
    learnt = [n for n in slots if n not in given and not _is_observed(sample, n)]
    vectors = {slots[n].predicate.name: None for n in learnt}
    features, fresh = {}, {}
    centres: dict[str, Tensor] = {}
    for name in learnt:
        spread = _spread(slots[name], truth[name])
        key = slots[name].predicate.name
        if key not in centres:
            centres[key] = torch.randn(SEEDS, spread.shape[-1], FEATURES, generator=generator)
        shown = torch.einsum("e...k,skf->se...f", spread, centres[key])
        for kind in (features, fresh):
            noisy = shown + NOISE * torch.randn(shown.shape, generator=generator)
            kind[name] = noisy.repeat(len(WEIGHTS), *(1,) * (noisy.dim() - 1))
    del vectors, repeated

    def wide(one: Tensor) -> Tensor:
        return one.expand(runs, *one.shape)

    labels = {n: wide(sample.labels[n]) for n in learnt if n in sample.labels}
    return Stage(
        {n: slots[n] for n in learnt},
        {n: wide(truth[n]) for n in learnt},
        labels,
        {n: wide(one) for n, one in sample.observed.items()},
        {n: wide(one.float()) for n, one in given.items()},
        features,
        fresh,
        None if sample.lengths is None else wide(sample.lengths),
    )


def _is_data(knowledge: Knowledge, name: str) -> bool:
    quantity = knowledge.quantities.get(name.split("(")[0])
    return quantity is not None and quantity.scale == 0


def _is_observed(sample: Sample, name: str) -> bool:
    return name in sample.observed and bool((sample.observed[name] != IGNORED).all())


def _is_number(slot: Slot, truth: Tensor) -> bool:
    return truth.is_floating_point()


def _spread(slot: Slot, truth: Tensor) -> Tensor:
    """Return truth as numbers that features are sums of: (examples, *objects, numbers)."""
    if truth.is_floating_point():
        return (2 * (truth - truth.mean()) / truth.std().clamp(min=1e-6)).unsqueeze(-1).float()
    if slot.is_exclusive:
        return functional.one_hot(truth, slot.sizes[-1] or int(truth.max()) + 1).float()
    return truth.float() if slot.domains else truth.float().unsqueeze(-1)


def _drawn(
    knowledge: Knowledge, slots: Mapping[str, Slot], sample: Sample, generator: torch.Generator
) -> dict[str, Tensor]:
    """Return truth in the form of labels, and numbers of quantities."""
    own = {n: one for n, one in sample.labels.items() if n not in knowledge.quantities}
    fixed = {n: sample.observed.get(n, torch.tensor(IGNORED)) for n in {*sample.observed, *own}}
    for name, labels in own.items():
        fixed[name] = torch.where(fixed[name] == IGNORED, labels, fixed[name])
    drawn = {}
    for name, logits in sample.logits.items():
        noise = torch.rand(logits.shape, dtype=torch.float64, generator=generator).clamp(1e-9, 1 - 1e-9)
        if name in knowledge.quantities:
            noise = torch.zeros_like(logits)
        elif slots[name].is_exclusive:
            noise = -torch.log(-torch.log(noise))
        else:
            noise = torch.logit(noise)
        is_learnt = not sample.labels or name in sample.labels or name in knowledge.quantities
        drawn[name] = (logits.clamp(-30, 30) if is_learnt else torch.zeros_like(logits)) + noise
    rules = _compiled(knowledge, "s-product")
    free = [n for n in drawn if not _is_data(knowledge, n)]
    for _ in range(MOVES):
        obeyed = torch.stack(
            [one.satisfied({s.name: drawn[s.name] for s in one.plan.given if s.name in drawn},
                           observed={n: f for n, f in fixed.items() if n in [s.name for s in one.plan.outputs]},
                           lengths=sample.lengths if one.plan.sequence_domains else None)
             for one in rules.rules.values()]
        ).all(0)
        if bool(obeyed.all()):
            break
        with torch.enable_grad():
            leaves = {n: drawn[n].detach().requires_grad_() for n in free}
            total = rules.total({**drawn, **leaves}, observed=fixed, lengths=sample.lengths)
            found = torch.autograd.grad(total.sum(), list(leaves.values()), materialize_grads=True, allow_unused=True)
        size = sum(g.square().reshape(len(g), -1).sum(1) for g in found).sqrt()
        step = torch.where(obeyed | (size == 0), 0.0, LENGTH * 2 / size)
        for n, g in zip(free, found, strict=True):
            drawn[n] = drawn[n] - step.reshape(-1, *(1,) * (g.dim() - 1)) * g
    truth = {}
    for name, slot in slots.items():
        labels = fixed.get(name)
        if name in knowledge.quantities:
            known = sample.labels.get(name, torch.tensor(torch.nan))
            truth[name] = torch.where(known.isnan(), drawn[name], known).float()
            continue
        if name in drawn:
            own = drawn[name].argmax(-1) if slot.is_exclusive else (drawn[name] > 0).long()
            truth[name] = own if labels is None else torch.where(labels == IGNORED, own, labels)
        else:
            truth[name] = labels
    return truth


# Training


def _trained(stage: Stage, rules: CompiledKnowledge | None) -> Tensor:
    """Return the points of each run."""
    networks = _networks(stage)
    weights = torch.tensor(WEIGHTS).repeat_interleave(SEEDS)
    optimizer = torch.optim.Adam([one for layers in networks.values() for one in layers], lr=RATE)
    with torch.enable_grad():
        for _ in range(STEPS):
            outputs = _outputs(stage, networks, stage.features)
            loss = _labelled_loss(stage, outputs)
            if rules is not None:
                penalties = rules.total(
                    {**stage.given, **outputs}, observed=stage.observed or None, lengths=stage.lengths
                )
                loss = loss + (weights * penalties.mean(1)).sum()
            optimizer.zero_grad()
            if not loss.requires_grad:
                break
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        outputs = _outputs(stage, networks, stage.fresh)
        unlabelled = [n for n in stage.slots if n not in stage.labels]
        asked = unlabelled or list(stage.slots)
        scores = [_score(stage.slots[n], outputs[n], stage.truth[n]) for n in asked]
    return 100 * torch.stack(scores).mean(0)


def _networks(stage: Stage) -> dict[str, list[Tensor]]:
    generator = torch.Generator().manual_seed(1)
    networks: dict[str, list[Tensor]] = {}
    for slot in stage.slots.values():
        if slot.predicate.name in networks:
            continue
        width = 1 if not slot.domains else slot.sizes[-1] or 1
        if stage.truth[slot.name].is_floating_point():
            width = 1
        layers = []
        for size, out in ((FEATURES, HIDDEN), (HIDDEN, width)):
            first = torch.randn(SEEDS, size, out, generator=generator) / math.sqrt(size)
            layers += [first.repeat(len(WEIGHTS), 1, 1).requires_grad_(),
                       torch.zeros(len(WEIGHTS) * SEEDS, 1, out).requires_grad_()]  # fmt: skip
        networks[slot.predicate.name] = layers
    return networks


def _outputs(stage: Stage, networks: Mapping[str, list[Tensor]], features: Mapping[str, Tensor]) -> dict[str, Tensor]:
    found = {}
    for name, slot in stage.slots.items():
        first, first_bias, second, second_bias = networks[slot.predicate.name]
        given = features[name]
        hidden = torch.tanh(torch.baddbmm(first_bias, given.flatten(1, -2), first))
        out = torch.baddbmm(second_bias, hidden, second).reshape(*given.shape[:-1], -1)
        found[name] = out.reshape(stage.truth[name].shape) if out.numel() == stage.truth[name].numel() else out
    return found


def _labelled_loss(stage: Stage, outputs: Mapping[str, Tensor]) -> Tensor:
    total = torch.zeros(())
    for name, labels in stage.labels.items():
        known, found = labels != IGNORED, outputs[name]
        if stage.truth[name].is_floating_point():
            known = ~labels.isnan()
            losses = functional.smooth_l1_loss(found, labels.nan_to_num().float(), reduction="none")
        elif stage.slots[name].is_exclusive:
            losses = functional.cross_entropy(found.flatten(0, -2), labels.clamp(min=0).flatten(), reduction="none")
        else:
            losses = functional.binary_cross_entropy_with_logits(found, labels.clamp(min=0).float(), reduction="none")
        losses = losses.reshape(labels.shape) * known
        total = total + (losses.flatten(1).sum(1) / known.flatten(1).sum(1).clamp(min=1)).sum()
    return total


def _score(slot: Slot, outputs: Tensor, truth: Tensor) -> Tensor:
    if truth.is_floating_point():
        error, spread = (outputs - truth).flatten(1), truth.flatten(1)
        spread = spread - spread.mean(1, keepdim=True)
        return (1 - error.square().sum(1) / spread.square().sum(1).clamp(min=1e-9)).clamp(min=0)
    if slot.is_exclusive:
        return (outputs.argmax(-1) == truth).flatten(1).double().mean(1)
    predicted, truth = (outputs > 0).flatten(1), truth.flatten(1) == 1
    both = (predicted & truth).sum(1).double()
    return 2 * both / (predicted.sum(1) + truth.sum(1)).clamp(min=1)
