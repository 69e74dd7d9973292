"""Predictions that obey all rules, beside the free ones, for some examples that break a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from residuum.errors import ResiduumError
from residuum.grounding.grounding_counts import count_groundings
from residuum.reports.own_rules.sample_facts import (
    inputs_of,
    lengths_of,
    observed_by,
    sequence_lengths,
)
from residuum.syntax import Domain, Knowledge

if TYPE_CHECKING:
    from residuum.advice import Sample
    from residuum.grounding.plans import Slot
    from residuum.losses import CompiledKnowledge

Array = Any

DECODED: Final = 4
"""How many examples are decoded."""

MOST_GROUNDINGS: Final = 20_000
"""The most groundings of all rules in one example that is decoded: a circuit of a few seconds."""

MOST_CHANGES: Final = 6
"""The most changed outputs of an example that are listed."""


@dataclass(frozen=True)
class Change:
    """An output whose label changes: what is predicted, what obeys, and their probabilities."""

    output: str
    free: str
    free_probability: float
    obeying: str
    obeying_probability: float


@dataclass(frozen=True)
class Decoded:
    """An example, the rules that its free prediction breaks, and what changes if it obeys all.

    `changes` are the first of `changed`.
    """

    example: int
    broken: Sequence[str]
    changes: Sequence[Change]
    changed: int


def decode_worst(knowledge: Knowledge, sample: Sample) -> tuple[list[Decoded], str]:
    """Return decoded examples that break the most rules, and why there are none.

    The reason is empty if there are some.
    """
    from residuum.losses import compile as compile_rules

    try:
        rules = compile_rules(knowledge, "s-product", weights=dict.fromkeys(knowledge.rules, 1.0))
        broken = _broken_rules(rules, sample)
        if broken is None:
            return [], "rules read different numbers of examples, which are not decoded together"
        groundings = sum(
            count_groundings(rule.plan, sequence_lengths(rule, inputs_of(rule, sample)))
            for rule in rules.rules.values()
        )
        if groundings > MOST_GROUNDINGS:
            return [], (
                f"one example has {groundings:,} groundings, more than the {MOST_GROUNDINGS:,} "
                "that are decoded here"
            )
        order = sorted(broken, key=lambda example: (-len(broken[example]), example))[:DECODED]
        if not order:
            return [], "every example obeys all rules"
        return _decode(rules, sample, order, broken), ""
    except ResiduumError as error:  # contradicting rules, or too large a circuit
        return [], str(error)


def _broken_rules(rules: CompiledKnowledge, sample: Sample) -> dict[int, list[str]] | None:
    """Return the rules that each example breaks; None if the rules have different batches."""
    found: dict[int, list[str]] = {}
    sizes = set()
    for name, rule in rules.rules.items():
        obeyed = rule.satisfied(
            inputs_of(rule, sample),
            lengths=lengths_of(rule, sample),
            observed=observed_by(rule, sample),
        )
        sizes.add(len(obeyed))
        for example in (~obeyed).nonzero().flatten().tolist():
            found.setdefault(example, []).append(name)
    return found if len(sizes) == 1 else None


def _decode(
    rules: CompiledKnowledge,
    sample: Sample,
    order: Sequence[int],
    broken: Mapping[int, Sequence[str]],
) -> list[Decoded]:
    slots = {slot.name: slot for rule in rules.rules.values() for slot in rule.plan.outputs}
    tensors = {
        name: logits if len(logits) == 1 else logits[order]
        for name, logits in sample.logits.items()
    }
    about_sequences = any(rule.plan.sequence_domains for rule in rules.rules.values())
    lengths = sample.lengths[order] if about_sequences and sample.lengths is not None else None
    observed = {
        name: labels if len(labels) == 1 else labels[order]
        for name, labels in sample.observed.items()
    }
    labels = rules.decode(tensors, lengths=lengths, observed=observed or None)
    found = []
    for place, example in enumerate(order):
        changes = [
            change
            for name, slot in slots.items()
            if name in tensors
            for change in _changes(slot, _row(tensors[name], place), _row(labels[name], place))
        ]
        found.append(Decoded(example, broken[example], changes[:MOST_CHANGES], len(changes)))
    return found


def _row(tensor: Any, place: int) -> Array:
    return tensor[place if len(tensor) > 1 else 0].numpy()


def _changes(slot: Slot, logits: Array, labels: Array) -> list[Change]:
    """Return the outputs whose label is not the likeliest one. Padding has negative labels."""
    free = logits.argmax(-1) if slot.is_exclusive else (logits > 0).astype(np.int64)
    found = []
    for at in np.argwhere((labels >= 0) & (labels != free)):
        place = tuple(at)
        old, new = int(free[place]), int(labels[place])
        chances = _probabilities(logits[place], is_exclusive=slot.is_exclusive)
        names = _names_of_labels(slot)
        found.append(
            Change(
                _output(slot, place), names(old), float(chances[old]), names(new),
                float(chances[new]),
            )
        )  # fmt: skip
    return found


def _probabilities(logits: Array, *, is_exclusive: bool) -> Array:
    """Return the probability of each label of one output."""
    given = logits if is_exclusive else np.array([0.0, logits])
    if given.max() == -np.inf:  # all classes are masked, and count as equally likely
        return np.full(given.shape, 1 / given.size)
    powers = np.exp(given - given.max())
    return powers / powers.sum()


def _names_of_labels(slot: Slot) -> Any:
    if not slot.is_exclusive:
        return ("false", "true").__getitem__
    return lambda label: _member(slot.domains[-1], label)


def _output(slot: Slot, place: tuple[int, ...]) -> str:
    """Return the name of an output, such as `Tag(3)`."""
    members = ", ".join(
        _member(domain, int(number)) for domain, number in zip(slot.domains, place, strict=False)
    )
    if not members:
        return slot.name
    return f"{slot.name} at {members}" if "(" in slot.name else f"{slot.name}({members})"


def _member(domain: Domain, number: int) -> str:
    return str(number if domain.labels is None else domain.labels[number])
