"""Rules on predictions: penalties, violations, what pulls where, and predictions that obey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor

from residuum.errors import ResiduumError
from residuum.explorer.given import (
    as_json_number,
    read_number,
    read_text,
)
from residuum.explorer.given_predictions import (
    Predictions,
    example_in,
    probabilities_of,
    read_request,
    slots_of,
)
from residuum.explorer.limits import (
    MOST_GROUNDINGS,
    MOST_SHOWN_GROUNDINGS,
)
from residuum.explorer.rule_files import load_rules
from residuum.grounding.plans import Slot
from residuum.logic import Forall, Formula, free_variables, quantifiers_of
from residuum.logic.formulas import Binding
from residuum.losses import compile as compile_rule
from residuum.losses.inputs.layouts import groundings_of
from residuum.losses.rules import CompiledRule
from residuum.syntax import Knowledge

MOST_PULLS: Final = 6
"""The most outputs that are listed for one grounding."""


def evaluate_predictions(given: dict[str, Any]) -> dict[str, Any]:
    """Return what the rules say about predictions, and where their gradients pull."""
    rules, everyone = read_request(given)
    knowledge = load_rules(given["text"])
    place = example_in(given, everyone)
    rate = read_number(given, "rate", 0, 1000)
    only = read_text(given, "rule", 1000)
    chosen = {name: one for name, one in rules.rules.items() if name == only} or rules.rules
    one = everyone.example(place)
    gradients = _gradients(chosen, rules.weights, one)
    stepped = Predictions(
        {name: logits - rate * gradients[name] for name, logits in one.logits.items()}, one.lengths
    )
    slots = slots_of(rules)
    return {
        "examples": max(len(logits) for logits in everyone.logits.values()),
        "predictions": probabilities_of(slots, everyone.logits),
        "lengths": None if everyone.lengths is None else everyone.lengths.tolist(),
        "outputs": [
            {"name": slot.name, "exclusive": slot.is_exclusive, "labels": _labels(slot, one),
             "gradient": [as_json_number(g) for g in gradients[slot.name].flatten().tolist()],
             "after": probabilities_of([slot], stepped.logits)[slot.name]}
            for slot in slots
        ],
        "rules": [
            _about(knowledge, name, rule, everyone, one, stepped)
            for name, rule in rules.rules.items()
        ],
    }  # fmt: skip


def decode_predictions(given: dict[str, Any]) -> dict[str, Any]:
    """Return the likeliest prediction for an example beside the likeliest one that obeys."""
    rules, everyone = read_request(given)
    one = everyone.example(example_in(given, everyone))
    slots = slots_of(rules)
    is_sequence = any(rule.plan.sequence_domains for rule in rules.rules.values())
    found = rules.decode(dict(one.logits), lengths=one.lengths if is_sequence else None)
    free = {
        slot.name: one.logits[slot.name].argmax(-1)
        if slot.is_exclusive
        else (one.logits[slot.name] > 0).long()
        for slot in slots
    }
    return {
        "outputs": [
            {"name": slot.name, "about": _about_what(slot, one),
             "free": _named(slot, free[slot.name]), "obeying": _named(slot, found[slot.name])}
            for slot in slots if slot.name in found
        ]
    }  # fmt: skip


def _gradients(
    rules: Mapping[str, CompiledRule], weights: Mapping[str, float], one: Predictions
) -> dict[str, Tensor]:
    """Return the gradient of the weighted penalties of rules by the logits of an example."""
    leaves = {name: logits.clone().requires_grad_() for name, logits in one.logits.items()}
    moving = Predictions(leaves, one.lengths)
    total = torch.zeros((), dtype=torch.float64)
    for name, rule in rules.items():
        logits, lengths = moving.of(rule)
        total = total + weights[name] * rule(logits, lengths=lengths).sum()
    if not total.requires_grad:  # rules without atoms
        return {name: torch.zeros_like(leaf) for name, leaf in leaves.items()}
    found = torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)
    return dict(zip(leaves, found, strict=True))


def _about(
    knowledge: Knowledge,
    name: str,
    rule: CompiledRule,
    everyone: Predictions,
    one: Predictions,
    stepped: Predictions,
) -> dict[str, Any]:
    """Return what one rule says: about all examples, about one, and about that one after a step."""
    logits, lengths = one.of(rule)
    call = rule.receive(logits, lengths)
    assert call.case is not None
    if call.case.groundings > MOST_GROUNDINGS:
        raise ResiduumError(
            f"{name}: expected at most {MOST_GROUNDINGS:,} groundings, got "
            f"{call.case.groundings:,}; make the domains smaller to explore the rules here"
        )
    counted = groundings_of(rule.plan).counted(call.bound, call.batch, call.masks, call.device)
    of_all, all_lengths = everyone.of(rule)
    after, _ = stepped.of(rule)
    found = rule.violations(logits, top=MOST_SHOWN_GROUNDINGS, lengths=lengths)
    return {
        "name": name,
        "groundings": int(counted.sum()),
        "mean": as_json_number(float(rule(of_all, lengths=all_lengths).mean())),
        "satisfied": float(rule.satisfied(of_all, lengths=all_lengths).double().mean()),
        "before": as_json_number(float(rule(logits, lengths=lengths))),
        "after": as_json_number(float(rule(after, lengths=lengths))),
        "truth": as_json_number(float(rule.truth(logits, lengths=lengths))),
        "obeyed": bool(rule.satisfied(logits, lengths=lengths)),
        "violations": [
            {"text": f"{broken.grounding:unicode}", "degree": broken.degree,
             "pulls": _pulls(knowledge, rule, broken.grounding, one)}
            for broken in found
        ],
    }  # fmt: skip


def _pulls(
    knowledge: Knowledge, rule: CompiledRule, grounding: Formula, one: Predictions
) -> list[dict[str, Any]]:
    """Return the outputs on which a grounding by itself pulls, the strongest pulls first."""
    closed = _closed(grounding, rule.formula)
    single = compile_rule(closed, rule.relaxation, knowledge=knowledge, reduction="none")
    gradients = _gradients({"": single}, {"": 1.0}, one)
    found = []
    for slot in single.plan.slots:
        flat = gradients[slot.name].flatten()
        labels = [" ".join(filter(None, (slot.name, *pair))) for pair in _labels(slot, one)]
        strongest = flat.abs().argsort(descending=True)[:MOST_PULLS].tolist()
        found += [(float(flat[place]), labels[place]) for place in strongest if flat[place] != 0]
    found.sort(key=lambda pull: -abs(pull[0]))
    return [
        {"output": output, "gradient": as_json_number(gradient)}
        for gradient, output in found[:MOST_PULLS]
    ]


def _closed(grounding: Formula, rule: Formula) -> Formula:
    """Return a grounding in which variables over open domains are bound again."""
    domains = {
        binding.variable: binding.domain
        for quantifier in quantifiers_of(rule)
        for binding in quantifier.bindings
    }
    for variable in sorted(free_variables(grounding)):
        grounding = Forall([Binding(variable, domains[variable])], grounding)
    return grounding


def _labels(slot: Slot, one: Predictions) -> list[tuple[str, str]]:
    """Return a label for each output of a slot in one example, in the order of its numbers.

    A label has two parts: the members before the last one, and the last one.
    """
    names = [("", "")]
    for domain, size in zip(slot.domains, one.logits[slot.name].shape[1:], strict=True):
        members = [*domain] if domain.labels is not None else range(size)
        names = [
            (" ".join(filter(None, name)), str(member)) for name in names for member in members
        ]
    return names


def _about_what(slot: Slot, one: Predictions) -> list[str]:
    """Return what each prediction of `_named` is about: members of domains, as text."""
    labels = _labels(slot, one)
    if slot.is_exclusive:
        return [group for group, _ in labels[:: one.logits[slot.name].shape[-1]]]
    return [" ".join(filter(None, label)) for label in labels]


def _named(slot: Slot, labels: Tensor) -> list[str]:
    """Return the labels of an example as text: classes of a softmax, or truth values."""
    flat = labels.flatten().tolist()
    if not slot.is_exclusive:
        return ["–" if one < 0 else "true" if one else "false" for one in flat]
    classes = [str(member) for member in slot.domains[-1]]
    return ["–" if one < 0 else classes[one] for one in flat]
