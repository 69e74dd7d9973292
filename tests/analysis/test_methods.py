"""The declared scopes of exact methods leave out nothing that the methods can do."""

import random
import subprocess
import sys

import pytest

from integration_oracles import P, Q, random_formula
from residuum.analysis import METHODS, consistency
from residuum.analysis.consistency import LADDER, _equal_forms
from residuum.analysis.methods import NotThisWay
from residuum.errors import EvaluationError
from residuum.logic import Not, Truth, atoms_of
from residuum.relaxations import relaxation

LOGICS = [
    "s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "s-nilpotent-minimum",
    "r-nilpotent-minimum", "s-drastic", "r-hamacher(0)", "s-sugeno-weber(2)", "s-yager(2)",
]  # fmt: skip


def by_trying_all(formula, chosen):
    """Return the first method that succeeds, whatever the scopes say, and its value."""
    forms = _equal_forms(formula, chosen, None)
    if isinstance(forms[0], Truth):
        return "laws", forms[0].value
    for method in LADDER:
        for form in forms if method.needs_modules else forms[:1]:
            try:
                return method.name, method.mean(form, atoms_of(form), chosen)
            except NotThisWay:
                pass
    return None


@pytest.mark.parametrize("name", LOGICS)
def test_the_ladder_finds_what_trying_all_methods_finds(name):
    chosen, rng = relaxation(name), random.Random(name)
    formulas = [P, Not(P), *(random_formula(rng, (P, Q), rng.randint(1, 4)) for _ in range(25))]
    for formula in formulas:
        expected = by_trying_all(formula, chosen)
        if expected is not None:
            found = consistency(formula, chosen)
            assert (found.method, found.exact) == expected


def test_a_method_that_is_asked_for_is_tried_outside_its_scope_too():
    # ~P is linear in every logic; without being asked for, `simplices` is not tried here.
    asked_for = consistency("~P", "r-product", method="simplices")
    found = consistency("~P", "r-product")
    assert (asked_for.method, found.method) == ("simplices", "polynomial")
    assert asked_for.exact == found.exact


def test_only_methods_that_are_meant_for_a_formula_are_named_in_its_note():
    note = consistency("(P -> (Q <-> R)) -> (Q -> R & P)", "r-product", seconds=0).note
    assert [reason.split(":")[0] for reason in note.split("; ")] == ["boxes"]
    assert (*(method.name for method in LADDER), "boxes", "sobol") == METHODS


def test_a_method_that_is_asked_for_outside_of_what_it_can_do_says_why():
    for method, formula, why in (
        ("moments", "P", "it is not the S-logic of the product"),
        ("three-valued", "P", "it is not the S-logic of the minimum"),
        ("orderings", "P", "its truth functions do more than compare degrees"),
        ("antiderivative", "P & Q & R", "it has more than 2 atoms"),
        ("simplices", "A & B & C & D & E & F & G", "it has more than 6 atoms"),
    ):
        with pytest.raises(EvaluationError, match=f"{method}: {why}"):
            consistency(formula, "r-product", method=method)


def test_exact_methods_load_when_they_are_tried():
    program = """
import sys
import residuum as rs
assert rs.consistency("P -> P & P", "r-product", cache=False).method == "antiderivative"
rooms = [name for name in sys.modules if name.startswith("residuum.analysis.exact.")]
assert not rooms, rooms
"""
    subprocess.run([sys.executable, "-c", program], check=True)
