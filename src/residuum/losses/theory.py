"""A theory: knowledge whose predicates are networks."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError, suggest
from residuum.grounding.plans import Slot
from residuum.logic import Application, Term, Variable
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
from residuum.losses.routes.definition import Definition
from residuum.losses.rules import CompiledRule
from residuum.losses.schedules import (
    Schedule,
    Scheduled,
    at,
    check_scheduled_weight,
    weight_at,
)
from residuum.losses.tracing import not_traced
from residuum.relaxations import Relaxation
from residuum.syntax import Knowledge

TOGETHER: Final = "all rules"
"""The name of the one part that rules with a hidden predicate have under `exact`."""


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
    or of its use (`Digit(left(p))`) if rules read it in several ways.

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
        relaxation: str | Relaxation | Schedule[str | Relaxation] = "r-product",
        weights: Mapping[str, float | Schedule[float]] | None = None,
        reduction: Reduction = "mean",
        combine: Combination = "conjunction",
        inputs: Form | Mapping[str, Form] = "logits",
        functions: Mapping[str, Any] | None = None,
        over: str | Mapping[str, str] | None = None,
        process_group: Any = None,
        replay: bool = True,
        **modules: nn.Module,
    ) -> None:
        super().__init__()
        if not isinstance(knowledge, Knowledge):
            raise GroundingError(
                f"expected a Knowledge, as rs.load returns, got {type(knowledge).__name__}"
            )
        bindable = {**knowledge.predicates, **knowledge.quantities}
        _refuse_names_of_options(bindable)
        _check_names("predicate", modules, bindable)
        _check_names("rule or set of facts", weights or {}, {**knowledge.rules, **knowledge.facts})
        if reduction == "none":
            raise GroundingError(
                "reduction: expected mean, sum or conjunction, as a theory needs one number for "
                "each part, got 'none'"
            )
        check_combination(combine)
        for name, weight in (weights or {}).items():
            check_scheduled_weight(weight, name)
        for name, module in modules.items():
            if name in knowledge.predicates and knowledge.predicates[name].is_hidden:
                raise GroundingError(
                    f"`{name}` is hidden: expected no module for it, got one; leave it out, or "
                    "declare the predicate without `hidden`"
                )
            if not isinstance(module, nn.Module):
                raise GroundingError(
                    f"`{name}`: expected a torch.nn.Module, got {type(module).__name__}"
                )
            if hasattr(nn.ModuleDict, name) or name == "training":
                raise GroundingError(
                    f"PyTorch has another use for the name `{name}`, so that no module can have "
                    "it; give the predicate another"
                )
        self.knowledge = knowledge
        self.combine = combine
        self.networks = nn.ModuleDict(modules)
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
        self._compiled: dict[Relaxation, CompiledKnowledge] = {}
        self._rules()  # so that mistakes in the knowledge show now
        for name in self._predicates_in_use():
            if name not in modules:
                raise GroundingError(f"no module is given for predicate `{name}`")

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation of the present epoch."""
        chosen: str | Relaxation = at(self._relaxation, self.epoch)  # type: ignore[assignment]
        return find_logic(chosen)

    def extra_repr(self) -> str:
        """Return what `print(theory)` shows beside the networks: rules and facts with weights."""
        rules, compiled = self.knowledge.rules, self._rules().rules
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
            compiled.set_process_group(group)

    def weight(self, name: str) -> float:
        """Return the weight of a rule or a set of facts in the present epoch."""
        _check_names("rule or set of facts", [name], self._weights)
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
        _check_names("predicate", names, known)

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
        given = {} if facts is None else facts
        if not isinstance(given, Mapping):
            raise GroundingError(
                f"expected facts by name, {{name: (inputs, labels)}}, got {type(facts).__name__}"
            )
        _check_names("set of facts", given, self.knowledge.facts)
        requests = Requests(dict(self.networks.items()), self._frozen)
        for name, pair in given.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise GroundingError(f"facts `{name}`: expected a pair (inputs, labels)")
        for name, (inputs, _) in given.items():
            requests.add(("facts", name), self.knowledge.facts[name].predicate, (inputs,))
        labels = self._labels(observed)
        plain: dict[str, Tensor] = {}
        if tensors or labels:
            plain = self._request_slots(requests, tensors, labels, lengths)
        outputs = requests.run()
        parts: dict[str, Tensor] = {
            name: self._penalty_of_facts(name, outputs["facts", name], labels)
            for name, (_, labels) in given.items()
        }
        if tensors or labels:
            parts |= self._rule_parts(plain | _of_slots(outputs), lengths, labels)
        return Assessment(self._total(parts), parts)

    @torch.no_grad()
    def satisfied(
        self, *, lengths: Any = None, observed: Observed | None = None, **tensors: Tensor
    ) -> dict[str, Tensor]:
        """Return by the names of rules whether the predictions of the networks obey them.

        There is one Boolean per example. The tensors and labels are those of a call.
        """
        labels = self._labels(observed)
        predicted = self._predictions(tensors, labels, lengths)
        return self._rules().satisfied(predicted, lengths=lengths, observed=labels)

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
        labels = self._labels(observed)
        predicted = self._predictions(tensors, labels, lengths)
        return self._rules().violations(predicted, top=top, lengths=lengths, observed=labels)

    @torch.no_grad()
    def metrics(
        self, *, lengths: Any = None, observed: Observed | None = None, **tensors: Tensor
    ) -> dict[str, float]:
        """Return what one logs of each rule, such as `birds/penalty` and `birds/satisfied`.

        `CompiledRule.metrics` says what the numbers are. Tensors and labels are those of a call.
        """
        labels = self._labels(observed)
        predicted = self._predictions(tensors, labels, lengths)
        return self._rules().metrics(predicted, lengths=lengths, observed=labels or None)

    @torch.no_grad()
    def diagnose(
        self, *, lengths: Any = None, observed: Observed | None = None, **tensors: Tensor
    ) -> dict[str, float]:
        """Return the metrics of each rule, and the share of violations `without_gradient`.

        `CompiledRule.diagnose` says what it is. Tensors and labels are those of a call.
        """
        labels = self._labels(observed)
        predicted = self._predictions(tensors, labels, lengths)
        return self._rules().diagnose(predicted, lengths=lengths, observed=labels or None)

    def rule_of(self, rules: Iterable[str] | None) -> CompiledRule:
        """Return all rules, or those of these names, as one rule under `exact`."""
        return self._rules().rule_of(rules)

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
        return self._rules().asked(rules, predicted, {}, lengths, labels or None)

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
        return self._rules().log_likelihood(predicted, known, rules=rules, lengths=lengths)

    def _labels(self, observed: Observed | None) -> dict[str, Tensor]:
        """Return labels by the names of slots. GroundingError says which name fits no slot."""
        if observed is None:
            return {}
        slots = [slot for slot in _slots(self._rules()) if not self._is_quantity(slot)]
        refuse_unknown_labels(observed, _names_of_labels(slots))
        return labels_of(slots, {_slot_of(name, slots): one for name, one in observed.items()})

    def _predictions(
        self, tensors: Mapping[str, Tensor], labels: Mapping[str, Tensor], lengths: Any
    ) -> dict[str, Tensor]:
        """Return the outputs of the networks on some tensors, by slot."""
        requests = Requests(dict(self.networks.items()), self._frozen)
        plain = self._request_slots(requests, tensors, labels, lengths)
        return plain | _of_slots(requests.run())

    def _is_quantity(self, slot: Slot) -> bool:
        return slot.predicate.name in self.knowledge.quantities

    def _request_slots(
        self,
        requests: Requests,
        tensors: Mapping[str, Tensor],
        labels: Mapping[str, Tensor],
        lengths: Any,
    ) -> dict[str, Tensor]:
        """Request the outputs that rules read, and return the quantities that are given."""
        slots = [slot for slot in _slots(self._rules()) if not slot.predicate.is_hidden]
        plain = [s for s in slots if self._is_quantity(s) and s.predicate.name not in self.networks]
        slots = [slot for slot in slots if slot not in plain]
        names = [name for slot in slots for name in _tensors_of(slot)]
        _check_names("tensor", tensors, dict.fromkeys([*names, *(slot.name for slot in plain)]))
        for slot in slots:
            own = labels.get(slot.name)
            if own is None or not is_observed_in_full(slot, own, lengths):
                arguments = self._arguments(slot, tensors)
                requests.add(("slot", slot.name), slot.predicate.name, arguments)
        return {slot.name: _given(slot.name, slot, tensors) for slot in plain}

    def _total(self, parts: Mapping[str, Tensor]) -> Tensor:
        if not parts:
            raise GroundingError("nothing is given: pass facts, tensors for the rules, or both")
        weighted = [
            part if name == TOGETHER else part * self.weight(name) for name, part in parts.items()
        ]
        relaxation = self.relaxation
        together = torch.stack(weighted)
        return together.sum() if self.combine == "sum" else conjoined(together, relaxation)

    def _penalty_of_facts(self, name: str, outputs: Tensor, labels: Any) -> Tensor:
        predicate = self.knowledge.predicates[self.knowledge.facts[name].predicate]
        form = self._inputs if isinstance(self._inputs, str) else None
        if form is None:
            form = self._inputs.get(predicate.name, "logits")  # type: ignore[union-attr]
        return penalty_of_facts(
            outputs,
            labels,
            self.relaxation,
            inputs=form,
            independent=predicate.is_independent,
            reduction=self._reduction,
            process_group=self._group.group,
        )

    def _rules(self) -> CompiledKnowledge:
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
        self._compiled[relaxation] = compile_knowledge(
            self.knowledge,
            relaxation,
            inputs=self._inputs,
            functions=self._functions,
            over=self._over,
            reduction=self._reduction,
            process_group=self._group.group,
            replay=self._replay,
        )

    def _rule_parts(
        self, outputs: Mapping[str, Tensor], lengths: Any, labels: Observed | None
    ) -> dict[str, Tensor]:
        """Return the penalty of each rule, or one penalty if only all rules together have one."""
        rules = self._rules()
        if rules.shares_hidden:
            return {TOGETHER: rules.total(outputs, lengths=lengths, observed=labels)}
        found: dict[str, Tensor] = rules(outputs, lengths=lengths, observed=labels)
        return found

    def _predicates_in_use(self) -> list[str]:
        slots = _slots(self._rules())
        used = [
            slot.predicate.name
            for slot in slots
            if not slot.predicate.is_hidden and not self._is_quantity(slot)
        ]
        used += [one.predicate for one in self.knowledge.facts.values()]
        return list(dict.fromkeys(used))

    def _arguments(self, slot: Slot, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """Return what the network of a slot is applied to."""
        return tuple(_given(name, slot, tensors) for name in _tensors_of(slot))


def _given(name: str, slot: Slot, tensors: Mapping[str, Tensor]) -> Tensor:
    if name not in tensors:
        raise GroundingError(
            f"`{slot.name}` needs the tensor `{name}`.{suggest(name, tensors)} "
            f"Given are: {', '.join(tensors) or 'none'}"
        )
    return tensors[name]


def _tensors_of(slot: Slot) -> list[str]:
    """Return the names of the tensors that the network of a slot is applied to."""
    return [_name(term, slot) for term in slot.members] or [slot.name]


def _name(term: Term, slot: Slot) -> str:
    if isinstance(term, Application):
        is_plain = len(term.arguments) == 1 and isinstance(term.arguments[0], Variable)
        return term.function if is_plain else str(term)
    assert isinstance(term, Variable)
    return slot.open_domains[slot.members.index(term)]


def _slots(rules: CompiledKnowledge) -> list[Slot]:
    found = {slot.name: slot for rule in rules.rules.values() for slot in rule.plan.given}
    return list(found.values())


def _names_of_labels(slots: Iterable[Slot]) -> list[str]:
    """Return the names by which labels can be given: those of slots and of their predicates."""
    return list(dict.fromkeys(name for slot in slots for name in (slot.name, slot.predicate.name)))


def _slot_of(name: str, slots: Iterable[Slot]) -> str:
    """Return the name of the slot that labels belong to, given its name or its predicate's."""
    uses = [slot.name for slot in slots if name == slot.predicate.name]
    if name in uses or not uses:
        return name
    if len(uses) > 1:
        raise GroundingError(
            f"observed `{name}`: expected the use that is observed, one of {', '.join(uses)}, got "
            "the predicate alone; write labels under the names of uses"
        )
    return uses[0]


def _of_slots(outputs: Mapping[Key, Tensor]) -> dict[str, Tensor]:
    return {name: one for (what, name), one in outputs.items() if what == "slot"}


def _refuse_names_of_options(predicates: Iterable[str]) -> None:
    options = inspect.signature(Theory).parameters
    for name in predicates:
        if name in options and options[name].kind is inspect.Parameter.KEYWORD_ONLY:
            raise GroundingError(
                f"predicate `{name}` has the name of an option of a theory, so that no module can "
                "be given for it; rename the predicate in the knowledge"
            )


def _check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise GroundingError(
                f"the knowledge has no {what} `{name}`.{suggest(name, known)} "
                f"It has: {', '.join(known) or 'none'}"
            )
