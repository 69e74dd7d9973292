"""What the benchmark of circuits measures: circuits in files, and rules that are compiled.

The files and the clauses of ROAD-R are in the folder that the environment variable RESIDUUM_DATA
names; without it they are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path

from residuum.circuits.propositions import Propositions

Clause = tuple[int, ...]
"""Literals as in DIMACS: v says that variable v holds, −v that it does not; v counts from 1."""

CHUNKS = 11
"""The kinds of chunks of the BIO rule; each has two tags, and there is one more tag."""


@dataclass(frozen=True)
class Rule:
    """A rule over variables with `sizes[i]` values each, of which `models` joint states obey it.

    Two values are one sigmoid, more are a softmax. PySDD is given the same rule as a count (how
    many variables, and how many of them may hold) or as clauses, where that is natural.
    """

    name: str
    sizes: tuple[int, ...]
    models: int
    state: Callable[[Propositions], int]
    count: tuple[int, range] | None = None
    clauses: tuple[Clause, ...] = ()


def folder() -> Path | None:
    """Return the folder of the files, or None if there is none."""
    named = os.environ.get("RESIDUUM_DATA")
    found = Path(named) / "benchmarks" / "requirements" if named else None
    return found if found and found.is_dir() else None


FILES = {"road_r": 4_985_868, "sudoku_4": 288, "4-grid": None, "seq_fun": None}
"""The circuits in files, and how many models they have, where that is known from elsewhere.

One clause of ROAD-R does not follow from its circuit: the clauses have 134 models less.
"""


def rules() -> dict[str, Rule]:
    """Return all rules whose files are there, by name."""
    found = [
        *(_count(f"exactly one of {number}", number, range(1, 2), number)
          for number in (10, 20, 41, 100)),
        _count("at most 2 of 40", 40, range(3), 821),
        _count("at most 3 of 40", 40, range(4), 10_701),
        *_road_r(),
        Rule("Sudoku 4×4, 16 softmaxes", (4,) * 16, 288, partial(_different, units=_units(True))),
        _clauses("Sudoku 4×4, clauses over 64 sigmoids", 64, 288, _sudoku_clauses()),
        Rule("Latin square 4×4, 16 softmaxes", (4,) * 16, 576,
             partial(_different, units=_units(False))),
        Rule("sum of two two-digit numbers", (10,) * 4 + (199,), 10_000, _sum),
        Rule("BIO transitions, 50 × 23", (2 * CHUNKS + 1,) * 50, _bio_models(50), _bio),
    ]  # fmt: skip
    return {rule.name: rule for rule in found}


def _count(name: str, number: int, allowed: range, models: int) -> Rule:
    def state(of: Propositions) -> int:
        bits = sum(1 << each for each in allowed)
        return of.count_of(bits, [of.literal(one, 0b10) for one in range(number)])

    return Rule(name, (2,) * number, models, state, count=(number, allowed))


def _clauses(name: str, number: int, models: int, clauses: tuple[Clause, ...]) -> Rule:
    def state(of: Propositions) -> int:
        return of.all_of(
            of.any_of(of.literal(abs(one) - 1, 0b10 if one > 0 else 0b01) for one in clause)
            for clause in clauses
        )

    return Rule(name, (2,) * number, models, state, clauses=clauses)


def _road_r() -> Iterator[Rule]:
    where = folder()
    if where:
        lines = (where / "road_r_clauses.txt").read_text(encoding="utf-8").splitlines()
        clauses = tuple(
            tuple((-1 if negated else 1) * (int(number) + 1) for negated, number in literals)
            for line in lines
            if (literals := re.findall(r"(not )?y_(\d+)", line))
        )
        yield _clauses("243 clauses of ROAD-R", 41, 4_985_734, clauses)


def _units(with_blocks: bool) -> tuple[tuple[int, ...], ...]:
    """Return the sets of cells, of a square of 4 × 4, that have different values."""
    lines = [tuple(4 * row + column for column in range(4)) for row in range(4)]
    lines += [tuple(4 * row + column for row in range(4)) for column in range(4)]
    if with_blocks:
        corners = product((0, 2), repeat=2)
        lines += [(c := 4 * row + column, c + 1, c + 4, c + 5) for row, column in corners]
    return tuple(lines)


def _different(of: Propositions, units: tuple[tuple[int, ...], ...]) -> int:
    pairs = {pair for unit in units for pair in combinations(sorted(unit), 2)}
    return of.all_of(
        of.any_of([of.literal(cell, 0b1111 & ~(1 << value)) for cell in pair])
        for pair in sorted(pairs)
        for value in range(4)
    )


def _sudoku_clauses() -> tuple[Clause, ...]:
    """Return the rule over one sigmoid for each cell c and value v: variable 4c + v + 1."""
    found = {tuple(4 * cell + value + 1 for value in range(4)) for cell in range(16)}
    cells = [tuple(4 * cell + value + 1 for value in range(4)) for cell in range(16)]
    units = [tuple(4 * cell + value + 1 for cell in unit)
             for unit in _units(True) for value in range(4)]  # fmt: skip
    for group in (*cells, *units):
        found |= {(-one, -other) for one, other in combinations(sorted(group), 2)}
    return tuple(sorted(found))


def _sum(of: Propositions) -> int:
    return of.any_of(
        of.all_of(of.literal(place, 1 << value) for place, value in enumerate((*digits, total)))
        for digits in product(range(10), repeat=4)
        for total in [10 * digits[0] + digits[1] + 10 * digits[2] + digits[3]]
    )


def _allowed(tag: int) -> set[int]:
    """Return the tags that may follow a tag: 0 is outside; kinds begin from 1 and go on from 12."""
    begin = set(range(CHUNKS + 1))
    return begin if tag == 0 else begin | {tag if tag > CHUNKS else tag + CHUNKS}


def _bio(of: Propositions) -> int:
    every = of.every[0]
    follows = [sum(1 << tag for tag in _allowed(before)) for before in range(2 * CHUNKS + 1)]
    steps = [
        of.any_of([of.literal(place, every & ~(1 << tag)), of.literal(place + 1, follows[tag])])
        for place in range(len(of.sizes) - 1)
        for tag in range(2 * CHUNKS + 1)
    ]
    return of.all_of([of.literal(0, follows[0]), *steps])


def _bio_models(length: int) -> int:
    ways = dict.fromkeys(_allowed(0), 1)
    for _ in range(length - 1):
        later = dict.fromkeys(range(2 * CHUNKS + 1), 0)
        for before, number in ways.items():
            for tag in _allowed(before):
                later[tag] += number
        ways = later
    return sum(ways.values())
