"""What the page is told of a formula: compared with brute force and with the library."""

import itertools

import numpy as np
import pytest

import residuum as rs
from residuum.analysis import catalogue
from residuum.errors import ResiduumError
from residuum.explorer.consistencies import measure_consistency
from residuum.explorer.degrees import measure_degrees
from residuum.explorer.formulas import read_formula
from residuum.explorer.limits import MOST_ATOMS
from residuum.explorer.relaxations import list_relaxations
from residuum.explorer.surfaces import ARROWS, POINTS, draw_surfaces

NAMES = ["s-product", "r-product", "s-godel", "lukasiewicz", "r-yager(2)", "s-drastic"]


def degrees_of(text, degrees, names=NAMES, shown="s-product"):
    given = {"text": text, "degrees": degrees, "relaxations": names, "shown": shown}
    return measure_degrees(given)


def test_a_mistake_has_its_place_and_its_caret():
    problem = read_formula({"text": "P &\n (Q -> -> R)"})["problem"]
    assert (problem["line"], problem["column"]) == (2, 8)
    *_, excerpt, caret = problem["shown"].split("\n")
    assert excerpt[caret.index("^")] == "-"
    assert problem["message"] in problem["shown"]


@pytest.mark.parametrize("text", ["P -> Q", "P & (P -> Q) -> Q", "P | ~P", "P <-> Q & R", "true"])
def test_tautologies_are_those_of_the_truth_table(text):
    found = read_formula({"text": text})
    names = found["atoms"]
    rows = [
        rs.evaluate(text, dict(zip(names, row, strict=True)))
        for row in itertools.product([False, True], repeat=len(names))
    ]
    assert found["tautology"] == all(rows)
    if found["tautology"]:
        assert found["countermodel"] is None
    else:
        assert rs.evaluate(text, dict(zip(names, found["countermodel"], strict=True))) is False


def test_the_tree_shows_every_occurrence():
    tree = read_formula({"text": "P & ~Q & P -> at least 2 of (P, Q, R)"})["tree"]
    labels = ["→", "∧", "P", "¬", "Q", "P", "at least 2", "P", "Q", "R"]
    assert [node["label"] for node in tree] == labels
    assert [node["parent"] for node in tree] == [-1, 0, 1, 1, 3, 1, 0, 6, 6, 6]


def test_what_has_no_degrees_is_shown_and_told():
    for text in ("forall x in D: P(x)", "Age >= 18 -> Adult"):
        found = read_formula({"text": text})
        assert found["tree"]
        assert found["no_degrees"].startswith("expected a formula")
    many = " & ".join(f"P{number}" for number in range(MOST_ATOMS + 1))
    assert "atoms" in read_formula({"text": many})["no_degrees"]
    with pytest.raises(ResiduumError, match="at most"):
        degrees_of(many, [0.5] * (MOST_ATOMS + 1))


def test_rows_of_the_table_resemble_themselves_under_other_names():
    for row in catalogue():
        renamed = {atom: rs.Atom(f"X{n}") for n, atom in enumerate(rs.atoms_of(row.formula))}
        text = str(rs.substitute(row.formula, renamed))
        first, *others = read_formula({"text": text})["resembling"]
        same = {first["name"], *(one["name"] for one in others if one["same"])}
        assert row.name in same
        assert first["alike"] == 1
        assert [one["alike"] for one in others] == sorted(
            (one["alike"] for one in others), reverse=True
        ) or any(one["same"] for one in others)


def test_a_formula_unlike_all_others_resembles_none():
    assert read_formula({"text": "exactly 2 of (P, Q, R)"})["resembling"] == []


def test_degrees_and_gradients_are_those_of_finite_differences():
    text, point, step = "(P -> Q) & (Q | ~R) -> (P <-> R)", [0.63, 0.27, 0.81], 1e-7
    found = degrees_of(text, point)
    for row in found["rows"]:
        known = dict(zip("PQR", point, strict=True))
        assert row["degree"] == pytest.approx(rs.truth(text, known, row["relaxation"]))
        if row["relaxation"] == "s-drastic":
            continue  # its degree jumps
        for atom, derivative in zip("PQR", row["gradient"], strict=True):
            sides = [
                rs.truth(text, known | {atom: known[atom] + side * step}, row["relaxation"])
                for side in (1, -1)
            ]
            assert derivative == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-5)


def test_every_node_has_the_degree_of_the_formula_below_it():
    found = degrees_of("P & (P -> Q) -> Q", [0.9, 0.4], shown="r-product")
    below = ["P & (P -> Q) -> Q", "P & (P -> Q)", "P", "P -> Q", "P", "Q", "Q"]
    expected = [rs.truth(text, {a: {"P": 0.9, "Q": 0.4}[a] for a in "PQ" if a in text}, "r-product")
                for text in below]  # fmt: skip
    assert found["nodes"] == pytest.approx(expected)


def test_a_jump_is_not_crossed_by_rounding():
    (row,) = degrees_of("P & Q", [0.1, 0.9], ["s-nilpotent-minimum"])["rows"]
    assert row["degree"] == 0  # 1 - 0.9 is a little less than 0.1 in floating point


def test_a_parameter_out_of_range_spoils_its_own_row_only():
    bad, good = degrees_of("P -> Q", [1, 0.5], ["r-yager(-1)", "r-yager(2)"])["rows"]
    assert "p > 0" in bad["problem"]
    assert good["degree"] == pytest.approx(0.5)


@pytest.mark.parametrize("degrees", [[0.5], [0.5, 1.5], [0.5, "x"], [0.5, True], "ab", [0.5] * 99])
def test_degrees_that_are_none_are_refused(degrees):
    with pytest.raises(ResiduumError, match=r"degrees?: expected"):
        degrees_of("P -> Q", degrees)


def test_surfaces_are_the_degrees_on_a_grid_with_other_atoms_held():
    given = {"text": "R & P -> Q", "degrees": [0.7, 0.1, 0.2], "relaxations": ["r-godel", "x"]}
    found = draw_surfaces(given | {"x": 2, "y": 1})
    surface, unknown = found["surfaces"]
    assert "no relaxation is called" in unknown["problem"]
    grid = np.linspace(0, 1, POINTS)
    for j, i in [(0, 0), (3, 30), (20, 7), (32, 32)]:
        known = {"R": 0.7, "P": grid[j], "Q": grid[i]}
        expected = rs.truth("R & P -> Q", known, "r-godel")
        assert surface["degrees"][j * POINTS + i] == pytest.approx(expected, abs=1e-5)
    by_q, by_p = surface["gradient"]
    assert len(by_q) == len(by_p) == ARROWS**2
    # Where min(0.7, P) > Q the degree is Q, and elsewhere it is 1.
    middles = (np.arange(ARROWS) + 0.5) / ARROWS
    expected = [float(min(0.7, p) > q) for p in middles for q in middles]
    assert by_q == expected
    assert set(by_p) == {0.0}


def test_a_single_atom_has_a_surface_and_none_has_not():
    found = draw_surfaces({"text": "~P", "degrees": [0.5], "relaxations": NAMES, "x": 0, "y": 0})
    for surface in found["surfaces"]:
        assert surface["degrees"][:POINTS] == pytest.approx(1 - np.linspace(0, 1, POINTS), abs=1e-5)
        assert set(surface["gradient"][0]) == {-1.0}
        assert set(surface["gradient"][1]) == {0.0}
    with pytest.raises(ResiduumError, match="an atom or more"):
        draw_surfaces({"text": "true", "degrees": [], "relaxations": [], "x": 0, "y": 0})


def test_consistencies_come_one_by_one_with_how_they_are_known():
    given = {"text": "P -> (Q -> P)", "relaxations": ["s-godel", "no-such"], "seconds": 5}
    first, second, problem = measure_consistency(given)
    assert (first["kind"], first["found"]["exact"]) == ("consistency", "19/24")
    assert (second["kind"], second["found"]["kind"]) == ("self", "exact")
    assert first["found"]["method"]
    assert "no-such" in problem["problem"]


def test_the_page_offers_all_relaxations():
    found = list_relaxations({})
    assert [one["name"] for one in found["relaxations"]] == list(rs.relaxation_names())
    yager = next(one for one in found["relaxations"] if one["name"] == "r-yager(2)")
    assert yager["parameter"] == {"symbol": "p", "range": "p > 0 or inf", "above": 0, "example": 2}
