"""A compiled rule: network outputs in, penalties out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Connect
from residuum.logic import Formula
from residuum.logic.expansion import as_label
from residuum.losses.blocks import CPU_ROWS, LARGEST_BLOCK, evaluate_in_blocks, split
from residuum.losses.clause_penalties import penalties, penalties_by_rows
from residuum.losses.crisp import Crisp, with_predictions
from residuum.losses.evaluation import Detached, Evaluation
from residuum.losses.exact import ExactTwin
from residuum.losses.inspection import (
    Place,
    Violation,
    describe,
    groundings_of,
    lowest,
    name_violations,
)
from residuum.losses.pieces import Piece, ask, cut, flat_masks, in_one, truth_in_pieces
from residuum.losses.reading import Window
from residuum.losses.receivers import Receiver
from residuum.losses.receiving import Bound, Call, sequence_sizes
from residuum.losses.recordings import Recordings
from residuum.losses.reductions import (
    Reduction,
    SharedGroup,
    cap_of,
    changeable,
    reduce_batch,
)
from residuum.losses.replays import Replay, replayed
from residuum.losses.single_groundings import SingleGroundings, single_groundings
from residuum.losses.sources import Form, Source, sources_of
from residuum.losses.tensors import in_full
from residuum.relaxations import Degree, Relaxation
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.meanings import EXACT
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import Archimedean

Tensors = Mapping[str, Tensor]


@final
class CompiledRule(nn.Module):
    """A rule under a relaxation, as a differentiable function of tensors; no parameters."""

    def __init__(
        self,
        plan: Plan,
        relaxation: Relaxation,
        forms: Mapping[str, Form],
        *,
        name: str,
        weight: float,
        reduction: Reduction,
        detach: Detached | None,
        check: bool,
        block: int | None,
        process_group: Any,
        replay: bool,
        layout: Layout | None = None,
        is_bundle: bool = False,
    ) -> None:
        super().__init__()
        self.plan = plan
        self.relaxation = relaxation
        self.forms = forms
        self.name = name
        self.weight = weight
        self.reduction = reduction
        self.detach = detach
        self.check = check
        self.block = block
        self._group = SharedGroup(process_group)
        self._recordings: Recordings[Replay] = Recordings()
        self._receiver = Receiver(
            plan,
            relaxation,
            forms,
            detaches=detach is not None,
            block=block,
            replay=replay,
            is_bundle=is_bundle,
        )
        self._forms = [forms[slot.name] for slot in plan.slots]
        self._is_exact = relaxation == EXACT
        self._cap = cap_of(relaxation)
        self._adds_up = isinstance(relaxation.tnorm, Archimedean)
        self._exclusive = [slot.is_exclusive for slot in plan.slots]
        self._exact = ExactTwin(plan) if self._is_exact else None
        if not plan.sequence_domains:  # mistakes in the rule show when it is compiled
            bound = self._receiver.bind({}, torch.device("cpu"), layout)
            if self._exact is not None:
                self._exact.prepare(_sizes(plan, {}), bound)

    # nn.Module would ask of each attribute whether it is to be registered. A rule has neither
    # parameters nor modules, and knowledge has rules by the hundred.
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    @property
    def is_made_of_clauses(self) -> bool:
        """Whether its groundings may be evaluated by a matrix product, with those of others."""
        return self._receiver.finds_clauses

    @property
    def process_group(self) -> Any:
        """The group over whose batch `reduction` reduces."""
        return self._group.group

    def set_process_group(self, group: Any) -> None:
        """Give the rule a process group, as is needed after unpickling one that had one."""
        self._group = SharedGroup(group)

    @property
    def formula(self) -> Formula:
        """The rule itself."""
        return self.plan.formula

    def extra_repr(self) -> str:
        """Say what it is, for `print(module)`."""
        return f"{self.plan.formula}, relaxation={self.relaxation}"

    # Calling it

    def forward(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the penalty, one per example unless `reduction` says otherwise.

        There is one tensor per predicate, by name: leading batch dimensions, which broadcast,
        then one for each of its domains. `lengths` gives those of padded sequences.
        """
        return self.penalty(self.receive(named_tensors(tensors, named), lengths))

    def penalty(self, call: Call) -> Tensor:
        """Return what a call that was received costs."""
        with in_full(call.device):
            return self.finish(self._total(call))

    def finish(self, total: Tensor) -> Tensor:
        """Return penalties of groundings added up as they are handed out: capped and weighted."""
        penalty = total if self._cap is None else total.clamp(max=self._cap)
        if self.weight != 1:
            penalty = penalty * self.weight
        group = self._group.group
        if self.reduction == "none":
            return penalty
        return reduce_batch(penalty, self.reduction, self.relaxation, process_group=group)

    def stacked(self, call: Call) -> Tensor | None:
        """Return the penalties of the rules in a bundle, rules × batch, not yet capped.

        None if they had better be evaluated one after the other.
        """
        root = self.plan.steps[-1]
        assert isinstance(root, Connect)
        if self.plan.rank and call.is_large:
            return None
        shape = (len(root.operands), *call.batch)
        in_steps = None if self.plan.rank else self._stacked_in_steps
        with in_full(call.device):
            found = replayed(self._recordings, call, shape, in_steps)
            if found is None:
                found = self._as_clauses(call.inputs, call, call.batch, call.lengths, shape)
            return found

    def parts(self, call: Call) -> Sequence[Tensor] | None:
        """Return the penalties of the rules in a bundle one by one; None as of `stacked`."""
        found = self.stacked(call)
        if found is not None:
            return found.unbind(0)
        with in_full(call.device):
            return None if self.plan.rank else self._parts_in_steps(call)

    def truth(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the degree of truth of the rule, one per example."""
        call = self.receive(named_tensors(tensors, named), lengths)
        if self._is_exact:
            return torch.exp(-self._total(call))
        root = len(self.plan.steps) - 1
        if not self._needs_pieces(call):
            degree = self._evaluation(call.inputs, call).degree(root).true
            return self._per_example(torch.as_tensor(degree, device=call.device), call)

        def degree_of(piece: Piece) -> Degree:
            return self._evaluation(piece.call.inputs, piece.call, piece.window).degree(root)

        pieces = self._pieces(call)
        return truth_in_pieces(pieces, degree_of, self.relaxation.tnorm).reshape(call.batch)

    def satisfied(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return whether the predictions obey the rule, one Boolean per example.

        A prediction is the likeliest class of a softmax, or what is likelier than not.
        """
        call = self.receive(named_tensors(tensors, named), lengths)
        root = len(self.plan.steps) - 1

        def holds(piece: Piece) -> Tensor:
            return self._per_example(self._crisp(piece).truth(root), piece.call)

        return ask(self._pieces(call), holds, torch.logical_and).reshape(call.batch)

    def coverage(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> Tensor:
        """Return the share of groundings whose antecedent holds for the predictions.

        Where it is 0 the rule is satisfied for want of anything to say.
        """
        call = self.receive(named_tensors(tensors, named), lengths)
        groundings = groundings_of(self.plan)

        def covered(piece: Piece) -> Tensor:
            return groundings.covered(self._crisp(piece), piece.call, piece.window)

        holds, counted = ask(self._pieces(call), covered, torch.add).unbind(-1)
        return (holds / counted.clamp(min=1)).reshape(call.batch)

    def violations(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        top: int = 5,
        lengths: Any = None,
        **named: Tensor,
    ) -> list[Violation]:
        """Return the groundings with the lowest degrees in the batch, worst first.

        Under `exact` each grounding is read in the product logic.
        """
        call = self.receive(named_tensors(tensors, named), lengths)
        top = as_label(top)
        if not isinstance(top, int) or isinstance(top, bool) or top < 0:
            raise GroundingError(f"top: expected how many violations to name, got {top!r}")
        found: list[Place] = []
        with torch.no_grad():
            for part, window, first in self._pieces(call):
                evaluation = self._evaluation(part.inputs, part, window)
                places = lowest(self.plan, evaluation, part, window, top)
                found += [place._replace(example=first + place.example) for place in places]
                found = sorted(found)[:top]
        return name_violations(self.plan, call, found)

    def each(
        self, tensors: Tensors | None = None, /, *, lengths: Any = None, **named: Tensor
    ) -> SingleGroundings:
        """Return every grounding by itself: what its parts are worth, and what is predicted.

        It is all evaluated at once, so that it takes memory for all groundings of the batch.
        """
        call = self.receive(named_tensors(tensors, named), lengths)
        count = self._receiver.groundings(call.bound, call.batch)
        if count > LARGEST_BLOCK:
            raise GroundingError(
                f"the batch has {count:,} groundings, more than the {LARGEST_BLOCK:,} that are "
                "looked at one by one; pass fewer examples, or make the domains smaller"
            )
        piece = in_one(call, self._flat_inputs(call))
        evaluation = self._evaluation(piece.call.inputs, piece.call)
        return single_groundings(self.plan, evaluation, self._crisp(piece), piece.call)

    def explain(self) -> str:
        """Return the plan in words: inputs, axes, groundings, memory, and where slopes vanish.

        It warns of a rule about one softmax that every prediction obeys, or none.
        """
        known = None if self.plan.sequence_domains else self.bind({}, torch.device("cpu"))
        return describe(self.plan, known, self.relaxation)

    # Evaluation

    def _total(self, call: Call) -> Tensor:
        """Return the penalties of the batch, in blocks if they would not fit into one."""
        if self._exact is not None:
            if torch.compiler.is_compiling():
                self._prepare_exact(tuple(sequence_sizes(self.plan, call.inputs).items()))
            flat = self._exact.log_probability(self._flat_inputs(call), call, self)
            return -flat.reshape(call.batch)
        if call.may_replay:
            found = replayed(self._recordings, call, call.batch, self._in_steps)
            if found is not None:
                return found
        needs_pieces = self._needs_pieces(call)
        if not needs_pieces or (call.clauses is not None and call.clauses.is_frugal):
            found = self._as_clauses(call.inputs, call, call.batch, call.lengths, call.batch)
            if found is not None:
                return found
        if not needs_pieces:
            return self._in_steps(call)

        def evaluate(inputs: Sequence[Tensor], rows: slice, window: Window | None) -> Tensor:
            count = rows.stop - rows.start
            if window is None:
                lengths = None if call.lengths is None else call.lengths.reshape(-1)[rows]
                found = self._as_clauses(inputs, call, (count,), lengths, (count,))
                if found is not None:
                    return found
            total = self._evaluation(inputs, call, window, rows).total()
            return total.expand((count, *(1,) * self.plan.rank)).reshape(count)

        def in_blocks(inputs: Sequence[Tensor]) -> Tensor:
            return evaluate_in_blocks(
                evaluate, parts, inputs, examples=examples, takes_largest=not self._adds_up
            )

        examples = math.prod(call.batch)
        block = self._receiver.block(call.device)
        parts = split(self.plan, call.bound.layout, examples, block)
        inputs = self._flat_inputs(call)
        total = None
        if call.clauses is not None:
            lengths = None if call.lengths is None else call.lengths.reshape(-1)
            few = block if call.device.type == "cuda" else min(block, CPU_ROWS)
            pieces = split(self.plan, call.bound.layout, examples, few)
            if all(window is None for _, window in pieces):
                rows = [rows for rows, _ in pieces]
                total = penalties_by_rows(call.clauses, inputs, lengths, rows, in_blocks)
        if total is None:
            total = in_blocks(inputs)
        return total.reshape(call.batch)

    def _in_steps(self, call: Call) -> Tensor:
        """Return the penalties of the batch, all groundings at once and step by step."""
        return self._per_example(self._evaluation(call.inputs, call).total(), call)

    def _parts_in_steps(self, call: Call) -> list[Tensor]:
        parts = self._evaluation(call.inputs, call).parts()
        return [self._per_example(part, call) for part in parts]

    def _stacked_in_steps(self, call: Call) -> Tensor:
        return torch.stack(self._parts_in_steps(call))

    def _needs_pieces(self, call: Call) -> bool:
        """Return whether there are more groundings in the batch than are evaluated at a time."""
        return call.is_large and not _is_transformed()

    def _pieces(self, call: Call) -> Iterator[Piece]:
        """Return the parts of a call that fit a block each."""
        whole = in_one(call, self._flat_inputs(call))
        if not self._needs_pieces(call):  # nor is it cut: a trace would settle on the batch size
            return iter([whole])
        examples = math.prod(call.batch)
        block = self._receiver.block(call.device)
        return cut(whole, split(self.plan, call.bound.layout, examples, block))

    def _as_clauses(
        self,
        inputs: Sequence[Tensor],
        call: Call,
        batch: tuple[int, ...],
        lengths: Tensor | None,
        shape: tuple[int, ...],
    ) -> Tensor | None:
        """Return rules × examples in a shape, as clauses all at once; None where that cannot be."""
        if call.clauses is None or 0 in batch or (call.is_broadcast and inputs is call.inputs):
            return None
        return penalties(
            call.clauses, inputs, math.prod(batch), lengths, shape, is_large=call.is_large
        )

    def _flat_inputs(self, call: Call) -> list[Tensor]:
        """Return the tensors with their batch dimensions as one."""
        examples = math.prod(call.batch)
        flat = []
        for given, slot in zip(call.inputs, self.plan.slots, strict=True):
            own = tuple(given.shape[given.dim() - len(slot.domains) :])
            flat.append(given.expand((*call.batch, *own)).reshape(examples, *own))
        return flat

    def _per_example(self, given: Tensor, call: Call) -> Tensor:
        value: Tensor = torch.as_tensor(given, device=call.device)
        if 0 not in call.batch or not value.dtype.is_floating_point:
            found = value.expand((*call.batch, *(1,) * self.plan.rank)).reshape(call.batch)
            return found if self._adds_up else changeable(found)
        # An empty batch costs nothing and still belongs to the graph of its inputs.
        nothing: Tensor = sum((one.sum() for one in call.inputs), value.new_zeros(()))
        return nothing.expand(call.batch)

    def _evaluation(
        self,
        inputs: Sequence[Tensor],
        call: Call,
        window: Window | None = None,
        rows: slice | None = None,
    ) -> Evaluation:
        sources = self.sources(inputs) if call.sources is None or rows is not None else call.sources
        masks = dict(call.masks)
        if rows is not None:
            flat = flat_masks(masks, call.batch)
            masks = {number: mask[rows] for number, mask in flat.items()}
        return Evaluation(
            self.plan,
            call.bound.layout,
            self.relaxation,
            lambda slot, side: sources[slot].side(side),
            indices=call.bound.indices,
            masks={**call.bound.masks, **masks},
            lifted=call.bound.lifted,
            window=window,
            detach=self.detach,
        )

    def sources(
        self, inputs: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Source]:
        """Return the tensors of all slots, or of those at some places, as sources of degrees."""
        chosen = range(len(inputs)) if places is None else places
        return sources_of(
            [inputs[place] for place in chosen],
            [self._forms[place] for place in chosen],
            [self._exclusive[place] for place in chosen],
            needs_care=not isinstance(self.relaxation.tnorm, Product | Lukasiewicz | Minimum),
        )

    def _crisp(self, piece: Piece) -> Crisp:
        predicted = with_predictions(self.plan, piece.call, self.forms)
        return Crisp(self.plan, predicted, piece.window)

    # What is passed

    def receive(self, given: Tensors, lengths: Any) -> Call:
        """Return a call with everything checked; GroundingError says what does not fit."""
        return self._receiver.receive(given, lengths, check=self.check)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _prepare_exact(self, lengths: tuple[tuple[str, int], ...]) -> None:
        """Have what the rule forbids at hand; a trace has this done, and does not look inside."""
        assert self._exact is not None
        sizes = dict(lengths)
        self._exact.prepare(_sizes(self.plan, sizes), self.bind(sizes, torch.device("cpu")))

    def bind(self, sizes: Mapping[str, int], device: torch.device) -> Bound:
        """Return the rule's tables for sequences of these lengths."""
        return self._receiver.bind(sizes, device)


def _sizes(plan: Plan, lengths: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
    """Return the shape of the tensor of each slot, for sequences of these lengths."""
    return tuple(
        tuple(lengths[d.name] if d.is_sequence else len(d.labels or ()) for d in slot.domains)
        for slot in plan.slots
    )


def named_tensors(tensors: Tensors | None, named: Tensors) -> Tensors:
    """Return the tensors of a call, given as a mapping, by keywords, or both."""
    if tensors is None:
        return named
    if not named:
        return tensors
    return {**tensors, **named} if isinstance(tensors, Mapping) else tensors


def _is_transformed() -> bool:
    """Return whether torch.compile or torch.func is at work, which cannot look into blocks."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
