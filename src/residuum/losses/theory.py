"""A theory: knowledge whose predicates are networks."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.losses.aggregation import conjoined
from residuum.losses.compile import compile as compiled_knowledge
from residuum.losses.degrees.logits import Form
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.exact_answers import ExactAnswers, refuse_no_labels
from residuum.losses.facts import facts as penalty_of_facts
from residuum.losses.inputs.arguments import (
    Inputs,
    takes_tensors,
    takes_tensors_and_labels,
    takes_tensors_and_top,
)
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import Observed
from residuum.losses.knowledge import TOGETHER, WEIGHTING, said_over
from residuum.losses.questions.violations import Violation
from residuum.losses.reductions import Combination, Reduction, SharedGroup, check_combination
from residuum.losses.relations.facts import read_facts, without_last
from residuum.losses.routes.definition import Definition
from residuum.losses.rules import CompiledRule
from residuum.losses.schedules import Schedule, Scheduled, at, check_scheduled_weight, weight_at
from residuum.losses.theory_calls import Bindings, TheoryCall
from residuum.losses.theory_names import check_modules, check_names, members_in
from residuum.losses.theory_rules import TheoryRules, checked_groundings, compile_rules
from residuum.losses.tracing import not_traced
from residuum.relaxations import DEFAULT, Relaxation
from residuum.syntax import Knowledge, Predicate


@dataclass(frozen=True)
class Assessment:
    """What a batch costs: the total to minimise, and the penalty of each rule and set of facts.

    Parts are without weights, the total is with weights.

    >>> import torch
    >>> import residuum as rs
    >>> assessed = rs.Assessment(torch.tensor(1.5), {"wet": torch.tensor(1.0)})
    >>> assessed.total.item(), assessed.parts["wet"].item()
    (1.5, 1.0)
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
    or of its use (`Digit(left(p))`) if rules read it in several ways. Without a `relaxation` it is
    's-product', as in `rs.compile`.

    Rules may relate several members of open domains: each choice of members for their outermost
    variables is one example. Members are tensors of the call, or modules given by the names of
    domains, such as `rs.Members`. `groundings` says how many of these examples are drawn in each
    call, of all such rules or of some by name.

    `weights` replaces weights of rules and facts, by name. A weight, and the relaxation, may be a
    schedule: a function of `theory.epoch`. Penalties are reduced over their batches first. The
    total combines these parts with their weights, by the conjunction of the logic, or by
    `combine="sum"`.

    >>> import torch
    >>> import residuum as rs
    >>> knowledge = rs.loads('''
    ...     domain image
    ...     domain pet = cat, dog
    ...     predicate Pet(image, pet)
    ...     predicate Barks(image, sound) independent
    ...     domain sound = loud
    ...     facts seen: Pet
    ...     rule dogs: forall i in image: Pet(i, dog) -> Barks(i, loud)
    ... ''')
    >>> pet, barks = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
    >>> theory = rs.Theory(knowledge, Pet=pet, Barks=barks)
    >>> pictures, labels = torch.randn(8, 3), torch.randint(2, (8,))
    >>> assessed = theory({"seen": (pictures, labels)}, image=pictures)
    >>> sorted(assessed.parts)
    ['dogs', 'seen']
    >>> assessed.total.backward()
    """

    def __init__(
        self,
        knowledge: Knowledge,
        /,
        *,
        relaxation: str | Relaxation | Schedule[str | Relaxation] = DEFAULT,
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
        self._over = over
        self._compile_all = partial(
            compiled_knowledge,
            inputs=inputs,
            functions=functions or {},
            reduction=reduction,
            replay=replay,
        )
        self._frozen: set[str] = set()
        self._compiled: dict[Relaxation, TheoryRules] = {}
        rules = self._rules()  # so that mistakes in the knowledge show now
        self._groundings = checked_groundings(groundings, rules.related)
        used = [*rules.predicates, *(one.predicate for one in knowledge.facts.values())]
        for name in dict.fromkeys(used):
            if name not in modules and name not in knowledge.quantities:
                raise GroundingError(f"no module is given for predicate `{name}`")

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation of the present epoch."""
        chosen: str | Relaxation = at(self._relaxation, self.epoch)  # type: ignore[assignment]
        return find_logic(chosen)

    def extra_repr(self) -> str:
        """Return what `print(theory)` shows beside the networks: rules and facts with weights."""
        rules, compiled = self.knowledge.rules, self._rules().whole.rules
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
        """Keep gradients from the networks of these predicates and quantities, and from members."""
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
        call = TheoryCall(self._bindings(), Inputs(tensors, lengths, observed))
        labelled = {
            name: read_facts(name, one, self._predicate_of_facts(name), call.sources)
            for name, one in stated.items()
        }
        for name, (inputs, _) in labelled.items():
            call.requests.add(("facts", name), self.knowledge.facts[name].predicate, inputs)
        asks_rules = tensors or observed or self._rules().need_nothing_but(self._members)
        if asks_rules:
            call.request()
        outputs = call.run()
        parts: dict[str, Tensor] = {
            name: self._penalty_of_facts(name, outputs["facts", name], labels)
            for name, (_, labels) in labelled.items()
        }
        if asks_rules:
            parts |= call.penalties()
        return Assessment(self._total(parts), parts)

    @torch.no_grad()
    @takes_tensors
    def satisfied(self, given: Inputs) -> dict[str, Tensor]:
        """Return by the names of rules whether the predictions of the networks obey them.

        There is one Boolean per example. The tensors and labels are those of a call.
        """
        return self._answered(given).satisfied()

    @torch.no_grad()
    @takes_tensors_and_top
    def violations(self, given: Inputs, top: int) -> dict[str, list[Violation]]:
        """Return by the names of rules groundings that the predictions break, at most `top` each.

        Those with the lowest degrees come first. The tensors and labels are those of a call.
        """
        return self._answered(given).violations(top)

    @torch.no_grad()
    @takes_tensors
    def metrics(self, given: Inputs) -> dict[str, float]:
        """Return what one logs of each rule, such as `birds/penalty` and `birds/satisfied`.

        `CompiledRule.metrics` says what the numbers are. Tensors and labels are those of a call.
        """
        return self._answered(given).metrics()

    @torch.no_grad()
    @takes_tensors
    def diagnose(self, given: Inputs) -> dict[str, float]:
        """Return the metrics of each rule, and the share of violations `without_gradient`.

        `CompiledRule.diagnose` says what it is. Tensors and labels are those of a call.
        """
        return self._answered(given).diagnose()

    @takes_tensors_and_labels
    def log_likelihood(
        self, given: Inputs, labels: Observed | None, rules: Iterable[str] | None
    ) -> Tensor:
        """Return the log-probability of labels given that the rules hold, one per example."""
        refuse_no_labels(labels)
        predicted = self._predicted(given)
        known = self._bindings().labels(labels)
        whole = self._rules().whole
        return whole.log_likelihood(predicted.tensors, known, rules=rules, lengths=given.lengths)

    def rule_of(self, rules: Iterable[str] | None) -> CompiledRule:
        """Return all rules, or those of these names, as one rule under `exact`."""
        return self._rules().whole.rule_of(rules)

    def asked(self, given: Inputs, rules: Iterable[str] | None) -> tuple[Definition, Call]:
        """Return rules as one rule, and a call of it with the outputs of the networks."""
        return self._rules().whole.asked(self._predicted(given), rules)

    # One call

    def _bindings(self) -> Bindings:
        return Bindings(
            self.knowledge,
            self._rules(),
            dict(self.networks.items()),
            self._members,
            self._frozen,
            self._groundings,
        )

    def _answered(self, given: Inputs) -> TheoryCall:
        """Return a call of the rules in which networks have answered."""
        call = TheoryCall(self._bindings(), given)
        call.request()
        call.run()
        return call

    def _predicted(self, given: Inputs) -> Inputs:
        """Return the outputs of the networks, and labels, by the slots of plain rules."""
        call = TheoryCall(self._bindings(), given)
        call.request_slots()
        call.run()
        return call.plain

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

    def _rules(self) -> TheoryRules:
        relaxation = self.relaxation
        # torch.compile must not guard on the dictionary before the rules are in it.
        if torch.compiler.is_compiling() or relaxation not in self._compiled:
            self._compile()
        return self._compiled[relaxation]

    @not_traced
    def _compile(self) -> None:
        """Compile the rules under the relaxation of the present epoch, and keep them.

        torch.compile runs this function and does not trace it.
        """
        relaxation = self.relaxation
        if relaxation in self._compiled:
            return
        group = self._group.group
        compiled = partial(self._compile_all, relaxation=relaxation, process_group=group)
        rules = compile_rules(self.knowledge, compiled, self._members, self._over)
        self._compiled[relaxation] = rules


def _options() -> list[str]:
    """Return the names of the options of a theory, which no module can have."""
    parameters = inspect.signature(Theory).parameters.items()
    return [name for name, one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
