"""Rules on predictions: penalties, violations, what pulls where, and predictions that obey.

Predictions are probabilities on the page, and logits here. The page works on one example at a time;
all examples together give the means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from residuum.advice import draw_samples
from residuum.errors import ResiduumError
from residuum.explorer.given import (
    as_json_number,
    read_choice,
    read_integer,
    read_list,
    read_number,
    read_text,
)
from residuum.explorer.limits import (
    LONGEST_RULES,
    MOST_EXAMPLES,
    MOST_GROUNDINGS,
    MOST_OUTPUTS,
    MOST_SHOWN_GROUNDINGS,
)
from residuum.explorer.rule_files import load_rules
from residuum.grounding.plans import Slot
from residuum.logic import Forall, Formula, free_variables, quantifiers_of
from residuum.logic.formulas import Binding
from residuum.losses import compile as compile_rule
from residuum.losses.inputs.layouts import groundings_of
from residuum.losses.knowledge import CompiledKnowledge
from residuum.losses.rules import CompiledRule
from residuum.relaxations import relaxation
from residuum.syntax import Knowledge

MOST_PULLS: Final = 6
"""The most outputs that are listed for one grounding."""

NEAREST: Final = 1e-6
"""Probabilities of sigmoids on the page are kept this far from 0 and 1."""


class Predictions(NamedTuple):
    """Logits by the names of the tensors that the rules take, and the lengths of sequences."""

    logits: Mapping[str, Tensor]
    lengths: Tensor | None

    def of(self, rule: CompiledRule) -> tuple[dict[str, Tensor], Tensor | None]:
        """Return what one rule takes."""
        logits = {slot.name: self.logits[slot.name] for slot in rule.plan.slots}
        return logits, self.lengths if rule.plan.sequence_domains else None

    def example(self, place: int) -> Predictions:
        """Return the predictions for one example."""
        logits = {name: one[place : place + 1] for name, one in self.logits.items()}
        return Predictions(
            logits, None if self.lengths is None else self.lengths[place : place + 1]
        )


def evaluate_predictions(given: dict[str, Any]) -> dict[str, Any]:
    """Return what the rules say about predictions, and where their gradients pull."""
    rules, everyone = _read(given)
    knowledge = load_rules(given["text"])
    place = _place(given, everyone)
    rate = read_number(given, "rate", 0, 1000)
    only = read_text(given, "rule", 1000)
    chosen = {name: one for name, one in rules.rules.items() if name == only} or rules.rules
    one = everyone.example(place)
    gradients = _gradients(chosen, one)
    stepped = Predictions(
        {name: logits - rate * gradients[name] for name, logits in one.logits.items()}, one.lengths
    )
    slots = _slots(rules)
    return {
        "examples": max(len(logits) for logits in everyone.logits.values()),
        "predictions": _probabilities(slots, everyone.logits),
        "lengths": None if everyone.lengths is None else everyone.lengths.tolist(),
        "outputs": [
            {"name": slot.name, "exclusive": slot.is_exclusive, "labels": _labels(slot, one),
             "gradient": [as_json_number(g) for g in gradients[slot.name].flatten().tolist()],
             "after": _probabilities([slot], stepped.logits)[slot.name]}
            for slot in slots
        ],
        "rules": [
            _about(knowledge, name, rule, everyone, one, stepped)
            for name, rule in rules.rules.items()
        ],
    }  # fmt: skip


def decode_predictions(given: dict[str, Any]) -> dict[str, Any]:
    """Return the likeliest prediction for an example beside the likeliest one that obeys."""
    rules, everyone = _read(given)
    one = everyone.example(_place(given, everyone))
    slots = _slots(rules)
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
            {"name": slot.name, "free": _named(slot, free[slot.name]),
             "obeying": _named(slot, found[slot.name])}
            for slot in slots if slot.name in found
        ]
    }  # fmt: skip


@lru_cache(maxsize=8)
def _compiled(text: str, name: str) -> CompiledKnowledge:
    return compile_rule(load_rules(text), relaxation(name), reduction="none")


def _read(given: dict[str, Any]) -> tuple[CompiledKnowledge, Predictions]:
    """Return the compiled rules of a request, and its predictions: given or drawn."""
    text = read_text(given, "text", LONGEST_RULES)
    rules = _compiled(text, read_text(given, "relaxation", 100))
    numbers = sum(math.prod(8 if s is None else s for s in slot.sizes) for slot in _slots(rules))
    if numbers > MOST_OUTPUTS:
        raise ResiduumError(
            f"expected at most {MOST_OUTPUTS:,} outputs in an example, got {numbers:,}; make the "
            "domains smaller to explore the rules here"
        )
    if given.get("predictions") is not None:
        return rules, read_predictions(given, _slots(rules))
    examples = read_integer(given, "examples", 1, MOST_EXAMPLES)
    examples = max(1, min(examples, MOST_OUTPUTS // max(1, numbers)))
    seed = read_integer(given, "seed", 0, 2**31)
    uniform, confident = draw_samples(load_rules(text), examples=examples, seed=seed)
    sample = uniform if read_choice(given, "draw", ("uniform", "confident")) == "uniform" else None
    return rules, Predictions(dict((sample or confident).logits), None)


def read_predictions(given: dict[str, Any], slots: Sequence[Slot]) -> Predictions:
    """Return the predictions of a request, which are probabilities, as logits."""
    found = given["predictions"]
    if not isinstance(found, dict) or not {slot.name for slot in slots} <= found.keys():
        names = ", ".join(slot.name for slot in slots)
        raise ResiduumError(f"predictions: expected numbers for each of {names}; send them all")
    logits = {}
    for slot in slots:
        try:
            probabilities = torch.tensor(found[slot.name], dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            raise ResiduumError(
                f"{slot.name}: expected lists of numbers, got something else; send probabilities"
            ) from None
        if probabilities.numel() > MOST_OUTPUTS or not bool(
            ((probabilities >= 0) & (probabilities <= 1)).all()
        ):
            raise ResiduumError(
                f"{slot.name}: expected at most {MOST_OUTPUTS:,} probabilities between 0 and 1, "
                f"got {probabilities.numel():,} numbers; correct them"
            )
        if probabilities.dim() != 1 + len(slot.domains) or not len(probabilities):
            raise ResiduumError(
                f"{slot.name}: expected {1 + len(slot.domains)} dimensions, the first for "
                f"examples, got the shape {tuple(probabilities.shape)}; correct it"
            )
        logits[slot.name] = (
            probabilities.clamp(min=1e-12).log()
            if slot.is_exclusive
            else torch.logit(probabilities, eps=NEAREST)
        )
    lengths = given.get("lengths")
    if lengths is None:
        return Predictions(logits, None)
    integers = [one for one in read_list(given, "lengths", MOST_EXAMPLES) if type(one) is int]
    return Predictions(logits, torch.tensor(integers))


def read_given_sample(given: dict[str, Any], knowledge: Knowledge) -> Predictions:
    """Return the predictions of a request for the rules of a knowledge."""
    return read_predictions(given, _slots(compile_rule(knowledge, "r-product", reduction="none")))


def as_probabilities(knowledge: Knowledge, logits: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return logits by name as lists of probabilities."""
    rules = compile_rule(knowledge, "r-product", reduction="none")
    return _probabilities([slot for slot in _slots(rules) if slot.name in logits], logits)


def _probabilities(slots: Sequence[Slot], logits: Mapping[str, Tensor]) -> dict[str, Any]:
    return {
        slot.name: _rounded(
            logits[slot.name].softmax(-1) if slot.is_exclusive else logits[slot.name].sigmoid()
        )
        for slot in slots
    }


def _rounded(probabilities: Tensor) -> Any:
    return (probabilities.nan_to_num() * 1e7).round().div(1e7).tolist()


def _slots(rules: CompiledKnowledge) -> list[Slot]:
    found = {slot.name: slot for rule in rules.rules.values() for slot in rule.plan.slots}
    return list(found.values())


def _place(given: dict[str, Any], everyone: Predictions) -> int:
    examples = max((len(one) for one in everyone.logits.values()), default=0)
    if any(len(one) != examples for one in everyone.logits.values()) or not examples:
        raise ResiduumError("expected rules with atoms and as many examples of each output")
    return read_integer(given, "example", 0, MOST_EXAMPLES) % examples


def _gradients(rules: Mapping[str, CompiledRule], one: Predictions) -> dict[str, Tensor]:
    """Return the gradient of the weighted penalties of rules by the logits of an example."""
    leaves = {name: logits.clone().requires_grad_() for name, logits in one.logits.items()}
    moving = Predictions(leaves, one.lengths)
    total = torch.zeros((), dtype=torch.float64)
    for rule in rules.values():
        logits, lengths = moving.of(rule)
        total = total + rule(logits, lengths=lengths).sum()
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
    gradients = _gradients({"": single}, one)
    found = []
    for slot in single.plan.slots:
        flat = gradients[slot.name].flatten()
        labels = [" ".join(filter(None, pair)) for pair in _labels(slot, one)]
        for place in flat.abs().argsort(descending=True)[:MOST_PULLS].tolist():
            if flat[place] != 0:
                found.append((abs(float(flat[place])), slot.name, labels[place], flat[place]))
    found.sort(key=lambda pull: -pull[0])
    return [
        {"output": f"{name} {label}".strip(), "gradient": as_json_number(float(gradient))}
        for _, name, label, gradient in found[:MOST_PULLS]
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


def _named(slot: Slot, labels: Tensor) -> list[str]:
    """Return the labels of an example as text: classes of a softmax, or truth values."""
    flat = labels.flatten().tolist()
    if not slot.is_exclusive:
        return ["–" if one < 0 else "true" if one else "false" for one in flat]
    classes = [str(member) for member in slot.domains[-1]]
    return ["–" if one < 0 else classes[one] for one in flat]
