"""A compiled rule: network outputs in, penalties out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Layout, Plan
from residuum.logic import Formula
from residuum.logic.terms import as_label
from residuum.losses import questions, relations
from residuum.losses.aggregation import cap_of
from residuum.losses.degrees.logits import Form, Source
from residuum.losses.degrees.tensors import in_full
from residuum.losses.exact_answers import ExactAnswers
from residuum.losses.inputs.arguments import Inputs, takes_tensors, takes_tensors_and_top
from residuum.losses.inputs.calls import Call, Receiver
from residuum.losses.inputs.evidence import Observed
from residuum.losses.inputs.hidden import has_predictions
from residuum.losses.reductions import Reduction, SharedGroup, reduce_batch
from residuum.losses.routes.choosing import Chooser
from residuum.losses.routes.definition import Comparisons, Definition, Detached
from residuum.losses.schedules import Schedule, Scheduled, check_scheduled_weight, weight_at
from residuum.relaxations import Relaxation
from residuum.syntax.over import CONJUNCTION, Over

if TYPE_CHECKING:
    from residuum.losses.questions.each import SingleGroundings
    from residuum.losses.questions.violations import Violation
    from residuum.losses.relations.grounded import Grounded


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
        self.combines_rows = False
        if plan.relation is not None:
            self.combines_rows = relations.over_rows.combines_rows(plan, self._overs[0])
        if not plan.sequence_domains:  # mistakes in the rule show when it is compiled
            self._definition.bind({}, torch.device("cpu"), layout)
        self._receiver = Receiver(self._definition)
        self.routes = Chooser(self._definition)
        self.routes_of_several = Chooser(self._definition.of_several()) if is_bundle else None

    # nn.Module checks for each attribute whether it is a parameter or a module. A rule has neither,
    # and the check costs time where a knowledge has hundreds of rules.
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    @property
    def weight(self) -> float:
        """The weight in the present epoch, which multiplies the penalty."""
        weight = self._weight
        return weight_at(weight, self.epoch, self.name) if callable(weight) else weight

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

    @takes_tensors
    def forward(self, given: Inputs) -> Tensor:
        """Return the weighted penalty of the batch, or of each example with `reduction="none"`.

        Tensors are given by the names of predicates, as a mapping or by keywords. The last
        dimensions of a tensor are the domains of its predicate. The dimensions before are the
        batch, and broadcast. `lengths` are the lengths of padded sequences.

        `observed` are labels by the names of predicates. An observed output has degree 1 or 0 and
        no gradient; −100 marks one that is not observed. A predicate that is observed in full needs
        no tensor.
        """
        call = self.receive_for_penalty(*given)
        if self.has_schedule:
            self.watch_schedule()
        weight = self.weight
        with in_full(call.device):
            penalty = self.of_each_example(call)
            if self.combines_rows:
                return self.reduced(penalty) * weight
            return self.reduced(penalty if weight == 1 else penalty * weight)

    @takes_tensors
    def truth(self, given: Inputs) -> Tensor:
        """Return the degree of truth of the rule, one per example.

        Neither the weight nor the reduction plays a part in it.
        """
        call = self.receive_for_penalty(*given)
        return questions.truth.truth(self._definition, self.routes, call)

    @takes_tensors
    def satisfied(self, given: Inputs) -> Tensor:
        """Return whether the predictions obey the rule, one Boolean per example.

        The prediction of a softmax is its likeliest class; that of a sigmoid is true above ½.
        """
        return questions.crisp_truth.satisfied(self._definition, self.receive(*given))

    @takes_tensors
    def coverage(self, given: Inputs) -> Tensor:
        """Return the share of groundings whose antecedent holds, one number per example.

        The antecedent is read with the predictions, as in `satisfied`. A rule with coverage 0 is
        satisfied only because nothing that it speaks of occurs.
        """
        return questions.coverage.coverage(self._definition, self.receive(*given))

    @takes_tensors_and_top
    def violations(self, given: Inputs, top: int) -> list[Violation]:
        """Return groundings that the predictions break, those with the lowest degrees first.

        An example has violations exactly where `satisfied` is False. At most `top` are returned,
        of the whole batch. Under `exact` degrees are those of the product logic.
        """
        call = self.receive(*given)
        top = as_label(top)
        if not isinstance(top, int) or isinstance(top, bool) or top < 0:
            raise GroundingError(f"top: expected a number of violations, 0 or more, got {top!r}")
        return questions.violations.violations(self._definition, call, top)

    @takes_tensors
    def each(self, given: Inputs) -> SingleGroundings:
        """Return every grounding by itself: the degrees of its parts, and whether it holds.

        All groundings of the batch are in memory at once.
        """
        return questions.each.each(self._definition, self.receive(*given))

    @takes_tensors
    def explain(self, given: Inputs) -> str:
        """Return the rule in words: inputs, axes, groundings, memory, gradients, and its route.

        With tensors, the route is the one that evaluates them; without, the one for 64 examples on
        a CPU. The routes before it are named with the reason why they are not taken. Warnings are
        added if every prediction obeys the rule, or none; and with tensors, if labels are observed
        from which the relaxation hardly learns, or examples cost all that the logic counts.
        """
        return questions.explain.explained(self, None if given.is_empty else given)

    @takes_tensors
    def metrics(self, given: Inputs) -> dict[str, float]:
        """Return what one logs while a network learns, as plain numbers.

        `penalty` (without the weight) and `truth` are means over examples; `satisfied` is the share
        of examples whose predictions obey, `groundings` the share of groundings that hold for the
        predictions, and `coverage` the mean share of groundings whose antecedent holds. These three
        are left out where hidden outputs are not observed, which have no predictions.
        """
        return questions.metrics.as_numbers(self.metrics_of(self.receive_for_penalty(*given)))

    @takes_tensors
    def diagnose(self, given: Inputs) -> dict[str, float]:
        """Return the metrics, and the share of violated groundings `without_gradient`.

        A grounding is without a gradient if its own penalty has gradient 0 with respect to every
        output that it reads: the predictions break it, and no step mends it. Under `exact` its
        penalty is that of the product logic.
        """
        return questions.metrics.as_numbers(self.diagnosis_of(self.receive_for_penalty(*given)))

    # For other parts of this package

    @property
    def definition(self) -> Definition:
        """The rule as its routes and questions know it."""
        return self._definition

    @torch.no_grad()
    def metrics_of(self, call: Call) -> dict[str, Tensor]:
        """Return the metrics of a call as tensors, which may still be computed on a GPU."""
        with in_full(call.device):
            penalty = self.of_each_example(call)
            return questions.metrics.metrics_of(self._definition, self.routes, call, penalty)

    @torch.no_grad()
    def diagnosis_of(self, call: Call) -> dict[str, Tensor]:
        """Return the metrics of a call and `without_gradient`, as tensors."""
        with in_full(call.device):
            found = self.metrics_of(call)
            if has_predictions(self.plan.slots, call.labels, call.lengths):
                lost = questions.diagnosis.without_gradient(self._definition, call)
                found["without_gradient"] = lost
            return found

    def warnings(self, tensors: Any, lengths: Any, observed: Observed | None) -> list[str]:
        """Return warnings about these tensors and labels, for `explain`."""
        return questions.explain.warnings(self, Inputs(tensors, lengths, observed))

    def rule_of(self, rules: Iterable[str] | None) -> CompiledRule:
        """Return this rule."""
        if rules is not None:
            raise GroundingError(
                "rules: expected none, as this is one rule; ask a compiled knowledge instead, or "
                "pass a tensor of that name in a mapping"
            )
        return self

    def asked(self, given: Inputs, rules: Iterable[str] | None) -> tuple[Definition, Call]:
        """Return this rule, and a call of it with its tensors checked."""
        if self.plan.relation is not None:
            raise GroundingError(
                f"`{self.name}` relates members of open domains: expected a rule about labels, of "
                "which exact questions can be asked; give the domains labels"
            )
        return self._definition, self.rule_of(rules).receive(*given, is_exact=True)

    def receive(
        self,
        tensors: Mapping[str, Tensor] | Grounded,
        lengths: Any = None,
        observed: Observed | None = None,
        *,
        is_exact: bool = False,
    ) -> Call:
        """Return a call with its tensors checked; GroundingError says which of them do not fit.

        `is_exact` says that an exact question is asked, which sums out hidden outputs. The tensors
        of a rule that relates members of open domains may be those of its rows.
        """
        given = Inputs(tensors, lengths, observed)
        if self.plan.relation is not None:
            call = relations.calls.on_rows(self._receiver, self.plan, given, check=self.check)
        else:
            call = self._receiver.receive(given, check=self.check, is_exact=is_exact)
        if self.check and observed:
            questions.violations.refuse_contradiction(self._definition, call)
        return call

    def receive_for_penalty(
        self,
        tensors: Mapping[str, Tensor] | Grounded,
        lengths: Any = None,
        observed: Observed | None = None,
    ) -> Call:
        """Return a checked call whose penalty is wanted: `exact` then sums out hidden outputs."""
        return self.receive(tensors, lengths, observed, is_exact=self._definition.is_exact)

    def of_each_example(self, call: Call) -> Tensor:
        """Return one penalty per example, without the weight."""
        found = self._penalties(self.routes, call)
        assert found is not None  # the steps take any call of one rule
        return found

    def of_each_rule(self, call: Call) -> Tensor | None:
        """Return one penalty per rule of a bundle and example, (rules, *batch), without weights.

        Returns None if the rules must be evaluated one by one.
        """
        assert self.routes_of_several is not None
        with in_full(call.device):
            return self._penalties(self.routes_of_several, call)

    def _penalties(self, routes: Chooser, call: Call) -> Tensor | None:
        found = routes.evaluate(call)
        if found is None:
            return None
        if self._definition.divides:
            found = routes.definition.divided(found, call)
        return found if self._cap is None else found.clamp(max=self._cap)

    def reduced(self, penalties: Tensor, rows: tuple[int, ...] = ()) -> Tensor:
        """Return penalties of examples reduced over the batch, separately for each of the rows."""
        if self.combines_rows:
            return relations.over_rows.over_rows(penalties, self._overs[0], self.relaxation)
        if self.reduction == "none":
            return penalties
        group = self._group.group
        penalties = penalties.reshape(*rows, -1)
        return reduce_batch(penalties, self.reduction, self.relaxation, process_group=group)

    def sources(
        self, inputs: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Source]:
        """Return the tensors of all slots, or of those at some places, as sources of degrees."""
        return self._definition.sources(inputs, places)

    @property
    def is_made_of_clauses(self) -> bool:
        """Whether the groundings are clauses, which rules of a knowledge evaluate together."""
        return self._definition.is_made_of_clauses
