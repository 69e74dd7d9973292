"""Compiled knowledge: all rules of a knowledge base, evaluated together where they can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar, final

import torch
from torch import Tensor

from residuum.errors import GroundingError, suggest
from residuum.logic import Quantifier
from residuum.losses.aggregation import cap_of, conjoined
from residuum.losses.degrees.logits import Source
from residuum.losses.degrees.tensors import in_full
from residuum.losses.exact_answers import ExactAnswers
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.evidence import Observed, refuse_unknown_labels
from residuum.losses.inputs.shared import NO_INPUTS, Inputs
from residuum.losses.questions.metrics import as_numbers
from residuum.losses.questions.violations import Violation
from residuum.losses.reductions import Combination, check_combination
from residuum.losses.relations.tables import check_sizes, slots_of_members
from residuum.losses.routes import thresholds
from residuum.losses.routes.definition import Definition, make_room
from residuum.losses.rules import CompiledRule, Tensors, named_tensors
from residuum.losses.schedules import Schedule, Scheduled, weight_at
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax.over import CONJUNCTION

Names = tuple[str, ...]
Answer = TypeVar("Answer")

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
        self._bundles = dict(bundles)
        self._weights = dict(weights)
        self._predicates = list(
            dict.fromkeys(name for rule in rules.values() for name in rule.plan.read)
        )
        are_related = any(rule.plan.relation is not None for rule in rules.values())
        self._members = slots_of_members(r.plan for r in rules.values()) if are_related else {}
        self._prepared: set[Any] = set()
        # Rules that share a hidden predicate under `exact` have a probability together, since one
        # of them alone does not decide its values. It is found here, where nothing is traced.
        self.shares_hidden = _share_hidden(rules.values())

    @property
    def rules(self) -> Mapping[str, CompiledRule]:
        """The compiled rules, by name. A rule that is called by itself is not weighted either."""
        return self._rules

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
        together = (*self._bundles.values(), *self._conjunctions.values())
        for rule in (*self._rules.values(), *together):
            rule.set_process_group(group)

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

    def asked(
        self,
        rules: Iterable[str] | None,
        tensors: Tensors | None,
        named: Tensors,
        lengths: Any,
        observed: Observed | None,
    ) -> tuple[Definition, Call]:
        """Return rules as one rule, and a call of it with the tensors that it reads, checked."""
        rule = self.rule_of(rules)
        given = self._known(Inputs(named_tensors(tensors, named), lengths, observed))
        return rule.definition, rule.receive_for_penalty(*given.of(rule))

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

    def forward(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, Tensor]:
        """Return the penalty of each rule by name, reduced over the batch, without its weight.

        Each rule takes the tensors that it reads, and the labels of `observed` outputs.
        """
        given = self._known(Inputs(named_tensors(tensors, named), lengths, observed))
        return self._penalties(given, is_reduced=True)

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
        rule = next(iter(self._rules.values()))
        relaxation = rule.relaxation
        if self.has_schedule:
            self.watch_schedule()
        weights = self.weights
        if relaxation == EXACT and combine == "conjunction":
            return self._joint_total(given)
        is_conjunction = combine == "conjunction" or _is_sum(relaxation)
        call = self._call_of_all(given, weights)
        if call is not None:
            [bundle] = self._bundles.values()
            if is_conjunction and not bundle.definition.divides:
                with in_full(call.device):
                    return bundle.reduced(bundle.of_each_example(call))
            found = bundle.of_each_rule(call)
            if found is not None:
                each = found.movedim(0, -1)
                total = conjoined(each, relaxation) if is_conjunction else each.sum(-1)
                return bundle.reduced(total)
        are_related = any(one.plan.relation is not None for one in self._rules.values())
        weighted = [
            part if weights[name] == 1 else part * weights[name]
            for name, part in self._penalties(given, is_reduced=are_related).items()
        ]
        penalties = _stacked(weighted, -1)
        total = conjoined(penalties, relaxation) if is_conjunction else penalties.sum(-1)
        # Rules about several members have rows of their own, so that each is reduced by itself.
        return total if are_related else rule.reduced(total)

    def _joint_total(self, given: Inputs) -> Tensor:
        """Return −log of the probability that all rules hold, reduced over the batch."""
        for name, weight in self.weights.items():
            if weight != 1:
                raise GroundingError(
                    f"under `exact` a total is the probability that all rules hold together, in "
                    f"which rules have no weights, but `{name}` has weight {weight:g}; pass "
                    'combine="sum" to add up the weighted penalties of the rules, or drop weights'
                )
        rule = self.rule_of(None)
        call = rule.receive_for_penalty(*given.of(rule))
        with in_full(call.device):
            return rule.reduced(rule.of_each_example(call))

    def penalties(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the penalties of all rules as one tensor, rules first, without weights.

        The rules stand in the order of `rules`. Many rules are handed out faster in one tensor than
        in one tensor each.
        """
        self._require_rules("penalties need")
        given = self._known(Inputs(named_tensors(tensors, named), lengths, observed))
        if len(self._bundles) == 1:
            [(names, bundle)] = self._bundles.items()
            is_whole = len(names) == len(self._rules) and not _spans_processes(bundle)
            if is_whole and given.have_one_batch(bundle.plan):
                call = _call(bundle, given, {})
                found = bundle.of_each_rule(call)
                if found is not None:
                    self._prepare(names, given, call)
                    return bundle.reduced(found, (len(names),))
        return _stacked(list(self._penalties(given, is_reduced=True).values()), 0)

    def truth(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, Tensor]:
        """Return the degree of truth of each rule by name, one per example."""
        return self._ask(
            CompiledRule.truth, Inputs(named_tensors(tensors, named), lengths, observed)
        )

    def satisfied(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, Tensor]:
        """Return whether the predictions obey each rule, by name, one Boolean per example."""
        return self._ask(
            CompiledRule.satisfied, Inputs(named_tensors(tensors, named), lengths, observed)
        )

    def coverage(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, Tensor]:
        """Return the share of groundings whose antecedent holds for each rule, by name."""
        return self._ask(
            CompiledRule.coverage, Inputs(named_tensors(tensors, named), lengths, observed)
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
    ) -> dict[str, list[Violation]]:
        """Return the groundings of each rule, by name, that the predictions break.

        Of each rule at most `top` are returned, those with the lowest degrees first.
        """
        worst = partial(CompiledRule.violations, top=top)
        return self._ask(worst, Inputs(named_tensors(tensors, named), lengths, observed))

    def metrics(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, float]:
        """Return what one logs of each rule, such as `birds/penalty` and `birds/satisfied`.

        `CompiledRule.metrics` says what the numbers are.
        """
        given = Inputs(named_tensors(tensors, named), lengths, observed)
        return self._numbers(CompiledRule.metrics_of, given)

    def diagnose(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, float]:
        """Return the metrics of each rule, and the share of violations `without_gradient`.

        `CompiledRule.diagnose` says what it is. Its name is such as `birds/without_gradient`.
        """
        given = Inputs(named_tensors(tensors, named), lengths, observed)
        return self._numbers(CompiledRule.diagnosis_of, given)

    def _numbers(
        self, of_call: Callable[[CompiledRule, Call], Mapping[str, Tensor]], given: Inputs
    ) -> dict[str, float]:
        """Return numbers about each rule, with its name in front."""
        self._known(given)
        found = {
            f"{name}/{key}": one
            for name, rule in self._rules.items()
            for key, one in of_call(rule, rule.receive_for_penalty(*given.of(rule))).items()
        }
        return as_numbers(found)

    def explain(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> str:
        """Return each rule in words, and which rules are evaluated together.

        With tensors, routes are those that evaluate them; without, those for 64 examples on a CPU.
        """
        given = None
        if tensors is not None or named or observed is not None:
            given = self._known(Inputs(named_tensors(tensors, named), lengths, observed))
        routes: dict[str, list[str]] = {}
        for names, bundle in self._bundles.items():
            if given is None or given.have_one_batch(bundle.plan):
                read = NO_INPUTS if given is None else given.of(bundle)
                *why_not, route = bundle.explained_route(*read, of_several=True)
                if route.startswith("evaluated"):
                    route += f", {len(names)} rules together"
                    routes |= {name: [*why_not, route] for name in names}
        lines, weights = [WEIGHTING], self.weights
        for name, rule in self._rules.items():
            read = NO_INPUTS if given is None else given.of(rule)
            route_lines = routes.get(name) or rule.explained_route(*read)
            lines.append(f"rule {name}, weight {weights[name]:g}")
            warnings = [] if given is None else rule.warnings(*read)
            told = (*rule.described().splitlines(), *warnings, *route_lines)
            lines += [f"  {line}" for line in told]
        return "\n".join(lines)

    def _ask(self, question: Callable[..., Answer], given: Inputs) -> dict[str, Answer]:
        """Return the answers of the rules to a question, by the names of the rules."""
        self._known(given)
        answers = {}
        for name, rule in self._rules.items():
            own = given.of(rule)
            answers[name] = question(rule, own.tensors, lengths=own.lengths, observed=own.observed)
        return answers

    def _penalties(self, given: Inputs, *, is_reduced: bool) -> dict[str, Tensor]:
        """Return the penalties of each rule by name, without weights, reduced or per example."""
        if self.shares_hidden:
            raise GroundingError(
                "under `exact` rules that share a hidden predicate have a probability together, "
                "and none of their own; call `total` without combine=, or put them into one rule"
            )
        sources: dict[str, Source] = {}
        found: dict[str, Tensor] = {}
        # Processes must reduce rules in the same order. Which rules are evaluated together depends
        # on the values that a process sees, so that across processes rules are reduced one by one.
        one_by_one = is_reduced and any(map(_spans_processes, self._bundles.values()))
        for names, bundle in self._bundles.items():
            if given.have_one_batch(bundle.plan):
                call = _call(bundle, given, sources)
                penalties = bundle.of_each_rule(call)
                if penalties is not None:
                    if is_reduced and not one_by_one:
                        penalties = bundle.reduced(penalties, (len(names),))
                    found |= zip(names, penalties.unbind(0), strict=True)
                    self._prepare(names, given, call)
        parts = {}
        for name, rule in self._rules.items():
            part = found.get(name)
            if part is None:
                call = _call(rule, given, sources)
                with in_full(call.device):
                    part = rule.of_each_example(call)
            if is_reduced and (one_by_one or name not in found):
                part = rule.reduced(part)
            parts[name] = part
        return parts

    def _call_of_all(self, given: Inputs, weights: Mapping[str, float]) -> Call | None:
        """Return one call of all rules; None unless they are alike and evaluated together."""
        if len(self._bundles) != 1:
            return None
        [(names, bundle)] = self._bundles.items()
        if len(names) < len(self._rules) or set(weights.values()) != {1.0}:
            return None
        return _call(bundle, given, {}) if given.have_one_batch(bundle.plan) else None

    def _prepare(self, names: Names, given: Inputs, call: Call) -> None:
        """Move the tables of rules to the GPU, before a CUDA graph of the user needs them.

        While a graph is captured, quantified rules are evaluated one by one, because values cannot
        be looked at; and no table can be moved.
        """
        if call.device.type != "cuda" or not self._bundles[names].plan.rank:
            return
        sizes = {} if call.case is None else call.case.sizes
        key = names, call.device, tuple(sizes.items())
        if key not in self._prepared:
            self._prepared.add(key)
            for name in names:
                rule = self._rules[name]
                rule.receive_for_penalty(*given.of(rule))

    def _require_rules(self, what_needs: str) -> None:
        if not self._rules:
            raise GroundingError(f"{what_needs} at least one rule, and the knowledge has none")

    def _known(self, given: Inputs) -> Inputs:
        """Return the inputs; GroundingError if no rule reads one of them."""
        refuse_unknown(given.tensors, self._predicates)
        if given.observed is not None:
            refuse_unknown_labels(given.observed, self._predicates)
        if self._members:
            check_sizes(self._members, given.tensors, given.observed or {})
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


def bundled_rules(rules: Mapping[str, CompiledRule]) -> list[Names]:
    """Return the names of rules that are evaluated together.

    Rules without variables make one bundle, if there are enough of them. Rules made of clauses make
    one bundle for each choice of sequences.
    """
    ground: list[str] = []
    clauses: dict[tuple[str, ...], list[str]] = {}
    for name, rule in rules.items():
        if not rule.plan.rank and not isinstance(rule.formula, Quantifier):
            ground.append(name)
        elif rule.is_made_of_clauses and not any(slot.open_domains for slot in rule.plan.slots):
            clauses.setdefault(rule.plan.sequence_domains, []).append(name)
    found = [tuple(names) for names in clauses.values() if len(names) > 1]
    return [tuple(ground), *found] if len(ground) >= thresholds.FEWEST_ALIKE else found


def _is_sum(relaxation: Relaxation) -> bool:
    """Return whether a conjunction costs what its parts add up to."""
    return relaxation.tnorm.penalties_add_up and cap_of(relaxation) is None


def _spans_processes(rule: CompiledRule) -> bool:
    return rule.reduction != "none" and rule.process_group is not None


def _stacked(parts: Sequence[Tensor], dimension: int) -> Tensor:
    """Return penalties of rules as one tensor; those of smaller batches are broadcast."""
    shape = torch.broadcast_shapes(*(one.shape for one in parts))  # type: ignore[no-untyped-call]
    return torch.stack([one.expand(shape) for one in parts], dimension)


def _call(rule: CompiledRule, given: Inputs, shared: dict[str, Source]) -> Call:
    """Return the call of one rule; softmaxes are computed once and shared by all rules."""
    call = rule.receive_for_penalty(*given.of(rule))
    if call.rows is not None:  # the same slots have other rows in other rules
        return call
    return call._replace(sources=partial(_shared_sources, rule, call.inputs, shared))


def _shared_sources(
    rule: CompiledRule, inputs: Sequence[Tensor], shared: dict[str, Source]
) -> list[Source]:
    names = [slot.name for slot in rule.plan.slots]
    # Comparisons with the same text may be about different members.
    for slot in rule.plan.slots:
        if slot.compared is not None:
            shared.pop(slot.name, None)
    new = [place for place, name in enumerate(names) if name not in shared]
    shared.update(zip((names[place] for place in new), rule.sources(inputs, new), strict=True))
    return [shared[name] for name in names]
