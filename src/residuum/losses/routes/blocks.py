"""The route for bounded memory: a wrapper that evaluates a rule block by block.

There is one penalty per example, so that its gradient can be computed in the forward pass. Each
block is evaluated and differentiated while it is in the CPU's cache. Only the gradients, which are
as large as the inputs, are kept. The backward pass is one multiplication. The sizes of blocks are
`CPU_BLOCK`, `CPU_ROWS` and `GPU_BLOCK` in `thresholds.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Axis, Quantify
from residuum.logic import Forall
from residuum.losses.aggregation import Aggregation, aggregation_of
from residuum.losses.inputs.calls import Call, Case
from residuum.losses.inputs.reading import Window
from residuum.losses.routes import thresholds
from residuum.losses.routes.clauses import ByHand
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import KnownGradients, with_gradients, zeros_for_gradients
from residuum.losses.routes.route import Evaluate, Route, Surroundings


class Block(NamedTuple):
    """A part of a call: some examples, and a window if one example has too many groundings."""

    rows: slice
    window: Window | None


@final
class BlocksRoute:
    """Evaluates one block after the other, each by the first of the given routes that applies."""

    name: Final = "blocks"
    hands_over_because: Final = "this route never hands over"

    def __init__(self, definition: Definition, routes: Sequence[Route]) -> None:
        self._definition = definition
        self._routes = routes

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        definition = self._definition
        block = definition.block(case.device)
        if case.groundings <= block:
            return f"{case.groundings:,} groundings fit one block of {block:,}"
        if definition.is_several:
            return "several rules are evaluated one by one, each in its own blocks"
        if around.is_transformed:
            return "torch.compile and torch.func cannot look into blocks"
        blocks = split(definition.plan, case.bound.layout, case.examples, block)
        aggregator = definition.aggregator
        if aggregator is not None and blocks[0].window is not None:
            from residuum.losses.routes.two_passes import TwoPasses

            return TwoPasses(definition, aggregator, blocks)
        if case.device.type == "cpu" and len(self._ways(case, blocks[0], around)) > 1:
            block = min(block, thresholds.CPU_ROWS)  # clauses prefer smaller blocks
            blocks = split(definition.plan, case.bound.layout, case.examples, block)
        ways = {_size(one): self._ways(case, one, around) for one in (blocks[0], blocks[-1])}
        aggregation = aggregation_of(definition.relaxation)
        return _Blocks(definition.plan, blocks, ways, aggregation)

    def _ways(self, case: Case, block: Block, around: Surroundings) -> list[Evaluate]:
        """Return the functions of the routes that apply to a block, in order."""
        examples, has_window = _size(block)
        share = case.groundings // case.examples
        count = share * examples
        own = Case((examples,), case.device, case.sizes, case.bound, count, False, case.is_observed)
        routes = self._routes[-1:] if has_window else self._routes  # only steps take windows
        prepared = [route.prepare(own, around) for route in routes]
        return [one for one in prepared if not isinstance(one, str)]


def _size(block: Block) -> tuple[int, bool]:
    return block.rows.stop - block.rows.start, block.window is not None


def bytes_for(plan: Plan, groundings: int) -> int:
    """Return the approximate memory of a block: each step keeps a number and its gradient."""
    return 2 * 4 * len(plan.steps) * groundings


def split(plan: Plan, layout: Layout, examples: int, block: int) -> list[Block]:
    """Return blocks of examples. If one example is too large, its first variable is split too."""
    each = max(1, layout.groundings)
    parts = max(1, math.ceil(examples / max(1, block // each)))
    rows = max(1, math.ceil(examples / parts))  # blocks of equal size, with no small rest
    windows: list[Window | None] = [None]
    last = len(plan.steps) - 1
    root = plan.steps[last]
    smallest = each
    if each > block and isinstance(root, Quantify) and root.kind is Forall:
        axis, length = root.axes[0], layout.selections[last].lengths[0]
        if length and _is_alone(axis, plan):
            assert axis.dimension is not None
            smallest = each // length
            step = max(1, length * block // each)
            windows = [
                Window(axis.dimension, start, min(start + step, length))
                for start in range(0, length, step)
            ]
    if smallest > thresholds.LARGEST_BLOCK:
        raise GroundingError(
            f"the rule has {smallest:,} groundings that must be evaluated at once, about "
            f"{bytes_for(plan, smallest) / 2**30:,.0f} GiB; put the variable with the most members "
            "first in an outermost `forall`, so that it can be evaluated in blocks"
        )
    return [
        Block(slice(first, min(first + rows, examples)), window)
        for first in range(0, examples, rows)
        for window in windows
    ]


def _is_alone(axis: Axis, plan: Plan) -> bool:
    """Return whether only one quantifier ranges over the dimension of an axis.

    If a variable shadows another one of the same domain, both quantifiers have the same dimension.
    """
    dimensions = [
        other.dimension for step in plan.steps if isinstance(step, Quantify) for other in step.axes
    ]
    return dimensions.count(axis.dimension) == 1


@dataclass(frozen=True)
class _Blocks:
    """Evaluates a call in blocks. `ways` has the functions to try for each size of block."""

    plan: Plan
    blocks: Sequence[Block]
    ways: dict[tuple[int, bool], list[Evaluate]]
    aggregation: Aggregation

    def __call__(self, call: Call) -> Tensor:
        whole = flattened(call, self.plan)
        wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in whole.inputs)
        found = self._by_hand(whole, wants_gradients=wants_gradients)
        if found is None:
            found = self._by_autograd(whole, wants_gradients=wants_gradients)
        return found.reshape(call.batch)

    def _by_hand(self, whole: Call, *, wants_gradients: bool) -> Tensor | None:
        """Return the penalties with gradients by hand; None if a block has values for other routes.

        Blocks without windows have each example once, so that no penalties are aggregated.
        """
        ways = {size: ways[0] for size, ways in self.ways.items()}
        evaluate = ways[_size(self.blocks[0])]
        if not isinstance(evaluate, ByHand):
            return None
        inputs = whole.inputs
        room, groups = evaluate.room_for(inputs) if wants_gradients else ([], [])
        values = []
        for block in self.blocks:
            evaluate = ways[_size(block)]
            if not isinstance(evaluate, ByHand):
                return None
            own = [one[:, block.rows] for one in room]
            value = evaluate.into(part_of(whole, block), own)
            if value is None:
                return None
            values.append(value)
        totals = torch.cat(values)
        if not wants_gradients:
            return totals
        backward = KnownGradients(groups, len(inputs), None)
        return with_gradients(totals, backward, [*inputs, *room], inputs)

    def _by_autograd(self, whole: Call, *, wants_gradients: bool) -> Tensor:
        """Return the penalties with gradients by autograd, for one block at a time."""
        inputs = whole.inputs
        wanted = [n for n, one in enumerate(inputs) if wants_gradients and one.requires_grad]
        gradients = [zeros_for_gradients(inputs[n].detach()) for n in wanted]
        [examples] = whole.batch
        ties = torch.zeros(examples, device=whole.device)
        totals: Tensor | None = None
        for block in self.blocks:
            part = part_of(whole, block)
            leaves = [wide(one).requires_grad_(n in wanted) for n, one in enumerate(part.inputs)]
            part = part._replace(inputs=leaves)
            with torch.set_grad_enabled(wants_gradients):
                penalty = self._evaluated(part, block)
                together = penalty.sum()
            found: Sequence[Tensor | None] = [None] * len(wanted)
            if together.requires_grad:
                found = torch.autograd.grad(
                    together, [leaves[n] for n in wanted], allow_unused=True
                )
            penalty = penalty.detach()
            if totals is None:
                totals = penalty.new_zeros(examples)
            with torch.no_grad():
                own = [gradient[block.rows] for gradient in gradients]
                self.aggregation.add_block(
                    totals[block.rows], own, ties[block.rows], penalty, found
                )
        assert totals is not None
        if wants_gradients:
            totals = with_known_gradients(totals, inputs, wanted, gradients)
        return totals

    def _evaluated(self, part: Call, block: Block) -> Tensor:
        for evaluate in self.ways[_size(block)]:
            found = evaluate(part)
            if found is not None:
                return found
        raise AssertionError("the last route takes any values")


def with_known_gradients(
    totals: Tensor, inputs: Sequence[Tensor], wanted: Sequence[int], gradients: Sequence[Tensor]
) -> Tensor:
    """Return penalties with the gradients of the wanted inputs, which are changed in place."""
    for n, one in zip(wanted, gradients, strict=True):
        largest = torch.finfo(inputs[n].dtype).max
        one.clamp_(-largest, largest)
    saved = [*inputs, *(one.unsqueeze(0) for one in gradients)]
    backward = KnownGradients([[n] for n in wanted], len(inputs), None)
    return with_gradients(totals, backward, saved, inputs)


def wide(given: Tensor) -> Tensor:
    """Return a detached tensor of at least float32, so that blocks do not round their gradients."""
    return given.detach().to(torch.promote_types(given.dtype, torch.float32))


def flattened(call: Call, plan: Plan) -> Call:
    """Return a call with all batch dimensions of all tensors flattened into one."""
    examples = math.prod(call.batch)
    inputs = []
    for given, slot in zip(call.inputs, plan.slots, strict=True):
        own = tuple(given.shape[given.dim() - len(slot.domains) :])
        inputs.append(given.expand((*call.batch, *own)).reshape(examples, *own))
    dimensions = len(call.batch)
    return call._replace(
        inputs=inputs,
        batch=(examples,),
        masks={
            number: mask.reshape(examples, *mask.shape[dimensions:])
            for number, mask in call.masks.items()
        },
        lengths=None if call.lengths is None else call.lengths.reshape(-1),
        sources=None,
    )


def part_of(call: Call, block: Block) -> Call:
    """Return one block of a call, whose batch must have one dimension."""
    rows = block.rows
    return call._replace(
        inputs=[given[rows] for given in call.inputs],
        batch=(rows.stop - rows.start,),
        masks={number: mask[rows] for number, mask in call.masks.items()},
        lengths=None if call.lengths is None else call.lengths[rows],
        window=block.window,
    )
