"""A file of predictions that is dropped on the page: read from the request, never from the disk."""

from __future__ import annotations

import base64
import binascii
import math
from pathlib import Path
from typing import Any

from residuum.advice import read_sample
from residuum.errors import ResiduumError
from residuum.explorer.given import read_choice, read_text
from residuum.explorer.given_predictions import as_probabilities
from residuum.explorer.limits import LONGEST_RULES, MOST_EXAMPLES, MOST_OUTPUTS, MOST_SAMPLE
from residuum.explorer.rule_files import load_rules
from residuum.losses.degrees.logits import FORMS


def read_dropped(given: dict[str, Any]) -> dict[str, Any]:
    """Return the first predictions of an .npz file: as many examples as the page can show."""
    knowledge = load_rules(read_text(given, "text", LONGEST_RULES))
    form: Any = read_choice(given, "form", FORMS)
    try:
        content = base64.b64decode(read_text(given, "content", 2 * MOST_SAMPLE), validate=True)
    except (binascii.Error, ValueError):
        raise ResiduumError("content: expected base64, got something else; send base64") from None
    if len(content) > MOST_SAMPLE:
        raise ResiduumError(
            f"expected a file of at most {MOST_SAMPLE:,} bytes, got {len(content):,}; give fewer "
            "examples"
        )
    sample = read_sample(Path("predictions.npz"), knowledge, form, content=content)
    numbers = sum(math.prod(one.shape[1:]) for one in sample.logits.values())
    total = max((len(one) for one in sample.logits.values()), default=0)
    examples = min(total, MOST_EXAMPLES, MOST_OUTPUTS // max(1, numbers))
    if not examples:
        raise ResiduumError(
            f"expected at most {MOST_OUTPUTS:,} numbers in an example, got {numbers:,}; give "
            "smaller predictions"
        )
    first = {name: one[:examples] for name, one in sample.logits.items()}
    return {
        "predictions": as_probabilities(knowledge, first),
        "lengths": None if sample.lengths is None else sample.lengths[:examples].tolist(),
        "examples": examples,
        "total": total,
    }
