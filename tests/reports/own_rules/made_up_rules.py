"""Rules, predictions and a log that are made up, and the facts about them."""

import json

import numpy as np

from residuum.relaxations import default_relaxations
from residuum.reports.own_rules.gathering import Asked, gather
from residuum.syntax import load

RULES = """
domain two = 0..1
domain colour = red, green, blue
predicate A(two) independent
predicate B(two) independent
predicate Is(colour)
rule copy: forall x in two: A(x) -> B(x)
rule red weight 2: Is(red) -> A(0) & B(0)
rule never: ~(A(1) & Is(blue))
"""
A = [[0.9, 0.8], [0.2, 0.7], [0.1, 0.3], [0.95, 0.4]]
B = [[0.15, 0.6], [0.3, 0.1], [0.2, 0.4], [0.9, 0.2]]
IS = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]]


def write_files(folder):
    """Write the rules, the predictions and a log; return what is asked of them."""
    (folder / "rules.rsd").write_text(RULES)
    np.savez(folder / "p.npz", A=np.array(A), B=np.array(B), Is=np.array(IS))
    rows = [
        {"step": step, "loss": 1.0, "copy/penalty": 2 - step / 50, "copy/satisfied": 1 - step / 100,
         "copy/without_gradient": step / 100, "red/satisfied": step / 100, "red/coverage": 0.25}
        for step in range(0, 50, 10)
    ]  # fmt: skip
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return asked(folder, "p.npz", "log.jsonl", relaxations=())


def asked(folder, sample=None, log=None, *, form="probs", relaxations=("r-product",)):
    return Asked(
        folder / "rules.rsd",
        folder / sample if sample else None,
        form,
        folder / log if log else None,
        default_relaxations(relaxations),
    )


def facts_of(question):
    *_, facts = gather(load(question.rules), question)
    return facts
