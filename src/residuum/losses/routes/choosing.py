"""The chooser: it decides which route evaluates a rule, once per signature of shapes.

A route is a way to evaluate a rule. The routes are tried in a fixed order. Each returns a function
that evaluates a case, or says in words why it cannot. A route that meets values it cannot evaluate
hands the call over to the next. A new route needs one file and one line here;
`tests/losses/routes/test_routes_agree.py` compares it with the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import torch
from torch import Tensor

from residuum.losses.inputs.arguments import Inputs
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
    """A route that a rule can never take, whatever its inputs are."""

    hands_over_because: Final = "this route never hands over"

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    def prepare(self, _case: Case, _around: Surroundings) -> str:
        """Return the reason why the rule cannot take this route."""
        return self._why


def _cuda_graphs(definition: Definition, steps: StepsRoute) -> Route:
    if not has_gpu():
        return Refused("CUDA graphs", "there is no GPU")
    if not definition.replay:
        return Refused("CUDA graphs", "the rule was compiled with replay=False")
    if definition.aggregator is not None:
        return Refused("CUDA graphs", f"an aggregation over {definition.over[0].over} is not "
                       "recorded")  # fmt: skip
    if definition.plan.counts:
        return Refused("CUDA graphs", "the rule counts, and sorting is not recorded")
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
    """The decisions for a case: for each route a function that evaluates calls, or a refusal.

    A route decides when it is first needed, and only once.
    """

    def __init__(self, routes: Sequence[Route], case: Case, around: Surroundings) -> None:
        self._routes = routes
        self._case = case
        self._around = around
        self._decided: list[Evaluate | str] = []

    def decisions(self) -> Iterator[tuple[Route, Evaluate | str]]:
        """Yield each route with its decision, in order."""
        for number, route in enumerate(self._routes):
            if number == len(self._decided):
                self._decided.append(route.prepare(self._case, self._around))
            yield route, self._decided[number]


@final
class Chooser:
    """Evaluates the calls of a rule, each by the first route that can. Copies decide anew."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.routes = routes_of(definition)
        self.rules = definition.rules if definition.is_several else None
        self._choices: dict[tuple[Case, Surroundings], Choice] = {}
        self._receiver = Receiver(definition)
        # Computed here, so that torch.compile traces plain values.
        self._depths = [len(slot.domains) for slot in definition.plan.slots]
        self._number = torch_compile.register(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Chooser, (self.definition,)

    def choice(self, case: Case, around: Surroundings) -> Choice:
        """Return the decisions for a case, from the cache if it is there."""
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
        if torch.compiler.is_compiling():  # a trace must not depend on the cache of decisions
            return self._traced(call, case, around)
        for _, decided in self.choice(case, around).decisions():
            found = None if isinstance(decided, str) else decided(call)
            if found is not None:
                return found
        return None

    def _traced(self, call: Call, case: Case, around: Surroundings) -> Tensor | None:
        """Return the penalties in a torch.compile trace: as one operator, or by the last route.

        No operator is used in an exported program, which must not depend on this process, nor
        under torch.func, which cannot transform it, nor for evidence in strict R-logics, nor for
        comparisons of quantities.
        """
        decided = self.routes[-1].prepare(case, around)
        if isinstance(decided, str):
            return None
        if (
            not call.inputs
            or self.definition.plan.quantities  # an operator knows comparisons only
            or self.definition.plan.relation is not None  # nor guards about members
            or (case.is_observed and self.definition.jumps_at_false)  # unknown to an operator
            or torch.compiler._is_exporting_flag  # PyTorch 2.11 traces `is_exporting()` as True
            or torch._C._are_functorch_transforms_active()
        ):
            return decided(call)
        return torch_compile.penalties(call, self._depths, self._number, self.rules)

    def penalties_of(self, inputs: Sequence[Tensor], lengths: Tensor | None) -> Tensor:
        """Return the penalties of checked tensors without padding, outside of a trace."""
        given = dict(zip(self.definition.names, inputs, strict=True))
        asked = Inputs(given, lengths)
        found = self.evaluate(self._receiver.receive(asked, check=False, is_complete=True))
        assert found is not None  # the last route takes any call that a trace hands over
        return found

    def explain(self, case: Case, call: Call | None) -> list[str]:
        """Return which route evaluates a case, and why the routes before it do not.

        Without a call, only shapes decide; with one, its values decide as well.
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
