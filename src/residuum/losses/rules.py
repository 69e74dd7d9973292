"""A compiled rule: network outputs in, penalties out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Layout, Plan
from residuum.logic import Formula
from residuum.logic.terms import as_label
from residuum.losses.aggregation import cap_of
from residuum.losses.degrees.logits import Form, Source
from residuum.losses.degrees.tensors import in_full
from residuum.losses.exact_answers import ExactAnswers
from residuum.losses.inputs.calls import Call, Receiver, case_of
from residuum.losses.inputs.evidence import Observed, are_all_observed
from residuum.losses.inputs.layouts import Bound
from residuum.losses.questions.coverage import coverage
from residuum.losses.questions.crisp_truth import satisfied
from residuum.losses.questions.diagnosis import without_gradient
from residuum.losses.questions.each import SingleGroundings, each
from residuum.losses.questions.explain import describe, warnings_about
from residuum.losses.questions.metrics import as_numbers, metrics_of
from residuum.losses.questions.truth import truth
from residuum.losses.questions.violations import Violation, violations
from residuum.losses.reductions import Reduction, SharedGroup, reduce_batch
from residuum.losses.relations.grounded import Grounded
from residuum.losses.relations.over_rows import (
    aggregates_rows,
    over_rows,
    refuse_worst_of_worst,
)
from residuum.losses.relations.tables import from_tables
from residuum.losses.routes.choosing import Chooser
from residuum.losses.routes.definition import Comparisons, Definition, Detached
from residuum.losses.schedules import Schedule, Scheduled, check_scheduled_weight, weight_at
from residuum.relaxations import Relaxation
from residuum.syntax.over import CONJUNCTION, Over

Tensors = Mapping[str, Tensor]


@final
class CompiledRule(ExactAnswers, Scheduled):
    """A rule under a relaxation, as a differentiable function of tensors. It has no parameters.

    >>> import torch
    >>> import residuum as rs
    >>> rule = rs.compile("Rain -> Wet", "r-product", inputs="probs")
    >>> outputs = {"Rain": torch.tensor([0.9, 0.2]), "Wet": torch.tensor([0.3, 0.6])}
    >>> rule(outputs)  # the mean penalty
    tensor(0.5493)
    >>> rule.satisfied(outputs).tolist()
    [False, True]
    >>> print(*rule.violations(outputs))
    example 0: Rain -> Wet, degree 0.33
    """

    def __init__(
        self,
        plan: Plan,
        relaxation: Relaxation,
        forms: Mapping[str, Form],
        *,
        name: str,
        weight: float | Schedule[float],
        reduction: Reduction,
        detach: Detached | None,
        check: bool,
        block: int | None,
        process_group: Any,
        replay: bool,
        comparisons: Comparisons = "crisp",
        layout: Layout | None = None,
        is_bundle: bool = False,
        overs: Sequence[Over] = (CONJUNCTION,),
    ) -> None:
        super().__init__()
        self.plan = plan
        self.relaxation = relaxation
        self.forms = forms
        self.name = name
        self._weight = weight
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
            comparisons=comparisons,
            overs=overs,
        )
        self._overs = tuple(overs)
        refuse_worst_of_worst(plan, self._overs[0])
        if not plan.sequence_domains:  # mistakes in the rule show when it is compiled
            self._definition.bind({}, torch.device("cpu"), layout)
        self._receiver = Receiver(self._definition)
        self._routes = Chooser(self._definition)
        self._definition_of_several = self._definition.of_several()
        self._routes_of_several = Chooser(self._definition_of_several) if is_bundle else None

    # nn.Module checks for each attribute whether it is a parameter or a module. A rule has neither,
    # and the check costs time where a knowledge has hundreds of rules.
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    @property
    def weight(self) -> float:
        """The weight in the present epoch, which multiplies the penalty."""
        return weight_at(self._weight, self.epoch, self.name)

    @weight.setter
    def weight(self, weight: float | Schedule[float]) -> None:
        check_scheduled_weight(weight, self.name)
        self._weight = weight

    @property
    def has_schedule(self) -> bool:
        """Whether the weight is a schedule."""
        return callable(self._weight)

    @property
    def process_group(self) -> Any:
        """The processes whose batches are reduced together; None for this process alone."""
        return self._group.group

    def set_process_group(self, group: Any) -> None:
        """Set the process group, which a rule that is read from a file has lost."""
        self._group = SharedGroup(group)

    @property
    def over(self) -> str:
        """How the penalties of groundings come together, such as "mean"."""
        return str(self._overs[0])

    @property
    def combines_rows(self) -> bool:
        """Whether `over` combines the rows of the rule, in the place of a reduction."""
        return aggregates_rows(self.plan, self._overs[0])

    @property
    def reduces_by_sums(self) -> bool:
        """Whether the sum of all penalties, and their number, are enough to reduce them."""
        if self.combines_rows or self.process_group is not None:
            return False
        if self.reduction in ("mean", "sum"):
            return True
        return self.reduction == "conjunction" and self.relaxation.tnorm.penalties_add_up

    @property
    def formula(self) -> Formula:
        """The rule itself."""
        return self.plan.formula

    def extra_repr(self) -> str:
        """Return what `print(rule)` shows."""
        weight = "" if self.weight == 1 else f", weight={self.weight:g}"
        over = "" if self._overs[0] == CONJUNCTION else f", over={self.over}"
        return (
            f"{self.plan.formula}, relaxation={self.relaxation}, "
            f"reduction={self.reduction}{over}{weight}"
        )

    # Calling it

    def forward(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the weighted penalty of the batch, or of each example with `reduction="none"`.

        Tensors are given by the names of predicates, as a mapping or by keywords. The last
        dimensions of a tensor are the domains of its predicate. The dimensions before are the
        batch, and broadcast. `lengths` are the lengths of padded sequences.

        `observed` are labels by the names of predicates. An observed output has degree 1 or 0 and
        no gradient; −100 marks one that is not observed. A predicate that is observed in full needs
        no tensor.
        """
        call = self.receive_for_penalty(named_tensors(tensors, named), lengths, observed)
        if self.has_schedule:
            self.watch_schedule()
        weight = self.weight
        with in_full(call.device):
            penalty = self.of_each_example(call)
            if self.combines_rows:
                return self.reduced(penalty) * weight
            return self.reduced(penalty if weight == 1 else penalty * weight)

    def truth(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the degree of truth of the rule, one per example.

        Neither the weight nor the reduction plays a part in it.
        """
        call = self.receive_for_penalty(named_tensors(tensors, named), lengths, observed)
        return truth(self._definition, self._routes, call)

    def satisfied(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return whether the predictions obey the rule, one Boolean per example.

        The prediction of a softmax is its likeliest class; that of a sigmoid is true above ½.
        """
        return satisfied(
            self._definition, self.receive(named_tensors(tensors, named), lengths, observed)
        )

    def coverage(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the share of groundings whose antecedent holds, one number per example.

        The antecedent is read with the predictions, as in `satisfied`. A rule with coverage 0 is
        satisfied only because nothing that it speaks of occurs.
        """
        return coverage(
            self._definition, self.receive(named_tensors(tensors, named), lengths, observed)
        )

    def violations(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        top: int = 5,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> list[Violation]:
        """Return groundings that the predictions break, those with the lowest degrees first.

        An example has violations exactly where `satisfied` is False. At most `top` are returned,
        of the whole batch. Under `exact` degrees are those of the product logic.
        """
        call = self.receive(named_tensors(tensors, named), lengths, observed)
        top = as_label(top)
        if not isinstance(top, int) or isinstance(top, bool) or top < 0:
            raise GroundingError(f"top: expected a number of violations, 0 or more, got {top!r}")
        return violations(self._definition, call, top)

    def each(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> SingleGroundings:
        """Return every grounding by itself: the degrees of its parts, and whether it holds.

        All groundings of the batch are in memory at once.
        """
        return each(
            self._definition, self.receive(named_tensors(tensors, named), lengths, observed)
        )

    def explain(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> str:
        """Return the rule in words: inputs, axes, groundings, memory, gradients, and its route.

        With tensors, the route is the one that evaluates them; without, the one for 64 examples on
        a CPU. The routes before it are named with the reason why they are not taken. Warnings are
        added if every prediction obeys the rule, or none; and with tensors, if labels are observed
        from which the relaxation hardly learns, or examples cost all that the logic counts.
        """
        given = (
            named_tensors(tensors, named)
            if tensors is not None or named or observed is not None
            else None
        )
        warnings = [] if given is None else self.warnings(given, lengths, observed)
        route = self.explained_route(given, lengths, observed)
        return "\n".join([self.described(), *warnings, *route])

    def metrics(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, float]:
        """Return what one logs while a network learns, as plain numbers.

        `penalty` (without the weight) and `truth` are means over examples; `satisfied` is the share
        of examples whose predictions obey, `groundings` the share of groundings that hold for the
        predictions, and `coverage` the mean share of groundings whose antecedent holds.
        """
        call = self.receive_for_penalty(named_tensors(tensors, named), lengths, observed)
        return as_numbers(self.metrics_of(call))

    def diagnose(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, float]:
        """Return the metrics, and the share of violated groundings `without_gradient`.

        A grounding is without a gradient if its own penalty has gradient 0 with respect to every
        output that it reads: the predictions break it, and no step mends it. Under `exact` its
        penalty is that of the product logic.
        """
        call = self.receive_for_penalty(named_tensors(tensors, named), lengths, observed)
        return as_numbers(self.diagnosis_of(call))

    # For other parts of this package

    @torch.no_grad()
    def metrics_of(self, call: Call) -> dict[str, Tensor]:
        """Return the metrics of a call as tensors, which may still be computed on a GPU."""
        with in_full(call.device):
            penalty = self.of_each_example(call)
            return metrics_of(self._definition, self._routes, call, penalty)

    @torch.no_grad()
    def diagnosis_of(self, call: Call) -> dict[str, Tensor]:
        """Return the metrics of a call and `without_gradient`, as tensors."""
        with in_full(call.device):
            lost = without_gradient(self._definition, call)
            return {**self.metrics_of(call), "without_gradient": lost}

    def rule_of(self, rules: Iterable[str] | None) -> CompiledRule:
        """Return this rule."""
        if rules is not None:
            raise GroundingError(
                "rules: expected none, as this is one rule; ask a compiled knowledge instead, or "
                "pass a tensor of that name in a mapping"
            )
        return self

    @property
    def definition(self) -> Definition:
        """The rule as its routes and questions know it."""
        return self._definition

    def asked(
        self,
        rules: Iterable[str] | None,
        tensors: Tensors | None,
        named: Tensors,
        lengths: Any,
        observed: Observed | None,
    ) -> tuple[Definition, Call]:
        """Return this rule, and a call of it with its tensors checked."""
        given = named_tensors(tensors, named)
        if self.plan.relation is not None:
            raise GroundingError(
                f"`{self.name}` relates members of open domains: expected a rule about labels, of "
                "which exact questions can be asked; give the domains labels"
            )
        call = self.rule_of(rules).receive(given, lengths, observed, is_exact=True)
        return self._definition, call

    def receive(
        self,
        given: Tensors | Grounded,
        lengths: Any,
        observed: Observed | None = None,
        *,
        is_exact: bool = False,
    ) -> Call:
        """Return a call with its tensors checked; GroundingError says which of them do not fit.

        `is_exact` says that an exact question is asked, which sums out hidden outputs.
        """
        if self.plan.relation is not None:
            return self._receive_rows(given, lengths, observed)
        assert not isinstance(given, Grounded)
        call = self._receiver.receive(given, lengths, observed, check=self.check, is_exact=is_exact)
        if self.check and observed and are_all_observed(self.plan, observed, call.lengths):
            self._refuse_contradiction(call)
        return call

    def _receive_rows(
        self, given: Tensors | Grounded, lengths: Any, observed: Observed | None
    ) -> Call:
        """Return a call of a rule that relates members of open domains, on all its rows."""
        if lengths is not None:
            raise GroundingError("lengths: expected none, as no rule is over a sequence")
        rows = given if isinstance(given, Grounded) else from_tables(self.plan, given, observed)
        labels = rows.labels or None
        call = self._receiver.receive(rows.tensors, None, labels, check=self.check)
        masks = {
            number: mask & call.bound.masks[number] if number in call.bound.masks else mask
            for number, mask in rows.masks.items()
        }
        call = call._replace(masks=masks, rows=rows)
        outputs = self.plan.outputs
        if self.check and all(
            s.name in rows.labels and s.name not in rows.tensors for s in outputs
        ):
            self._refuse_contradiction(call)
        return call

    def receive_for_penalty(
        self, given: Tensors | Grounded, lengths: Any, observed: Observed | None = None
    ) -> Call:
        """Return a checked call whose penalty is wanted: `exact` then sums out hidden outputs."""
        return self.receive(given, lengths, observed, is_exact=self._definition.is_exact)

    def _refuse_contradiction(self, call: Call) -> None:
        """Raise GroundingError if the outputs, all of them observed, break the rule."""
        found = violations(self._definition, call, 1)
        if found:
            raise GroundingError(
                f"observed: expected labels that obey the rule, got {found[0]}; correct the "
                "labels, or compile the rule without check="
            )

    def of_each_example(self, call: Call) -> Tensor:
        """Return one penalty per example, without the weight."""
        total = self._routes.evaluate(call)
        assert total is not None  # the steps take any call of one rule
        total = self._definition.divided(total, call)
        return total if self._cap is None else total.clamp(max=self._cap)

    def of_each_rule(self, call: Call) -> Tensor | None:
        """Return one penalty per rule of a bundle and example, (rules, *batch), without weights.

        Returns None if the rules must be evaluated one by one.
        """
        assert self._routes_of_several is not None
        with in_full(call.device):
            found = self._routes_of_several.evaluate(call)
            if found is not None:
                found = self._definition_of_several.divided(found, call)
        return found if found is None or self._cap is None else found.clamp(max=self._cap)

    def reduced(self, penalties: Tensor, rows: tuple[int, ...] = ()) -> Tensor:
        """Return penalties of examples reduced over the batch, separately for each of the rows."""
        if self.combines_rows:
            return over_rows(penalties, self._overs[0], self.relaxation)
        if self.reduction == "none":
            return penalties
        group = self._group.group
        penalties = penalties.reshape(*rows, -1)
        return reduce_batch(penalties, self.reduction, self.relaxation, process_group=group)

    def described(self) -> str:
        """Return the rule in words, without its route."""
        weight = "" if self.weight == 1 else f", times its weight {self.weight:g}"
        one, every = "example", "the batch"
        if self.plan.relation is not None:
            one, every = "choice of members", "all choices of members"
        returned = f"one penalty per {one}"
        if self.combines_rows:
            returned = f"{self.over} over {every}"
        elif self.reduction != "none":
            returned = f"the {self.reduction} over {every}"
        told = describe(self._definition, self._bound())
        return f"{told}\nreturns {returned}{weight}"

    @torch.no_grad()
    def warnings(self, given: Tensors, lengths: Any, observed: Observed | None) -> list[str]:
        """Return warnings about these tensors and labels, for `explain`."""
        call = self.receive_for_penalty(given, lengths, observed)
        with in_full(call.device):
            penalties = self.of_each_example(call)
        return warnings_about(self._definition, call.labels, penalties)

    def explained_route(
        self,
        given: Tensors | None,
        lengths: Any,
        observed: Observed | None = None,
        *,
        of_several: bool = False,
    ) -> list[str]:
        """Return lines that name the route, and why the routes before it are not taken.

        With `of_several` the route is the one that evaluates the rules of a bundle together.
        """
        routes = self._routes_of_several if of_several else self._routes
        assert routes is not None
        if given is not None:
            call = self.receive_for_penalty(given, lengths, observed)
            assert call.case is not None
            return routes.explain(call.case, call)
        bound = self._bound()
        if bound is None:
            return ["the route depends on the lengths of sequences: pass tensors to `explain`"]
        lines = routes.explain(case_of(self.plan, bound, 64), None)
        if self._definition.is_exact:
            circuit = self._definition.circuits.circuit((), torch.device("cpu"))
            lines[-1] += f", with a circuit of {len(circuit.evaluator.circuit):,} nodes"
        return lines

    def _bound(self) -> Bound | None:
        """Return the layout on a CPU; None for a rule over sequences, whose lengths vary."""
        if self.plan.sequence_domains:
            return None
        return self._definition.bind({}, torch.device("cpu"))

    def sources(
        self, inputs: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Source]:
        """Return the tensors of all slots, or of those at some places, as sources of degrees."""
        return self._definition.sources(inputs, places)

    @property
    def is_made_of_clauses(self) -> bool:
        """Whether the groundings are clauses, which rules of a knowledge evaluate together."""
        return self._definition.is_made_of_clauses


def named_tensors(tensors: Tensors | None, named: Tensors) -> Tensors:
    """Return the tensors of a call, given as a mapping, by keywords, or both."""
    if tensors is None:
        return named
    if not named:
        return tensors
    return {**tensors, **named} if isinstance(tensors, Mapping) else tensors
