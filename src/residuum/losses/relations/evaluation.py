"""A rule of a theory about members of open domains, in one call: its rows, penalty and answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from residuum.grounding.plans import Slot
from residuum.losses.degrees.tensors import in_full
from residuum.losses.network_calls import Key, Requests
from residuum.losses.questions.violations import Violation
from residuum.losses.reductions import reduce_sums, sums_of
from residuum.losses.relations.grounded import Grounded, grounded, members_of
from residuum.losses.relations.networks import Networks
from residuum.losses.relations.observed import labels_on
from residuum.losses.relations.rows import numbered, sampled
from residuum.losses.relations.world import Chosen, Columns, World
from residuum.losses.routes import thresholds
from residuum.losses.rules import CompiledRule


@final
class RelatedRule:
    """A rule on the rows of one call.

    If there are more rows than fit a block, activations of networks are not kept: each block is
    computed a second time for its gradients.
    """

    def __init__(
        self,
        name: str,
        rule: CompiledRule,
        world: World,
        networks: Networks,
        observed: Mapping[str, Any],
        groundings: int | None,
    ) -> None:
        assert rule.plan.relation is not None
        self._name = name
        self._rule = rule
        self._world = world
        self._networks = networks
        self._labels = labels_on(rule.plan, observed, world.sizes)
        self._rows = numbered(rule.plan.relation, world)
        self._block = max(1, thresholds.ROWS // self._outputs_per_row())
        self._columns: Columns | None = None
        self._is_sample = groundings is not None
        if groundings is not None:
            self._columns = sampled(self._rows, groundings)
        elif self._rows.count <= self._block:
            self._columns = self._rows.all()

    def _outputs_per_row(self) -> int:
        """Return the most outputs that one row reads of one predicate."""
        sizes = self._world.sizes
        return max(
            [1]
            + [
                math.prod(sizes[domain.name] for domain in slot.domains if domain.is_open)
                for slot in self._rule.plan.given
            ]
        )

    def request(self, requests: Requests) -> None:
        """Ask for the outputs of networks that the rule reads, except for rows in blocks."""
        columns = self._columns
        if columns is None:  # only what is computed for all members of a domain
            columns = self._rows.at(torch.zeros(0, dtype=torch.long, device=self._world.device))
        for slot in self._rule.plan.given:
            if slot.predicate.name not in self._labels and (
                self._columns is not None or len(slot.members) < 2
            ):
                chosen = members_of(slot, columns, self._world)
                self._networks.request(requests, slot, chosen, self._name)

    def take(self, outputs: Mapping[Key, Tensor]) -> None:
        """Keep the outputs of networks that were requested."""
        self._networks.take(outputs)

    def _grounded(self, columns: Columns) -> Grounded:
        whole = self._name if columns is self._columns else None

        def outputs(slot: Slot, chosen: Sequence[Chosen]) -> Tensor:
            return self._networks.outputs(slot, chosen, whole)

        return grounded(self._rule.plan, columns, self._world, outputs, self._labels)

    def _penalties(self, columns: Columns) -> Tensor:
        """Return one penalty for each of these rows."""
        call = self._rule.receive_for_penalty(self._grounded(columns), None)
        with in_full(call.device):
            return self._rule.of_each_example(call)

    def penalty(self) -> Tensor:
        """Return the penalty of all rows, reduced."""
        rule = self._rule
        if self._columns is not None:
            return rule.reduced(self._penalties(self._columns))
        dtypes: list[torch.dtype] = []

        def of_block(numbers: Tensor) -> Tensor:
            found = self._penalties(self._rows.at(numbers))
            dtypes.append(found.dtype)
            return sums_of(found) if rule.reduces_by_sums else found

        parts = []
        for numbers in self._rows.blocks(self._block):
            if torch.is_grad_enabled():
                parts.append(checkpoint(of_block, numbers, use_reentrant=False))
            else:
                parts.append(of_block(numbers))
        if not rule.reduces_by_sums:
            return rule.reduced(torch.cat(parts))
        total = reduce_sums(torch.stack(parts).sum(0), rule.reduction, rule.relaxation)
        return total.to(dtypes[0])

    # Questions: about all rows, in blocks without gradients

    def _pieces(self) -> Iterator[Any]:
        """Yield the inputs of the rule on all its rows, block by block."""
        if self._columns is not None and not self._is_sample:
            yield self._grounded(self._columns)
            return
        found = False
        for numbers in self._rows.blocks(self._block):
            columns = self._rows.at(numbers)
            if not columns or len(next(iter(columns.values()))):
                found = True
                yield self._grounded(columns)
        if not found:
            nothing = torch.zeros(0, dtype=torch.long, device=self._world.device)
            yield self._grounded(self._rows.at(nothing))

    def satisfied(self) -> Tensor:
        """Return whether the predictions obey the rule, one Boolean per row."""
        parts = [self._rule.satisfied(piece) for piece in self._pieces()]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def violations(self, top: int) -> list[Violation]:
        """Return the groundings with the lowest degrees among those that the predictions break."""
        found: list[Violation] = []
        for piece in self._pieces():
            found += self._rule.violations(piece, top=top)
            found = sorted(found, key=lambda one: one.degree)[:top]
        return found

    def metrics(self) -> dict[str, float]:
        """Return what one logs of the rule: means over all rows."""
        return self._mean(self._rule.metrics)

    def diagnose(self) -> dict[str, float]:
        """Return the metrics, and the share of violated groundings `without_gradient`."""
        return self._mean(self._rule.diagnose)

    def _mean(self, question: Callable[[Any], dict[str, float]]) -> dict[str, float]:
        """Return the numbers of all rows from those of blocks, each row counting alike."""
        sums: dict[str, float] = {}
        weights: dict[str, float] = {}
        for piece in self._pieces():
            rows = len(next(iter(piece.columns.values()))) if piece.columns else 1
            answers = question(piece)
            for key, value in answers.items():
                # A share of violated groundings counts as often as groundings are violated.
                weight = rows * (1 - answers["groundings"]) if key == "without_gradient" else rows
                sums[key] = sums.get(key, 0.0) + weight * value
                weights[key] = weights.get(key, 0.0) + weight
        return {key: total / weights[key] if weights[key] else 0.0 for key, total in sums.items()}
