"""What the page can ask for: the table of tasks. A task is one function of a request.

The function gets the fields of the request as a dictionary. It returns an answer, or yields parts
of one; both are plain data. It runs in a worker process.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from residuum.explorer.limits import MOST_BODY, MOST_SAMPLE

Kind = Literal["formulas", "rules", "long"]

WORKERS: Final[dict[Kind, int]] = {"formulas": 2, "rules": 2, "long": 4}
"""The worker processes of each kind. Those for rules load PyTorch, which takes seconds."""


class Task(NamedTuple):
    """A function by its module and name, the workers that run it, and its limits."""

    module: str
    function: str
    kind: Kind
    seconds: float
    most_bytes: int = MOST_BODY


TASKS: Final = {
    "start": Task("relaxations", "list_relaxations", "formulas", 20),
    "formula": Task("formulas", "read_formula", "formulas", 10),
    "degrees": Task("degrees", "measure_degrees", "formulas", 10),
    "surfaces": Task("surfaces", "draw_surfaces", "formulas", 10),
    "consistency": Task("consistencies", "measure_consistency", "long", 600),
    "rules": Task("rule_files", "read_rules", "formulas", 15),
    "check": Task("rule_files", "check_rules", "long", 60),
    "predictions": Task("predictions", "evaluate_predictions", "rules", 30),
    "decode": Task("predictions", "decode_predictions", "rules", 30),
    "sample": Task("dropped_files", "read_dropped", "rules", 60, 2 * MOST_SAMPLE),
    "training": Task("training", "train", "long", 300),
    "advice": Task("advising", "give_advice", "long", 300),
}
