"""Compiled rules of a whole knowledge base: evaluated together where they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.logic import Quantifier
from residuum.losses.aggregation import cap_of, capped, conjoined
from residuum.losses.degrees.logits import Source
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.padding import sequence_sizes
from residuum.losses.questions.violations import Violation
from residuum.losses.reductions import Combination, check_combination
from residuum.losses.routes import thresholds
from residuum.losses.rules import CompiledRule, Tensors, named_tensors
from residuum.relaxations import Relaxation

Names = tuple[str, ...]


@final
class CompiledKnowledge(nn.Module):
    """All rules of a knowledge base: penalties by the rules' names."""

    def __init__(self, rules: Mapping[str, CompiledRule], bundles: Mapping[Names, CompiledRule]
                 ) -> None:  # fmt: skip
        super().__init__()
        self._rules = dict(rules)
        self._bundles = dict(bundles)
        self._predicates = list(
            dict.fromkeys(name for rule in rules.values() for name in rule.forms)
        )
        self._prepared: set[Any] = set()

    @property
    def rules(self) -> Mapping[str, CompiledRule]:
        """The compiled rules, by name."""
        return self._rules

    def set_process_group(self, group: Any) -> None:
        """Give all rules a process group, as is needed after unpickling rules that had one."""
        for rule in (*self._rules.values(), *self._bundles.values()):
            rule.set_process_group(group)

    def forward(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> dict[str, Tensor]:
        """Return each rule's penalty; every rule takes the tensors it reads."""
        given = self._known(named_tensors(tensors, named), lengths)
        sources: dict[str, Source] = {}
        together: dict[str, Tensor] = {}
        for names, bundle in self._bundles.items():
            if _have_one_batch(bundle.plan, given):
                call = _call(bundle, given, lengths, sources)
                penalties = bundle.of_each_rule(call)
                if penalties is not None:
                    together |= zip(names, penalties.unbind(0), strict=True)
                    self._prepare(names, given, lengths, call)
        return {
            name: rule.finish(together[name])
            if name in together
            else rule.penalty(_call(rule, given, lengths, sources))
            for name, rule in self._rules.items()
        }

    def total(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        combine: Combination = "conjunction",
        **named: Tensor,
    ) -> Tensor:
        """Return what all rules cost together, one number per example unless they are reduced.

        That is the logic's own conjunction of the rules with their weights: their sum, up to a cap
        if there is one, or in the Gödel logics the largest. `combine="sum"` adds up in any logic.
        """
        check_combination(combine)
        if not self._rules:
            raise GroundingError("the knowledge has no rules that could cost anything")
        given = self._known(named_tensors(tensors, named), lengths)
        relaxation = next(iter(self._rules.values())).relaxation
        is_conjunction = combine == "conjunction" or _is_sum(relaxation)
        call = self._call_of_all(given, lengths)
        if call is not None:
            [bundle] = self._bundles.values()
            if is_conjunction:
                return bundle.penalty(call)
            found = bundle.of_each_rule(call)
            if found is not None:
                return capped(found, relaxation).sum(0)
        each = tuple(self(given, lengths=lengths).values())
        shape = torch.broadcast_shapes(*(one.shape for one in each))  # type: ignore[no-untyped-call]
        penalties = torch.stack([one.expand(shape) for one in each], -1)
        return conjoined(penalties, relaxation) if is_conjunction else penalties.sum(-1)

    def _call_of_all(self, given: Tensors, lengths: Any) -> Call | None:
        """Return the call of all rules; None unless they are alike and evaluated together."""
        if len(self._bundles) != 1:
            return None
        [(names, bundle)] = self._bundles.items()
        kinds = {(rule.weight, rule.reduction) for rule in self._rules.values()}
        if len(names) < len(self._rules) or kinds != {(1.0, "none")}:
            return None
        return _call(bundle, given, lengths, {}) if _have_one_batch(bundle.plan, given) else None

    def satisfied(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> dict[str, Tensor]:
        """Return for each rule whether the predictions obey it, one Boolean per example."""
        given = self._known(named_tensors(tensors, named), lengths)
        return {
            name: rule.satisfied(_read_by(rule, given), lengths=_lengths_for(rule, lengths))
            for name, rule in self._rules.items()
        }

    def violations(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        top: int = 5,
        lengths: Any = None,
        **named: Tensor,
    ) -> dict[str, list[Violation]]:
        """Return for each rule its groundings with the lowest degrees, worst first."""
        given = self._known(named_tensors(tensors, named), lengths)
        return {
            name: rule.violations(
                _read_by(rule, given), top=top, lengths=_lengths_for(rule, lengths)
            )
            for name, rule in self._rules.items()
        }

    def _prepare(self, names: Names, given: Tensors, lengths: Any, call: Call) -> None:
        """Have the tables of rules on the GPU, before a CUDA graph is captured that needs them.

        A graph cannot look at values, so that it takes quantified rules one by one, and it cannot
        move tables.
        """
        if call.device.type != "cuda" or not self._bundles[names].plan.rank:
            return
        sizes = sequence_sizes(self._bundles[names].plan, call.inputs)
        key = names, call.device, tuple(sizes.items())
        if key not in self._prepared:
            self._prepared.add(key)
            for name in names:
                rule = self._rules[name]
                rule.receive(_read_by(rule, given), _lengths_for(rule, lengths))

    def _known(self, given: Tensors, lengths: Any) -> Tensors:
        """Return the tensors if some rule reads each of them, and the lengths."""
        refuse_unknown(given, self._predicates)
        rules = self._rules.values()
        if lengths is not None and not any(rule.plan.sequence_domains for rule in rules):
            raise GroundingError("lengths are given, but no rule has a sequence domain")
        return given


def bundled_rules(rules: Mapping[str, CompiledRule]) -> list[Names]:
    """Return the names of rules that are evaluated together.

    Those are the rules without variables, if they are many enough, and all clauses over the same
    sequences.
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


def _have_one_batch(plan: Plan, given: Tensors) -> bool:
    """Return whether no tensor must be broadcast, which would change the batch of a rule."""
    shapes = [
        given[slot.name].shape[: given[slot.name].dim() - len(slot.domains)]
        for slot in plan.slots
        if isinstance(given.get(slot.name), Tensor) and not given[slot.name].is_nested
    ]
    return all(shape == shapes[0] for shape in shapes[1:])


def _read_by(rule: CompiledRule, given: Tensors) -> Tensors:
    return {slot: given[slot] for slot in rule.forms if slot in given}


def _lengths_for(rule: CompiledRule, lengths: Any) -> Any:
    return lengths if rule.plan.sequence_domains else None


def _call(rule: CompiledRule, given: Tensors, lengths: Any, shared: dict[str, Source]) -> Call:
    """Return the call of one rule, whose softmaxes are computed once for all rules."""
    call = rule.receive(_read_by(rule, given), _lengths_for(rule, lengths))
    return call._replace(sources=partial(_shared_sources, rule, call.inputs, shared))


def _shared_sources(
    rule: CompiledRule, inputs: Sequence[Tensor], shared: dict[str, Source]
) -> list[Source]:
    names = [slot.name for slot in rule.plan.slots]
    new = [place for place, name in enumerate(names) if name not in shared]
    shared.update(zip((names[place] for place in new), rule.sources(inputs, new), strict=True))
    return [shared[name] for name in names]
