"""The exact route: the probability that a rule holds, if all outputs are independent.

Each softmax is one categorical variable and each sigmoid one binary variable. Every grounding
becomes a table over the variables it reads, with probability 0 where it is violated; groundings
over the same variables share one table. Then the variables are summed out one by one, always the
one with the smallest table. For a rule over neighbours in a sequence this is the forward algorithm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Quantify, Read
from residuum.losses.degrees.logits import Source
from residuum.losses.degrees.tensors import impossible
from residuum.losses.inputs.calls import Call, Case
from residuum.losses.inputs.layouts import Bound, Groundings, groundings_of
from residuum.losses.inputs.padding import sequence_sizes
from residuum.losses.inputs.reading import read
from residuum.losses.questions.crisp_truth import Crisp
from residuum.losses.routes import thresholds
from residuum.losses.routes.blocks import flattened
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.route import Evaluate, Surroundings

_NOTHING: Final = -1e30  # stands for log 0; −inf would give NaN gradients
_STATES_AT_A_TIME: Final = 1 << 12


class Variable(NamedTuple):
    """One random variable: a softmax of an exclusive slot, or one binary entry of another slot."""

    slot: int
    entry: int
    size: int


class Table(NamedTuple):
    """Logarithms over the joint states of some variables: 0, or almost −∞ if forbidden."""

    variables: tuple[Variable, ...]
    logs: Tensor


class Step(NamedTuple):
    """One step of the elimination: it sums out one variable and appends a new table.

    `tables` are the numbers of the tables with this variable, `shapes` their shapes in the joint
    table, and `place` is the dimension of the variable there.
    """

    tables: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    place: int


class Elimination(NamedTuple):
    """The order in which all variables are summed out, one by one.

    Tables are numbered: the constraints first, then one table of outcomes for each variable, then
    the results of the steps. `left` are the numbers of the tables without variables at the end.
    """

    constraints: tuple[Tensor, ...]
    variables: tuple[Variable, ...]
    steps: tuple[Step, ...]
    left: tuple[int, ...]


@final
class ExactRoute:
    """Evaluates the exact probability of a rule. Its constraints are computed once per shape."""

    name: Final = "exact"
    hands_over_because: Final = "this route never hands over"

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._plan = definition.plan
        self._eliminations: dict[Any, Elimination] = {}
        if not self._plan.sequence_domains:
            self._prepare(())  # so that `rs.compile` refuses a rule that is too large

    def prepare(self, _case: Case, _around: Surroundings) -> Evaluate | str:
        """Return the function that evaluates calls."""
        return self.evaluate

    def evaluate(self, call: Call) -> Tensor:
        """Return −log P(rule) of each example. Sequences of one length are evaluated together."""
        if torch.compiler.is_compiling():
            self._prepare_traced(tuple(sequence_sizes(self._plan, call.inputs).items()))
        flat = flattened(call, self._plan)
        if flat.lengths is None or not flat.batch[0]:
            found = self._of_one_length(flat.inputs, call.bound, flat.batch[0], call.device)
        else:
            found = self._by_lengths(list(flat.inputs), flat.lengths, call.device)
        return -found.reshape(call.batch)

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # lengths would become symbols
    def _by_lengths(
        self, inputs: Sequence[Tensor], lengths: Tensor, device: torch.device
    ) -> Tensor:
        """Return log P(rule), for the sequences of one length at a time.

        A torch.compile trace stops here. The arguments are plain, because not every version of
        PyTorch can pass a `Call` out of a trace.
        """
        if torch._C._functorch.is_batchedtensor(lengths):
            raise GroundingError(
                "`exact` looks at the values of lengths, which vmap hides; pass the whole batch to "
                "the rule instead"
            )
        order, parts = [], []
        for length in sorted(set(lengths.tolist())):
            rows = torch.nonzero(lengths == length).flatten()
            sizes = dict.fromkeys(self._plan.sequence_domains, length)
            short = [self._cut(one[rows], number, length) for number, one in enumerate(inputs)]
            bound = self._definition.bind(sizes, device)
            order.append(rows)
            parts.append(self._of_one_length(short, bound, len(rows), device))
        return torch.cat(parts)[torch.argsort(torch.cat(order))]

    def _cut(self, given: Tensor, number: int, length: int) -> Tensor:
        for place, domain in enumerate(self._plan.slots[number].domains):
            if domain.is_sequence:
                given = given.narrow(1 + place, 0, length)
        return given

    def _of_one_length(
        self, inputs: Sequence[Tensor], bound: Bound, examples: int, device: torch.device
    ) -> Tensor:
        shapes = tuple(tuple(given.shape[1:]) for given in inputs)
        elimination = self._elimination(shapes, bound)
        if not elimination.constraints:  # nothing is forbidden; the 0 still needs a graph
            nothing = torch.zeros((), dtype=torch.float32, device=device)
            return sum((x.flatten()[:0].sum() for x in inputs), nothing).expand(examples)
        sources = self._definition.sources(inputs)
        logs = [constraint.to(device) for constraint in elimination.constraints]
        logs += [_outcomes(variable, self._plan, sources) for variable in elimination.variables]
        total = _sum_out(logs, elimination)
        total = torch.where(total < _NOTHING / 2, impossible(total.dtype), total)
        return total.clamp(max=0.0).expand(examples)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _prepare_traced(self, lengths: tuple[tuple[str, int], ...]) -> None:
        """Put the constraints of the rule into the cache. A trace runs this without tracing it."""
        self._prepare(lengths)

    def _prepare(self, lengths: tuple[tuple[str, int], ...]) -> None:
        sizes = dict(lengths)
        shapes = tuple(
            tuple(sizes[d.name] if d.is_sequence else len(d.labels or ()) for d in slot.domains)
            for slot in self._plan.slots
        )
        self._elimination(shapes, self._definition.bind(sizes, torch.device("cpu")))

    def _elimination(self, shapes: tuple[tuple[int, ...], ...], bound: Bound) -> Elimination:
        """Return the constraints and the order of variables of the rule. The result is cached."""
        if shapes not in self._eliminations:
            while len(self._eliminations) >= thresholds.MOST_ELIMINATIONS:
                self._eliminations.pop(next(iter(self._eliminations)))
            self._eliminations[shapes] = _elimination(constraints_of(self._plan, bound, shapes))
        return self._eliminations[shapes]


def _outcomes(variable: Variable, plan: Plan, sources: Sequence[Source]) -> Tensor:
    """Return the log-probabilities of the values of a variable: examples × values."""
    slot, source = plan.slots[variable.slot], sources[variable.slot]
    depth = len(slot.domains)

    def entry(side: Tensor) -> Tensor:
        own = side.shape[1:]
        flat = side.reshape(-1, math.prod(own[:-1]) if slot.is_exclusive else math.prod(own),
                            *own[depth - 1 :] if slot.is_exclusive else ())  # fmt: skip
        return flat[:, variable.entry]

    if slot.is_exclusive:
        return entry(source.side("log_true"))
    return torch.stack([entry(source.side("log_false")), entry(source.side("log_true"))], -1)


# Elimination


def _elimination(constraints: Sequence[Table]) -> Elimination:
    """Return the order in which the variables of constraints are summed out, and how."""
    variables = tuple(dict.fromkeys(v for table in constraints for v in table.variables))
    scopes = [*(table.variables for table in constraints), *((v,) for v in variables)]
    live = set(range(len(scopes)))
    remaining = set(variables)
    steps = []
    while remaining:
        around = [(v, _neighbours(v, [scopes[number] for number in live])) for v in remaining]
        variable, joint = min(around, key=lambda pair: (_states(pair[1]), pair[0]))
        refuse_too_many(joint)
        touched = sorted(number for number in live if variable in scopes[number])
        shapes = tuple(
            tuple(v.size if v in scopes[number] else 1 for v in joint) for number in touched
        )
        steps.append(Step(tuple(touched), shapes, joint.index(variable)))
        live = live - set(touched) | {len(scopes)}
        scopes.append(tuple(v for v in joint if v != variable))
        remaining.remove(variable)
    logs = tuple(table.logs for table in constraints)
    return Elimination(logs, variables, tuple(steps), tuple(sorted(live)))


def _neighbours(variable: Variable, scopes: Iterable[tuple[Variable, ...]]) -> tuple[Variable, ...]:
    return tuple(sorted({v for scope in scopes if variable in scope for v in scope}))


def _states(variables: Iterable[Variable]) -> int:
    return math.prod(v.size for v in variables)


def _sum_out(logs: list[Tensor], elimination: Elimination) -> Tensor:
    """Return the logarithm of the sum over all states of the product of all tables."""
    logs = list(logs)
    for touched, shapes, place in elimination.steps:
        total: Any = 0.0
        for number, shape in zip(touched, shapes, strict=True):
            total = total + logs[number].reshape(logs[number].shape[0], *shape)
        logs.append(torch.logsumexp(total, place + 1))
    left = [logs[number] for number in elimination.left]
    return torch.stack(torch.broadcast_tensors(*left)).sum(0)  # type: ignore[no-untyped-call]


def refuse_too_many(variables: Iterable[Variable]) -> None:
    """Raise GroundingError if some variables have too many joint states for one table."""
    states = _states(variables)
    if states > thresholds.MOST_STATES:
        raise GroundingError(
            f"the exact probability of this rule needs tables of {states:,} joint states, more "
            f"than {thresholds.MOST_STATES:,}; use a relaxation, or a rule over fewer outputs"
        )


# Groundings as tables


def constraints_of(plan: Plan, bound: Bound, shapes: Sequence[tuple[int, ...]]) -> list[Table]:
    """Return the constraints of the rule: tables of 0, or almost −∞ for forbidden states."""
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
    here = bound._replace(masks={n: m.cpu() for n, m in bound.masks.items()})
    listed: list[bool] = groundings.counted(here, (), {}, device).flatten().tolist()
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
        if 0 in shape:
            continue  # no entries, so that no grounding reads any
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
    """Return the atoms below a step, each with the dimensions of the quantifiers around it.

    An inner quantifier may reuse the dimension of an outer variable that does not occur in it.
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
    """Return the entries that an atom reads: outer groundings × inner groundings."""
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
    """Return a table of the joint states that satisfy all groundings `members`."""
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
    # Single precision, whatever the default dtype is: double inputs still give a double sum.
    logs = torch.where(torch.cat(allowed), 0.0, _NOTHING).float()
    return Table(variables, logs.reshape(1, *(variable.size for variable in variables)))


def _predictions(
    plan: Plan,
    shapes: Sequence[tuple[int, ...]],
    variables: Sequence[Variable],
    states: Tensor,
) -> list[Tensor]:
    """Return the crisp predictions of every slot in each of the given states."""
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
