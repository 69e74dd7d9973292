"""Bundles: rules of a knowledge that are evaluated together, in one call of their conjunction.

A bundle keeps the penalty of each of its rules apart. Rules without a bundle, and bundles that
cannot take a call, are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import torch
from torch import Tensor

from residuum.logic import Quantifier
from residuum.losses.aggregation import cap_of, conjoined
from residuum.losses.degrees.logits import Source
from residuum.losses.degrees.tensors import in_full
from residuum.losses.inputs.arguments import Inputs
from residuum.losses.inputs.calls import Call
from residuum.losses.reductions import Combination
from residuum.losses.routes import thresholds
from residuum.losses.rules import CompiledRule
from residuum.relaxations import Relaxation

Names = tuple[str, ...]


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


@final
class Bundles:
    """The rules of a knowledge, and those that are evaluated together, by their names."""

    def __init__(
        self, rules: Mapping[str, CompiledRule], bundles: Mapping[Names, CompiledRule]
    ) -> None:
        self._rules = rules
        self.bundles = bundles
        self._prepared: set[Any] = set()

    def penalties(self, given: Inputs, *, is_reduced: bool) -> dict[str, Tensor]:
        """Return the penalties of each rule by name, without weights, reduced or per example."""
        sources: dict[str, Source] = {}
        found: dict[str, Tensor] = {}
        # Processes must reduce rules in the same order. Which rules are evaluated together depends
        # on the values that a process sees, so that across processes rules are reduced one by one.
        one_by_one = is_reduced and any(map(_spans_processes, self.bundles.values()))
        for names, bundle in self.bundles.items():
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

    def as_one_tensor(self, given: Inputs) -> Tensor:
        """Return the reduced penalties of all rules as one tensor, rules first, without weights."""
        if len(self.bundles) == 1:
            [(names, bundle)] = self.bundles.items()
            is_whole = len(names) == len(self._rules) and not _spans_processes(bundle)
            if is_whole and given.have_one_batch(bundle.plan):
                call = _call(bundle, given, {})
                found = bundle.of_each_rule(call)
                if found is not None:
                    self._prepare(names, given, call)
                    return bundle.reduced(found, (len(names),))
        return _stacked(list(self.penalties(given, is_reduced=True).values()), 0)

    def total(self, given: Inputs, weights: Mapping[str, float], combine: Combination) -> Tensor:
        """Return the penalty of all rules together, with their weights, reduced."""
        rule = next(iter(self._rules.values()))
        relaxation = rule.relaxation
        is_conjunction = combine == "conjunction" or _is_sum(relaxation)
        call = self._call_of_all(given, weights)
        if call is not None:
            [bundle] = self.bundles.values()
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
            for name, part in self.penalties(given, is_reduced=are_related).items()
        ]
        penalties = _stacked(weighted, -1)
        total = conjoined(penalties, relaxation) if is_conjunction else penalties.sum(-1)
        # Rules about several members have rows of their own, so that each is reduced by itself.
        return total if are_related else rule.reduced(total)

    def _call_of_all(self, given: Inputs, weights: Mapping[str, float]) -> Call | None:
        """Return one call of all rules; None unless they are alike and evaluated together."""
        if len(self.bundles) != 1:
            return None
        [(names, bundle)] = self.bundles.items()
        if len(names) < len(self._rules) or set(weights.values()) != {1.0}:
            return None
        return _call(bundle, given, {}) if given.have_one_batch(bundle.plan) else None

    def _prepare(self, names: Names, given: Inputs, call: Call) -> None:
        """Move the tables of rules to the GPU, before a CUDA graph of the user needs them.

        While a graph is captured, quantified rules are evaluated one by one, because values cannot
        be looked at; and no table can be moved.
        """
        if call.device.type != "cuda" or not self.bundles[names].plan.rank:
            return
        sizes = {} if call.case is None else call.case.sizes
        key = names, call.device, tuple(sizes.items())
        if key not in self._prepared:
            self._prepared.add(key)
            for name in names:
                rule = self._rules[name]
                rule.receive_for_penalty(*given.of(rule))


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
