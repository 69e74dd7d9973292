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

from residuum.advice.samples import Sample, check_rules, draw_samples, slots_of, unseen_predicates
from residuum.advice.work import OPERATION, Counting
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

MOST_RULES: Final = 400
"""The most rules that are looked at."""

STEP: Final = 25_000_000
"""The most work of one step of training, as `work.py` counts it: about 12 milliseconds."""

RUNS: Final = 16
"""The networks that are trained at once in a rehearsal."""


class Fitted(NamedTuple):
    """Knowledge and a sample that fit the budget, and sentences about what was left out."""

    knowledge: Knowledge
    sample: Sample
    left_out: tuple[str, ...]


def fit(knowledge: Knowledge, sample: Sample, *, seed: int = 0) -> Fitted:
    """Return knowledge and a sample whose groundings, and steps of training, fit the budget."""
    generator = torch.Generator().manual_seed(seed)
    smaller, thinner, said = _with_fewer_members(knowledge, sample, generator)
    smaller = _with_fewer_rules(smaller, thinner)
    count = thinner.examples
    thinner = _with_fewer_examples(smaller, thinner, generator)
    smaller, thinner = _with_short_steps(smaller, thinner, generator)
    if len(smaller.rules) < len(knowledge.rules):
        said.append(f"{len(smaller.rules)} of {len(knowledge.rules)} rules, those with the fewest "
                    "groundings, fit the budget")  # fmt: skip
    thinner = _of_slots(thinner, slots_of(smaller))
    if thinner.examples < count:
        said.append(f"{thinner.examples:,} of {count:,} examples, at random")
    return Fitted(smaller, thinner, tuple(said))


def fewer_rules(knowledge: Knowledge) -> Knowledge:
    """Return a knowledge of at most `MOST_RULES` rules, taken from all of the file alike."""
    names = list(knowledge.rules)
    if len(names) <= MOST_RULES:
        return knowledge
    kept = [names[place * len(names) // MOST_RULES] for place in range(MOST_RULES)]
    rules = {name: knowledge.rules[name] for name in kept}
    return replace(knowledge, rules=FrozenMapping(rules))


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


def _with_fewer_rules(knowledge: Knowledge, sample: Sample) -> Knowledge:
    """Return the rules with the fewest groundings that fit the budget together, at least one."""
    counts = work_by_rule(knowledge, sample)
    total = kept = 0
    for count in sorted(counts.values()):
        total += count
        if kept and total * FEWEST_EXAMPLES > WORK:
            break
        kept += 1
    return _fewest(knowledge, counts, kept)


def _fewest(knowledge: Knowledge, groundings: Mapping[str, int], count: int) -> Knowledge:
    """Return the knowledge with so many rules, those with the fewest groundings."""
    kept = set(sorted(knowledge.rules, key=lambda name: groundings[name])[:count])
    if len(kept) == len(knowledge.rules):
        return knowledge
    rules = {name: rule for name, rule in knowledge.rules.items() if name in kept}
    return replace(knowledge, rules=FrozenMapping(rules))


def _with_fewer_examples(
    knowledge: Knowledge, sample: Sample, generator: torch.Generator
) -> Sample:
    sample = _of_slots(sample, slots_of(knowledge))
    room = WORK // max(1, sum(work_by_rule(knowledge, sample).values()))
    kept = min(sample.examples, MOST_EXAMPLES, max(FEWEST_EXAMPLES, room))
    return _some_examples(sample, kept, generator)


def _some_examples(sample: Sample, count: int, generator: torch.Generator) -> Sample:
    if count == sample.examples:
        return sample
    return sample.at(torch.randperm(sample.examples, generator=generator)[:count].sort().values)


def _with_short_steps(
    knowledge: Knowledge, sample: Sample, generator: torch.Generator
) -> tuple[Knowledge, Sample]:
    """Return fewer examples and rules, so that a step of training fits the budget.

    Large outputs take long however few groundings rules have, and so do rules of many shapes. The
    former need fewer examples, the latter fewer rules.
    """
    groundings = work_by_rule(knowledge, sample)
    while not unseen_predicates(knowledge, sample):
        operations, numbers = _work_of_step(knowledge, sample)
        share = STEP / (operations + numbers)
        if share >= 1:
            break
        if numbers >= operations and sample.examples > FEWEST_EXAMPLES:
            kept = max(FEWEST_EXAMPLES, int(sample.examples * share))
            sample = _some_examples(sample, min(kept, sample.examples - 1), generator)
        elif len(knowledge.rules) > 1:
            knowledge = _fewest(knowledge, groundings, max(1, int(len(knowledge.rules) * share)))
        else:
            break
    return knowledge, sample


def _work_of_step(knowledge: Knowledge, sample: Sample) -> tuple[int, int]:
    """Return the work of a step of all runs: of its operations, and of the numbers they make."""
    own = _of_slots(sample, slots_of(knowledge))
    rules = compile_rule(knowledge, reduction="sum")
    counting = Counting()
    with torch.enable_grad(), counting:
        leaves = {name: one.clone().requires_grad_() for name, one in own.logits.items()}
        total = rules.total(leaves, lengths=own.lengths, observed=own.observed or None)
        if total.requires_grad:
            total.backward()  # type: ignore[no-untyped-call]
    return OPERATION * counting.operations, RUNS * counting.numbers


def _of_slots(sample: Sample, slots: Mapping[str, Slot]) -> Sample:
    def read(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: one for name, one in arrays.items() if name in slots}

    return sample._replace(
        logits=read(sample.logits), observed=read(sample.observed), labels=read(sample.labels)
    )
