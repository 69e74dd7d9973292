"""The advice of `residuum advise`, for the rules and the predictions of the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from residuum.advice import Measured, Sample, draw_samples, measure, recommend
from residuum.explorer.given import as_json_number, read_names, read_text
from residuum.explorer.given_predictions import read_given_sample
from residuum.explorer.limits import LONGEST_RULES
from residuum.explorer.rule_files import load_rules
from residuum.relaxations import relaxation

EXAMPLES = 32
"""The number of random examples."""


def give_advice(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the measurements of each rule, and then the recommendation with its reasons."""
    knowledge = load_rules(read_text(given, "text", LONGEST_RULES))
    chosen = [relaxation(name) for name in read_names(given)]
    samples = draw_samples(knowledge, examples=EXAMPLES)
    if given.get("predictions") is not None:
        shown = read_given_sample(given, knowledge)
        samples = [Sample("predictions", shown.logits, shown.lengths)]
    tasks = [(rule, sample) for rule in knowledge.rules for sample in samples]
    measured: list[Measured] = []
    for place, (rule, sample) in enumerate(tasks, start=1):
        found = measure(knowledge, rule, sample, chosen)
        measured += found
        yield {"measured": [_plain(one) for one in found], "done": place, "of": len(tasks)}
    advice = recommend(measured, ())
    yield {"recommended": advice.relaxation, "reasons": list(advice.reasons)}


def _plain(one: Measured) -> dict[str, Any]:
    return {
        name: as_json_number(value) if isinstance(value, float) else value
        for name, value in asdict(one).items()
    }
