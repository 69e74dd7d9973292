"""`residuum tautologies`: the table of the paper, computed exactly, beside the printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from residuum.analysis import Cell, catalogue, tautology_table
from residuum.analysis.results import in_full
from residuum.cli.consistency import consistency_in_words
from residuum.cli.inputs import AsJson, MaybePictureFile, NoCache, RelaxationNames, read_relaxations
from residuum.cli.outputs import print_json, print_table, say
from residuum.cli.progress import with_progress
from residuum.relaxations import Relaxation
from residuum.reports import check_picture, draw_tautologies, save_picture


def tautologies(
    relaxation: RelaxationNames = None,
    output: MaybePictureFile = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Print the consistency of each tautology of the paper's full table.

    Figures that differ from the printed ones beyond rounding are marked ≠ and listed below.

    With --output the table is also drawn, as a heat map.

    \b
    residuum tautologies
    residuum tautologies -o table.png
    residuum tautologies -r "r-yager(2)" --json
    """
    chosen = read_relaxations(relaxation)
    if output:
        check_picture(output)
    table = tautology_table(chosen, cache=not no_cache)
    rows: list[list[Cell]] = []
    try:
        for cells in with_progress(table, len(catalogue()), "integrating"):
            rows.append(cells)  # noqa: PERF402  # after an interrupt the rows so far are printed
    except KeyboardInterrupt:
        _print_rows(chosen, rows, as_json)
        done = f"{len(rows)} of {len(catalogue())} rows"
        say(f"the table is incomplete: interrupted after {done}", err=as_json)
        raise
    if output:
        save_picture(draw_tautologies(rows), output)
    _print_rows(chosen, rows, as_json)
    if output and not as_json:
        say(f"{output}: the table as a heat map")


def _print_rows(chosen: Sequence[Relaxation], rows: Sequence[list[Cell]], as_json: bool) -> None:
    if as_json:
        print_json([_cell_object(cell) for cells in rows for cell in cells])
        return
    print_table(
        ("row", "formula", *(one.name for one in chosen)),
        ([cells[0].row.name, str(cells[0].row.formula), *map(_cell_text, cells)] for cells in rows),
    )
    wrong = [cell for cells in rows for cell in cells if cell.disagrees]
    say(f"{len(wrong)} figures differ from the printed ones beyond rounding:")
    for cell in wrong:
        name = f"{cell.row.name}, {cell.relaxation}"
        say(f"  {name:<16} {consistency_in_words(cell.computed, 6)}, printed {cell.printed:g}")
    for cells in rows:
        if not cells[0].row.is_tautology:
            say(f"{cells[0].row.name} as printed is not a tautology: {cells[0].row.formula}")


def _cell_text(cell: Cell) -> str:
    result = cell.computed
    value = f"≈{result.value:.4f}" if result.exact is None else str(result.exact)
    if len(value) > 9:
        value = f"{result.value:.6f}"
    return f"{value} ≠" if cell.disagrees else value


def _cell_object(cell: Cell) -> dict[str, Any]:
    result = cell.computed
    return {
        "row": cell.row.name,
        "section": cell.row.section,
        "formula": str(cell.row.formula),
        "is_tautology": cell.row.is_tautology,
        "relaxation": cell.relaxation.name,
        "value": result.value,
        "kind": result.kind,
        "exact": None if result.exact is None else in_full(result.exact),
        "low": result.low,
        "high": result.high,
        "printed": cell.printed,
        "disagrees": cell.disagrees,
    }
