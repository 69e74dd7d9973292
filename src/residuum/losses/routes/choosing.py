"""The chooser: which route evaluates a rule, decided once for each signature and remembered.

A route is a way to evaluate a rule. The routes are tried in a fixed order. Each says how it would
evaluate a case, or why it cannot, in words. One that meets values it cannot take hands over to the
next. A new route is one file and one line here; `tests/losses/routes/test_routes_agree.py` holds
it to the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import torch
from torch import Tensor

from residuum.losses.inputs.calls import Call, Case, Receiver
from residuum.losses.routes import torch_compile
from residuum.losses.routes.blocks import BlocksRoute
from residuum.losses.routes.clauses import ClausesRoute
from residuum.losses.routes.definition import Definition, make_room
from residuum.losses.routes.route import ORDINARY, Evaluate, Route, Surroundings, surroundings_of
from residuum.losses.routes.steps import StepsRoute
from residuum.losses.routes.tables import TablesRoute


def routes_of(definition: Definition) -> list[Route]:
    """Return the routes of a rule, in the order in which they are tried."""
    if definition.is_exact:
        from residuum.losses.routes.exact import ExactRoute

        return [ExactRoute(definition)]
    steps = StepsRoute(definition)
    by_hand = [_tables(definition), _minima(definition), _clauses(definition)]
    return [
        _cuda_graphs(definition, steps),
        *by_hand,
        BlocksRoute(definition, [*by_hand, steps]),
        steps,
    ]


@final
class Refused:
    """A route that a rule can never take, whatever it is given."""

    hands_over_because: Final = "it never does"

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    def prepare(self, _case: Case, _around: Surroundings) -> str:
        """Return why not."""
        return self._why


def _cuda_graphs(definition: Definition, steps: StepsRoute) -> Route:
    if not has_gpu():
        return Refused("CUDA graphs", "there is no GPU")
    if not definition.replay:
        return Refused("CUDA graphs", "the rule was compiled with replay=False")
    from residuum.losses.routes.cuda_graphs import CudaGraphsRoute

    return CudaGraphsRoute(definition, steps)


def has_gpu() -> bool:
    """Return whether PyTorch can use a GPU."""
    return torch.cuda.is_available()


def _tables(definition: Definition) -> Route:
    why_not = definition.why_no_clauses
    if definition.is_several:
        why_not = "several rules are no single table"
    elif definition.compares:
        why_not = "groundings are compared, not added up"
    return TablesRoute(definition) if why_not is None else Refused("tables", why_not)


def _minima(definition: Definition) -> Route:
    why_not = definition.why_no_clauses
    if why_not is None and not definition.compares:
        why_not = "groundings are added up, not compared"
    if why_not is not None:
        return Refused("minima", why_not)
    from residuum.losses.routes.minima import MinimaRoute

    return MinimaRoute(definition)


def _clauses(definition: Definition) -> Route:
    why_not = definition.why_no_clauses
    if why_not is None and definition.compares:
        why_not = "groundings are compared, not added up"
    return ClausesRoute(definition) if why_not is None else Refused("clauses", why_not)


@final
class Choice:
    """What was decided for a case: of each route how it evaluates calls, or why it cannot.

    Routes are asked only as far as they are needed, and once.
    """

    def __init__(self, routes: Sequence[Route], case: Case, around: Surroundings) -> None:
        self._routes = routes
        self._case = case
        self._around = around
        self._decided: list[Evaluate | str] = []

    def decisions(self) -> Iterator[tuple[Route, Evaluate | str]]:
        """Yield each route with what was decided, in order."""
        for number, route in enumerate(self._routes):
            if number == len(self._decided):
                self._decided.append(route.prepare(self._case, self._around))
            yield route, self._decided[number]


@final
class Chooser:
    """Evaluates the calls of a rule, each by the first route that can. Copies choose anew."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self.routes = routes_of(definition)
        self.rules = definition.rules if definition.is_several else None
        self._choices: dict[tuple[Case, Surroundings], Choice] = {}
        self._receiver = Receiver(definition)
        # For traces, which are to find plain values.
        self._depths = [len(slot.domains) for slot in definition.plan.slots]
        self._number = torch_compile.enrol(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Chooser, (self._definition,)

    def choice(self, case: Case, around: Surroundings) -> Choice:
        """Return the routes for a case, those of the last time if there was one."""
        key = case, around
        found = self._choices.get(key)
        if found is None:
            make_room(self._choices)
            found = self._choices[key] = Choice(self.routes, case, around)
        return found

    def evaluate(self, call: Call) -> Tensor | None:
        """Return the penalties of a call; None if several rules must be evaluated one by one."""
        case = call.case
        assert case is not None
        around = surroundings_of(call.inputs)
        if torch.compiler.is_compiling():  # of which a trace must not take notice
            return self._traced(call, case, around)
        for _, decided in self.choice(case, around).decisions():
            found = None if isinstance(decided, str) else decided(call)
            if found is not None:
                return found
        return None

    def _traced(self, call: Call, case: Case, around: Surroundings) -> Tensor | None:
        """Return the same in a trace: as one operator, or else by the last route.

        An exported program must not depend on this process, nor can an operator be transformed.
        """
        decided = self.routes[-1].prepare(case, around)
        if isinstance(decided, str):
            return None
        if (
            self._definition.is_exact
            or not call.inputs
            or torch.compiler.is_exporting()
            or torch._C._are_functorch_transforms_active()
        ):
            return decided(call)
        return torch_compile.penalties(call, self._depths, self._number, self.rules)

    def at_once(self, inputs: Sequence[Tensor], lengths: Tensor | None) -> Tensor:
        """Return the penalties of tensors that are checked and have no padding."""
        given = dict(zip(self._definition.names, inputs, strict=True))
        found = self.evaluate(self._receiver.receive(given, lengths, check=False))
        assert found is not None  # the last route takes any call that a trace hands over
        return found

    def explain(self, case: Case, call: Call | None) -> list[str]:
        """Return which route evaluates a case, and why those before it do not.

        With a call its values are looked at as well.
        """
        around = ORDINARY if call is None else surroundings_of(call.inputs)
        lines = []
        for route, decided in self.choice(case, around).decisions():
            if isinstance(decided, str):
                lines.append(f"not by {route.name}: {decided}")
                continue
            with torch.no_grad():
                takes_over = call is None or decided(call) is not None
            if takes_over:
                return [*lines, f"evaluated by {route.name}"]
            lines.append(f"not by {route.name}: {route.hands_over_because}")
        return lines
