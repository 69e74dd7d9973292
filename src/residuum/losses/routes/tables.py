"""The route for tables: `A(i) & B(j) -> C(f(i, j))`, with A along one axis and B along the other.

Arms are broadcast over the table, and their gradients are summed over the other axes. Only the
other literals need an index. Sides are columns × examples. Where at most one class of a softmax
matters, a cross of the table is enough (`crosses.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.losses.degrees.fused_logits import Sides
from residuum.losses.inputs.calls import Case
from residuum.losses.routes import thresholds
from residuum.losses.routes.clauses import (
    NEEDS_CARE,
    ByHand,
    Outcome,
    Part,
    costs_again,
    usable_clauses,
)
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import with_gradients
from residuum.losses.routes.listing import Clauses
from residuum.losses.routes.route import Evaluate, Surroundings
from residuum.losses.routes.table_shapes import Table

Sums = tuple[Tensor, Tensor | None]
"""A penalty for each example, and the gradients of all sides, or None if they are not wanted."""


@final
class TablesRoute:
    """Evaluates groundings as a table of two or more axes, or by a cross of the table."""

    name: Final = "tables"
    hands_over_because: Final = NEEDS_CARE

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        clauses = usable_clauses(self._definition, case, around)
        if isinstance(clauses, str):
            return clauses
        if clauses.table is None and clauses.cross is None:
            return "the groundings are no table, or a matrix of the clauses is small"
        if clauses.table is not None and case.examples < thresholds.FEWEST_EXAMPLES:
            return f"there are fewer than {thresholds.FEWEST_EXAMPLES} examples"
        is_large = case.groundings > self._definition.block(case.device)
        if is_large and not clauses.is_frugal:
            return f"{case.groundings:,} groundings do not fit one block"
        return ByHand(table_sums, clauses, case, False, is_large)


def table_sums(clauses: Clauses, sides: Sides, part: Part) -> Outcome:
    """Return the total penalty of all groundings of a table: the kernel of this route."""
    rows = sides.rows()
    falsities = sides.falsities() if clauses.cost == "complement" else None
    value, found = _of_table(clauses, rows, falsities, wants_gradients=part.wants_gradients)
    kept = [] if found is None else [found.mul_(clauses.signs)]
    if falsities is not None:
        kept.append(rows)
    again = partial(_products_again, clauses)
    if clauses.cost == "excess":
        again = partial(_excesses_again, clauses)
    elif part.is_large:
        again = partial(_once_again, clauses)
    return Outcome(value, kept, partial(_gradients_of_rows, clauses), again)


def _of_table(
    clauses: Clauses, rows: Tensor, falsities: Tensor | None, *, wants_gradients: bool
) -> Sums:
    """Return the penalty of a table, and the gradients of the rows.

    For products, `falsities` are 1 − rows, and the gradients are those of the logarithms.
    """
    if clauses.cross is not None:
        return clauses.cross.excess(rows, wants_gradients=wants_gradients)
    table = clauses.table
    assert table is not None  # otherwise there is a matrix
    pools = (rows,) if falsities is None else (rows, falsities)
    add_up = sum_of_excesses if falsities is None else sum_of_complements
    each = [
        add_up(
            table, *(pool[:, own].contiguous() for pool in pools), wants_gradients=wants_gradients
        )
        for own in table.groups(rows.shape[1], is_whole=rows.is_cuda)
    ]
    if len(each) == 1:
        return each[0]
    values, found = zip(*each, strict=True)
    return torch.cat(values), torch.cat(found, 1) if wants_gradients else None


def _gradients_of_rows(clauses: Clauses, upstream: Tensor | None, *kept: Tensor) -> Tensor:
    found = kept[0] if upstream is None else kept[0] * upstream.reshape(-1)
    return found.div_(kept[1]) if clauses.cost == "complement" else found  # of logarithms so far


def _products_again(clauses: Clauses, logs: Tensor) -> Tensor:
    """Return the penalties by operations that can be differentiated twice."""
    first, *others = (logs.index_select(0, place) for place in clauses.literals)
    return costs_again(clauses, sum(others, first))


def _excesses_again(clauses: Clauses, rows: Tensor) -> Tensor:
    """Return the penalties of a table that is piecewise linear, for second derivatives."""
    with torch.no_grad():
        _, gradients = _of_table(clauses, rows, None, wants_gradients=True)
    assert gradients is not None
    return (gradients * rows).sum(0)


def _once_again(clauses: Clauses, logs: Tensor) -> Tensor:
    """Return the penalties of a table of products that is too large for second derivatives."""
    with torch.no_grad():
        value, found = _of_table(clauses, logs.exp(), -torch.expm1(logs), wants_gradients=True)
    assert found is not None
    return with_gradients(value, _LastGradientOfTable(), [logs, found], [logs])


class _LastGradientOfTable(NamedTuple):
    """The gradients of columns × examples from the gradients of the examples."""

    given: int = 1
    again: None = None

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        return [saved[1] * upstream]


def sum_of_excesses(table: Table, sides: Tensor, *, wants_gradients: bool) -> Sums:
    """Return the sum over groundings of max(0, s), where s is the signed sum of sides."""
    *within, outermost = (
        table.along(number, sides) if arm.sign > 0 else -table.along(number, sides)
        for number, arm in enumerate(table.arms)
    )
    inner = within[0]
    for along in within[1:]:
        inner = inner + along
    total = _Total(table, sides, wants_gradients=wants_gradients)
    for part in total.parts():
        slack, looked_up, _ = part.buffers
        torch.add(outermost[part.along], inner, out=slack)
        for columns, sign in part.others:
            torch.index_select(sides, 0, columns, out=looked_up)
            slack.add_(looked_up.view_as(slack), alpha=sign)
        cost = slack.clamp_(min=0)
        total.add(cost)
        if wants_gradients:
            total.add_gradients(part, cost.sign_())
    return total.finish()


def sum_of_complements(
    table: Table, truths: Tensor, falsities: Tensor, *, wants_gradients: bool
) -> Sums:
    """Return the sum over groundings of −log(1 − x), where x is a product of truths.

    Gradients are those of the logarithms of the truths. 1 − x is computed without cancellation: the
    sum of each falsity times the truths before it.
    """
    *within, (last, last_false) = (
        (table.along(number, truths), table.along(number, falsities))
        for number in range(len(table.arms))
    )
    inner, inner_rest = within[0]
    for true, false in within[1:]:
        inner_rest = torch.addcmul(inner_rest, inner, false)
        inner = inner * true
    total = _Total(table, truths, wants_gradients=wants_gradients)
    for part in total.parts():
        x, looked_up, rest = part.buffers
        torch.mul(last[part.along], inner, out=x)
        torch.addcmul(inner_rest, inner, last_false[part.along], out=rest)
        for columns, _ in part.others:
            torch.index_select(falsities, 0, columns, out=looked_up)
            rest.addcmul_(x, looked_up.view_as(x))
            torch.index_select(truths, 0, columns, out=looked_up)
            x.mul_(looked_up.view_as(x))
        weight = x.div_(rest)
        total.add(torch.log1p(weight, out=rest))  # 1 + x / (1 − x) is 1 / (1 − x)
        if wants_gradients:
            total.add_gradients(part, weight)
    return total.finish()


class _Part(NamedTuple):
    """A part of the outermost axis, the columns that other literals read there, and buffers."""

    along: slice
    others: Sequence[tuple[Tensor, int]]
    buffers: tuple[Tensor, Tensor, Tensor]


class _Total:
    """Sums penalties and gradients over the parts of a table."""

    def __init__(self, table: Table, sides: Tensor, *, wants_gradients: bool) -> None:
        self._table = table
        self._sides = sides
        self._value = sides.new_zeros(sides.shape[1])
        self._gradients: dict[int, Tensor] = {}
        if wants_gradients:  # separately for sign 1 and sign −1
            self._gradients = {1: torch.zeros_like(sides)}
            if any(other.sign < 0 for other in table.others):
                self._gradients[-1] = torch.zeros_like(sides)
            self._inner = sides.new_zeros(*table.shape[1:], sides.shape[1])

    def parts(self) -> Iterator[_Part]:
        """Yield the parts of the table. All of them use the same buffers."""
        table, examples = self._table, self._sides.shape[1]
        chunks = table.chunks(examples, is_whole=self._sides.is_cuda)
        longest = max(chunk.stop - chunk.start for chunk in chunks)
        shape = (longest, *table.shape[1:], examples)
        slack, looked_up, rest = (self._sides.new_empty(shape) for _ in range(3))
        inner = table.size // table.shape[0]
        for along in chunks:
            count = along.stop - along.start
            listed = slice(along.start * inner, along.stop * inner)
            others = [(other.columns[listed], other.sign) for other in table.others]
            flat = looked_up[:count].view(-1, examples)
            yield _Part(along, others, (slack[:count], flat, rest[:count]))

    def add(self, costs: Tensor) -> None:
        """Add the penalties of a part."""
        self._value += costs.view(-1, costs.shape[-1]).sum(0)

    def add_gradients(self, part: _Part, weights: Tensor) -> None:
        """Add the gradients of a part to the sides that its literals read."""
        flat = weights.view(-1, weights.shape[-1])
        for columns, sign in part.others:
            self._gradients[sign].index_add_(0, columns, flat)
        self._inner += weights.sum(0)
        outermost = self._table.arms[-1]
        own = self._gradients[1][outermost.entries][part.along]
        own.add_(weights.flatten(1, -2).sum(1), alpha=outermost.sign)

    def finish(self) -> Sums:
        """Return the total penalty and the gradients of all sides."""
        if not self._gradients:
            return self._value, None
        gradients = self._gradients[1]
        if -1 in self._gradients:
            gradients -= self._gradients[-1]
        axes = list(range(self._inner.dim() - 1))
        for number, arm in enumerate(self._table.arms[:-1]):
            across = [axis for axis in axes if axis != axes[-1 - number]]
            along = self._inner.sum(across) if across else self._inner
            gradients[arm.entries].add_(along, alpha=arm.sign)
        return self._value, gradients
