"""Quantities → comparisons: the tensors of numbers become tensors that rules read like outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan, lay_out
from residuum.grounding.comparisons import computed_terms, is_integral
from residuum.grounding.layouts import values_over
from residuum.grounding.plans import Compared, Read
from residuum.logic import Application, Arithmetic, Constant, Term, fold_scoped
from residuum.logic.terms import Number
from residuum.losses.degrees.comparing import certain, cut, signed_difference
from residuum.losses.degrees.logits import widened
from residuum.losses.degrees.tensors import LARGEST, outside_inference_mode
from residuum.losses.inputs.layouts import Bound, bind_reads
from residuum.losses.inputs.padding import inside
from residuum.losses.inputs.reading import read
from residuum.losses.routes import thresholds
from residuum.losses.tracing import not_traced

Sizes = tuple[tuple[str, int], ...]


class _Tables(NamedTuple):
    """Where quantities are read, and the values of terms about members, for one length."""

    bound: Bound
    members: Mapping[tuple[Term, Compared], Tensor]


@final
class Numbers:
    """The comparisons of a rule, computed from the quantities of a call."""

    def __init__(self, plan: Plan) -> None:
        self._plan: Final = plan
        self._compared: Final = {
            slot.name: slot.compared for slot in plan.slots if slot.compared is not None
        }
        uses = [use for compared in self._compared.values() for _, use in compared.uses]
        self._reads: Final = Plan(
            plan.formula, plan.quantities, tuple(dict.fromkeys(uses)), plan.rank, plan.functions
        )
        self._tables: dict[tuple[Sizes, str], _Tables] = {}
        if uses and not plan.sequence_domains:  # mistakes in the rule show when it is compiled
            self._prepare((), "cpu")

    def are_certain(self, *, are_all_crisp: bool) -> bool:
        """Return whether some comparisons are exactly true or false."""
        scales = [compared.scale for compared in self._compared.values()]
        return bool(scales) and (are_all_crisp or 0 in scales)

    def compared(
        self,
        given: Mapping[str, Tensor],
        sizes: Mapping[str, int],
        lengths: Tensor | None,
        *,
        are_crisp: bool,
    ) -> dict[str, Tensor]:
        """Return the tensors of a call with those of comparisons in the place of quantities."""
        found = {slot.name: given[slot.name] for slot in self._plan.outputs}
        quantities = []
        for slot in self._plan.quantities:
            one = widened(given[slot.name], is_steep=True)
            if lengths is not None:  # a NaN in the padding must not reach a gradient
                one = torch.where(inside(slot, one, lengths), one, 0.0)
            quantities.append(cut(one))
        dtype = quantities[0].dtype
        for one in quantities:
            dtype = torch.promote_types(dtype, one.dtype)
        quantities = [one.to(dtype) for one in quantities]
        tables = self._tables_for(tuple(sizes.items()), quantities[0].device)
        read_before: dict[Read, Tensor] = {}
        for number, step in enumerate(self._reads.steps):
            assert isinstance(step, Read)
            access = tables.bound.layout.accesses[number]
            index = tables.bound.indices.get(number)
            read_before[step] = read(quantities[step.slot], access, index, self._plan.rank, None)
        for name, compared in self._compared.items():
            uses = {term: read_before[use] for term, use in compared.uses}
            left, right = (
                _value(side, compared, uses, tables, dtype)
                for side in (compared.comparison.left, compared.comparison.right)
            )
            difference = signed_difference(compared, left, right)
            if are_crisp or compared.scale == 0:
                difference = certain(difference, compared)
            found[name] = self._along_axes(difference, compared, sizes)
        return found

    def _along_axes(self, given: Tensor, compared: Compared, sizes: Mapping[str, int]) -> Tensor:
        """Return a tensor over all variables with the dimensions of the comparison's own alone."""
        rank = self._plan.rank
        batch = tuple(given.shape[: given.dim() - rank])
        shape = [1] * rank
        own = []
        for axis in compared.axes:
            assert axis.dimension is not None
            own.append(axis.dimension)
            labels = axis.domain.labels
            shape[axis.dimension] = sizes[axis.domain.name] if labels is None else len(labels)
        others = [place for place in range(rank) if place not in own]
        order = [*range(len(batch)), *(len(batch) + place for place in (*own, *others))]
        whole = given.expand((*batch, *shape)).permute(order)
        return whole.reshape((*batch, *(shape[place] for place in own)))

    def _tables_for(self, sizes: Sizes, device: torch.device) -> _Tables:
        key = sizes, str(device)
        if torch.compiler.is_compiling() or key not in self._tables:
            self._prepare(*key)
        return self._tables[key]

    @not_traced
    def _prepare(self, sizes: Sizes, device: str) -> None:
        """Put tables into the cache. A trace runs this without tracing it."""
        if (sizes, device) in self._tables:
            return
        while len(self._tables) >= thresholds.MOST_LAYOUTS:
            self._tables.pop(next(iter(self._tables)))
        lengths = dict(sizes)
        with outside_inference_mode():
            bound = bind_reads(lay_out(self._reads, lengths), torch.device(device))
            members = {}
            for compared in self._compared.values():
                for term in _terms_about_members(compared):
                    values = values_over(self._reads, lengths, term, compared.axes)
                    if not all(isinstance(one, int | np.integer) for one in values.flat):
                        raise GroundingError(
                            f"`{compared.comparison}`: expected numbers, got labels for `{term}`; "
                            "give it a domain of integers"
                        )
                    numbers = torch.as_tensor(values.astype(np.float64), device=device)
                    members[term, compared] = numbers
            self._tables[sizes, device] = _Tables(bound, members)


def _terms_about_members(compared: Compared) -> list[Term]:
    """Return the largest terms of a comparison that are about members of domains alone."""
    uses = {term for term, _ in compared.uses}
    return [term for term in computed_terms(compared.comparison, uses) if is_integral(term, uses)]


def _value(
    side: Term,
    compared: Compared,
    uses: Mapping[Term, Tensor],
    tables: _Tables,
    dtype: torch.dtype,
) -> Any:
    """Return a side of a comparison, a tensor over the axes or a plain number.

    Products are cut at 1e30, so that no sum of them is infinite minus infinite.
    """

    def leaf(term: Term) -> Tensor | None:
        if term in uses:
            return uses[term]
        known = tables.members.get((term, compared))
        return None if known is None else known.to(dtype)

    def descend(term: Any, _: None) -> list[tuple[Any, None]]:
        return [] if leaf(term) is not None else [(child, None) for child in term.children]

    def visit(term: Any, parts: Any, _: None) -> Any:
        known = leaf(term)
        if known is not None:
            return known
        match term:
            case Number(value) | Constant(value):
                return min(max(float(value), -LARGEST), LARGEST)
            case Application():
                return abs(parts[0])
            case Arithmetic(operator):
                return _computed(operator, *parts)
        raise AssertionError(f"no value for {type(term).__name__}")

    return fold_scoped(side, {}, default=visit, scope=None, descend=descend)


def _computed(operator: str, left: Any, right: Any) -> Any:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    found = left * right if operator == "*" else left / right
    if isinstance(found, Tensor):
        return found.clamp(-LARGEST, LARGEST)
    return min(max(found, -LARGEST), LARGEST)
