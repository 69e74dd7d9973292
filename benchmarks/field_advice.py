"""Asks `residuum advise` about the rules of the field's tasks: `make bench-field-advice`.

What it recommends is compared with what ten seeds of each task reached (`results/field-*.jsonl`).
The advice sees the rules, the evidence and the labels of a task, and predictions that are drawn at
random. `--json FILE` writes a record, and `--table FILE` prints one beside the results.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from rich.progress import track

import residuum as rs
from residuum.advice import Consultation, read_given
from residuum.field import find_task, load_citations, load_images, tables_of
from residuum.field.data.grids import grid_edges, load_grids
from residuum.field.data.hierarchies import load_hierarchy
from residuum.relaxations import relaxation
from residuum.results import read_archive

ROOT: Final = Path(__file__).parents[1]
sys.path.append(str(ROOT / "examples" / "field"))  # rules are those of the pages
EXAMPLES: Final = 64
RELAXATIONS: Final = ("s-product", "r-product", "s-godel", "lukasiewicz-maxsat")
DIGITS: Final = """
    domain digit = 0..{last}
    domain sum = 0..{most}
    predicate Left(digit)
    predicate Right(digit)
    predicate Sum(sum)
    rule addition: {rule}
"""
EXISTS: Final = "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"
IMPLIES: Final = "forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)"

Asked = tuple[str, Mapping[str, np.ndarray]]
"""The rules as text, and the arrays of a sample."""


def softmax(draw: np.random.Generator, *shape: int) -> np.ndarray:
    """Return random distributions over the last dimension."""
    return draw.dirichlet(np.ones(shape[-1]), shape[:-1])


def addition(draw: np.random.Generator, rule: str) -> Asked:
    """Return addition of two digits, of which the sum is observed."""
    left, right = draw.choice(load_images("mnist").train_labels, (2, EXAMPLES))
    arrays = {name: softmax(draw, EXAMPLES, 10) for name in ("Left", "Right")}
    return DIGITS.format(last=9, most=18, rule=rule), {**arrays, "observed:Sum": left + right}


def shortcuts(draw: np.random.Generator) -> Asked:
    """Return sums of the combinations that MNIST-Half has."""
    left, right = draw.permuted(
        np.resize([[0, 0], [0, 1], [2, 3], [2, 4]], (EXAMPLES, 2)), axis=1
    ).T
    arrays = {name: softmax(draw, EXAMPLES, 5) for name in ("Left", "Right")}
    return DIGITS.format(last=4, most=8, rule=EXISTS), {**arrays, "observed:Sum": left + right}


def sudoku(draw: np.random.Generator, form: str) -> Asked:
    """Return boards of which is known whether they are valid."""
    from sudoku import FORMS  # the page in examples/field

    text = f"""
        domain line = 0..3
        domain half = 0..1
        domain digit = 0..3
        predicate Cell(line, line, digit)
        predicate Valid
        rule valid: Valid <-> ({FORMS[form]})
    """
    cells = softmax(draw, EXAMPLES, 4, 4, 4)
    return text, {"Cell": cells, "observed:Valid": draw.integers(0, 2, EXAMPLES)}


def grid_paths(draw: np.random.Generator) -> Asked:
    """Return shortest paths with their labels, whose ends are observed; a rule for each node."""
    lines = ["domain edge = 0..23", "domain node = 0..15"]
    lines += ["predicate Path(edge) independent", "predicate End(node) independent"]
    for node in range(16):
        own = [e for e, edge in enumerate(grid_edges(4)) if node in edge]
        path = f"e in edge where {' | '.join(f'e = {e}' for e in own)}: Path(e)"
        lines.append(f"rule end{node}: End({node}) -> (exactly 1 {path})")
        lines.append(f"rule node{node}: ~End({node}) -> (at most 0 {path}) | (exactly 2 {path})")
    data = load_grids()[0]
    arrays = {"label:Path": data.path[:EXAMPLES], "observed:End": data.ends[:EXAMPLES]}
    known = {name: one.astype(int) for name, one in arrays.items()}
    return "\n".join(lines), {"Path": draw.random((EXAMPLES, 24)), **known}


def hierarchies(draw: np.random.Generator) -> Asked:
    """Return classes that imply their parents, with labels of all classes."""
    data = load_hierarchy("cellcycle").train
    parents = [max(c, p) if p < 0 else p for c, p in enumerate(data.hierarchy.parents)]
    named = ", ".join(f"{c}: {p}" for c, p in enumerate(parents))
    text = f"""
        domain class = 0..{len(parents) - 1}
        predicate Has(class) independent
        function parent(class): class = {named}
        rule up: forall c in class where parent(c) != c: Has(c) -> Has(parent(c))
    """
    labels = np.asarray(data.labels[:EXAMPLES]).astype(int)
    return text, {"Has": draw.random(labels.shape), "label:Has": labels}


def citations(draw: np.random.Generator) -> Asked:
    """Return papers that cite each other, of which a few have labels."""
    from citations import KNOWLEDGE

    data = load_citations("cora")
    categories = int(data.categories.max()) + 1
    labels = np.full(len(data.categories), -100)
    labels[data.train] = data.categories[data.train]
    return KNOWLEDGE.format(last=categories - 1), {
        "Category": softmax(draw, len(labels), categories),
        "label:Category": labels,
        "pairs:Cites": np.asarray(data.citations),
    }


TASKS: Final[Mapping[str, tuple[str, str, str, Callable[[np.random.Generator], Asked]]]] = {
    "addition, exists": ("addition", "N=1", "", partial(addition, rule=EXISTS)),
    "addition, implies": ("addition", "N=1", "-implies", partial(addition, rule=IMPLIES)),
    "shortcuts": ("shortcuts", "half", "", shortcuts),
    "grid paths": ("grid-paths", "ends", "", grid_paths),
    "hierarchies": ("hierarchies", "cellcycle", "", hierarchies),
    "citations": ("citations", "cora", "", citations),
    "Sudoku, exists!": ("sudoku", "200-boards", "", partial(sudoku, form="exists!")),
    "Sudoku, pairs": ("sudoku", "200-boards", "-pairs", partial(sudoku, form="pairs")),
}
"""For each question: the task and the part whose results count, the end of the names of methods
there, and what is asked."""


WITHOUT: Final = {"grid-paths": "plain", "hierarchies": "plain", "citations": "labels"}
"""The method of a task that learns without the rule, where there is one."""


def ask(name: str) -> dict[str, Any]:
    """Return what is recommended for a task; None stands for no rule at all."""
    text, arrays = TASKS[name][3](np.random.default_rng(0))
    knowledge = rs.loads(text)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "predictions.npz"
        np.savez(path, **arrays)
        sample = read_given(path, knowledge)
    chosen = [relaxation(one) for one in RELAXATIONS]
    asked = Consultation(knowledge, [sample], chosen, seconds=math.inf)
    for _ in asked.steps():
        pass
    found = asked.advice()
    return {"task": name, "relaxation": found.relaxation}


def reached(name: str) -> dict[str, float]:
    """Return the mean of the first measure over ten seeds, by relaxation, and without the rule."""
    task_name, part, ending, _ = TASKS[name]
    task = find_task(task_name)
    records = read_archive(ROOT / "results" / f"field-{task_name}.jsonl")
    [table] = [one for one in tables_of(task, records) if one.part == part]
    first = next(iter(task.measures))
    known = {row.method: row.measures[first].mean for row in table.rows if not row.source}
    names = {one: f"{one}{ending}" for one in RELAXATIONS} | {"exact": "exact"}
    names |= dict.fromkeys(["no rule"], WITHOUT.get(task_name, ""))
    return {one: known[method] for one, method in names.items() if method in known}


def markdown(record: Sequence[Mapping[str, Any]]) -> str:
    """Return the advice beside the results as a table."""
    lines = [
        "| task | advice | reached | best | reached | regret |",
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    for one in record:
        means, name = reached(one["task"]), one["relaxation"] or "no rule"
        best = max(means, key=lambda each: means[each])
        own = means.get(name)
        shown = ["–", "–"] if own is None else [f"{own:.1f}", f"{means[best] - own:.1f}"]
        cells = [one["task"], name, shown[0], best, f"{means[best]:.1f}", shown[1]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--json", type=Path, help="where to write the record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    if given.table:
        print(markdown(json.loads(given.table.read_text("utf-8"))))
        return
    torch.set_num_threads(1)
    record = [ask(name) for name in track(TASKS, "asking")]
    if given.json:
        lines = ",\n  ".join(json.dumps(one) for one in record)
        given.json.write_text(f"[\n  {lines}\n]\n", encoding="utf-8")
    print(markdown(record))


if __name__ == "__main__":
    main()
