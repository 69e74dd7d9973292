"""Made-up examples for a rehearsal: truth that obeys the rules, and features that show it.

The truth is drawn from the user's predictions, with what is observed or labelled held fixed. Draws
that break a rule follow the gradient of S-Product until they obey. Outputs that networks are not
trained on by labels, while others are, are drawn evenly: their predictions mean nothing yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from residuum.advice.samples import Sample, is_quantity, slots_of, unseen_predicates
from residuum.grounding.plans import Slot
from residuum.losses import compile as compile_rule
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.knowledge import CompiledKnowledge
from residuum.relaxations import Relaxation
from residuum.syntax import Knowledge

MOVES: Final = 100
LENGTH: Final = 1.0
"""Draws that break a rule move by so many steps of this length at most, in logits."""

MOST_LOGIT: Final = 30.0
NEAREST: Final = 1e-9
"""Random numbers are kept this far from 0 and 1, where their logits are infinite."""

FEATURES: Final = 8
NOISE: Final = 1.0
"""The number of features, and their noise. The classes lie about four apart."""

LABELLED: Final = 8
"""If the user gives neither labels nor evidence, one example in so many is labelled, or one output
in so many if there are fewer examples."""


class Output(NamedTuple):
    """One output to be learnt. Tensors have the seeds in front, and then the examples.

    `truth` and `labels` are in the form of evidence, or numbers of a quantity; outputs without a
    label have −100 or NaN. `features` are those learnt from, `fresh` the same with other noise.
    """

    slot: Slot
    network: str
    width: int
    truth: Tensor
    labels: Tensor | None
    features: Tensor
    fresh: Tensor

    @property
    def is_number(self) -> bool:
        """Whether the output is a quantity."""
        return self.truth.is_floating_point()


class Stage(NamedTuple):
    """What is rehearsed: outputs to be learnt, and what is known."""

    outputs: Mapping[str, Output]
    observed: Mapping[str, Tensor]
    data: Mapping[str, Tensor]
    lengths: Tensor | None


def make_up(knowledge: Knowledge, sample: Sample, seeds: int, seed: int) -> Stage:
    """Return made-up examples. Each seed has features of its own; truth is the same in all."""
    generator = torch.Generator().manual_seed(seed)
    slots = slots_of(knowledge)
    truth = _truth(knowledge, slots, sample, generator)
    outputs: dict[str, Output] = {}
    centres: dict[str, Tensor] = {}
    for name, slot in slots.items():
        is_known = sample.is_observed(name) or name not in sample.logits
        if is_known or is_data(knowledge, name):
            continue
        numbers = _as_numbers(slot, truth[name], sample.logits[name].shape[-1:])
        network = name.split("(")[0]
        if network not in centres:
            size = (seeds, numbers.shape[-1], FEATURES)
            centres[network] = torch.randn(size, generator=generator)
        shown = torch.einsum("e...k,skf->se...f", numbers, centres[network])
        noisy = [shown + NOISE * torch.randn(shown.shape, generator=generator) for _ in range(2)]
        own = truth[name].expand(seeds, *truth[name].shape)
        labels = _labels(name, truth[name], sample)
        labels = None if labels is None else labels.expand_as(own)
        width = 1 if truth[name].is_floating_point() else numbers.shape[-1]
        outputs[name] = Output(slot, network, width, own, labels, *noisy)

    def wide(one: Tensor) -> Tensor:
        return one.expand(seeds, *one.shape)

    return Stage(
        outputs,
        {name: wide(one) for name, one in sample.observed.items()},
        {name: wide(one.float()) for name, one in truth.items() if is_data(knowledge, name)},
        None if sample.lengths is None else wide(sample.lengths),
    )


def is_data(knowledge: Knowledge, name: str) -> bool:
    """Return whether a tensor is a quantity that is known exactly, with a scale of 0."""
    quantity = knowledge.quantities.get(name.split("(")[0])
    return quantity is not None and quantity.scale == 0


def unweighted(
    knowledge: Knowledge,
    relaxation: str | Relaxation,
    over: str | Mapping[str, str] | None = None,
    scales: Mapping[str, float] | None = None,
) -> CompiledKnowledge:
    """Return the rules with a penalty for each example, and with equal weights.

    `scales` are the weights of rules that count otherwise: as many groundings as one row has.
    """
    weights = dict.fromkeys(knowledge.rules, 1.0) | dict(scales or {})
    return compile_rule(knowledge, relaxation, weights=weights, over=over, reduction="none")


def _labels(name: str, truth: Tensor, sample: Sample) -> Tensor | None:
    if sample.labels or sample.observed:
        labels = sample.labels.get(name)
        return labels.float() if labels is not None and truth.is_floating_point() else labels
    missing = math.nan if truth.is_floating_point() else IGNORED
    if len(truth) < LABELLED:  # the members of a few worlds
        places = torch.arange(truth.numel()).reshape(truth.shape)
    else:
        places = torch.arange(len(truth)).reshape(-1, *(1,) * (truth.dim() - 1))
    return torch.where(places % LABELLED == 0, truth, missing)


def _as_numbers(slot: Slot, truth: Tensor, classes: torch.Size) -> Tensor:
    """Return truth as the numbers that features are sums of: (examples, *objects, numbers)."""
    if truth.is_floating_point():
        return (2 * (truth - truth.mean()) / truth.std().clamp(min=NEAREST)).unsqueeze(-1)
    if slot.is_exclusive:
        return functional.one_hot(truth, classes[0]).float()
    return truth.float() if slot.domains else truth.float().unsqueeze(-1)


# Truth


def _truth(
    knowledge: Knowledge, slots: Mapping[str, Slot], sample: Sample, generator: torch.Generator
) -> dict[str, Tensor]:
    fixed = _fixed(knowledge, sample)
    drawn = {}
    for name, logits in sample.logits.items():
        is_learnt = not sample.labels or name in sample.labels
        drawn[name] = _draw(slots[name], logits, generator, is_even=not is_learnt,
                            is_number=is_quantity(knowledge, name))  # fmt: skip
    if unseen_predicates(knowledge, sample):
        return _by_circuit(knowledge, sample, fixed, generator)
    _move(knowledge, sample, drawn, fixed)
    truth = dict(fixed)
    for name, numbers in drawn.items():
        if is_quantity(knowledge, name):
            labels = sample.labels.get(name, torch.tensor(math.nan)).double()
            truth[name] = torch.where(labels.isnan(), numbers, labels).float()
        else:
            own = numbers.argmax(-1) if slots[name].is_exclusive else (numbers > 0).long()
            labels = fixed.get(name, torch.tensor(IGNORED))
            truth[name] = torch.where(labels == IGNORED, own, labels)
    return truth


def _by_circuit(
    knowledge: Knowledge, sample: Sample, fixed: Mapping[str, Tensor], generator: torch.Generator
) -> dict[str, Tensor]:
    """Draw truth from the predictions given the rules, with hidden predicates summed out."""
    logits = {
        name: one if not sample.labels or name in sample.labels else torch.zeros_like(one)
        for name, one in sample.logits.items()
    }
    numbers = {name: one.float() for name, one in logits.items() if is_quantity(knowledge, name)}
    drawn = unweighted(knowledge, "s-product").sample(
        logits, generator=generator, lengths=sample.lengths, observed=fixed or None
    )
    return {name: one[0] for name, one in drawn.items() if name in logits} | dict(fixed) | numbers


def _fixed(knowledge: Knowledge, sample: Sample) -> dict[str, Tensor]:
    """Return what is observed or labelled, as evidence."""
    fixed = dict(sample.observed)
    for name, labels in sample.labels.items():
        if not is_quantity(knowledge, name):
            known = fixed.get(name, torch.tensor(IGNORED))
            fixed[name] = torch.where(known == IGNORED, labels, known)
    return fixed


def _draw(
    slot: Slot, logits: Tensor, generator: torch.Generator, *, is_even: bool, is_number: bool
) -> Tensor:
    """Return logits whose prediction is a random draw, or a quantity as it is.

    With Gumbel noise the likeliest class is drawn with its probability; with logistic noise the
    sign is.
    """
    if is_number:
        return logits
    noise = torch.rand(logits.shape, dtype=torch.float64, generator=generator)
    noise = noise.clamp(NEAREST, 1 - NEAREST)
    noise = -torch.log(-torch.log(noise)) if slot.is_exclusive else torch.logit(noise)
    return noise if is_even else logits.clamp(-MOST_LOGIT, MOST_LOGIT) + noise


def _move(
    knowledge: Knowledge, sample: Sample, drawn: dict[str, Tensor], fixed: Mapping[str, Tensor]
) -> None:
    """Move draws in place until they obey the rules, if they do within `MOVES` steps."""
    rules = unweighted(knowledge, "s-product")
    free = [name for name in drawn if not is_data(knowledge, name)]
    for _ in range(MOVES if free else 0):
        answers = rules.satisfied(drawn, lengths=sample.lengths, observed=fixed)
        obeyed = torch.stack(list(answers.values())).all(0)
        if bool(obeyed.all()):
            return
        with torch.enable_grad():
            leaves = {name: drawn[name].detach().requires_grad_() for name in free}
            total = rules.total({**drawn, **leaves}, lengths=sample.lengths, observed=fixed)
            if not total.requires_grad:
                return
            found = torch.autograd.grad(
                total.sum(), list(leaves.values()), materialize_grads=True, allow_unused=True
            )
        squares = [one.square().reshape(len(one), -1).sum(1) for one in found]
        size = torch.stack(squares).sum(0).sqrt()
        step = torch.where(obeyed | (size == 0), 0.0, LENGTH / size)
        for name, one in zip(free, found, strict=True):
            drawn[name] = drawn[name] - step.reshape(-1, *(1,) * (one.dim() - 1)) * one
