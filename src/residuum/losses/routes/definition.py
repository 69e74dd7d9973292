"""The definition of a rule for its routes: plan, relaxation, options, and cached tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

import torch
from torch import Tensor

from residuum.grounding import Layout, Plan, lay_out
from residuum.grounding.plans import Connect, Quantify
from residuum.losses import routes
from residuum.losses.aggregation.groundings import (
    Chain,
    aggregation_over,
    count_groundings,
    counts_by_length,
)
from residuum.losses.degrees.logits import Form, Source, sources_of
from residuum.losses.degrees.tensors import outside_inference_mode
from residuum.losses.inputs.layouts import Bound, bind, groundings_of, move
from residuum.losses.routes import thresholds
from residuum.losses.routes.recognising import law_of, literals_of
from residuum.losses.tracing import not_traced
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax.over import CONJUNCTION, Over

if TYPE_CHECKING:
    from residuum.losses.aggregation.aggregators import Aggregator
    from residuum.losses.inputs.calls import Call
    from residuum.losses.routes.listing import Clauses
    from residuum.losses.routes.rule_circuits import RuleCircuits

Detached = Literal["antecedent", "consequent"]
Comparisons = Literal["crisp", "degrees"]
"""Comparisons of quantities under `exact` are true or false, or as probable as their degree."""


@final
class Definition:
    """The options of `rs.compile` that the evaluation of a rule depends on.

    A bundle is a conjunction of several rules. With `is_several`, the result is the penalty of each
    rule, rules × batch, instead of the penalty of the conjunction.
    """

    def __init__(
        self,
        plan: Plan,
        relaxation: Relaxation,
        forms: Mapping[str, Form],
        *,
        detach: Detached | None,
        block: int | None,
        replay: bool,
        is_bundle: bool,
        comparisons: Comparisons = "crisp",
        overs: Sequence[Over] = (CONJUNCTION,),
    ) -> None:
        self.plan = plan
        self.relaxation = relaxation
        self.detach = detach
        self.replay = replay
        self.is_bundle = is_bundle
        self.comparisons = comparisons
        self.is_several = False
        # How each rule of the bundle, or the one rule, aggregates its groundings.
        last = len(plan.steps) - 1
        roots = self._operands if is_bundle else (last,)
        self.over = [
            aggregation_over(plan, root, relaxation, over)
            for root, over in zip(roots, overs, strict=True)
        ]
        self.divides = any(one.divided is not None for one in self.over)
        self._numbers: dict[Any, Tensor] = {}
        self._single_numbers: dict[Any, int] = {}
        # Computed here, so that torch.compile traces plain values.
        self.names = [slot.name for slot in plan.given]
        self.forms = [forms[slot.name] for slot in plan.slots]
        self.is_exact = relaxation == EXACT
        # Whether false → x is true while an antecedent just above 0 makes x count.
        self.jumps_at_false = relaxation.kind != "S" and relaxation.structure == "strict"
        self._block = block
        self.has_hidden = any(slot.predicate.is_hidden for slot in plan.slots)
        self._exclusive = [slot.is_exclusive for slot in plan.slots]
        self._needs_care = not relaxation.tnorm.has_bounded_gradients
        self._law = law_of(relaxation)
        self._bound: dict[Any, Bound] = {}
        self._clauses: dict[Any, Clauses | str] = {}

    @property
    def rules(self) -> int:
        """The number of rules in the bundle; 1 if it is none."""
        return len(self._operands) if self.is_bundle else 1

    @property
    def _operands(self) -> tuple[int, ...]:
        last = self.plan.steps[-1]
        return last.operands if isinstance(last, Connect) else (len(self.plan.steps) - 1,)

    @property
    def aggregator(self) -> Aggregator | None:
        """What combines groundings if the rule is evaluated step by step; None: the logic."""
        return self.over[0].aggregator

    def of_several(self) -> Definition:
        """Return this bundle with one penalty for each rule. Both share their tables."""
        twin = object.__new__(Definition)
        twin.__dict__.update(self.__dict__, is_several=True)
        return twin

    def block(self, device: torch.device) -> int:
        """Return the number of groundings that are evaluated at a time."""
        usual = thresholds.GPU_BLOCK if device.type == "cuda" else thresholds.CPU_BLOCK
        return self._block or usual

    def sources(
        self, inputs: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Source]:
        """Return the tensors of all slots, or of the slots at `places`, as sources of degrees."""
        chosen = range(len(inputs)) if places is None else places
        return sources_of(
            [inputs[place] for place in chosen],
            [self.forms[place] for place in chosen],
            [self._exclusive[place] for place in chosen],
            needs_care=self._needs_care,
        )

    def bind(
        self, sizes: Mapping[str, int], device: torch.device, layout: Layout | None = None
    ) -> Bound:
        """Return the tables of the rule for sequences of these lengths, from the cache if there.

        A known layout saves its computation.
        """
        key = tuple(sizes.items()), str(device)
        if torch.compiler.is_compiling() or key not in self._bound:
            self._bind(*key, layout)
        return self._bound[key]

    @not_traced
    def _bind(self, sizes: tuple[tuple[str, int], ...], device: str, layout: Layout | None) -> None:
        """Put the tables of the rule into the cache. A trace runs this without tracing it."""
        with outside_inference_mode():
            if (sizes, "cpu") not in self._bound:
                make_room(self._bound)
                layout = layout or lay_out(self.plan, dict(sizes))
                self._bound[sizes, "cpu"] = bind(
                    self.plan, layout, self.relaxation, detaches=self.detach is not None
                )
            if (sizes, device) not in self._bound:
                on_cpu = self._bound[sizes, "cpu"]
                self._bound[sizes, device] = move(on_cpu, torch.device(device))

    def divided(self, totals: Tensor, call: Call) -> Tensor:
        """Return the penalties of a call from sums over groundings, which a mean divides."""
        if not self.divides:
            return totals
        assert call.case is not None
        key = tuple(call.case.sizes.items()), str(call.device), call.lengths is not None
        if torch.compiler.is_compiling() or key not in self._numbers:
            self._count(*key)
        numbers = self._numbers[key]
        if call.lengths is not None:
            numbers = numbers[:, call.lengths]
        elif self.is_several:
            numbers = numbers.reshape(-1, *(1,) * len(call.batch))
        else:
            return totals / self._single_numbers[key]
        return totals / (numbers if self.is_several else numbers[0])

    @not_traced
    def _count(self, sizes: tuple[tuple[str, int], ...], device: str, by_length: bool) -> None:
        """Keep the numbers of groundings that sums are divided by: rules, and rules × lengths.

        A trace runs this without tracing it.
        """
        key = sizes, device, by_length
        longest = max((size for _, size in sizes), default=0)
        with outside_inference_mode():
            bound = self.bind(dict(sizes), torch.device("cpu"))
            numbers = torch.stack([
                self._numbers_of(rule.divided, bound, longest if by_length else None)
                for rule in self.over
            ])  # fmt: skip
            make_room(self._numbers)
            make_room(self._single_numbers)
            self._numbers[key] = numbers.to(device)
            if not by_length:
                self._single_numbers[key] = int(numbers[0])

    def _numbers_of(self, chain: Chain | None, bound: Bound, longest: int | None) -> Tensor:
        if longest is None:
            number = 1 if chain is None else count_groundings(chain, self.plan, bound)
            return torch.tensor(max(1, number))
        if chain is None:
            return torch.ones(longest + 1, dtype=torch.int64)
        return counts_by_length(chain, self.plan, bound, longest).clamp(min=1)

    @property
    def is_made_of_clauses(self) -> bool:
        """Whether the groundings are clauses; of a rule over sequences, whether its body is one."""
        if not self.plan.sequence_domains:
            return not isinstance(self.clauses({}, torch.device("cpu")), str)
        if self._law is None or self.why_no_clauses is not None:
            return False
        body = groundings_of(self.plan).body
        return literals_of(self.plan, body, self._law) is not None

    def clauses(self, sizes: Mapping[str, int], device: torch.device) -> Clauses | str:
        """Return the groundings as clauses, or the reason why they are none; cached."""
        key = tuple(sizes.items()), device
        if key not in self._clauses:
            make_room(self._clauses)
            self._clauses[key] = self._find_clauses(sizes, device)
        found = self._clauses[key]
        return found if self.is_several or isinstance(found, str) else found.as_one_rule

    @cached_property
    def why_no_clauses(self) -> str | None:
        """The reason why the rule is never evaluated as clauses; None if it may be."""
        if self.is_exact:
            return "the relaxation is `exact`"
        if self.detach is not None:
            return f"`detach` needs the {self.detach}, and a clause has no such part"
        if any(isinstance(step, Quantify) and step.members for step in self.plan.steps):
            return "a guard is about members of open domains, which are known in a call only"
        if self._law is None:
            return (
                f"under `{self.relaxation}` the penalty of a clause does not follow from a sum "
                "over its literals"
            )
        if self.aggregator is not None:
            return f"groundings are aggregated by {self.over[0].over}, not by the logic"
        if any(form != "logits" for form in self.forms):
            return "some inputs are no logits, and only logits have gradients by hand"
        return None

    @property
    def compares(self) -> bool:
        """Whether a clause costs the minimum of its literals, and a rule as its worst clause."""
        return self._law is not None and self._law.cost == "least"

    @cached_property
    def circuits(self) -> RuleCircuits:
        """The circuits of the rule, which answer exact questions under any relaxation."""
        return routes.rule_circuits.RuleCircuits(self)

    def _find_clauses(self, sizes: Mapping[str, int], device: torch.device) -> Clauses | str:
        why_not = self.why_no_clauses
        if why_not is not None:
            return why_not
        assert self._law is not None
        bound = self.bind(sizes, torch.device("cpu"))
        with outside_inference_mode():
            found = routes.listing.find_clauses(
                self.plan, bound.layout, self._law, bound.masks, is_bundle=self.is_bundle
            )
            return found if isinstance(found, str) else found.to(device)


def make_room(kept: dict[Any, Any]) -> None:
    """Remove the oldest entries of a cache until there is room for a new one."""
    while len(kept) >= thresholds.MOST_LAYOUTS:
        kept.pop(next(iter(kept)))
