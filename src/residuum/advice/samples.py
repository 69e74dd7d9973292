"""Samples that rules are measured on: predictions of a model, or random ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import torch
from torch import Tensor

from residuum.advice.archives import LABEL, LENGTHS, OBSERVED, read_arrays, with_prefix
from residuum.errors import DataError
from residuum.grounding.plans import Slot
from residuum.losses import compile as compile_rule
from residuum.losses.degrees.logits import Form
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.rules import CompiledRule
from residuum.printable import printable
from residuum.syntax import Knowledge

EXAMPLES: Final = 128
"""The number of random examples."""

POSITIONS: Final = 8
"""The length of sequences in random examples."""

CONFIDENCE: Final = 5.0
"""Confident predictions have the logits of uniform ones, times this factor."""

SPREAD: Final = 2.0
"""Random quantities are logistic, with this many of their scales."""

NEAREST: Final = 1e-15
"""Probabilities of sigmoids are kept at least this far from 0 and 1, where logits are infinite."""


class Sample(NamedTuple):
    """Predictions, evidence and labels, by the names of the tensors that rules take.

    `logits` are in double precision; of quantities they are the numbers themselves. `observed` is
    what the rules are told. `labels` are those that networks are trained on. −100 marks an output
    without a label, NaN a quantity without one. All have the examples as their first dimension.
    """

    name: str
    logits: Mapping[str, Tensor]
    lengths: Tensor | None = None
    observed: Mapping[str, Tensor] = {}
    labels: Mapping[str, Tensor] = {}

    @property
    def examples(self) -> int:
        """The number of examples."""
        return max(len(one) for one in (*self.logits.values(), *self.observed.values()))

    def is_observed(self, name: str) -> bool:
        """Return whether an output is observed in every example."""
        return name in self.observed and bool((self.observed[name] != IGNORED).all())

    def at(self, rows: Tensor) -> Sample:
        """Return some of the examples."""

        def chosen(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {n: one[rows] if len(one) > 1 else one for n, one in arrays.items()}

        lengths = None if self.lengths is None else self.lengths[rows]
        return Sample(self.name, chosen(self.logits), lengths, chosen(self.observed),
                      chosen(self.labels))  # fmt: skip

    def with_members(self, slots: Mapping[str, Slot], domain: str, keep: Tensor) -> Sample:
        """Return the sample with some members of a domain, which `keep` has the places of."""

        def kept(arrays: Mapping[str, Tensor], *, are_labels: bool) -> dict[str, Tensor]:
            found = {}
            for name, one in arrays.items():
                for place, own in enumerate(slots[name].domains if name in slots else ()):
                    if own.name != domain:
                        continue
                    if 1 + place < one.dim():
                        one = one.index_select(1 + place, keep)
                    elif are_labels:  # the classes of a softmax
                        matches = one.unsqueeze(-1) == keep
                        one = torch.where(matches.any(-1), matches.long().argmax(-1), IGNORED)
                found[name] = one
            return found

        lengths = self.lengths
        domains = {own.name: own for slot in slots.values() for own in slot.domains}
        if lengths is not None and domains[domain].is_sequence:
            lengths = lengths.clamp(max=len(keep))
        return Sample(
            self.name,
            kept(self.logits, are_labels=False),
            lengths,
            kept(self.observed, are_labels=True),
            kept(self.labels, are_labels=True),
        )


class Arrays(NamedTuple):
    """The arrays of a sample as they are given: predictions in some form, evidence and labels."""

    predictions: dict[str, Tensor]
    lengths: Tensor | None
    observed: Mapping[str, Tensor]
    labels: Mapping[str, Tensor]


def read_sample(
    path: Path,
    knowledge: Knowledge,
    form: Form = "probs",
    *,
    content: bytes | None = None,
    takes_hidden: bool = False,
) -> Sample:
    """Return the predictions in an .npz file: one array for each tensor that the rules take.

    Arrays have the names of the tensors in a call of the compiled rules, and the examples as
    their first dimension. GroundingError and DataError say what is missing or wrong. With `content`
    no file is read, and `path` only names it. `takes_hidden` lets rules read hidden predicates.
    """
    arrays = read_arrays(path, form, content)
    lengths = arrays.pop(LENGTHS, None)
    observed, labels = with_prefix(arrays, OBSERVED), with_prefix(arrays, LABEL)
    given = Arrays(arrays, lengths, observed, labels)
    rules = check_rules(knowledge, form, takes_hidden=takes_hidden)
    return checked_sample(path, knowledge, rules, given, form)


def checked_sample(
    path: Path,
    knowledge: Knowledge,
    rules: Mapping[str, CompiledRule],
    given: Arrays,
    form: Form,
) -> Sample:
    """Return the arrays of a file as a sample, or say which of them do not fit the rules."""
    arrays, lengths, observed, labels = given
    slots: dict[str, Slot] = {}
    for rule in rules.values():
        own = {slot.name: slot for slot in rule.plan.given}
        read = {name: arrays[name] for name in own if name in arrays}
        told = {name: observed[name] for name in own if name in observed}
        own_lengths = lengths if rule.plan.sequence_domains else None
        # Hidden predicates need no array. What does not fit is refused in words.
        is_exact = any(slot.predicate.is_hidden for slot in own.values())
        call = rule.receive(read, own_lengths, told or None, is_exact=is_exact)
        if len(call.batch) != 1 or not call.batch[0]:
            raise DataError(
                f"{printable(path)}: expected arrays with one or more examples in the first "
                f"dimension, got the batch {call.batch}; add that dimension, or examples"
            )
        known = {slot.name: labels[slot.name] for slot in rule.plan.outputs if slot.name in labels}
        if known:  # labels must fit as evidence does
            rule.receive(read, own_lengths, {**told, **known}, is_exact=is_exact)
        for quantity in rule.plan.quantities:
            _check_numbers(quantity.name, labels, arrays)
        slots |= own
    for some in (arrays, observed, labels):
        refuse_unknown(some, [*slots])
    logits = {
        name: _logits(arrays[name].double(), slot, form, is_quantity=is_quantity(knowledge, name))
        for name, slot in slots.items()
        if name in arrays
    }
    return Sample(path.name, logits, lengths, observed, labels)


def _check_numbers(name: str, labels: Mapping[str, Tensor], arrays: Mapping[str, Tensor]) -> None:
    if name in labels and labels[name].shape != arrays[name].shape:
        raise DataError(
            f"`{LABEL}{name}`: expected as many numbers as `{name}` has, of the shape "
            f"{tuple(arrays[name].shape)}, got {tuple(labels[name].shape)}; write NaN where there "
            "is no label"
        )


def is_quantity(knowledge: Knowledge, name: str) -> bool:
    """Return whether a tensor holds numbers, by its name, such as `Price(left(p))`."""
    return name.split("(")[0] in knowledge.quantities


def slots_of(knowledge: Knowledge) -> dict[str, Slot]:
    """Return the tensors that the rules take, by name."""
    rules = compile_rule(knowledge).rules.values()
    return {slot.name: slot for rule in rules for slot in rule.plan.given}


def draw_samples(
    knowledge: Knowledge,
    *,
    examples: int = EXAMPLES,
    seed: int = 0,
    takes_hidden: bool = False,
) -> list[Sample]:
    """Return random predictions: a uniform sample and a confident one.

    In the uniform sample all distributions over the classes of a softmax are equally likely, and
    so are all degrees of a sigmoid. Quantities lie a few of their scales apart. Hidden predicates,
    which rules may read if `takes_hidden`, have none.
    """
    generator = torch.Generator().manual_seed(seed)
    check_rules(knowledge, takes_hidden=takes_hidden)
    uniform = {}
    for name, slot in slots_of(knowledge).items():
        if slot.predicate.is_hidden:
            continue
        sizes = [POSITIONS if d.labels is None else len(d.labels) for d in slot.domains]
        drawn = torch.rand(examples, *sizes, dtype=torch.float64, generator=generator)
        drawn = drawn.clamp(NEAREST, 1 - NEAREST)
        if is_quantity(knowledge, name):
            scale = knowledge.quantities[name.split("(")[0]].scale
            uniform[name] = SPREAD * (scale or 1.0) * torch.logit(drawn)
            continue
        # Exponential variables divided by their sum are uniform on the simplex.
        uniform[name] = torch.log(-torch.log(drawn)) if slot.is_exclusive else torch.logit(drawn)
    confident = {
        name: logits if is_quantity(knowledge, name) else CONFIDENCE * logits
        for name, logits in uniform.items()
    }
    return [Sample("uniform", uniform), Sample("confident", confident)]


def check_rules(
    knowledge: Knowledge, form: Form = "logits", *, takes_hidden: bool = False
) -> Mapping[str, CompiledRule]:
    """Return the compiled rules. DataError says which of them samples cannot be given for."""
    hidden = hidden_predicates(knowledge)
    if hidden and not takes_hidden:
        raise DataError(
            f"expected rules about outputs of networks, got the hidden predicate `{hidden[0]}`, "
            "which only `exact` can sum out; leave out its rules, or ask `residuum advise`"
        )
    if not knowledge.rules:
        raise DataError(
            "expected a file with a rule or more, got one without any; add a rule to it"
        )
    rules = compile_rule(knowledge, inputs=form, check=True).rules
    related = [name for name, rule in rules.items() if rule.plan.relation is not None]
    if related:
        raise DataError(
            "expected rules about one member of an open domain at a time, got "
            f"{', '.join(f'`{name}`' for name in related)}, which relates several; list some "
            "members of the domain in the file, or ask `residuum advise`"
        )
    return rules


def hidden_predicates(knowledge: Knowledge) -> list[str]:
    """Return the names of the hidden predicates."""
    return [one.name for one in knowledge.predicates.values() if one.is_hidden]


def unseen_predicates(knowledge: Knowledge, sample: Sample) -> list[str]:
    """Return the hidden predicates that the sample does not tell: only `exact` sums them out."""
    slots = slots_of(knowledge) if hidden_predicates(knowledge) else {}
    return [
        name
        for name, slot in slots.items()
        if slot.predicate.is_hidden and not sample.is_observed(name)
    ]


def _logits(given: Tensor, slot: Slot, form: Form, *, is_quantity: bool) -> Tensor:
    if is_quantity or form == "logits" or (form == "log_probs" and slot.is_exclusive):
        return given
    probabilities = given.exp() if form == "log_probs" else given
    if not slot.is_exclusive:
        return torch.logit(probabilities, eps=NEAREST)
    return torch.log(probabilities).clamp(min=-math.inf)
