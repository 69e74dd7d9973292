"""`residuum show`: a formula in all notations, its atoms, and whether it is a tautology.

Also the rules of a file, each as a formula.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from residuum.cli.inputs import AsJson, read_formula
from residuum.cli.outputs import print_json, print_pairs, say
from residuum.logic import Verdict, atoms_of, is_tautology, render
from residuum.syntax import Knowledge, load
from residuum.syntax.loading import ENDINGS


def show(
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA|FILE",
            help="A formula, such as 'P & Q -> R'; '-' reads standard input. Or a file of rules "
            "or clauses, such as rules.rsd or rules.cnf.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show a formula in ASCII, Unicode and LaTeX, its atoms, and whether it is a tautology.

    Of a file of rules or clauses it shows all rules.

    \b
    residuum show "P & Q -> P"
    residuum show --json "forall x in D: not Cat(x) or Animal(x)"
    echo "P -> Q" | residuum show -
    residuum show rules.cnf
    """
    if _is_file(formula):
        _show_knowledge(load(formula), as_json)
        return
    read = read_formula(formula)
    verdict = is_tautology(read)
    written = {style: render(read, style) for style in ("ascii", "unicode", "latex")}
    atoms = [str(atom) for atom in atoms_of(read)]
    witness = verdict.witness
    countermodel = None if witness is None else {str(atom): v for atom, v in witness.items()}
    if as_json:
        unknown = {"reason": verdict.reason} if verdict.answer is None else {}
        answer = {"tautology": verdict.answer, "countermodel": countermodel, **unknown}
        print_json({**written, "atoms": atoms, **answer})
        return
    print_pairs(
        [*written.items(), ("atoms", ", ".join(atoms)), ("tautology", _verdict_in_words(verdict))]
    )


def _is_file(text: str) -> bool:
    """Return whether an argument names a file. No formula has an ending: `.` is no connective."""
    try:
        ending = Path(text).suffix
        return ending.lower() in ENDINGS or (bool(ending) and Path(text).is_file())
    except (OSError, ValueError):  # a formula may be no path at all
        return False


def _show_knowledge(knowledge: Knowledge, as_json: bool) -> None:
    rules = {name: str(rule.formula) for name, rule in knowledge.rules.items()}
    if as_json:
        print_json({"predicates": [*knowledge.predicates], "rules": rules})
    elif rules:
        print_pairs(rules.items())
    else:
        say("no rules")


def _verdict_in_words(verdict: Verdict) -> str:
    if verdict.answer is None:
        return f"unknown: {verdict.reason}"
    if verdict.witness is None:
        return "yes"
    listed = ", ".join(f"{atom} {str(v).lower()}" for atom, v in verdict.witness.items())
    return f"no: false with {listed}" if listed else "no"
