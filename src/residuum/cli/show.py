"""`residuum show`: a formula in all notations, its atoms, and whether it is a tautology."""

from __future__ import annotations

from residuum.cli.inputs import AsJson, FormulaText, read_formula
from residuum.cli.outputs import print_json, print_pairs
from residuum.logic import Verdict, atoms_of, is_tautology, render


def show(formula: FormulaText, as_json: AsJson = False) -> None:
    """Show a formula in ASCII, Unicode and LaTeX, its atoms, and whether it is a tautology.

    \b
    residuum show "P & Q -> P"
    residuum show --json "forall x in D: not Cat(x) or Animal(x)"
    echo "P -> Q" | residuum show -
    """
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


def _verdict_in_words(verdict: Verdict) -> str:
    if verdict.answer is None:
        return f"unknown: {verdict.reason}"
    if verdict.witness is None:
        return "yes"
    listed = ", ".join(f"{atom} {str(v).lower()}" for atom, v in verdict.witness.items())
    return f"no: false with {listed}" if listed else "no"
