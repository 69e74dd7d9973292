"""What predictions do to rules: how often they break each, where, and whether gradients are left.

All of it is what the methods of compiled rules answer. PyTorch is loaded to compile them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from residuum.grounding.grounding_counts import count_groundings
from residuum.logic import render
from residuum.syntax import Knowledge

if TYPE_CHECKING:
    from residuum.advice import Sample
    from residuum.losses import CompiledRule

TOP: Final = 5
"""How many violations of each rule are shown."""

MOST_DIAGNOSED: Final = 1 << 20
"""The most groundings times examples that are searched for gradients, of each rule. Of a larger
sample every n-th example is looked at."""


@dataclass(frozen=True)
class Violated:
    """A grounding that the predictions break, its example, and its degree of truth."""

    example: int
    grounding: str
    degree: float


@dataclass(frozen=True)
class RuleOnSample:
    """What the predictions of a sample do to a rule. Shares lie between 0 and 1.

    `broken` is the share of examples that break it, and `broken_groundings` that of groundings.
    `coverage` is the mean share of groundings whose antecedent holds. `without_gradient` has, by
    relaxation, the share of violated groundings without a gradient, for `diagnosed` examples; it is
    empty if they violate none. Degrees of `worst` are those under the relaxation `degrees_under`.
    """

    rule: str
    examples: int
    broken: float
    broken_groundings: float
    coverage: float
    without_gradient: Mapping[str, float]
    diagnosed: int
    worst: Sequence[Violated]
    degrees_under: str


def inputs_of(rule: CompiledRule, sample: Sample) -> dict[str, Any]:
    """Return the tensors of a sample that a rule reads."""
    names = [slot.name for slot in rule.plan.given]
    return {name: sample.logits[name] for name in names if name in sample.logits}


def observed_by(rule: CompiledRule, sample: Sample) -> dict[str, Any] | None:
    """Return the evidence of a sample that a rule reads, or None."""
    names = [slot.name for slot in rule.plan.outputs]
    return {name: sample.observed[name] for name in names if name in sample.observed} or None


def lengths_of(rule: CompiledRule, sample: Sample) -> Any:
    """Return the lengths of sequences if the rule is about sequences, else None."""
    return sample.lengths if rule.plan.sequence_domains else None


def facts_of_sample(
    knowledge: Knowledge, name: str, sample: Sample, relaxations: Sequence[str], degrees_under: str
) -> RuleOnSample:
    """Return what a sample does to the rule of this name."""
    from residuum.losses import compile as compile_rule

    formula = knowledge.rules[name].formula
    first = compile_rule(formula, degrees_under, knowledge=knowledge, weight=1.0)
    tensors, lengths = inputs_of(first, sample), lengths_of(first, sample)
    observed = observed_by(first, sample)
    obeyed = first.satisfied(tensors, lengths=lengths, observed=observed)
    found = first.metrics(tensors, lengths=lengths, observed=observed)
    worst = first.violations(tensors, lengths=lengths, observed=observed, top=TOP)
    step = _stride(first, tensors, len(obeyed))
    thinned = {key: tensor[::step] for key, tensor in tensors.items()}
    own_lengths = None if lengths is None else lengths[::step]
    told = {key: labels[::step] for key, labels in (observed or {}).items()} or None
    without: dict[str, float] = {}
    for relaxation in relaxations:
        compiled = compile_rule(formula, relaxation, knowledge=knowledge, weight=1.0)
        diagnosed = compiled.diagnose(thinned, lengths=own_lengths, observed=told)
        if diagnosed["groundings"] < 1:
            without[relaxation] = diagnosed["without_gradient"]
    return RuleOnSample(
        name,
        len(obeyed),
        1 - found["satisfied"],
        1 - found["groundings"],
        found["coverage"],
        without,
        -(-len(obeyed) // step),
        [Violated(one.example[0], render(one.grounding, "unicode"), one.degree) for one in worst],
        degrees_under,
    )


def _stride(rule: CompiledRule, tensors: Mapping[str, Any], examples: int) -> int:
    """Return n, if every n-th example is few enough to search for gradients."""
    groundings = count_groundings(rule.plan, sequence_lengths(rule, tensors))
    most = max(1, MOST_DIAGNOSED // max(1, groundings))
    return -(-examples // most)


def sequence_lengths(rule: CompiledRule, tensors: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of each sequence domain in the tensors, padding included."""
    found: dict[str, int] = {}
    for slot in rule.plan.given:
        if slot.name not in tensors:  # observed in full
            continue
        shape = tensors[slot.name].shape
        for domain, size in zip(slot.domains, shape[len(shape) - len(slot.domains) :], strict=True):
            if domain.is_sequence:
                found[domain.name] = int(size)
    return found


def sequence_lengths_in(knowledge: Knowledge, sample: Sample) -> dict[str, int]:
    """Return the length of each sequence domain in a sample, padding included."""
    from residuum.losses import compile as compile_rules

    found: dict[str, int] = {}
    for rule in compile_rules(knowledge).rules.values():
        found |= sequence_lengths(rule, inputs_of(rule, sample))
    return found
