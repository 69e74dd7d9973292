"""A theory: knowledge whose predicates are networks."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding.plans import Slot
from residuum.logic.terms import as_label
from residuum.losses.aggregation import conjoined
from residuum.losses.compile import compile as compile_knowledge
from residuum.losses.degrees.logits import Form
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.exact_answers import ExactAnswers, refuse_no_labels
from residuum.losses.facts import facts as penalty_of_facts
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import (
    Observed,
    is_observed_in_full,
    labels_of,
    refuse_unknown_labels,
)
from residuum.losses.knowledge import WEIGHTING, CompiledKnowledge, said_over
from residuum.losses.network_calls import Key, Requests
from residuum.losses.questions.violations import Violation
from residuum.losses.reductions import (
    Combination,
    Reduction,
    SharedGroup,
    check_combination,
)
from residuum.losses.relations.evaluation import RelatedRule
from residuum.losses.relations.facts import read_facts, without_last
from residuum.losses.relations.networks import Networks
from residuum.losses.relations.observed import check_relations, observable
from residuum.losses.relations.pairs import Pairs
from residuum.losses.relations.sources import Sources
from residuum.losses.routes.definition import Definition
from residuum.losses.rules import CompiledRule
from residuum.losses.schedules import (
    Schedule,
    Scheduled,
    at,
    check_scheduled_weight,
    weight_at,
)
from residuum.losses.theory_names import (
    check_modules,
    check_names,
    domains_of,
    given,
    members_in,
    names_of_labels,
    slot_of,
    tensors_of,
    tensors_of_relation,
    with_related,
)
from residuum.relaxations import Relaxation
from residuum.syntax import Knowledge, Predicate

Answer = TypeVar("Answer")

TOGETHER: Final = "all rules"
"""The name of the one part that rules with a hidden predicate have under `exact`."""


@dataclass(frozen=True)
class Assessment:
    """What a batch costs: the total to minimise, and the penalty of each rule and set of facts.

    Parts are without weights, the total is with weights.
    """

    total: Tensor
    parts: Mapping[str, Tensor]


@final
class Theory(ExactAnswers, Scheduled):
    """A Knowledge whose predicates are networks: modules given by the names of predicates.

    A quantity may be a module as well, which returns one number for each member. One without a
    module is given in each call as a tensor of its own name.

    A theory is called with facts, {name: (inputs, labels)}, and with tensors for the rules. A
    tensor has the name of an open domain (`pair=`), of a function (`left=`), or of a predicate
    without open arguments. In each call a network runs once on all its inputs, if their shapes fit
    into one batch. Outputs that are `observed` are given as labels, by the name of the predicate,
    or of its use (`Digit(left(p))`) if rules read it in several ways.

    `weights` replaces weights of rules and facts, by name. A weight, and the relaxation, may be a
    schedule: a function of `theory.epoch`. Penalties are reduced over their batches first. The
    total combines these parts with their weights, by the conjunction of the logic, or by
    `combine="sum"`.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        /,
        *,
        relaxation: str | Relaxation | Schedule[str | Relaxation] = "r-product",
        weights: Mapping[str, float | Schedule[float]] | None = None,
        reduction: Reduction = "mean",
        combine: Combination = "conjunction",
        inputs: Form | Mapping[str, Form] = "logits",
        functions: Mapping[str, Any] | None = None,
        over: str | Mapping[str, str] | None = None,
        process_group: Any = None,
        replay: bool = True,
        groundings: int | Mapping[str, int] | None = None,
        **modules: nn.Module,
    ) -> None:
        super().__init__()
        if not isinstance(knowledge, Knowledge):
            raise GroundingError(
                f"expected a Knowledge, as rs.load returns, got {type(knowledge).__name__}"
            )
        check_modules(knowledge, modules, _options())
        check_names("rule or set of facts", weights or {}, {**knowledge.rules, **knowledge.facts})
        if reduction == "none":
            raise GroundingError(
                "reduction: expected mean, sum or conjunction, as a theory needs one number for "
                "each part, got 'none'"
            )
        check_combination(combine)
        for name, weight in (weights or {}).items():
            check_scheduled_weight(weight, name)
        self.knowledge = knowledge
        self.combine = combine
        self.networks = nn.ModuleDict(modules)
        self._members = [name for name in members_in(knowledge) if name in modules]
        self._relaxation = relaxation
        self._weights: dict[str, float | Schedule[float]] = {
            **dict.fromkeys(knowledge.facts, 1.0),
            **{name: rule.weight for name, rule in knowledge.rules.items()},
            **(weights or {}),
        }
        self._reduction = reduction
        self._group = SharedGroup(process_group)
        self._inputs = inputs
        self._functions = functions or {}
        self._over = over
        self._replay = replay
        self._frozen: set[str] = set()
        self._compiled: dict[Relaxation, _Compiled] = {}
        self._groundings: Mapping[str, int] = {}
        self._compiled_rules()  # so that mistakes in the knowledge show now
        self._groundings = self._checked_groundings(groundings)
        for name in self._predicates_in_use():
            if name not in modules:
                raise GroundingError(f"no module is given for predicate `{name}`")

    def _checked_groundings(self, given: int | Mapping[str, int] | None) -> dict[str, int]:
        """Return how many rows of each rule are drawn in a call, checked."""
        related = self._related()
        wanted = given if isinstance(given, Mapping) else dict.fromkeys(related, given)
        check_names("rule about several members", wanted, related)
        found = {}
        for name, number in wanted.items():
            if number is None:
                continue
            count = as_label(number)
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise GroundingError(
                    f"groundings: expected how many are drawn in a call, 1 or more, got {number!r}"
                )
            over = related[name].over
            if self._reduction != "mean" or over not in ("conjunction", "mean"):
                otherwise = f"reduction={self._reduction!r} and over={over!r}"
                raise GroundingError(
                    "groundings: expected the mean over rows, which the mean of a sample estimates "
                    f"without bias, got {otherwise}; leave groundings out"
                )
            found[name] = count
        return found

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation of the present epoch."""
        chosen: str | Relaxation = at(self._relaxation, self.epoch)  # type: ignore[assignment]
        return find_logic(chosen)

    def extra_repr(self) -> str:
        """Return what `print(theory)` shows beside the networks: rules and facts with weights."""
        rules, compiled = self.knowledge.rules, self._whole().rules
        lines = [f"relaxation={self.relaxation}, reduction={self._reduction}", WEIGHTING]
        for name in self._weights:
            said = rules[name].formula if name in rules else "facts"
            over = said_over(compiled[name].over) if name in compiled else ""
            lines.append(f"{name}, weight {self.weight(name):g}{over}: {said}")
        return "\n".join(lines)

    def set_process_group(self, group: Any) -> None:
        """Set the process group, which a theory that is read from a file has lost."""
        self._group = SharedGroup(group)
        for compiled in self._compiled.values():
            compiled.whole.set_process_group(group)
            compiled.plain.set_process_group(group)

    def weight(self, name: str) -> float:
        """Return the weight of a rule or a set of facts in the present epoch."""
        check_names("rule or set of facts", [name], self._weights)
        return weight_at(self._weights[name], self.epoch, name)

    @property
    def has_schedule(self) -> bool:
        """Whether a weight or the relaxation is a schedule."""
        return callable(self._relaxation) or any(map(callable, self._weights.values()))

    def freeze(self, *predicates: str) -> None:
        """Keep gradients from the networks of these predicates and quantities."""
        self._check_bindable(predicates)
        self._frozen.update(predicates)

    def unfreeze(self, *predicates: str) -> None:
        """Let the networks of these predicates learn again; all of them if none is named."""
        self._check_bindable(predicates)
        self._frozen.difference_update(predicates or tuple(self._frozen))

    def _check_bindable(self, names: Iterable[str]) -> None:
        known = {**self.knowledge.predicates, **self.knowledge.quantities}
        check_names("predicate", names, [*known, *members_in(self.knowledge)])

    def forward(
        self,
        facts: Mapping[str, Sequence[Any]] | None = None,
        /,
        *,
        lengths: Any = None,
        observed: Observed | None = None,
        **tensors: Tensor,
    ) -> Assessment:
        """Return the weighted total of facts and rules, and its parts without weights.

        A network does not run for a use that is observed in full.
        """
        if self.has_schedule:
            self.watch_schedule()
        stated = {} if facts is None else facts
        if not isinstance(stated, Mapping):
            raise GroundingError(
                f"expected facts by name, {{name: (inputs, labels)}}, got {type(facts).__name__}"
            )
        check_names("set of facts", stated, self.knowledge.facts)
        requests = Requests(dict(self.networks.items()), self._frozen)
        sources = self._sources(tensors)
        labelled = {
            name: read_facts(name, one, self._predicate_of_facts(name), sources)
            for name, one in stated.items()
        }
        for name, (inputs, _) in labelled.items():
            requests.add(("facts", name), self.knowledge.facts[name].predicate, inputs)
        call = None
        if tensors or observed or self._needs_nothing():
            call = self._read(requests, sources, tensors, observed, lengths)
        outputs = requests.run()
        parts: dict[str, Tensor] = {
            name: self._penalty_of_facts(name, outputs["facts", name], labels)
            for name, (_, labels) in labelled.items()
        }
        if call is not None:
            parts |= self._rule_parts(call, outputs, lengths)
        return Assessment(self._total(parts), parts)

    @torch.no_grad()
    def satisfied(
        self, *, lengths: Any = None, observed: Observed | None = None, **tensors: Tensor
    ) -> dict[str, Tensor]:
        """Return by the names of rules whether the predictions of the networks obey them.

        There is one Boolean per example. The tensors and labels are those of a call.
        """
        call, predicted = self._answered(tensors, observed, lengths)
        found = self._rules().satisfied(predicted, lengths=lengths, observed=call.labels)
        return self._in_order(found, {n: one.satisfied() for n, one in call.related.items()})

    @torch.no_grad()
    def violations(
        self,
        *,
        top: int = 5,
        lengths: Any = None,
        observed: Observed | None = None,
        **tensors: Tensor,
    ) -> dict[str, list[Violation]]:
        """Return by the names of rules groundings that the predictions break, at most `top` each.

        Those with the lowest degrees come first. The tensors and labels are those of a call.
        """
        call, predicted = self._answered(tensors, observed, lengths)
        found = self._rules().violations(predicted, top=top, lengths=lengths, observed=call.labels)
        return self._in_order(found, {n: one.violations(top) for n, one in call.related.items()})

    @torch.no_grad()
    def metrics(
        self, *, lengths: Any = None, observed: Observed | None = None, **tensors: Tensor
    ) -> dict[str, float]:
        """Return what one logs of each rule, such as `birds/penalty` and `birds/satisfied`.

        `CompiledRule.metrics` says what the numbers are. Tensors and labels are those of a call.
        """
        call, predicted = self._answered(tensors, observed, lengths)
        found = self._rules().metrics(predicted, lengths=lengths, observed=call.labels or None)
        for name, one in call.related.items():
            found |= {f"{name}/{key}": value for key, value in one.metrics().items()}
        return found

    @torch.no_grad()
    def diagnose(
        self, *, lengths: Any = None, observed: Observed | None = None, **tensors: Tensor
    ) -> dict[str, float]:
        """Return the metrics of each rule, and the share of violations `without_gradient`.

        `CompiledRule.diagnose` says what it is. Tensors and labels are those of a call.
        """
        call, predicted = self._answered(tensors, observed, lengths)
        found = self._rules().diagnose(predicted, lengths=lengths, observed=call.labels or None)
        for name, one in call.related.items():
            found |= {f"{name}/{key}": value for key, value in one.diagnose().items()}
        return found

    def rule_of(self, rules: Iterable[str] | None) -> CompiledRule:
        """Return all rules, or those of these names, as one rule under `exact`."""
        return self._whole().rule_of(rules)

    def asked(
        self,
        rules: Iterable[str] | None,
        tensors: Mapping[str, Tensor] | None,
        named: Mapping[str, Tensor],
        lengths: Any,
        observed: Observed | None,
    ) -> tuple[Definition, Call]:
        """Return rules as one rule, and a call of it with the outputs of the networks."""
        labels = self._labels(observed)
        given = {} if tensors is None else tensors
        if not isinstance(given, Mapping):
            raise GroundingError(
                f"expected tensors by name, such as decode(pair=…), got {type(given).__name__}"
            )
        predicted = self._predictions({**given, **named}, labels, lengths)
        return self._whole().asked(rules, predicted, {}, lengths, labels or None)

    def log_likelihood(
        self,
        tensors: Mapping[str, Tensor] | None = None,
        /,
        labels: Observed | None = None,
        *,
        rules: Iterable[str] | None = None,
        lengths: Any = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the log-probability of labels given that the rules hold, one per example."""
        refuse_no_labels(labels)
        predicted = self._predictions({**(tensors or {}), **named}, {}, lengths)
        known = self._labels(labels)
        return self._whole().log_likelihood(predicted, known, rules=rules, lengths=lengths)

    # Inputs of one call

    def _sources(self, tensors: Mapping[str, Any]) -> Sources:
        modules = {name: self.networks[name] for name in self._members}
        return Sources(self.knowledge, modules, tensors, relates=bool(self._related()))

    def _needs_nothing(self) -> bool:
        """Return whether all rules read members that modules give, and nothing else."""
        needed = [name for slot in self._plain_slots() for name in tensors_of(slot)]
        for rule in self._related().values():
            assert rule.plan.relation is not None
            if rule.plan.relation.observed:
                return False
            needed += tensors_of_relation(rule.plan)
        return bool(needed) and all(name in self._members for name in needed)

    def _read(
        self,
        requests: Requests,
        sources: Sources,
        tensors: Mapping[str, Tensor],
        observed: Observed | None,
        lengths: Any,
    ) -> _Call:
        """Return what rules read in a call, and ask networks for outputs."""
        labels = self._labels(observed)
        plain = self._request_slots(requests, sources, tensors, labels, lengths)
        related: dict[str, RelatedRule] = {}
        if self._related():
            networks = Networks(dict(self.networks.items()), self._frozen, sources, tensors)
            related = self._relate(networks, sources, observed)
            for one in related.values():
                one.request(requests)
        return _Call(plain, labels, related)

    def _relate(
        self, networks: Networks, sources: Sources, observed: Observed | None
    ) -> dict[str, RelatedRule]:
        """Return the rules that relate members of open domains, on the rows of a call."""
        relations = {n: one for n, one in (observed or {}).items() if isinstance(one, Pairs)}
        world, known, wanted = sources.world(relations), observed or {}, self._groundings
        for rule in self._related().values():
            for name in domains_of(rule.plan):
                if name not in world.sizes:
                    sources.features(name)  # says what is missing
            check_relations(rule.plan, known, world.sizes)
        return {
            name: RelatedRule(name, rule, world, networks, known, wanted.get(name))
            for name, rule in self._related().items()
        }

    def _labels(self, observed: Observed | None) -> dict[str, Tensor]:
        """Return labels by the names of slots. GroundingError says which name fits no slot.

        Those of rules that relate members of open domains are not among them.
        """
        if observed is None:
            return {}
        slots = [slot for slot in self._plain_slots() if not self._is_quantity(slot)]
        related = [name for rule in self._related().values() for name in observable(rule.plan)]
        known = names_of_labels(slots)
        refuse_unknown_labels(observed, [*known, *related])
        own = {n: one for n, one in observed.items() if n in known and not isinstance(one, Pairs)}
        return labels_of(slots, {slot_of(name, slots): one for name, one in own.items()})

    def _answered(
        self, tensors: Mapping[str, Tensor], observed: Observed | None, lengths: Any
    ) -> tuple[_Call, dict[str, Tensor]]:
        """Return a call in which networks have answered, and the outputs of slots."""
        requests = Requests(dict(self.networks.items()), self._frozen)
        call = self._read(requests, self._sources(tensors), tensors, observed, lengths)
        return call, call.taken(requests.run())

    def _predictions(
        self, tensors: Mapping[str, Tensor], labels: Mapping[str, Tensor], lengths: Any
    ) -> dict[str, Tensor]:
        """Return the outputs of the networks on some tensors, by slot."""
        requests = Requests(dict(self.networks.items()), self._frozen)
        plain = self._request_slots(requests, self._sources(tensors), tensors, labels, lengths)
        return _Call(plain, {}, {}).taken(requests.run())

    def _is_quantity(self, slot: Slot) -> bool:
        return slot.predicate.name in self.knowledge.quantities

    def _request_slots(
        self,
        requests: Requests,
        sources: Sources,
        tensors: Mapping[str, Tensor],
        labels: Mapping[str, Tensor],
        lengths: Any,
    ) -> dict[str, Tensor]:
        """Request the outputs that rules read, and return the quantities that are given."""
        slots = [slot for slot in self._plain_slots() if not slot.predicate.is_hidden]
        plain = [s for s in slots if self._is_quantity(s) and s.predicate.name not in self.networks]
        slots = [slot for slot in slots if slot not in plain]
        names = [name for slot in slots for name in tensors_of(slot)]
        names += [slot.name for slot in plain]
        related = [n for rule in self._related().values() for n in tensors_of_relation(rule.plan)]
        check_names("tensor", tensors, dict.fromkeys([*names, *related]))
        known = sources.completed(tensors, names)
        for slot in slots:
            own = labels.get(slot.name)
            if own is None or not is_observed_in_full(slot, own, lengths):
                arguments = tuple(given(name, slot, known) for name in tensors_of(slot))
                requests.add(("slot", slot.name), slot.predicate.name, arguments)
        return {slot.name: given(slot.name, slot, known) for slot in plain}

    def _total(self, parts: Mapping[str, Tensor]) -> Tensor:
        if not parts:
            raise GroundingError("nothing is given: pass facts, tensors for the rules, or both")
        weighted = [
            part if name == TOGETHER else part * self.weight(name) for name, part in parts.items()
        ]
        relaxation = self.relaxation
        together = torch.stack(weighted)
        return together.sum() if self.combine == "sum" else conjoined(together, relaxation)

    def _predicate_of_facts(self, name: str) -> Predicate:
        return self.knowledge.predicates[self.knowledge.facts[name].predicate]

    def _penalty_of_facts(self, name: str, outputs: Tensor, labels: Any) -> Tensor:
        predicate = self._predicate_of_facts(name)
        form = self._inputs if isinstance(self._inputs, str) else None
        if form is None:
            form = self._inputs.get(predicate.name, "logits")  # type: ignore[union-attr]
        is_sigmoid = predicate.is_independent or self._is_about_members_alone(predicate)
        return penalty_of_facts(
            without_last(outputs, labels) if is_sigmoid else outputs,
            labels,
            self.relaxation,
            inputs=form,
            independent=is_sigmoid,
            reduction=self._reduction,
            process_group=self._group.group,
        )

    def _is_about_members_alone(self, predicate: Predicate) -> bool:
        return all(self.knowledge.domains[name].is_open for name in predicate.domains)

    # Rules under the relaxation of the present epoch

    def _compiled_rules(self) -> _Compiled:
        relaxation = self.relaxation
        # torch.compile must not guard on the dictionary before the rules are in it.
        if torch.compiler.is_compiling() or relaxation not in self._compiled:
            self._compile()
        return self._compiled[relaxation]

    def _rules(self) -> CompiledKnowledge:
        """Return the rules about one example of a batch each."""
        return self._compiled_rules().plain

    def _related(self) -> Mapping[str, CompiledRule]:
        """Return the rules that relate members of open domains."""
        return self._compiled_rules().related

    def _whole(self) -> CompiledKnowledge:
        return self._compiled_rules().whole

    def _plain_slots(self) -> list[Slot]:
        rules = self._rules().rules.values()
        return list({slot.name: slot for rule in rules for slot in rule.plan.given}.values())

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _compile(self) -> None:
        """Compile the rules under the relaxation of the present epoch, and keep them.

        torch.compile runs this function and does not trace it.
        """
        relaxation = self.relaxation
        if relaxation in self._compiled:
            return
        compiled = partial(
            compile_knowledge,
            relaxation=relaxation,
            inputs=self._inputs,
            functions=self._functions,
            over=self._over,
            reduction=self._reduction,
            process_group=self._group.group,
            replay=self._replay,
        )
        knowledge = with_related(self.knowledge, self._members)
        whole = plain = compiled(knowledge)
        related = {n: rule for n, rule in whole.rules.items() if rule.plan.relation is not None}
        if related:
            domains = [domain for rule in related.values() for domain in domains_of(rule.plan)]
            knowledge = with_related(knowledge, domains)
            whole = compiled(knowledge)
            related = {n: rule for n, rule in whole.rules.items() if rule.plan.relation is not None}
            others = {n: rule for n, rule in knowledge.rules.items() if n not in related}
            over = self._over
            if isinstance(over, Mapping):
                over = {name: one for name, one in over.items() if name in others}
            plain = compiled(replace(knowledge, rules=others), over=over)
        self._compiled[relaxation] = _Compiled(whole, plain, related)

    def _rule_parts(
        self, call: _Call, outputs: Mapping[Key, Tensor], lengths: Any
    ) -> dict[str, Tensor]:
        """Return the penalty of each rule, or one penalty if only all rules together have one."""
        rules, predicted = self._rules(), call.taken(outputs)
        if rules.shares_hidden:
            return {TOGETHER: rules.total(predicted, lengths=lengths, observed=call.labels)}
        found: dict[str, Tensor] = rules(predicted, lengths=lengths, observed=call.labels)
        return self._in_order(found, {n: one.penalty() for n, one in call.related.items()})

    def _in_order(self, plain: dict[str, Answer], related: dict[str, Answer]) -> dict[str, Answer]:
        """Return what is found of each rule in the order of the knowledge."""
        found = {**plain, **related}
        return {name: found[name] for name in self.knowledge.rules} if related else plain

    def _predicates_in_use(self) -> list[str]:
        slots = [slot for rule in self._whole().rules.values() for slot in rule.plan.given]
        used = [
            slot.predicate.name
            for slot in slots
            if not slot.predicate.is_hidden and not self._is_quantity(slot)
        ]
        used += [one.predicate for one in self.knowledge.facts.values()]
        return list(dict.fromkeys(used))


class _Compiled(NamedTuple):
    """All rules under one relaxation: those about one example each, and those about members."""

    whole: CompiledKnowledge
    plain: CompiledKnowledge
    related: Mapping[str, CompiledRule]


class _Call(NamedTuple):
    """What the rules of a theory read in one call, before the networks have run."""

    plain: dict[str, Tensor]
    labels: dict[str, Tensor]
    related: dict[str, RelatedRule]

    def taken(self, outputs: Mapping[Key, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of slots, and hand outputs to the rules that relate members."""
        for rule in self.related.values():
            rule.take(outputs)
        slots = {name: one for (what, name), one in outputs.items() if what == "slot"}
        return self.plain | slots


def _options() -> list[str]:
    """Return the names of the options of a theory, which no module can have."""
    parameters = inspect.signature(Theory).parameters.items()
    return [name for name, one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
