"""The chooser: it decides which route evaluates a rule, once per signature of shapes.

A route is a way to evaluate a rule. The routes are tried in a fixed order. Each returns a function
that evaluates a case, or says in words why it cannot. A route that meets values it cannot evaluate
hands the call over to the next. A new route needs one file, one line here and one in `__init__.py`.
`tests/losses/routes/test_routes_agree.py` compares it with the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor
from torch.autograd import forward_ad

from residuum.losses import routes
from residuum.losses.degrees.tensors import is_traced, is_transformed
from residuum.losses.inputs.arguments import Inputs
from residuum.losses.inputs.calls import Call, Case, Receiver
from residuum.losses.routes.definition import Definition, make_room
from residuum.losses.routes.route import ORDINARY, Evaluate, Route, Surroundings
from residuum.losses.tracing import not_traced


def routes_of(definition: Definition) -> list[Route]:
    """Return the routes of a rule, in the order in which they are tried."""
    one = definition
    if one.is_exact:
        return [Waiting("exact", None, lambda: routes.exact.ExactRoute(one))]
    steps = Waiting("steps", None, lambda: routes.steps.StepsRoute(one))
    every: list[Route] = [
        Waiting("clauses", _no_clauses(one), lambda: routes.clauses.ClausesRoute(one)),
        Waiting("tables", _no_table(one), lambda: routes.tables.TablesRoute(one)),
        Waiting("minima", _no_minima(one), lambda: routes.minima.MinimaRoute(one)),
        steps,
    ]
    return [
        Waiting("CUDA graphs", _no_recording(one), lambda: routes.cuda_graphs.CudaGraphsRoute(one)),
        *every[:-1],
        Waiting("blocks", None, lambda: routes.blocks.BlocksRoute(one, every)),
        steps,
    ]


@final
class Waiting:
    """A route whose file loads when it is first asked, or a reason why no case can take it."""

    def __init__(self, name: str, why_not: str | None, make: Callable[[], Route]) -> None:
        self.name = name
        self._why_not = why_not
        self._make = make
        self.loaded: Route | None = None

    @property
    def hands_over_because(self) -> str:
        """The reason that `explain` gives if a call is handed over."""
        return "" if self.loaded is None else self.loaded.hands_over_because

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        if self._why_not is not None:
            return self._why_not
        self._load()
        assert self.loaded is not None
        return self.loaded.prepare(case, around)

    @not_traced
    def _load(self) -> None:
        """Make the route. A trace runs this without tracing it."""
        if self.loaded is None:
            self.loaded = self._make()


def _no_recording(definition: Definition) -> str | None:
    if not has_gpu():
        return "there is no GPU"
    if not definition.replay:
        return "the rule was compiled with replay=False"
    if definition.aggregator is not None:
        return f"an aggregation over {definition.over[0].over} is not recorded"
    return "the rule counts, and sorting is not recorded" if definition.plan.counts else None


def has_gpu() -> bool:
    """Return whether PyTorch can use a GPU."""
    return torch.cuda.is_available()


def _no_table(definition: Definition) -> str | None:
    if definition.is_several:
        return "several rules are no single table"
    return _no_clauses(definition)


def _no_minima(definition: Definition) -> str | None:
    why_not = definition.why_no_clauses
    if why_not is None and not definition.compares:
        return "groundings are added up, not compared"
    return why_not


def _no_clauses(definition: Definition) -> str | None:
    why_not = definition.why_no_clauses
    if why_not is None and definition.compares:
        return "groundings are compared, not added up"
    return why_not


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
        self._ways: list[Evaluate] = []

    def evaluate(self, call: Call) -> Tensor | None:
        """Return the penalties of a call by the first route that takes it; None if none does."""
        for way in self._ways:
            found = way(call)
            if found is not None:
                return found
        while len(self._decided) < len(self._routes):
            decided = self._decide()
            found = None if isinstance(decided, str) else decided(call)
            if found is not None:
                return found
        return None

    def decisions(self) -> Iterator[tuple[Route, Evaluate | str]]:
        """Yield each route with its decision, in order."""
        for number, route in enumerate(self._routes):
            if number == len(self._decided):
                self._decide()
            yield route, self._decided[number]

    def _decide(self) -> Evaluate | str:
        """Return the decision of the next route, and remember it."""
        decided = self._routes[len(self._decided)].prepare(self._case, self._around)
        self._decided.append(decided)
        if not isinstance(decided, str):
            self._ways.append(decided)
        return decided


@final
class Chooser:
    """Evaluates the calls of a rule, each by the first route that can. Copies decide anew."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.routes = routes_of(definition)
        self.rules = definition.rules if definition.is_several else None
        self._choices: dict[tuple[Case, Surroundings], Choice] = {}
        # Computed here, so that torch.compile traces plain values.
        self._depths = [len(slot.domains) for slot in definition.plan.slots]
        self._number: int | None = None

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
        return self.choice(case, around).evaluate(call)

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
            # PyTorch 2.11 traces `is_exporting()` as True; 2.6 has neither it nor the flag.
            or getattr(torch.compiler, "_is_exporting_flag", False)
            or torch._C._are_functorch_transforms_active()
        ):
            return decided(call)
        self._register()
        assert self._number is not None
        return routes.torch_compile.penalties(call, self._depths, self._number, self.rules)

    @not_traced
    def _register(self) -> None:
        """Get the number by which operators find these routes. A trace runs this as it is."""
        if self._number is None:
            self._number = routes.torch_compile.register(self)

    @cached_property
    def _receiver(self) -> Receiver:
        return Receiver(self.definition)

    def penalties_of(self, inputs: Sequence[Tensor], lengths: Tensor | None) -> Tensor:
        """Return the penalties of checked tensors without padding, outside of a trace."""
        given = dict(zip(self.definition.names, inputs, strict=True))
        call = self._receiver.receive(Inputs(given, lengths), check=False, is_complete=True)
        found = self.evaluate(call)
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


def surroundings_of(inputs: Sequence[Tensor]) -> Surroundings:
    """Return the surroundings of a call with these inputs."""
    if is_transformed():
        why = "torch.compile and torch.func cannot look at values"
        return Surroundings(True, why, why)
    why_not = None
    if not inputs:
        why_not = "no tensors are given"
    elif is_traced(inputs[0]):
        why_not = "the capture of a CUDA graph cannot look at values"
    elif forward_ad._current_level >= 0 and any(map(_is_dual, inputs)):
        why_not = "derivatives are taken in forward mode"
    multiplied = why_not or _why_not_multiplied(inputs[0])
    if multiplied is None:
        return ORDINARY
    return Surroundings(False, why_not, multiplied)


def _is_dual(given: Tensor) -> bool:
    return forward_ad.unpack_dual(given).tangent is not None  # type: ignore[no-untyped-call]


def _why_not_multiplied(given: Tensor) -> str | None:
    if given.is_cuda and torch.are_deterministic_algorithms_enabled():
        return "torch.use_deterministic_algorithms is on"
    try:
        is_exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # a precision was set for a single backend
        is_exact = False
    return None if is_exact else "float32 matrices are multiplied with less than full precision"
