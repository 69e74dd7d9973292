"""The sections about the question, the relaxations and the tautologies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from residuum.analysis import Cell
from residuum.analysis.results import in_full
from residuum.logic import render
from residuum.relaxations import Relaxation
from residuum.reports.blocks import Answer, Entry, Fold, Picture, Section, Table, Text
from residuum.reports.figures import rounded
from residuum.reports.studies_answer import answer_of_studies
from residuum.reports.surface_figures import draw_surfaces
from residuum.reports.tautology_figures import MARKS
from residuum.results import Record
from residuum.syntax import parse

CITATION: Final = (
    "Medina Grespan, Gupta and Srikumar, “Evaluating Relaxations of Logic for Neural Networks” "
    "(IJCAI 2021)"
)
CONNECTIVES: Final = {"not": "¬x", "and": "x ∧ y", "or": "x ∨ y", "implies": "x → y"}
DRAWN_FORMULAS: Final = ("P -> Q", "P & Q", "P | Q")


def question_section(records: Sequence[Record]) -> Section:
    """Answer the question of the report, and say what it is."""
    return Section(
        "question",
        "Which relaxation learns best?",
        [
            Answer(answer_of_studies(records)),
            Text(
                "A network can learn from rules as well as from labels: a rule in logic is relaxed "
                "to a function of degrees of truth from 0 to 1, and what it lacks of truth is a "
                "loss. A rule can be relaxed in many ways, which agree where everything is true "
                "or false and nowhere else. Which one should be used?"
            ),
            Text(
                f"{CITATION} asked two things of a relaxation: that it preserves truth, so that "
                "what is a tautology stays true, and that networks learn well with it. This page "
                "computes their first answer again, exactly, and repeats their experiments, "
                "each figure beside the one that was printed."
            ),
        ],
    )


def relaxations_section(relaxations: Sequence[Relaxation]) -> Section:
    """Show the formulas of relaxations, and pictures of their degrees and gradients."""
    heads = ["relaxation", *CONNECTIVES.values(), "penalty of x"]
    rows = [
        [Entry(one.name), *(Entry(_spelt(one.expressions[name])) for name in CONNECTIVES),
         Entry(_spelt(one.expressions["penalty"]))]
        for one in relaxations
    ]  # fmt: skip
    numbers = [
        {"relaxation": one.name, **{name: one.expressions[name] for name in CONNECTIVES},
         "penalty": one.expressions["penalty"]}
        for one in relaxations
    ]  # fmt: skip
    names = ", ".join(one.name for one in relaxations)
    formulas = Table(
        "formulas",
        "What the connectives mean under each relaxation",
        heads,
        rows,
        numbers,
        command=f"residuum relaxations {' '.join(_quoted(one.name) for one in relaxations)}",
    )
    pictures = [
        Picture(
            f"surface-{number}",
            f"{formula}: its degree as colour, its gradient as arrows",
            f"One square for each of {names}: the degree of truth of {formula} over the degrees "
            "of P and Q, with arrows that show the gradient and dots where it is zero.",
            draw_surfaces(text, list(relaxations)),
            command=f'residuum surface "{text}" -o surface.svg',
        )
        for number, text in enumerate(DRAWN_FORMULAS, 1)
        for formula in [render(parse(text), "unicode")]
    ]
    return Section(
        "relaxations",
        "The relaxations",
        [
            Text(
                "The S-logics read x → y as ¬x ∨ y; the R-logics read it as the largest degree "
                "whose conjunction with x is at most y. A rule is learnt by minimising its penalty."
            ),
            formulas,
            pictures[0],
            Fold("Conjunction and disjunction", pictures[1:]),
        ],
    )


def tautologies_section(rows: Sequence[Sequence[Cell]]) -> Section:
    """Show the mean degree of each tautology beside the figure of the paper."""
    cells = [cell for row in rows for cell in row]
    wrong = [cell for cell in cells if cell.disagrees]
    not_tautologies = [row[0].row for row in rows if not row[0].row.is_tautology]
    names = [cell.relaxation.name for cell in rows[0]]
    table = Table(
        "consistencies",
        "Mean degree of each tautology over all degrees of its atoms: 1 where truth is preserved",
        ["row", "formula", *names],
        [[Entry(row[0].row.name), _formula(row[0]), *map(_heat, row)] for row in rows],
        [_numbers(cell) for cell in cells],
        command="residuum tautologies",
        notes=[f"{mark} {meaning}." for mark, meaning in MARKS.items()],
    )
    exact = Table(
        "consistencies-exact",
        "The same, exactly where that is known, and else with bounds",
        ["row", *names],
        [[Entry(row[0].row.name), *(Entry(_known(cell)) for cell in row)] for row in rows],
        [],
    )
    differing = [
        Text(f"{cell.row.name}, {cell.relaxation.name}: {_known(cell)}, printed {cell.printed:g}.")
        for cell in wrong
        if cell.row.is_tautology
    ]
    return Section(
        "tautologies",
        "How much truth each relaxation preserves",
        [
            Text(
                f"{len(rows)} formulas of the paper's table, {len(wrong)} of whose "
                f"{sum(cell.printed is not None for cell in cells)} printed figures differ from "
                "the true ones beyond rounding; each of those is marked ≠ and followed by what "
                "was printed."
            ),
            table,
            *differing,
            *(
                Text(f"{row.name} as printed, {render(row.formula, 'unicode')}, is no tautology.")
                for row in not_tautologies
            ),
            Fold("Exact values and bounds of all cells", [exact]),
        ],
    )


def _spelt(expression: str) -> str:
    return expression.replace(" * ", " · ").replace("<=", "≤").replace("-", "−")


def _quoted(name: str) -> str:
    return f'"{name}"' if "(" in name else name


def _formula(cell: Cell) -> Entry:
    mark = "" if cell.row.is_tautology else " †"
    return Entry(render(cell.row.formula, "unicode") + mark)


def _known(cell: Cell) -> str:
    found = cell.computed
    return str(found) if found.exact is not None else f"{found.decimal(8)} ({found.kind})"


def _heat(cell: Cell) -> Entry:
    text = rounded(cell.computed)
    title = _known(cell)
    if cell.disagrees:
        text, title = f"{text} ≠ {cell.printed:g}", f"{title}; printed {cell.printed:g}"
    return Entry(text, cell.disagrees, title, min(max(cell.computed.value, 0.0), 1.0))


def _numbers(cell: Cell) -> dict[str, object]:
    found = cell.computed
    return {
        "row": cell.row.name,
        "formula": str(cell.row.formula),
        "relaxation": cell.relaxation.name,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "exact": "" if found.exact is None else in_full(found.exact),
        "printed": cell.printed,
        "disagrees": cell.disagrees,
    }
