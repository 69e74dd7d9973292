"""What a compiled rule is given: checked before any arithmetic, in words."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.errors import GroundingError, suggest
from residuum.grounding import Layout, Plan
from residuum.grounding.layouts import Entry
from residuum.grounding.plans import Slot
from residuum.losses.clauses import Clauses
from residuum.losses.lifting import Lifted, lift
from residuum.losses.sources import Form, Source
from residuum.losses.tensors import is_traced
from residuum.relaxations import Relaxation


class Bound(NamedTuple):
    """A layout with its index tensors and masks on one device, and what was lifted."""

    layout: Layout
    indices: Mapping[int, Tensor]
    masks: Mapping[int, Tensor]
    lifted: Lifted | None = None


class Fit(NamedTuple):
    """What is known of a call from the shapes of its tensors, which fit.

    `sizes` are the lengths of sequences, `is_large` says that one step ranges over more groundings
    in the batch than are evaluated at a time, `may_replay` that on a GPU it pays to record what
    they take, and `is_broadcast` that some tensors have less than the whole batch.
    """

    batch: tuple[int, ...]
    device: torch.device
    sizes: Mapping[str, int]
    bound: Bound
    is_large: bool
    may_replay: bool
    is_broadcast: bool


class Call(NamedTuple):
    """One call: checked tensors, the batch they make up, and the layout for their sizes.

    `masks` are those that depend on the example, because its sequence is padded to its `lengths`;
    `clauses` are there if a matrix product may stand for the rule; `sources` are the tensors as
    degrees, where several rules share them.
    """

    inputs: list[Tensor]
    batch: tuple[int, ...]
    device: torch.device
    bound: Bound
    masks: Mapping[int, Tensor]
    lengths: Tensor | None = None
    clauses: Clauses | None = None
    sources: Sequence[Source] | None = None
    is_large: bool = False
    may_replay: bool = False
    is_broadcast: bool = False


def bind(plan: Plan, layout: Layout, relaxation: Relaxation, *, detaches: bool) -> Bound:
    """Return a layout with its tensors on the CPU, and what can be lifted."""
    indices = {
        number: torch.as_tensor(access.index)
        for number, access in layout.accesses.items()
        if access.index is not None
    }
    masks = {
        number: torch.as_tensor(selection.mask)
        for number, selection in layout.selections.items()
        if selection.mask is not None
    }
    # A clause has no antecedent left to detach.
    lifted = lift(plan, layout, as_clauses=relaxation.kind == "S" and not detaches)
    return Bound(_with_lists_on(layout, torch.device("cpu")), indices, masks, lifted)


def move(bound: Bound, device: torch.device) -> Bound:
    """Return the same on a device."""
    lifted = bound.lifted
    if lifted is not None:
        groups = (replace(group, indices=_on(group.indices, device)) for group in lifted.groups)
        lifted = replace(lifted, groups=tuple(groups))
    layout = _with_lists_on(bound.layout, device)
    return Bound(layout, _on(bound.indices, device), _on(bound.masks, device), lifted)


def _with_lists_on(layout: Layout, device: torch.device) -> Layout:
    """Return a layout whose lists are tensors, which need not be moved at each call.

    Nor does a trace in inference mode take them for those of another one, as it does arrays.
    """

    def moved(entry: Entry | None) -> Entry | None:
        if entry is None or entry.index is None:
            return entry
        return replace(entry, index=torch.as_tensor(entry.index, device=device))

    accesses = {
        number: replace(access, entries=tuple(moved(entry) for entry in access.entries))
        if any(entry is not None and entry.index is not None for entry in access.entries)
        else access
        for number, access in layout.accesses.items()
    }
    selections = {
        number: replace(selection, positions=tuple(_moved(p, device) for p in selection.positions))
        for number, selection in layout.selections.items()
    }
    return replace(layout, accesses=accesses, selections=selections)


def _moved(positions: Any, device: torch.device) -> Tensor:
    """Return positions as a tensor; those of more than 64 bits are cut, for none is that long."""
    if isinstance(positions, np.ndarray) and positions.dtype == object:
        positions = positions.clip(-1, 2**62).astype(np.int64)
    return torch.as_tensor(positions, device=device)


def _on(tensors: Mapping[int, Tensor], device: torch.device) -> dict[int, Tensor]:
    return {number: tensor.to(device) for number, tensor in tensors.items()}


def signature_of(given: Any, names: Sequence[str]) -> tuple[Any, ...] | None:
    """Return all that decides whether tensors fit; None where it cannot be told, or must not.

    A trace is to see what depends on sizes, and may have symbols for them.
    """
    if type(given) is not dict or len(given) != len(names) or torch.compiler.is_compiling():
        return None
    found: list[Any] = []
    try:
        for name in names:
            one = given.get(name)
            if isinstance(one, Tensor):
                found += (one.dtype, one.layout, one.device, one.shape)
    except RuntimeError:  # a nested tensor has no shape
        return None
    return tuple(found)


def take_tensors(plan: Plan, given: Mapping[str, Tensor]) -> list[Tensor]:
    """Return the tensor of each slot; GroundingError says which is missing or does not fit."""
    known = [slot.name for slot in plan.slots]
    refuse_unknown(given, known)
    tensors = [_take(slot, given, known) for slot in plan.slots]
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        where = ", ".join(f"`{name}` on {t.device}" for name, t in zip(known, tensors, strict=True))
        raise GroundingError(f"the tensors of a rule must be on one device: {where}")
    for tensor in tensors[:1]:
        refuse_meta(tensor)
    return tensors


def refuse_unknown(given: Any, known: Sequence[str]) -> None:
    """Raise for a tensor that nothing reads, or that has no name."""
    if not isinstance(given, Mapping):
        raise GroundingError(
            f"pass the tensors by name, rule({'=…, '.join(known)}=…), or as a mapping"
        )
    for name in given:
        if name not in known:
            raise GroundingError(
                f"nothing reads `{name}`.{suggest(str(name), known)} "
                f"Expected: {', '.join(known) or 'no tensors'}"
            )


def _take(slot: Slot, given: Mapping[str, Tensor], known: Sequence[str]) -> Tensor:
    if slot.name not in given:
        raise GroundingError(f"no tensor is given for `{slot.name}`; expected: {', '.join(known)}")
    tensor = floating_point(given[slot.name], f"`{slot.name}`")
    shape = tuple(tensor.shape)
    sizes = slot.sizes
    own = shape[max(0, len(shape) - len(sizes)) :]
    fits = own == sizes or (
        len(own) == len(sizes)
        and all(size is None or size == found for size, found in zip(sizes, own, strict=True))
    )
    if not fits:
        expected = " and ".join(
            f"domain {domain.name}" + (f" of size {len(domain.labels)}" if domain.labels else "")
            for domain in slot.domains
        )
        raise GroundingError(f"`{slot.name}` has {expected}, got a tensor of shape {shape}")
    return tensor


def floating_point(given: Any, name: str) -> Tensor:
    """Return what was given if it is a tensor of numbers that can be computed with."""
    if not isinstance(given, Tensor) or not given.is_floating_point():
        found = given.dtype if isinstance(given, Tensor) else type(given).__name__
        raise GroundingError(f"{name}: expected a floating-point tensor, got {found}")
    if given.dtype.itemsize < 2:
        raise GroundingError(
            f"{name}: expected numbers of 16 bits or more, got {given.dtype}, which PyTorch hardly "
            "computes with; pass `tensor.float()`"
        )
    if given.is_nested:
        raise GroundingError(
            f"{name}: expected a dense tensor, got a nested one; pass "
            "`torch.nested.to_padded_tensor(tensor, 0.0)`, and the lengths of sequences as lengths="
        )
    if given.layout is not torch.strided:
        raise GroundingError(
            f"{name}: expected a dense tensor, got {given.layout}; pass `tensor.to_dense()`"
        )
    return given


def refuse_meta(tensor: Tensor) -> None:
    """Raise for a tensor without values."""
    if tensor.is_meta:
        raise GroundingError(
            "a tensor on the device `meta` has a shape and no values; pass one on a device that "
            "computes"
        )


def batch_of(plan: Plan, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the batch dimensions, broadcast."""
    shapes = [
        tuple(tensor.shape[: tensor.dim() - len(slot.domains)])
        for slot, tensor in zip(plan.slots, tensors, strict=True)
    ]
    # Compared, not hashed: a trace would have to settle on one batch size.
    if all(shape == shapes[0] for shape in shapes[1:]):
        return shapes[0] if shapes else ()
    try:
        batch = tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]
    except RuntimeError:
        listed = _listed(plan, shapes)
        raise GroundingError(f"the batches do not fit together: {listed}") from None
    # (5, 1) and (5,) would silently pair every example with every other.
    if any(
        shape[-1:] == (1,) and shape[:-1] == other and max(shape) > 1
        for shape in shapes
        for other in shapes
    ):
        raise GroundingError(
            f"the batches {_listed(plan, shapes)} would make {batch} examples; drop a dimension of "
            "length 1 (`tensor.squeeze(-1)`), or give both the same number of dimensions"
        )
    return batch


def _listed(plan: Plan, shapes: Sequence[tuple[int, ...]]) -> str:
    """Return the batch of each slot in words, which a trace cannot have of sizes it varies."""
    pairs = zip(plan.slots, shapes, strict=True)
    return ", ".join(f"`{slot.name}` {shape}" for slot, shape in pairs)


def sequence_sizes(plan: Plan, tensors: Sequence[Tensor]) -> dict[str, int]:
    """Return the padded length of each sequence domain, which all tensors must share."""
    found: dict[str, int] = {}
    for slot, tensor in zip(plan.slots, tensors, strict=True):
        for place, domain in enumerate(slot.domains):
            if not domain.is_sequence:
                continue
            # A trace is for one length: it must not take this for a variable.
            size = operator.index(tensor.shape[tensor.dim() - len(slot.domains) + place])
            if found.setdefault(domain.name, size) != size:
                raise GroundingError(
                    f"sequence `{domain.name}` has length {found[domain.name]} in one tensor "
                    f"and {size} in `{slot.name}`"
                )
    return found


def check_lengths(
    lengths: Any,
    batch: tuple[int, ...],
    layout: Layout,
    sizes: Mapping[str, int],
    device: torch.device,
) -> Tensor:
    """Return the lengths of padded sequences as a tensor, or raise if they cannot be."""
    if not sizes:
        raise GroundingError("lengths are given, but the rule has no sequence domain")
    try:
        checked: Tensor = torch.as_tensor(lengths)
    except (RuntimeError, TypeError, ValueError):
        raise GroundingError(f"lengths: expected integers, got {lengths!r:.80}") from None
    if not _is_integral(checked.dtype) or tuple(checked.shape) != batch:
        raise GroundingError(
            f"lengths: expected integers of shape {batch}, one per sequence, "
            f"got {checked.dtype} of shape {tuple(checked.shape)}"
        )
    refuse_meta(checked)
    checked = checked.long()  # of unsigned integers there is no smallest
    if is_traced(checked) or not checked.numel():  # a trace has no values to look at
        return checked.to(device)
    shortest, longest = layout.shortest, min(sizes.values())
    low, high = int(checked.min()), int(checked.max())
    if low < shortest or high > longest:
        raise GroundingError(
            f"lengths lie between {shortest}, for the positions the rule names, and {longest}, "
            f"the padded length, got {low if low < shortest else high}"
        )
    return checked.to(device)  # looked at where they were: the device need not be waited for


def _is_integral(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def without_padding(
    plan: Plan, tensors: Sequence[Tensor], forms: Sequence[Form], lengths: Tensor
) -> list[Tensor]:
    """Return the tensors with 0 beyond the ends of sequences: no NaN there reaches a gradient.

    A softmax over positions gets what stands for probability 0, as there are no others.
    """
    cleared = []
    for slot, given, form in zip(plan.slots, tensors, forms, strict=True):
        is_over_positions = slot.is_exclusive and slot.domains[-1].is_sequence
        nothing = -torch.inf if is_over_positions and form != "probs" else 0.0
        cleared.append(torch.where(_inside(slot, given, lengths), given, nothing))
    return cleared


def _inside(slot: Slot, given: Tensor, lengths: Tensor) -> Tensor:
    """Return what lies before the ends of sequences, in a shape that broadcasts to the tensor's."""
    inside = torch.ones((), dtype=torch.bool, device=given.device)
    for place, domain in enumerate(slot.domains):
        if domain.is_sequence:
            shape = [1] * len(slot.domains)
            shape[place] = -1
            size = given.shape[given.dim() - len(slot.domains) + place]
            positions = torch.arange(size, device=given.device).reshape(shape)
            inside = inside & (positions < lengths.reshape(*lengths.shape, *(1,) * len(shape)))
    return inside


def masks_for(plan: Plan, bound: Bound, lengths: Tensor) -> dict[int, Tensor]:
    """Return for each quantifier over positions which groundings lie inside each sequence."""
    limits = lengths.reshape((*lengths.shape, *(1,) * plan.rank))  # perhaps of no dimension
    masks: dict[int, Tensor] = {}
    for number, selection in bound.layout.selections.items():
        for positions in selection.positions:
            inside = positions < limits
            so_far = masks.get(number, bound.masks.get(number))
            masks[number] = inside if so_far is None else inside & so_far
    return masks


def check_values(slot: Slot, tensor: Tensor, form: Form, lengths: Tensor | None) -> None:
    """Raise for a NaN, an infinity, or what is no probability; the padding was cleared."""
    if torch._C._functorch.is_batchedtensor(tensor):
        raise GroundingError(
            f"`{slot.name}`: check=True looks at values, which vmap hides; compile the rule "
            "without it"
        )
    if bool((torch.isnan(tensor) | (tensor == torch.inf)).any()):
        raise GroundingError(f"`{slot.name}`: the tensor has a NaN or an infinity")
    if form == "probs" and not bool(((tensor >= 0) & (tensor <= 1)).all()):
        wrong = tensor[(tensor < 0) | (tensor > 1)].flatten()[0]
        raise GroundingError(f"`{slot.name}`: a probability is in [0, 1], got {float(wrong):g}")
    if form == "log_probs" and not bool((tensor <= 0).all()):
        raise GroundingError(
            f"`{slot.name}`: the logarithm of a probability is not positive, "
            f"got {float(tensor.max()):g}"
        )
    if form == "probs" and slot.is_exclusive:
        sums = tensor.float().sum(-1)
        if lengths is not None:
            sums = torch.where(_inside(slot, tensor, lengths).any(-1), sums, 1.0)
        if bool(((sums - 1).abs() > 0.01).any()):
            raise GroundingError(
                f"`{slot.name}` is exclusive, so that its probabilities add up to 1, not to "
                f"{float(sums.flatten()[(sums - 1).abs().argmax()]):g}; if it has a sigmoid for "
                f"each output, pass outputs={{{slot.predicate.name!r}: 'independent'}}"
            )
