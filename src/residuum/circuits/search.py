"""States found by search: the most probable one that obeys a formula, without a circuit.

A formula whose circuit would be too large becomes clauses (`cnf.py`), and a MaxSAT solver finds
the state that loses the least probability. The search is exact, but each example takes its own
search. The solver adds whole numbers, so log-probabilities are rounded to `RESOLUTION`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
from typing import Any, Final, TypeVar, final

import torch
from torch import Tensor

from residuum.circuits.cnf import Clauses
from residuum.circuits.propositions import Propositions
from residuum.circuits.waiting import saying_after_a_second
from residuum.errors import CircuitError

T = TypeVar("T")

RESOLUTION: Final = 1e-6
"""The unit, in nats, to which the log-probability of each value is rounded."""

MOST_SECONDS: Final = 60.0
"""The seconds after which the search for one example is given up."""

_HEARTBEAT: Final = 0.1  # seconds between two looks at the clock and at Ctrl-C


@final
class Searcher:
    """Chooses states as a `Selector` does. Weights are logarithms, examples × values.

    The weight −inf excludes a value.
    """

    def __init__(self, propositions: Propositions, root: int) -> None:
        self._stated: Final = Clauses(propositions, root)

    @cached_property
    def constant(self) -> bool | None:
        """False if no state obeys the formula, else None."""
        values = sum(map(len, self._stated.indicators))
        return None if self.is_possible(torch.zeros(1, values, dtype=torch.bool)) else False

    def is_possible(self, excluded: Tensor) -> Tensor:
        """Return for each example whether some state obeys the rule without excluded values."""
        from pysat.solvers import Solver  # imported here, because few rules need it

        values = [literal for own in self._stated.indicators for literal in own]
        found = []
        with Solver(name="glucose3", bootstrap_with=self._stated.clauses) as solver:
            for row in excluded.tolist():
                without = [-one for one, is_out in zip(values, row, strict=True) if is_out]
                found.append(_interruptible(solver, solver.solve_limited, without))
        return torch.tensor(found, dtype=torch.bool, device=excluded.device)

    def most_probable(self, weights: Tensor) -> Tensor:
        """Return the most probable state that obeys the rule: examples × variables.

        Of equally probable states it is always the same one. If `is_possible` says no, the state
        does not obey the rule.
        """
        with saying_after_a_second("searching for predictions that obey a rule"):
            found = [self._search(row) for row in weights.double().tolist()]
        shape = weights.shape[0], len(self._stated.indicators)
        return torch.tensor(found, dtype=torch.int64, device=weights.device).reshape(shape)

    def _search(self, weights: Sequence[float]) -> list[int]:
        """Return the most probable state of one example; zeros if there is none."""
        from pysat.examples.rc2 import RC2Stratified  # imported here, because few rules need it

        with RC2Stratified(self._problem(weights), blo="full", minz=True) as solver:
            model = _interruptible(solver, solver.compute)
        if model is None:
            return [0] * len(self._stated.indicators)
        true = set(model)
        return [  # a variable that no clause mentions is not in the model, and may have any value
            next((value for value, literal in enumerate(own) if literal in true), 0)
            for own in self._stated.indicators
        ]

    def _problem(self, weights: Sequence[float]) -> Any:
        """Return the clauses, and what the values of each variable cost.

        The values of a variable are ordered by their costs. For each place in this order a literal
        says that the value is there or further on, and costs the difference to the place before.
        So one literal alone tells the solver that the best value is impossible.
        """
        from pysat.formula import WCNF

        problem = WCNF()
        problem.hard, problem.nv = list(self._stated.clauses), self._stated.count
        problem.append([self._stated.true], weight=1)  # the solver wants at least one cost
        start = 0
        for literals in self._stated.indicators:
            own = weights[start : start + len(literals)]
            start += len(literals)
            best = max(own)
            pairs = list(zip(own, literals, strict=True))
            problem.extend([[-one] for weight, one in pairs if weight == -math.inf])
            ranked = sorted(
                (round((best - weight) / RESOLUTION), one)
                for weight, one in pairs
                if weight > -math.inf
            )
            _add_costs(problem, ranked)
        return problem


def _add_costs(problem: Any, ranked: Sequence[tuple[int, int]]) -> None:
    """Add what the values of a variable cost: each cost and its literal, the smallest first."""
    further = None
    for place in range(len(ranked) - 1, 0, -1):
        cost, literal = ranked[place]
        if further is None:
            further = literal
        else:
            before, further = further, problem.nv + 1
            problem.extend([[further, -before], [further, -literal]])
        more = cost - ranked[place - 1][0]
        if more:
            problem.append([-further], weight=more)


def _interruptible(solver: Any, work: Callable[..., T], *arguments: object) -> T:
    """Return the answer of a solver; raise CircuitError if it takes longer than MOST_SECONDS.

    The solver works in a thread of its own, because Python does not look at Ctrl-C before a call
    of the solver returns.
    """
    deadline = time.monotonic() + MOST_SECONDS
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(work, *arguments, expect_interrupt=True)
        try:
            while not answer.done() and time.monotonic() < deadline:
                wait([answer], _HEARTBEAT)
            if answer.done():
                return answer.result()
        finally:
            while not answer.done():  # one interrupt may come between two calls, and be lost
                solver.interrupt()
                wait([answer], _HEARTBEAT)
    raise CircuitError(
        f"expected a search of at most {MOST_SECONDS:g} seconds for a prediction that obeys the "
        "rule, and found none in that time; pass what is known as `observed`, make the domains of "
        "the rule smaller, or split it into several rules"
    )
