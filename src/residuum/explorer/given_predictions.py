"""Predictions as the page has them: given by hand or in a file, or drawn at random.

They are probabilities on the page, and logits here. The page works on one example at a time.
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
from residuum.explorer.given import read_choice, read_integer, read_list, read_text
from residuum.explorer.limits import LONGEST_RULES, MOST_EXAMPLES, MOST_OUTPUTS
from residuum.explorer.rule_files import load_rules
from residuum.grounding.plans import Slot
from residuum.losses import compile as compile_rule
from residuum.losses.knowledge import CompiledKnowledge
from residuum.losses.rules import CompiledRule
from residuum.relaxations import relaxation
from residuum.syntax import Knowledge

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


@lru_cache(maxsize=8)
def compiled_rules(text: str, name: str) -> CompiledKnowledge:
    """Return the rules of a text, compiled under a relaxation."""
    return compile_rule(load_rules(text), relaxation(name), reduction="none")


def read_request(given: dict[str, Any]) -> tuple[CompiledKnowledge, Predictions]:
    """Return the compiled rules of a request, and its predictions: given or drawn."""
    text = read_text(given, "text", LONGEST_RULES)
    rules = compiled_rules(text, read_text(given, "relaxation", 100))
    numbers = sum(math.prod(8 if s is None else s for s in slot.sizes) for slot in slots_of(rules))
    if numbers > MOST_OUTPUTS:
        raise ResiduumError(
            f"expected at most {MOST_OUTPUTS:,} outputs in an example, got {numbers:,}; make the "
            "domains smaller to explore the rules here"
        )
    if given.get("predictions") is not None:
        return rules, read_predictions(given, slots_of(rules))
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
    return read_predictions(given, slots_of(compile_rule(knowledge, "r-product", reduction="none")))


def as_probabilities(knowledge: Knowledge, logits: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return logits by name as lists of probabilities."""
    rules = compile_rule(knowledge, "r-product", reduction="none")
    return probabilities_of([slot for slot in slots_of(rules) if slot.name in logits], logits)


def probabilities_of(slots: Sequence[Slot], logits: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return logits by the names of slots as lists of probabilities."""
    return {
        slot.name: _rounded(
            logits[slot.name].softmax(-1) if slot.is_exclusive else logits[slot.name].sigmoid()
        )
        for slot in slots
    }


def _rounded(probabilities: Tensor) -> Any:
    return (probabilities.nan_to_num() * 1e7).round().div(1e7).tolist()


def slots_of(rules: CompiledKnowledge) -> list[Slot]:
    """Return the tensors that some rule takes, each once."""
    found = {slot.name: slot for rule in rules.rules.values() for slot in rule.plan.slots}
    return list(found.values())


def example_in(given: dict[str, Any], everyone: Predictions) -> int:
    """Return the place of the example that the page shows."""
    examples = max((len(one) for one in everyone.logits.values()), default=0)
    if any(len(one) != examples for one in everyone.logits.values()) or not examples:
        raise ResiduumError("expected rules with atoms and as many examples of each output")
    return read_integer(given, "example", 0, MOST_EXAMPLES) % examples
