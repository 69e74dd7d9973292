"""Knowledge and samples cut down to a budget of work, so that advice takes seconds.

First there are fewer examples, then fewer members of the largest domains, and at last fewer rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

import torch
from torch import Tensor

from residuum.advice.samples import Sample, check_rules, draw_samples, slots_of
from residuum.errors import GroundingError, ResiduumError
from residuum.grounding import Plan
from residuum.grounding.grounding_counts import count_groundings
from residuum.grounding.plans import Quantify, Slot
from residuum.losses import compile as compile_rule
from residuum.syntax import Knowledge
from residuum.syntax.knowledge import FrozenMapping

WORK: Final = 32_000
"""The most groundings of all rules times examples."""

FEWEST_EXAMPLES: Final = 2
FEWEST_MEMBERS: Final = 4
"""What is kept in any case, if there is as much."""

MOST_EXAMPLES: Final = 100


class Fitted(NamedTuple):
    """Knowledge and a sample that fit the budget, and sentences about what was left out."""

    knowledge: Knowledge
    sample: Sample
    left_out: tuple[str, ...]


def fit(knowledge: Knowledge, sample: Sample, *, seed: int = 0) -> Fitted:
    """Return knowledge and a sample whose groundings fit the budget."""
    generator = torch.Generator().manual_seed(seed)
    smaller, thinner, said = _with_fewer_members(knowledge, sample, generator)
    smaller, dropped = _with_fewer_rules(smaller, thinner)
    if dropped:
        said.append(f"{len(smaller.rules)} of {len(knowledge.rules)} rules, those with the fewest "
                    "groundings, fit the budget")  # fmt: skip
    thinner = _of_slots(thinner, slots_of(smaller))
    count = thinner.examples
    room = WORK // max(1, sum(work_by_rule(smaller, thinner).values()))
    kept = min(count, MOST_EXAMPLES, max(FEWEST_EXAMPLES, room))
    if kept < count:
        rows = torch.randperm(count, generator=generator)[:kept].sort().values
        thinner = thinner.at(rows)
        said.append(f"{kept:,} of {count:,} examples, at random")
    return Fitted(smaller, thinner, tuple(said))


def draw_fitted(knowledge: Knowledge) -> list[Fitted]:
    """Return random predictions that fit the budget: domains are cut down before they are drawn."""
    check_rules(knowledge, takes_hidden=True)
    smaller, _, said = _with_fewer_members(knowledge, Sample("none", {}), torch.Generator())
    fitted = [fit(smaller, sample) for sample in draw_samples(smaller, takes_hidden=True)]
    return [one._replace(left_out=(*said, *one.left_out)) for one in fitted]


def work_by_rule(knowledge: Knowledge, sample: Sample) -> dict[str, int]:
    """Return how many values the largest tensor of each rule has for one example."""
    rules = compile_rule(knowledge).rules
    return {name: _work(rule.plan, sample) for name, rule in rules.items()}


def groundings_by_rule(knowledge: Knowledge, sample: Sample) -> dict[str, int]:
    """Return how many groundings of each rule come together; of some they are too many to count."""
    found = {}
    for name, rule in compile_rule(knowledge).rules.items():
        lengths = _sequence_lengths(rule.plan.given, sample)
        with suppress(GroundingError):
            found[name] = count_groundings(rule.plan, lengths)
    return found


def _work(plan: Plan, sample: Sample) -> int:
    lengths = _sequence_lengths(plan.given, sample)
    sizes: dict[int, int] = {}
    for step in plan.steps:
        for axis in step.axes if isinstance(step, Quantify) else ():
            if axis.dimension is not None:
                labels = axis.domain.labels
                size = lengths.get(axis.domain.name, 1) if labels is None else len(labels)
                sizes[axis.dimension] = max(size, sizes.get(axis.dimension, 1))
    count = 1
    for size in sizes.values():
        count *= size
    return count


def _sequence_lengths(slots: tuple[Slot, ...], sample: Sample) -> dict[str, int]:
    found = {}
    for slot in slots:
        for arrays in (sample.logits, sample.observed):
            if slot.name in arrays:
                shape = arrays[slot.name].shape[1:]
                for domain, size in zip(slot.domains, shape, strict=False):
                    if domain.is_sequence:
                        found[domain.name] = size
    return found


def _with_fewer_members(
    knowledge: Knowledge, sample: Sample, generator: torch.Generator
) -> tuple[Knowledge, Sample, list[str]]:
    """Halve the largest domain again and again, until the groundings of the fewest examples fit."""
    first, fixed = _sizes(knowledge, sample), set[str]()
    while sum(work_by_rule(knowledge, sample).values()) * FEWEST_EXAMPLES > WORK:
        sizes = {n: s for n, s in _sizes(knowledge, sample).items()
                 if n not in fixed and s > FEWEST_MEMBERS}  # fmt: skip
        if not sizes:
            break
        name = max(sizes, key=lambda one: sizes[one])
        try:
            knowledge, sample = _halved(knowledge, sample, name, sizes[name], generator)
        except ResiduumError:  # a rule names a member, or computes with members
            fixed.add(name)
    last = _sizes(knowledge, sample)
    said = [f"{last[name]:,} of {size:,} members of {name}, at random"
            for name, size in first.items() if last[name] < size]  # fmt: skip
    return knowledge, sample, said


def _sizes(knowledge: Knowledge, sample: Sample) -> dict[str, int]:
    """Return the sizes of all domains that a tensor has a dimension for."""
    slots = tuple(slots_of(knowledge).values())
    lengths = _sequence_lengths(slots, sample)
    domains = {domain.name: domain for slot in slots for domain in slot.domains}
    return {n: lengths.get(n, 1) if d.labels is None else len(d.labels) for n, d in domains.items()}


def _halved(
    knowledge: Knowledge, sample: Sample, name: str, size: int, generator: torch.Generator
) -> tuple[Knowledge, Sample]:
    """Return half of the members of a domain; the first half of a sequence."""
    if any(name in (*one.domains, one.result) for one in knowledge.functions.values()):
        raise ResiduumError("a function needs all members of its domains")
    domain = knowledge.domains[name]
    keep = torch.arange(size // 2)
    smaller = knowledge
    if domain.labels is not None:
        keep = torch.randperm(size, generator=generator)[: size // 2].sort().values
        labels = tuple(domain.labels[place] for place in keep.tolist())
        domains = {**knowledge.domains, name: replace(domain, labels=labels)}
        smaller = replace(knowledge, domains=FrozenMapping(domains))
    slots = slots_of(smaller)
    return smaller, sample.with_members(slots, name, keep)


def _with_fewer_rules(knowledge: Knowledge, sample: Sample) -> tuple[Knowledge, bool]:
    """Return the rules with the fewest groundings that fit the budget together, at least one."""
    counts = work_by_rule(knowledge, sample)
    kept: list[str] = []
    total = 0
    for name in sorted(counts, key=lambda one: counts[one]):
        total += counts[name]
        if kept and total * FEWEST_EXAMPLES > WORK:
            break
        kept.append(name)
    if len(kept) == len(counts):
        return knowledge, False
    rules = {name: rule for name, rule in knowledge.rules.items() if name in kept}
    return replace(knowledge, rules=FrozenMapping(rules)), True


def _of_slots(sample: Sample, slots: Mapping[str, Slot]) -> Sample:
    def read(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: one for name, one in arrays.items() if name in slots}

    return sample._replace(
        logits=read(sample.logits), observed=read(sample.observed), labels=read(sample.labels)
    )
