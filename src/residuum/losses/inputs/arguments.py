"""The arguments of a call: tensors by name or keyword, lengths of sequences, and observed labels.

They are described once, by the functions at the end. A method under `@takes_tensors` has these
arguments and gets them as `Inputs`; the other decorators add an option.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, TypeVarTuple

from torch import Tensor

from residuum.grounding import Plan
from residuum.losses.inputs.evidence import Observed, batches_of_labels

Tensors = Mapping[str, Tensor]
Names = Iterable[str]

Options = ParamSpec("Options")
Owner = TypeVar("Owner")
Answer = TypeVar("Answer")
Read = TypeVarTuple("Read")


class Reader(Protocol):
    """What a rule reads."""

    @property
    def plan(self) -> Plan:
        """The plan of the rule, which has a slot for each tensor."""
        ...


class Inputs(NamedTuple):
    """The inputs of one call: tensors by name, lengths of sequences, and labels by name."""

    tensors: Any
    lengths: Any = None
    observed: Observed | None = None

    @property
    def is_empty(self) -> bool:
        """Whether neither tensors nor labels are given, so that only shapes can be asked for."""
        return self.observed is None and isinstance(self.tensors, Mapping) and not self.tensors

    def of(self, rule: Reader) -> Inputs:
        """Return what a rule reads."""
        names = rule.plan.read
        observed = self.observed
        if observed is not None:
            observed = {name: observed[name] for name in names if name in observed} or None
        return Inputs(
            {name: self.tensors[name] for name in names if name in self.tensors},
            self.lengths if rule.plan.sequence_domains else None,
            observed,
        )

    def have_one_batch(self, plan: Plan) -> bool:
        """Return whether all tensors and labels have the same batch.

        If not, rules that read different tensors may have batches of different shapes.
        """
        given = self.tensors
        shapes = [
            given[slot.name].shape[: given[slot.name].dim() - len(slot.domains)]
            for slot in plan.given
            if isinstance(given.get(slot.name), Tensor) and not given[slot.name].is_nested
        ]
        if self.observed is not None:
            shapes += batches_of_labels(plan.outputs, self.observed)
        return all(shape == shapes[0] for shape in shapes[1:])


def named_tensors(tensors: Tensors | None, named: Tensors) -> Tensors:
    """Return the tensors of a call, given as a mapping, by keywords, or both."""
    if tensors is None:
        return named
    if not named:
        return tensors
    return {**tensors, **named} if isinstance(tensors, Mapping) else tensors


def taking(
    read: Callable[Options, tuple[*Read]],
) -> Callable[[Callable[[Owner, *Read], Answer]], Callable[Concatenate[Owner, Options], Answer]]:
    """Return a decorator: the method has the arguments of `read`, and gets what `read` returns.

    Type checkers, `help` and completion show these arguments, with the docstring of the method.
    """
    arguments = inspect.signature(read).parameters.values()

    def decorate(
        method: Callable[[Owner, *Read], Answer],
    ) -> Callable[Concatenate[Owner, Options], Answer]:
        @wraps(method)
        def asked(self: Owner, /, *given: Options.args, **options: Options.kwargs) -> Answer:
            return method(self, *read(*given, **options))

        owner, *_ = inspect.signature(method).parameters.values()
        whole = [owner.replace(kind=owner.POSITIONAL_ONLY), *arguments]
        asked.__signature__ = inspect.signature(method).replace(parameters=whole)  # type: ignore[attr-defined]
        return asked

    return decorate


def _tensors(
    tensors: Tensors | None = None,
    /,
    *,
    lengths: Any = None,
    observed: Observed | None = None,
    **named: Tensor,
) -> tuple[Inputs]:
    return (Inputs(named_tensors(tensors, named), lengths, observed),)


def _tensors_and_top(
    tensors: Tensors | None = None,
    /,
    *,
    top: int = 5,
    lengths: Any = None,
    observed: Observed | None = None,
    **named: Tensor,
) -> tuple[Inputs, int]:
    return Inputs(named_tensors(tensors, named), lengths, observed), top


def _tensors_and_rules(
    tensors: Tensors | None = None,
    /,
    *,
    rules: Names | None = None,
    lengths: Any = None,
    observed: Observed | None = None,
    **named: Tensor,
) -> tuple[Inputs, Names | None]:
    return Inputs(named_tensors(tensors, named), lengths, observed), rules


def _tensors_and_labels(
    tensors: Tensors | None = None,
    /,
    labels: Observed | None = None,
    *,
    rules: Names | None = None,
    lengths: Any = None,
    **named: Tensor,
) -> tuple[Inputs, Observed | None, Names | None]:
    return Inputs(named_tensors(tensors, named), lengths), labels, rules


takes_tensors = taking(_tensors)
takes_tensors_and_top = taking(_tensors_and_top)
takes_tensors_and_rules = taking(_tensors_and_rules)
takes_tensors_and_labels = taking(_tensors_and_labels)
