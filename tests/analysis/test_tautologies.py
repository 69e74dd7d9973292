"""The paper's table, recomputed."""

import pytest

from residuum.analysis import catalogue, tautology_table
from residuum.relaxations import PAPER, relaxation

TABLE = list(tautology_table([relaxation(name) for name in PAPER]))


def test_all_rows_of_the_printed_table_are_there():
    assert len(catalogue()) == 22
    assert all(set(row.printed) == set(PAPER) for row in catalogue())


def test_the_one_row_that_is_no_tautology_is_caught():
    assert [row.name for row in catalogue() if not row.is_tautology] == ["DM2"]


def test_every_cell_but_those_of_r_product_is_exact():
    for cells in TABLE:
        for cell in cells:
            assert cell.computed.kind == "exact" or cell.relaxation.name == "r-product"


def test_the_disagreements_with_the_printed_figures():
    wrong = {(c.row.name, c.relaxation.name) for cells in TABLE for c in cells if c.disagrees}
    not_a_tautology = {("DM2", name) for name in PAPER}
    assert wrong == {("A3", "r-product"), ("DI2", "r-product")} | not_a_tautology


@pytest.mark.parametrize("cells", TABLE, ids=lambda cells: cells[0].row.name)
def test_r_logics_prove_what_is_exactly_one(cells):
    for cell in cells:
        if cell.computed.exact == 1:
            assert cell.printed == 1 or cell.row.name == "DM2"
