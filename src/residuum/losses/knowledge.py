"""Compiled knowledge: all rules of a knowledge base, evaluated together where they can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.logic import Quantifier
from residuum.losses.aggregation import cap_of, conjoined
from residuum.losses.degrees.logits import Source
from residuum.losses.degrees.tensors import in_full
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.padding import sequence_sizes
from residuum.losses.questions.violations import Violation
from residuum.losses.reductions import Combination, check_combination
from residuum.losses.routes import thresholds
from residuum.losses.rules import CompiledRule, Tensors, named_tensors
from residuum.relaxations import Relaxation

Names = tuple[str, ...]
Answer = TypeVar("Answer")

WEIGHTING: Final = "the penalties of single rules are without weights, the total is with weights"
"""What theories and compiled knowledge say of themselves."""


@final
class CompiledKnowledge(nn.Module):
    """All rules of a knowledge base, under one relaxation.

    Called with tensors, it returns the penalty of each rule by name, without its weight; `total`
    combines all rules with their weights.
    """

    def __init__(
        self,
        rules: Mapping[str, CompiledRule],
        bundles: Mapping[Names, CompiledRule],
        weights: Mapping[str, float],
    ) -> None:
        super().__init__()
        self._rules = dict(rules)
        self._bundles = dict(bundles)
        self._weights = dict(weights)
        self._predicates = list(
            dict.fromkeys(name for rule in rules.values() for name in rule.forms)
        )
        self._prepared: set[Any] = set()

    @property
    def rules(self) -> Mapping[str, CompiledRule]:
        """The compiled rules, by name. A rule that is called by itself is not weighted either."""
        return self._rules

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the rules in the total, by name."""
        return self._weights

    def set_process_group(self, group: Any) -> None:
        """Set the process group of all rules, which knowledge that is read from a file has lost."""
        for rule in (*self._rules.values(), *self._bundles.values()):
            rule.set_process_group(group)

    def extra_repr(self) -> str:
        """Return what `print(knowledge)` shows: each rule with its weight in the total."""
        lines: list[str] = []
        for name, rule in self._rules.items():
            if not lines:
                lines += [f"relaxation={rule.relaxation}, reduction={rule.reduction}", WEIGHTING]
            lines.append(f"{name}, weight {self._weights[name]:g}: {rule.formula}")
        return "\n".join(lines)

    def forward(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> dict[str, Tensor]:
        """Return the penalty of each rule by name, reduced over the batch, without its weight.

        Each rule takes the tensors that it reads.
        """
        given = self._known(named_tensors(tensors, named), lengths)
        return self._penalties(given, lengths, is_reduced=True)

    def total(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        lengths: Any = None,
        combine: Combination = "conjunction",
        **named: Tensor,
    ) -> Tensor:
        """Return the penalty of all rules together, with their weights, reduced over the batch.

        The weighted penalties are combined for each example, and then reduced. They are combined
        by the conjunction of the logic: their sum, up to the cap of the logic if there is one, or
        in the Gödel logics the largest. `combine="sum"` adds them up in any logic.
        """
        check_combination(combine)
        self._require_rules("a total needs")
        given = self._known(named_tensors(tensors, named), lengths)
        rule = next(iter(self._rules.values()))
        relaxation = rule.relaxation
        is_conjunction = combine == "conjunction" or _is_sum(relaxation)
        call = self._call_of_all(given, lengths)
        if call is not None:
            [bundle] = self._bundles.values()
            if is_conjunction:
                with in_full(call.device):
                    return bundle.reduced(bundle.of_each_example(call))
            found = bundle.of_each_rule(call)
            if found is not None:
                return bundle.reduced(found.sum(0))
        weighted = [
            part if self._weights[name] == 1 else part * self._weights[name]
            for name, part in self._penalties(given, lengths, is_reduced=False).items()
        ]
        penalties = _stacked(weighted, -1)
        return rule.reduced(
            conjoined(penalties, relaxation) if is_conjunction else penalties.sum(-1)
        )

    def penalties(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the penalties of all rules as one tensor, rules first, without weights.

        The rules stand in the order of `rules`. Many rules are handed out faster in one tensor than
        in one tensor each.
        """
        self._require_rules("penalties need")
        given = self._known(named_tensors(tensors, named), lengths)
        if len(self._bundles) == 1:
            [(names, bundle)] = self._bundles.items()
            is_whole = len(names) == len(self._rules) and not _spans_processes(bundle)
            if is_whole and _have_one_batch(bundle.plan, given):
                call = _call(bundle, given, lengths, {})
                found = bundle.of_each_rule(call)
                if found is not None:
                    self._prepare(names, given, lengths, call)
                    return bundle.reduced(found, (len(names),))
        return _stacked(list(self._penalties(given, lengths, is_reduced=True).values()), 0)

    def truth(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> dict[str, Tensor]:
        """Return the degree of truth of each rule by name, one per example."""
        return self._ask(CompiledRule.truth, named_tensors(tensors, named), lengths)

    def satisfied(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> dict[str, Tensor]:
        """Return whether the predictions obey each rule, by name, one Boolean per example."""
        return self._ask(CompiledRule.satisfied, named_tensors(tensors, named), lengths)

    def coverage(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> dict[str, Tensor]:
        """Return the share of groundings whose antecedent holds for each rule, by name."""
        return self._ask(CompiledRule.coverage, named_tensors(tensors, named), lengths)

    def violations(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        top: int = 5,
        lengths: Any = None,
        **named: Tensor,
    ) -> dict[str, list[Violation]]:
        """Return the groundings of each rule, by name, that the predictions break.

        Of each rule at most `top` are returned, those with the lowest degrees first.
        """
        worst = partial(CompiledRule.violations, top=top)
        return self._ask(worst, named_tensors(tensors, named), lengths)

    def explain(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> str:
        """Return each rule in words, and which rules are evaluated together.

        With tensors, routes are those that evaluate them; without, those for 64 examples on a CPU.
        """
        given = None
        if tensors is not None or named:
            given = self._known(named_tensors(tensors, named), lengths)
        routes: dict[str, list[str]] = {}
        for names, bundle in self._bundles.items():
            if given is None or _have_one_batch(bundle.plan, given):
                read = None if given is None else _read_by(bundle, given)
                *why_not, route = bundle.explained_route(
                    read, _lengths_for(bundle, lengths), of_several=True
                )
                if route.startswith("evaluated"):
                    route += f", {len(names)} rules together"
                    routes |= {name: [*why_not, route] for name in names}
        lines = [WEIGHTING]
        for name, rule in self._rules.items():
            read = None if given is None else _read_by(rule, given)
            route_lines = routes.get(name)
            if route_lines is None:
                route_lines = rule.explained_route(read, _lengths_for(rule, lengths))
            lines.append(f"rule {name}, weight {self._weights[name]:g}")
            lines += [f"  {line}" for line in (*rule.described().splitlines(), *route_lines)]
        return "\n".join(lines)

    def _ask(
        self, question: Callable[..., Answer], given: Tensors, lengths: Any
    ) -> dict[str, Answer]:
        """Return the answers of the rules to a question, by the names of the rules."""
        self._known(given, lengths)
        return {
            name: question(rule, _read_by(rule, given), lengths=_lengths_for(rule, lengths))
            for name, rule in self._rules.items()
        }

    def _penalties(self, given: Tensors, lengths: Any, *, is_reduced: bool) -> dict[str, Tensor]:
        """Return the penalties of each rule by name, without weights, reduced or per example."""
        sources: dict[str, Source] = {}
        found: dict[str, Tensor] = {}
        # Processes must reduce rules in the same order. Which rules are evaluated together depends
        # on the values that a process sees, so that across processes rules are reduced one by one.
        one_by_one = is_reduced and any(map(_spans_processes, self._bundles.values()))
        for names, bundle in self._bundles.items():
            if _have_one_batch(bundle.plan, given):
                call = _call(bundle, given, lengths, sources)
                penalties = bundle.of_each_rule(call)
                if penalties is not None:
                    if is_reduced and not one_by_one:
                        penalties = bundle.reduced(penalties, (len(names),))
                    found |= zip(names, penalties.unbind(0), strict=True)
                    self._prepare(names, given, lengths, call)
        parts = {}
        for name, rule in self._rules.items():
            part = found.get(name)
            if part is None:
                call = _call(rule, given, lengths, sources)
                with in_full(call.device):
                    part = rule.of_each_example(call)
            if is_reduced and (one_by_one or name not in found):
                part = rule.reduced(part)
            parts[name] = part
        return parts

    def _call_of_all(self, given: Tensors, lengths: Any) -> Call | None:
        """Return one call of all rules; None unless they are alike and evaluated together."""
        if len(self._bundles) != 1:
            return None
        [(names, bundle)] = self._bundles.items()
        if len(names) < len(self._rules) or set(self._weights.values()) != {1.0}:
            return None
        return _call(bundle, given, lengths, {}) if _have_one_batch(bundle.plan, given) else None

    def _prepare(self, names: Names, given: Tensors, lengths: Any, call: Call) -> None:
        """Move the tables of rules to the GPU, before a CUDA graph of the user needs them.

        While a graph is captured, quantified rules are evaluated one by one, because values cannot
        be looked at; and no table can be moved.
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

    def _require_rules(self, what_needs: str) -> None:
        if not self._rules:
            raise GroundingError(f"{what_needs} at least one rule, and the knowledge has none")

    def _known(self, given: Tensors, lengths: Any) -> Tensors:
        """Return the tensors; GroundingError if no rule reads one of them, or the lengths."""
        refuse_unknown(given, self._predicates)
        rules = self._rules.values()
        if lengths is not None and not any(rule.plan.sequence_domains for rule in rules):
            raise GroundingError(
                "lengths: expected none, as no rule is over a sequence; leave them out"
            )
        return given


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


def _have_one_batch(plan: Plan, given: Tensors) -> bool:
    """Return whether all tensors have the same batch.

    If not, rules that read different tensors may have batches of different shapes.
    """
    shapes = [
        given[slot.name].shape[: given[slot.name].dim() - len(slot.domains)]
        for slot in plan.slots
        if isinstance(given.get(slot.name), Tensor) and not given[slot.name].is_nested
    ]
    return all(shape == shapes[0] for shape in shapes[1:])


def _stacked(parts: Sequence[Tensor], dimension: int) -> Tensor:
    """Return penalties of rules as one tensor; those of smaller batches are broadcast."""
    shape = torch.broadcast_shapes(*(one.shape for one in parts))  # type: ignore[no-untyped-call]
    return torch.stack([one.expand(shape) for one in parts], dimension)


def _read_by(rule: CompiledRule, given: Tensors) -> Tensors:
    return {slot: given[slot] for slot in rule.forms if slot in given}


def _lengths_for(rule: CompiledRule, lengths: Any) -> Any:
    return lengths if rule.plan.sequence_domains else None


def _call(rule: CompiledRule, given: Tensors, lengths: Any, shared: dict[str, Source]) -> Call:
    """Return the call of one rule; softmaxes are computed once and shared by all rules."""
    call = rule.receive(_read_by(rule, given), _lengths_for(rule, lengths))
    return call._replace(sources=partial(_shared_sources, rule, call.inputs, shared))


def _shared_sources(
    rule: CompiledRule, inputs: Sequence[Tensor], shared: dict[str, Source]
) -> list[Source]:
    names = [slot.name for slot in rule.plan.slots]
    new = [place for place, name in enumerate(names) if name not in shared]
    shared.update(zip((names[place] for place in new), rule.sources(inputs, new), strict=True))
    return [shared[name] for name in names]
