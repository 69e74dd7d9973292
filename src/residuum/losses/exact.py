"""The exact twin: the probability that a rule holds, all outputs being independent.

Each softmax is one categorical variable and each sigmoid one binary variable. Every grounding
becomes a table over the variables it reads, 0 where it is violated; groundings over the same
variables share one. Then variables are summed out one after the other, always the one whose table
is smallest: for a rule over pairs of neighbours in a sequence that is the forward algorithm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.errors import GroundingError, UnknownRelaxationError
from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Quantify, Read
from residuum.losses.crisp import Crisp
from residuum.losses.inspection import Groundings, groundings_of
from residuum.losses.reading import read
from residuum.losses.receiving import Bound, Call
from residuum.losses.sources import Source
from residuum.losses.tensors import impossible
from residuum.relaxations import Relaxation
from residuum.relaxations import relaxation as find_relaxation
from residuum.relaxations.product import Product

EXACT: Final = Relaxation("exact", Product(), "S")
"""Independent examples and rules multiply, as in the product logic."""

MOST_STATES: Final = 1 << 20
"""The most joint states of variables that one table may have."""

_NOTHING: Final = -1e30  # the logarithm of 0, where −inf would bring NaN into gradients
MOST_SHAPES: Final = 64
"""Shapes whose tables are kept; the oldest goes first."""

_STATES_AT_A_TIME: Final = 1 << 12


def find_meaning(name: str | Relaxation) -> Relaxation:
    """Return a relaxation by name, `exact` included."""
    if name == EXACT.name:
        return EXACT
    try:
        return find_relaxation(name)
    except UnknownRelaxationError as error:
        raise UnknownRelaxationError(f"{error}, and `exact`") from None


class Variable(NamedTuple):
    """One random variable: an entry of a slot before its last dimension, or one binary entry."""

    slot: int
    entry: int
    size: int


class Table(NamedTuple):
    """Logarithms over the joint states of some variables, for one example or for each."""

    variables: tuple[Variable, ...]
    logs: Tensor


@final
class ExactTwin:
    """The exact meaning of a plan; what it forbids is worked out once for each shape."""

    def __init__(
        self,
        plan: Plan,
        sources: Callable[[Sequence[Tensor]], Sequence[Source]],
        bind: Callable[[Mapping[str, int], torch.device], Bound],
    ) -> None:
        self._plan = plan
        self._sources = sources
        self._bind = bind
        self._constraints: dict[Any, list[Table]] = {}

    def log_probability(self, inputs: Sequence[Tensor], call: Call) -> Tensor:
        """Return log P(rule) for inputs with a flat batch; sequences of a length go together."""
        examples = math.prod(call.batch)
        if call.lengths is None or not examples:
            return self._of_one_length(inputs, call.bound, examples, call.device)
        lengths = call.lengths.reshape(examples)
        order, parts = [], []
        for length in sorted(set(lengths.tolist())):
            rows = torch.nonzero(lengths == length).flatten()
            sizes = dict.fromkeys(self._plan.sequence_domains, length)
            short = [self._cut(given[rows], number, length) for number, given in enumerate(inputs)]
            bound = self._bind(sizes, call.device)
            order.append(rows)
            parts.append(self._of_one_length(short, bound, len(rows), call.device))
        return torch.cat(parts)[torch.argsort(torch.cat(order))]

    def _cut(self, given: Tensor, number: int, length: int) -> Tensor:
        for place, domain in enumerate(self._plan.slots[number].domains):
            if domain.is_sequence:
                given = given.narrow(1 + place, 0, length)
        return given

    def _of_one_length(
        self, inputs: Sequence[Tensor], bound: Bound, examples: int, device: torch.device
    ) -> Tensor:
        call = Call(list(inputs), (examples,), device, bound, {})
        shapes = tuple(tuple(given.shape[1:]) for given in inputs)
        if shapes not in self._constraints:
            while len(self._constraints) >= MOST_SHAPES:
                self._constraints.pop(next(iter(self._constraints)))
            self._constraints[shapes] = constraints_of(self._plan, bound, shapes)
        tables = [t._replace(logs=t.logs.to(device)) for t in self._constraints[shapes]]
        return log_probability(self._plan, call, self._sources(inputs), tables)


def log_probability(
    plan: Plan, call: Call, sources: Sequence[Source], constraints: Sequence[Table]
) -> Tensor:
    """Return the logarithm of the probability that the constraints hold, one per example."""
    if not constraints:  # nothing is forbidden; the 0 still belongs to the graph of the inputs
        nothing = torch.zeros((), device=call.device)
        return sum((x.flatten()[:0].sum() for x in call.inputs), nothing).expand(*call.batch)
    variables = dict.fromkeys(v for table in constraints for v in table.variables)
    outcomes = [_outcomes(variable, plan, sources, len(call.batch)) for variable in variables]
    total = _sum_out([*constraints, *outcomes])
    total = torch.where(total < _NOTHING / 2, impossible(total.dtype), total)
    return total.clamp(max=0.0).expand(math.prod(call.batch))


def _outcomes(variable: Variable, plan: Plan, sources: Sequence[Source], batch: int) -> Table:
    """Return the logarithms of the probabilities of a variable's values."""
    slot, source = plan.slots[variable.slot], sources[variable.slot]
    depth = len(slot.domains)

    def entry(side: Tensor) -> Tensor:
        own = side.shape[batch:]
        flat = side.reshape(-1, math.prod(own[:-1]) if slot.is_exclusive else math.prod(own),
                            *own[depth - 1 :] if slot.is_exclusive else ())  # fmt: skip
        return flat[:, variable.entry]

    if slot.is_exclusive:
        logs = entry(source.side("log_true"))
    else:
        logs = torch.stack([entry(source.side("log_false")), entry(source.side("log_true"))], -1)
    return Table((variable,), logs)


# Elimination


def _sum_out(tables: list[Table]) -> Tensor:
    """Return the logarithm of the sum, over all states, of the product of the tables."""
    remaining = {variable for table in tables for variable in table.variables}
    while remaining:
        variable = min(remaining, key=lambda v: (_joint_size(v, tables), v))
        touched = [table for table in tables if variable in table.variables]
        tables = [table for table in tables if variable not in table.variables]
        tables.append(_without(variable, touched))
        remaining.remove(variable)
    return torch.stack(torch.broadcast_tensors(*(table.logs for table in tables))).sum(0)  # type: ignore[no-untyped-call]


def _neighbours(variable: Variable, tables: Iterable[Table]) -> tuple[Variable, ...]:
    found = {v for table in tables if variable in table.variables for v in table.variables}
    return tuple(sorted(found))


def _joint_size(variable: Variable, tables: Iterable[Table]) -> int:
    return math.prod(v.size for v in _neighbours(variable, tables))


def _without(variable: Variable, tables: Sequence[Table]) -> Table:
    """Multiply the tables and sum one variable out."""
    variables = _neighbours(variable, tables)
    refuse_too_many(variables)
    total: Any = 0.0
    for table in tables:
        shape = [table.logs.shape[0]] + [v.size if v in table.variables else 1 for v in variables]
        total = total + table.logs.reshape(shape)
    place = variables.index(variable) + 1
    kept = tuple(v for v in variables if v is not variable and v != variable)
    return Table(kept, torch.logsumexp(total, place))


def refuse_too_many(variables: Iterable[Variable]) -> None:
    """Raise if the joint states of some variables would not fit."""
    states = math.prod(v.size for v in variables)
    if states > MOST_STATES:
        raise GroundingError(
            f"the exact probability of this rule needs tables of {states:,} joint states, more "
            f"than {MOST_STATES:,}; use a relaxation, or a rule over fewer outputs"
        )


# Groundings as tables


def constraints_of(plan: Plan, bound: Bound, shapes: Sequence[tuple[int, ...]]) -> list[Table]:
    """Return what the rule forbids, as tables of 0 and (almost) −∞ over variables."""
    groundings = groundings_of(plan)
    groups: dict[tuple[Variable, ...], list[int]] = {}
    for number, variables in enumerate(_variables_by_grounding(plan, bound, shapes, groundings)):
        refuse_too_many(variables)
        groups.setdefault(variables, []).append(number)
    counted = _counted(bound, groundings)
    tables = []
    for variables, members in groups.items():
        chosen = [number for number in members if counted[number]]
        if chosen:
            tables.append(_table(plan, bound, shapes, groundings, variables, chosen))
    return tables


def _counted(bound: Bound, groundings: Groundings) -> list[bool]:
    device = torch.device("cpu")
    call = Call([], (), device, bound._replace(masks={n: m.cpu() for n, m in bound.masks.items()}),
                {})  # fmt: skip
    listed: list[bool] = groundings.counted(call).flatten().tolist()
    return listed


def _variables_by_grounding(
    plan: Plan, bound: Bound, shapes: Sequence[tuple[int, ...]], groundings: Groundings
) -> list[tuple[Variable, ...]]:
    outer = groundings.shape(bound.layout)
    found: list[set[Variable]] = [set() for _ in range(math.prod(outer))]
    if not found:
        return []
    for number, inner in _reads_below(plan, groundings.body):
        step = plan.steps[number]
        assert isinstance(step, Read)
        slot, shape = plan.slots[step.slot], shapes[step.slot]
        size = shape[-1] if slot.is_exclusive else 2
        entries = torch.arange(math.prod(shape), dtype=torch.int64).reshape(shape)
        if slot.is_exclusive:
            entries = entries // shape[-1]
        index = bound.indices.get(number)
        access = bound.layout.accesses[number]
        where = read(entries, access, None if index is None else index.cpu(), plan.rank, None)
        for variables, row in zip(found, _by_grounding(where, outer, inner).tolist(), strict=True):
            variables.update(Variable(step.slot, entry, size) for entry in set(row))
    return [tuple(sorted(variables)) for variables in found]


def _reads_below(plan: Plan, number: int) -> list[tuple[int, frozenset[int]]]:
    """Return the atoms below a step, each with the dimensions that quantifiers there range over.

    An inner quantifier may use the dimension of an outer variable that it does not speak of.
    """
    found: list[tuple[int, frozenset[int]]] = []
    stack: list[tuple[int, frozenset[int]]] = [(number, frozenset())]
    seen = set()
    while stack:
        at, inner = stack.pop()
        if (at, inner) in seen:
            continue
        seen.add((at, inner))
        match plan.steps[at]:
            case Read():
                found.append((at, inner))
            case Connect(operands=operands):
                stack.extend((operand, inner) for operand in operands)
            case Quantify(axes=axes, operand=operand):
                mine = {axis.dimension for axis in axes if axis.dimension is not None}
                stack.append((operand, inner | mine))
    return found


def _by_grounding(where: Tensor, outer: Sequence[int], inner: Iterable[int]) -> Tensor:
    """Return what an atom reads with a row for each outer grounding, its inner axes along it."""
    inside = sorted(inner)
    around = [dimension for dimension in range(len(outer)) if dimension not in inside]
    moved = where.permute([*around, *inside])
    for dimension in inside:
        moved = moved.unsqueeze(dimension)
    along = moved.shape[len(outer) :]
    return moved.expand([*outer, *along]).reshape(math.prod(outer), math.prod(along))


def _table(
    plan: Plan,
    bound: Bound,
    shapes: Sequence[tuple[int, ...]],
    groundings: Groundings,
    variables: tuple[Variable, ...],
    members: list[int],
) -> Table:
    """Return which joint states of the variables satisfy all these groundings."""
    outer = groundings.shape(bound.layout)
    allowed = []
    states = itertools.product(*(range(variable.size) for variable in variables))
    while part := list(itertools.islice(states, _STATES_AT_A_TIME)):
        predicted = _predictions(plan, shapes, variables, torch.tensor(part, dtype=torch.int64))
        cpu = Bound(
            bound.layout,
            {n: index.cpu() for n, index in bound.indices.items()},
            {n: mask.cpu() for n, mask in bound.masks.items()},
        )
        call = Call(predicted, (len(part),), torch.device("cpu"), cpu, {})
        holds = Crisp(plan, call).truth(groundings.body)
        holds = holds.expand(len(part), *outer).reshape(len(part), -1)
        allowed.append(holds[:, members].all(1))
    logs = torch.where(torch.cat(allowed), 0.0, _NOTHING)
    return Table(variables, logs.reshape(1, *(variable.size for variable in variables)))


def _predictions(
    plan: Plan,
    shapes: Sequence[tuple[int, ...]],
    variables: Sequence[Variable],
    states: Tensor,
) -> list[Tensor]:
    """Return the crisp outputs of every slot in each of the given states."""
    predicted = [torch.zeros(len(states), math.prod(shape), dtype=torch.bool) for shape in shapes]
    rows = torch.arange(len(states))
    for column, variable in enumerate(variables):
        value = states[:, column]
        if plan.slots[variable.slot].is_exclusive:
            predicted[variable.slot][rows, variable.entry * variable.size + value] = True
        else:
            predicted[variable.slot][rows, variable.entry] = value.bool()
    return [
        flat.reshape(len(states), *shape) for flat, shape in zip(predicted, shapes, strict=True)
    ]
