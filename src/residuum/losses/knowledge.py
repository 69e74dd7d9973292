"""Compiled knowledge: all rules of a knowledge base, evaluated together where they can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from torch import Tensor

from residuum.errors import GroundingError, suggest
from residuum.grounding.plans import Slot
from residuum.losses import questions, relations
from residuum.losses.bundles import Bundles, Names
from residuum.losses.exact_answers import ExactAnswers
from residuum.losses.inputs.arguments import (
    Inputs,
    Tensors,
    named_tensors,
    takes_tensors,
    takes_tensors_and_top,
)
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.evidence import Observed, refuse_unknown_labels
from residuum.losses.reductions import Combination, check_combination
from residuum.losses.routes.definition import Definition, make_room
from residuum.losses.rules import CompiledRule
from residuum.losses.schedules import Schedule, Scheduled, weight_at
from residuum.relaxations.catalogue import EXACT
from residuum.syntax.over import CONJUNCTION

if TYPE_CHECKING:
    from residuum.losses.questions.violations import Violation

Answer = TypeVar("Answer")

TOGETHER: Final = "all rules"
"""What all rules together are called where only they have a penalty, and none by itself."""

WEIGHTING: Final = "the penalties of single rules are without weights, the total is with weights"
"""What theories and compiled knowledge say of themselves."""


@final
class CompiledKnowledge(ExactAnswers, Scheduled):
    """All rules of a knowledge base, under one relaxation.

    Called with tensors, it returns the penalty of each rule by name, without its weight; `total`
    combines all rules with their weights. `together` compiles some rules, given by their names, to
    one rule under `exact`.

    >>> import torch
    >>> import residuum as rs
    >>> knowledge = rs.loads('''
    ...     predicate Rain
    ...     predicate Wet
    ...     predicate Slippery
    ...     rule wet: Rain -> Wet
    ...     rule slippery weight 0.5: Wet -> Slippery
    ... ''')
    >>> rules = rs.compile(knowledge, "r-product", inputs="probs")
    >>> half, sure = torch.tensor([0.5]), torch.tensor([1.0])
    >>> outputs = {"Rain": sure, "Wet": half, "Slippery": half}
    >>> {name: round(penalty.item(), 3) for name, penalty in rules(outputs).items()}
    {'wet': 0.693, 'slippery': 0.0}
    >>> round(rules.total(outputs).item(), 3)
    0.693
    """

    def __init__(
        self,
        rules: Mapping[str, CompiledRule],
        bundles: Mapping[Names, CompiledRule],
        weights: Mapping[str, float | Schedule[float]],
        together: Callable[[Names], CompiledRule],
    ) -> None:
        super().__init__()
        self._together = together
        self._conjunctions: dict[Names, CompiledRule] = {}
        self._rules = dict(rules)
        self._bundles = Bundles(self._rules, dict(bundles))
        self._weights = dict(weights)
        self._predicates = list(
            dict.fromkeys(name for rule in rules.values() for name in rule.plan.read)
        )
        are_related = any(rule.plan.relation is not None for rule in rules.values())
        self._members: dict[str, Slot] = {}
        if are_related:
            self._members = relations.tables.slots_of_members(r.plan for r in rules.values())
        # Rules that share a hidden predicate under `exact` have a probability together, since one
        # of them alone does not decide its values. It is found here, where nothing is traced.
        self.shares_hidden = _share_hidden(rules.values())

    @property
    def rules(self) -> Mapping[str, CompiledRule]:
        """The compiled rules, by name. A rule that is called by itself is not weighted either."""
        return self._rules

    @property
    def bundles(self) -> Mapping[Names, CompiledRule]:
        """The rules that are evaluated together, by their names, each bundle as one conjunction."""
        return self._bundles.bundles

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the rules in the total, by name, in the present epoch."""
        return {name: weight_at(one, self.epoch, name) for name, one in self._weights.items()}

    @property
    def has_schedule(self) -> bool:
        """Whether a weight is a schedule."""
        return any(map(callable, self._weights.values()))

    def set_process_group(self, group: Any) -> None:
        """Set the process group of all rules, which knowledge that is read from a file has lost."""
        together = (*self.bundles.values(), *self._conjunctions.values())
        for rule in (*self._rules.values(), *together):
            rule.set_process_group(group)

    def extra_repr(self) -> str:
        """Return what `print(knowledge)` shows: each rule with its weight in the total."""
        lines: list[str] = []
        weights = self.weights
        for name, rule in self._rules.items():
            if not lines:
                lines += [f"relaxation={rule.relaxation}, reduction={rule.reduction}", WEIGHTING]
            weight = f"{weights[name]:g}{said_over(rule.over)}"
            lines.append(f"{name}, weight {weight}: {rule.formula}")
        return "\n".join(lines)

    # Calling it

    @takes_tensors
    def forward(self, given: Inputs) -> dict[str, Tensor]:
        """Return the penalty of each rule by name, reduced over the batch, without its weight.

        Each rule takes the tensors that it reads, and the labels of `observed` outputs.
        """
        self._refuse_shared_hidden()
        return self._bundles.penalties(self._known(given), is_reduced=True)

    def total(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        combine: Combination = "conjunction",
        **named: Tensor,
    ) -> Tensor:
        """Return the penalty of all rules together, with their weights, reduced over the batch.

        The weighted penalties are combined for each example, and then reduced. They are combined
        by the conjunction of the logic: their sum, up to the cap of the logic if there is one, or
        in the Gödel logics the largest. `combine="sum"` adds them up in any logic. Under `exact`
        the conjunction is −log of the probability that all rules hold together, which has no place
        for weights; the sum is that of the rules one by one.
        """
        check_combination(combine)
        self._require_rules("a total needs")
        given = self._known(Inputs(named_tensors(tensors, named), lengths, observed))
        relaxation = next(iter(self._rules.values())).relaxation
        if self.has_schedule:
            self.watch_schedule()
        weights = self.weights
        if relaxation == EXACT and combine == "conjunction":
            _refuse_weights(weights, can_add=not self.shares_hidden)
            rule = self.rule_of(None)
            own = given.of(rule)
            joint: Tensor = rule(own.tensors, lengths=own.lengths, observed=own.observed)
            return joint
        self._refuse_shared_hidden()
        return self._bundles.total(given, weights, combine)

    @takes_tensors
    def penalties(self, given: Inputs) -> Tensor:
        """Return the penalties of all rules as one tensor, rules first, without weights.

        The rules stand in the order of `rules`. Many rules are handed out faster in one tensor than
        in one tensor each.
        """
        self._require_rules("penalties need")
        self._refuse_shared_hidden()
        return self._bundles.as_one_tensor(self._known(given))

    @takes_tensors
    def truth(self, given: Inputs) -> dict[str, Tensor]:
        """Return the degree of truth of each rule by name, one per example."""
        self._refuse_shared_hidden()
        return self._ask(CompiledRule.truth, given)

    @takes_tensors
    def satisfied(self, given: Inputs) -> dict[str, Tensor]:
        """Return whether the predictions obey each rule, by name, one Boolean per example."""
        return self._ask(CompiledRule.satisfied, given)

    @takes_tensors
    def coverage(self, given: Inputs) -> dict[str, Tensor]:
        """Return the share of groundings whose antecedent holds for each rule, by name."""
        return self._ask(CompiledRule.coverage, given)

    @takes_tensors_and_top
    def violations(self, given: Inputs, top: int) -> dict[str, list[Violation]]:
        """Return the groundings of each rule, by name, that the predictions break.

        Of each rule at most `top` are returned, those with the lowest degrees first.
        """
        return self._ask(partial(CompiledRule.violations, top=top), given)

    @takes_tensors
    def metrics(self, given: Inputs) -> dict[str, float]:
        """Return what one logs of each rule, such as `birds/penalty` and `birds/satisfied`.

        `CompiledRule.metrics` says what the numbers are. Rules that share hidden predicates under
        `exact` have those of all rules together, such as `all rules/penalty`.
        """
        return self._numbers(CompiledRule.metrics_of, given)

    @takes_tensors
    def diagnose(self, given: Inputs) -> dict[str, float]:
        """Return the metrics of each rule, and the share of violations `without_gradient`.

        `CompiledRule.diagnose` says what it is. Its name is such as `birds/without_gradient`.
        """
        return self._numbers(CompiledRule.diagnosis_of, given)

    @takes_tensors
    def explain(self, given: Inputs) -> str:
        """Return each rule in words, and which rules are evaluated together.

        With tensors, routes are those that evaluate them; without, those for 64 examples on a CPU.
        """
        known = None if given.is_empty else self._known(given)
        return questions.explain.explained_together(self, known)

    # For other parts of this package

    def rule_of(self, rules: Iterable[str] | None) -> CompiledRule:
        """Return all rules, or those of these names, as one rule under `exact`."""
        wanted = set(self._rules if rules is None else _listed(rules))
        for name in sorted(wanted - set(self._rules)):
            raise GroundingError(
                f"the knowledge has no rule `{name}`.{suggest(name, self._rules)} "
                f"It has: {', '.join(self._rules) or 'none'}"
            )
        names = tuple(name for name in self._rules if name in wanted)
        if not names:
            raise GroundingError("expected at least one rule to ask about, got none; name some")
        if len(names) == 1 and self._rules[names[0]].relaxation == EXACT:
            return self._rules[names[0]]
        if names not in self._conjunctions:
            make_room(self._conjunctions)
            rule = self._together(names)
            rule.set_process_group(self._rules[names[0]].process_group)
            self._conjunctions[names] = rule
        return self._conjunctions[names]

    def asked(self, given: Inputs, rules: Iterable[str] | None) -> tuple[Definition, Call]:
        """Return rules as one rule, and a call of it with the tensors that it reads, checked."""
        rule = self.rule_of(rules)
        return rule.definition, rule.receive_for_penalty(*self._known(given).of(rule))

    def _ask(self, question: Callable[..., Answer], given: Inputs) -> dict[str, Answer]:
        """Return the answers of the rules to a question, by the names of the rules."""
        self._known(given)
        answers = {}
        for name, rule in self._rules.items():
            own = given.of(rule)
            answers[name] = question(rule, own.tensors, lengths=own.lengths, observed=own.observed)
        return answers

    def _numbers(
        self, of_call: Callable[[CompiledRule, Call], Mapping[str, Tensor]], given: Inputs
    ) -> dict[str, float]:
        """Return numbers about each rule, with its name in front."""
        self._known(given)
        rules = {TOGETHER: self.rule_of(None)} if self.shares_hidden else self._rules
        found = {
            f"{name}/{key}": one
            for name, rule in rules.items()
            for key, one in of_call(rule, rule.receive_for_penalty(*given.of(rule))).items()
        }
        return questions.metrics.as_numbers(found)

    def _require_rules(self, what_needs: str) -> None:
        if not self._rules:
            raise GroundingError(f"{what_needs} at least one rule, and the knowledge has none")

    def _refuse_shared_hidden(self) -> None:
        if self.shares_hidden:
            raise GroundingError(
                "under `exact` rules that share a hidden predicate have a probability together, "
                "and none of their own; call `total` without combine=, or put them into one rule"
            )

    def _known(self, given: Inputs) -> Inputs:
        """Return the inputs; GroundingError if no rule reads one of them."""
        refuse_unknown(given.tensors, self._predicates)
        if given.observed is not None:
            refuse_unknown_labels(given.observed, self._predicates)
        if self._members:
            relations.tables.check_sizes(self._members, given.tensors, given.observed or {})
        rules = self._rules.values()
        if given.lengths is not None and not any(rule.plan.sequence_domains for rule in rules):
            raise GroundingError(
                "lengths: expected none, as no rule is over a sequence; leave them out"
            )
        return given


def said_over(over: str) -> str:
    """Return how groundings are aggregated as a rule file says it: nothing for the conjunction."""
    return "" if over == str(CONJUNCTION) else f" over {over}"


def _share_hidden(rules: Iterable[CompiledRule]) -> bool:
    """Return whether several rules read one hidden predicate under `exact`."""
    read = Counter(
        slot.name
        for rule in rules
        if rule.relaxation == EXACT
        for slot in rule.plan.slots
        if slot.predicate.is_hidden
    )
    return max(read.values(), default=0) > 1


def _listed(rules: Any) -> list[str]:
    """Return names of rules as a list. GroundingError says that they are no names."""
    names = [rules] if isinstance(rules, str) else rules
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise GroundingError(
            f"rules: expected names of rules, such as ['one', 'two'], got {rules!r:.80}"
        )
    return list(names)


def _refuse_weights(weights: Mapping[str, float], *, can_add: bool) -> None:
    """Raise GroundingError if a rule under `exact` has a weight other than 1."""
    instead = 'pass combine="sum" to add up the weighted penalties of the rules, or '
    for name, weight in weights.items():
        if weight != 1:
            raise GroundingError(
                f"under `exact` a total is the probability that all rules hold together, in "
                f"which rules have no weights, but `{name}` has weight {weight:g}; "
                f"{instead if can_add else ''}drop weights"
            )
