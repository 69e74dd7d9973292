"""The advice of `residuum advise`, for the rules and the predictions of the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from residuum.advice import Consultation, Measured, Sample
from residuum.advice.traps import as_lines
from residuum.explorer.given import as_json_number, read_names, read_text
from residuum.explorer.given_predictions import read_given_sample
from residuum.explorer.limits import LONGEST_RULES
from residuum.explorer.rule_files import load_rules
from residuum.relaxations import relaxation


def give_advice(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what is measured, part by part, and then the recommendation with its reasons."""
    knowledge = load_rules(read_text(given, "text", LONGEST_RULES))
    chosen = [relaxation(name) for name in read_names(given)]
    samples = []
    if given.get("predictions") is not None:
        shown = read_given_sample(given, knowledge)
        samples = [Sample("predictions", shown.logits, shown.lengths)]
    asked = Consultation(knowledge, samples, chosen)
    told = 0
    for place, _ in enumerate(asked.steps(), start=1):
        found, told = asked.measured[told:], len(asked.measured)
        yield {"measured": [_plain(one) for one in found], "done": place, "of": asked.count}
    advice = asked.advice()
    forms = [f"Write {name} as: {form}" for name, form in advice.forms.items()]
    traps = [f"Trap: {line}" for line in as_lines(advice.traps)]
    yield {"recommended": advice.relaxation, "reasons": [*forms, *advice.reasons, *traps]}


def _plain(one: Measured) -> dict[str, Any]:
    return {
        name: as_json_number(value) if isinstance(value, float) else value
        for name, value in asdict(one).items()
    }
