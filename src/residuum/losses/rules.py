"""A compiled rule: network outputs in, penalties out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding import Layout, Plan
from residuum.logic import Formula
from residuum.logic.terms import as_label
from residuum.losses.aggregation import cap_of
from residuum.losses.degrees.logits import Form, Source
from residuum.losses.degrees.tensors import in_full
from residuum.losses.inputs.calls import Call, Receiver, case_of
from residuum.losses.questions.coverage import coverage
from residuum.losses.questions.crisp_truth import satisfied
from residuum.losses.questions.each import SingleGroundings, each
from residuum.losses.questions.explain import describe
from residuum.losses.questions.truth import truth
from residuum.losses.questions.violations import Violation, violations
from residuum.losses.reductions import Reduction, SharedGroup, reduce_batch
from residuum.losses.routes.choosing import Chooser
from residuum.losses.routes.definition import Definition, Detached
from residuum.relaxations import Relaxation

Tensors = Mapping[str, Tensor]


@final
class CompiledRule(nn.Module):
    """A rule under a relaxation, as a differentiable function of tensors; no parameters."""

    def __init__(
        self,
        plan: Plan,
        relaxation: Relaxation,
        forms: Mapping[str, Form],
        *,
        name: str,
        weight: float,
        reduction: Reduction,
        detach: Detached | None,
        check: bool,
        block: int | None,
        process_group: Any,
        replay: bool,
        layout: Layout | None = None,
        is_bundle: bool = False,
    ) -> None:
        super().__init__()
        self.plan = plan
        self.relaxation = relaxation
        self.forms = forms
        self.name = name
        self.weight = weight
        self.reduction = reduction
        self.detach = detach
        self.check = check
        self.block = block
        self._group = SharedGroup(process_group)
        self._cap = cap_of(relaxation)
        self._definition = Definition(
            plan,
            relaxation,
            forms,
            detach=detach,
            block=block,
            replay=replay,
            is_bundle=is_bundle,
        )
        if not plan.sequence_domains:  # mistakes in the rule show when it is compiled
            self._definition.bind({}, torch.device("cpu"), layout)
        self._receiver = Receiver(self._definition)
        self._routes = Chooser(self._definition)
        self._routes_of_several = Chooser(self._definition.of_several()) if is_bundle else None

    # nn.Module would ask of each attribute whether it is to be registered. A rule has neither
    # parameters nor modules, and knowledge has rules by the hundred.
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    @property
    def process_group(self) -> Any:
        """The group over whose batch `reduction` reduces."""
        return self._group.group

    def set_process_group(self, group: Any) -> None:
        """Give the rule a process group, as is needed after unpickling one that had one."""
        self._group = SharedGroup(group)

    @property
    def formula(self) -> Formula:
        """The rule itself."""
        return self.plan.formula

    def extra_repr(self) -> str:
        """Say what it is, for `print(module)`."""
        return f"{self.plan.formula}, relaxation={self.relaxation}"

    # Calling it

    def forward(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the penalty, one per example unless `reduction` says otherwise.

        There is one tensor per predicate, by name: leading batch dimensions, which broadcast,
        then one for each of its domains. `lengths` gives those of padded sequences.
        """
        return self.penalty(self.receive(named_tensors(tensors, named), lengths))

    def penalty(self, call: Call) -> Tensor:
        """Return what a call that was received costs."""
        with in_full(call.device):
            total = self._routes.evaluate(call)
            assert total is not None  # steps take any call of one rule
            return self.finish(total)

    def finish(self, total: Tensor) -> Tensor:
        """Return penalties of groundings added up as they are handed out: capped and weighted."""
        penalty = total if self._cap is None else total.clamp(max=self._cap)
        if self.weight != 1:
            penalty = penalty * self.weight
        if self.reduction == "none":
            return penalty
        group = self._group.group
        return reduce_batch(penalty, self.reduction, self.relaxation, process_group=group)

    def of_each_rule(self, call: Call) -> Tensor | None:
        """Return the penalties of the rules in a bundle, rules × batch, not yet capped.

        None if the rules must be evaluated one by one.
        """
        assert self._routes_of_several is not None
        with in_full(call.device):
            return self._routes_of_several.evaluate(call)

    def truth(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the degree of truth of the rule, one per example."""
        call = self.receive(named_tensors(tensors, named), lengths)
        return truth(self._definition, self._routes, call)

    def satisfied(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return whether the predictions obey the rule, one Boolean per example.

        A prediction is the likeliest class of a softmax, or what is likelier than not.
        """
        return satisfied(self._definition, self.receive(named_tensors(tensors, named), lengths))

    def coverage(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the share of groundings whose antecedent holds for the predictions.

        Where it is 0 the rule is satisfied for want of anything to say.
        """
        return coverage(self._definition, self.receive(named_tensors(tensors, named), lengths))

    def violations(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        top: int = 5,
        lengths: Any = None,
        **named: Tensor,
    ) -> list[Violation]:
        """Return the groundings with the lowest degrees in the batch, worst first.

        Under `exact` each grounding is read in the product logic.
        """
        call = self.receive(named_tensors(tensors, named), lengths)
        top = as_label(top)
        if not isinstance(top, int) or isinstance(top, bool) or top < 0:
            raise GroundingError(f"top: expected how many violations to name, got {top!r}")
        return violations(self._definition, call, top)

    def each(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> SingleGroundings:
        """Return every grounding by itself: what its parts are worth, and what is predicted.

        It is all evaluated at once, so that it takes memory for all groundings of the batch.
        """
        return each(self._definition, self.receive(named_tensors(tensors, named), lengths))

    def explain(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> str:
        """Return the rule in words: inputs, axes, groundings, memory, gradients, and its route.

        With tensors it says by which route their penalty is found, and why not by those before it;
        without, it does so for 64 examples on a CPU. It warns of a rule about one softmax that
        every prediction obeys, or none.
        """
        bound = None
        if not self.plan.sequence_domains:
            bound = self._definition.bind({}, torch.device("cpu"))
        told = describe(self.plan, bound, self.relaxation)
        call = None
        if tensors is not None or named:
            call = self.receive(named_tensors(tensors, named), lengths)
            assert call.case is not None
            route = self._routes.explain(call.case, call)
        elif bound is not None:
            route = self._routes.explain(case_of(self.plan, bound, 64), None)
        else:
            route = ["the route depends on the lengths of sequences: pass tensors to `explain`"]
        return "\n".join([told, *route])

    # For other parts of this package

    def receive(self, given: Tensors, lengths: Any) -> Call:
        """Return a call with everything checked; GroundingError says what does not fit."""
        return self._receiver.receive(given, lengths, check=self.check)

    def sources(
        self, inputs: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Source]:
        """Return the tensors of all slots, or of those at some places, as sources of degrees."""
        return self._definition.sources(inputs, places)

    @property
    def is_made_of_clauses(self) -> bool:
        """Whether its groundings may be evaluated as clauses, with those of other rules."""
        return self._definition.is_made_of_clauses


def named_tensors(tensors: Tensors | None, named: Tensors) -> Tensors:
    """Return the tensors of a call, given as a mapping, by keywords, or both."""
    if tensors is None:
        return named
    if not named:
        return tensors
    return {**tensors, **named} if isinstance(tensors, Mapping) else tensors
