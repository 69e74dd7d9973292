"""One call of a theory: what its rules read, which networks run, and what the rules answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar, final

from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding.plans import Slot
from residuum.losses.inputs.arguments import Inputs
from residuum.losses.inputs.evidence import (
    Observed,
    is_observed_in_full,
    labels_of,
    refuse_unknown_labels,
)
from residuum.losses.knowledge import TOGETHER
from residuum.losses.network_calls import Key, Requests
from residuum.losses.questions.violations import Violation
from residuum.losses.relations.evaluation import RelatedRule
from residuum.losses.relations.networks import Networks
from residuum.losses.relations.observed import check_relations, observable
from residuum.losses.relations.pairs import Pairs
from residuum.losses.relations.sources import Sources
from residuum.losses.theory_names import check_names, domains_of, given, names_of_labels, slot_of
from residuum.losses.theory_names import tensors_of as names_of_tensors
from residuum.losses.theory_rules import TheoryRules
from residuum.syntax import Knowledge

Answer = TypeVar("Answer")


class Bindings(NamedTuple):
    """A knowledge with its rules, and the networks and members that are bound to it.

    `groundings` says of which rules how many rows are drawn at random.
    """

    knowledge: Knowledge
    rules: TheoryRules
    modules: Mapping[str, nn.Module]
    members: Iterable[str]
    frozen: set[str]
    groundings: Mapping[str, int]

    def sources(self, tensors: Mapping[str, Any]) -> Sources:
        """Return the members of open domains in a call with these tensors."""
        modules = {name: self.modules[name] for name in self.members}
        relates = bool(self.rules.related)
        return Sources(self.knowledge, modules, tensors, relates=relates, frozen=self.frozen)

    def around(self, names: Iterable[str]) -> list[str]:
        """Return the open domains between which the functions among some names lead."""
        functions = [self.knowledge.functions.get(name) for name in names]
        needed = [name for f in functions if f is not None for name in (*f.domains, f.result)]
        return [name for name in needed if self.knowledge.domains[name].is_open]

    def requests(self) -> Requests:
        """Return a list of what networks are asked for in one call."""
        return Requests(self.modules, self.frozen)

    def is_quantity(self, slot: Slot) -> bool:
        """Return whether a slot holds numbers, and not outputs of a predicate."""
        return slot.predicate.name in self.knowledge.quantities

    def labels(self, observed: Observed | None) -> dict[str, Tensor]:
        """Return labels by the names of slots. GroundingError says which name fits no slot.

        Those of rules that relate members of open domains are not among them.
        """
        if observed is None:
            return {}
        slots = [slot for slot in self.rules.plain_slots if not self.is_quantity(slot)]
        related = [name for rule in self.rules.related.values() for name in observable(rule.plan)]
        known = names_of_labels(slots)
        refuse_unknown_labels(observed, [*known, *related])
        for name, one in observed.items():
            if isinstance(one, Pairs) and name not in related:
                raise GroundingError(
                    f"observed `{name}`: expected labels, one for each example, got {one!r}; rules "
                    "about several members of a domain read rs.Pairs, and none of them is about "
                    f"`{name}`"
                )
        own = {n: one for n, one in observed.items() if n in known and not isinstance(one, Pairs)}
        return labels_of(slots, {slot_of(name, slots): one for name, one in own.items()})


@final
class TheoryCall:
    """The rules of a theory in one call. Networks are asked for outputs first, and run once."""

    def __init__(self, bindings: Bindings, given: Inputs) -> None:
        if not isinstance(given.tensors, Mapping):
            raise GroundingError(
                "expected tensors by name, such as decode(pair=…), got "
                f"{type(given.tensors).__name__}"
            )
        self._bindings = bindings
        self._given = given
        self.requests = bindings.requests()
        self.sources = bindings.sources(given.tensors)
        self._related: dict[str, RelatedRule] = {}
        self.plain = Inputs({})

    def request(self) -> None:
        """Ask networks for the outputs that all rules read."""
        self.request_slots()
        self._request_rows()

    def request_slots(self) -> None:
        """Ask networks for the outputs that plain rules read, and find the quantities given."""
        one, (tensors, lengths, observed) = self._bindings, self._given
        labels = one.labels(observed)
        slots = [slot for slot in one.rules.plain_slots if not slot.predicate.is_hidden]
        numbers = [s for s in slots if one.is_quantity(s) and s.predicate.name not in one.modules]
        slots = [slot for slot in slots if slot not in numbers]
        names = [name for slot in slots for name in names_of_tensors(slot)]
        names += [slot.name for slot in numbers]
        read = [*names, *one.rules.tensors_of_relations]
        check_names("tensor", tensors, dict.fromkeys([*read, *one.around(read)]))
        known = self.sources.completed(tensors, names)
        for slot in slots:
            own = labels.get(slot.name)
            if own is None or not is_observed_in_full(slot, own, lengths):
                arguments = tuple(given(name, slot, known) for name in names_of_tensors(slot))
                self.requests.add(("slot", slot.name), slot.predicate.name, arguments)
        quantities = {slot.name: given(slot.name, slot, known) for slot in numbers}
        self.plain = Inputs(quantities, lengths, labels or None)

    def _request_rows(self) -> None:
        """Find the rows of the rules that relate members, and ask networks for what they read."""
        one, related = self._bindings, self._bindings.rules.related
        if not related:
            return
        known = self._given.observed or {}
        pairs = {name: given for name, given in known.items() if isinstance(given, Pairs)}
        world = self.sources.world(pairs)
        for rule in related.values():
            for name in domains_of(rule.plan):
                if name not in world.sizes:
                    self.sources.features(name)  # says what is missing
            check_relations(rule.plan, known, world.sizes)
        networks = Networks(one.modules, one.frozen, self.sources, self._given.tensors)
        for name, rule in related.items():
            drawn = one.groundings.get(name)
            self._related[name] = RelatedRule(name, rule, world, networks, known, drawn)
            self._related[name].request(self.requests)

    def run(self) -> Mapping[Key, Tensor]:
        """Run the networks, and return their outputs. Now `plain` has all that plain rules read."""
        outputs = self.requests.run()
        for rule in self._related.values():
            rule.take(outputs)
        slots = {name: one for (what, name), one in outputs.items() if what == "slot"}
        self.plain = self.plain._replace(tensors={**self.plain.tensors, **slots})
        return outputs

    # Answers, once networks have answered

    def penalties(self) -> dict[str, Tensor]:
        """Return the penalty of each rule, or one penalty if only all rules together have one."""
        rules = self._bindings.rules.plain
        if rules.shares_hidden:
            return {TOGETHER: self._ask(rules.total)}
        found: dict[str, Tensor] = self._ask(rules)
        return self._in_order(found, RelatedRule.penalty)

    def satisfied(self) -> dict[str, Tensor]:
        """Return whether the predictions obey each rule, one Boolean per example."""
        return self._in_order(
            self._ask(self._bindings.rules.plain.satisfied), RelatedRule.satisfied
        )

    def violations(self, top: int) -> dict[str, list[Violation]]:
        """Return the groundings of each rule with the lowest degrees that predictions break."""
        found = self._ask(partial(self._bindings.rules.plain.violations, top=top))
        return self._in_order(found, lambda one: one.violations(top))

    def metrics(self) -> dict[str, float]:
        """Return what one logs of each rule."""
        return self._ask(self._bindings.rules.plain.metrics) | self._numbers(RelatedRule.metrics)

    def diagnose(self) -> dict[str, float]:
        """Return the metrics of each rule, and its violations without a gradient."""
        return self._ask(self._bindings.rules.plain.diagnose) | self._numbers(RelatedRule.diagnose)

    def _ask(self, question: Callable[..., Answer]) -> Answer:
        """Return what plain rules answer."""
        tensors, lengths, observed = self.plain
        return question(tensors, lengths=lengths, observed=observed)

    def _numbers(self, question: Callable[[RelatedRule], dict[str, float]]) -> dict[str, float]:
        return {
            f"{name}/{key}": value
            for name, one in self._related.items()
            for key, value in question(one).items()
        }

    def _in_order(
        self, plain: dict[str, Answer], question: Callable[[RelatedRule], Answer]
    ) -> dict[str, Answer]:
        """Return the answers of all rules, in the order of the knowledge."""
        if not self._related:
            return plain
        found = {**plain, **{name: question(one) for name, one in self._related.items()}}
        return {name: found[name] for name in self._bindings.knowledge.rules}
