"""Checks of the inputs of a compiled rule. Each error says which tensor does not fit, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError, suggest
from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Slot
from residuum.losses.degrees.logits import Form
from residuum.losses.degrees.tensors import is_traced
from residuum.losses.inputs.padding import inside


def take_tensors(plan: Plan, given: Mapping[str, Tensor]) -> list[Tensor]:
    """Return the tensor of each slot. A GroundingError names one that is missing or wrong."""
    known = [slot.name for slot in plan.given]
    refuse_unknown(given, known)
    tensors = [take_tensor(slot, given, known) for slot in plan.given]
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        where = ", ".join(f"`{name}` on {t.device}" for name, t in zip(known, tensors, strict=True))
        raise GroundingError(f"the tensors of a rule must be on one device, got {where}")
    for tensor in tensors[:1]:
        refuse_meta(tensor)
    return tensors


def refuse_unknown(given: Any, known: Sequence[str]) -> None:
    """Raise GroundingError if tensors are not passed by name, or no rule reads one of them."""
    if not isinstance(given, Mapping):
        raise GroundingError(
            f"expected tensors by name, got {type(given).__name__}; call "
            f"rule({'=…, '.join(known)}=…), or pass a mapping from names to tensors"
        )
    for name in given:
        if name not in known:
            raise GroundingError(
                f"nothing reads `{name}`.{suggest(str(name), known)} "
                f"Expected: {', '.join(known) or 'no tensors'}"
            )


def take_tensor(slot: Slot, given: Mapping[str, Tensor], known: Sequence[str]) -> Tensor:
    """Return the tensor of a slot. A GroundingError says that it is missing or does not fit."""
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
    """Return the input unchanged if it is a dense floating-point tensor of at least 16 bits."""
    if not isinstance(given, Tensor) or not given.is_floating_point():
        found = given.dtype if isinstance(given, Tensor) else type(given).__name__
        raise GroundingError(
            f"{name}: expected a floating-point tensor, got {found}; convert it, as by "
            "`tensor.float()`, or pass labels as `observed=`"
        )
    if given.dtype.itemsize < 2:
        raise GroundingError(
            f"{name}: expected numbers of 16 bits or more, got {given.dtype}, for which PyTorch "
            "has few operations; pass `tensor.float()`"
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
    """Raise GroundingError for a tensor on the device `meta`, which has no values."""
    if tensor.is_meta:
        raise GroundingError(
            "a tensor on the device `meta` has a shape and no values; pass a tensor on a CPU or a "
            "GPU"
        )


def batch_of(plan: Plan, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the batch shape that the tensors broadcast to."""
    shapes = [
        tuple(tensor.shape[: tensor.dim() - len(slot.domains)])
        for slot, tensor in zip(plan.given, tensors, strict=True)
    ]
    return common_batch([f"`{slot.name}`" for slot in plan.given], shapes)


def common_batch(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that some batch shapes broadcast to. `names` say in errors whose they are.

    Raises GroundingError if they do not fit, or if they would pair examples by mistake.
    """
    # Shapes are compared, not hashed: hashing would tie a torch.compile trace to one batch size.
    if all(shape == shapes[0] for shape in shapes[1:]):
        return shapes[0] if shapes else ()
    try:
        batch = tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]
    except RuntimeError:
        listed = _listed(names, shapes)
        raise GroundingError(f"the batches do not fit together: {listed}") from None
    # (5, 1) and (5,) would silently pair every example with every other.
    if any(
        shape[-1:] == (1,) and shape[:-1] == other and max(shape) > 1
        for shape in shapes
        for other in shapes
    ):
        raise GroundingError(
            f"the batches {_listed(names, shapes)} would broadcast to {batch} examples; drop a "
            "dimension of length 1 (`tensor.squeeze(-1)`), or give both the same number of "
            "dimensions"
        )
    return batch


def _listed(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> str:
    """Return batch shapes in words. Only for errors: a trace may have symbols."""
    return ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))


def check_values(slot: Slot, tensor: Tensor, form: Form, lengths: Tensor | None) -> None:
    """Raise GroundingError for NaN, for +inf, or for a number that is no probability.

    The padding of sequences is already cleared.
    """
    if torch._C._functorch.is_batchedtensor(tensor):
        raise GroundingError(
            f"`{slot.name}`: check=True looks at values, which vmap hides; compile the rule with "
            "check=False"
        )
    if bool((torch.isnan(tensor) | (tensor == torch.inf)).any()):
        raise GroundingError(f"`{slot.name}`: the tensor has a NaN or an infinity")
    if form == "probs" and not bool(((tensor >= 0) & (tensor <= 1)).all()):
        wrong = tensor[(tensor < 0) | (tensor > 1)].flatten()[0]
        raise GroundingError(
            f"`{slot.name}`: a probability is in [0, 1], got {float(wrong):g}; if these are "
            'logits, say so: inputs="logits", or --inputs logits on the command line'
        )
    if form == "log_probs" and not bool((tensor <= 0).all()):
        raise GroundingError(
            f"`{slot.name}`: expected logarithms of probabilities, which are at most 0, "
            f"got {float(tensor.max()):g}"
        )
    if form == "probs" and slot.is_exclusive:
        sums = tensor.float().sum(-1)
        if lengths is not None:
            sums = torch.where(inside(slot, tensor, lengths).any(-1), sums, 1.0)
        if bool(((sums - 1).abs() > 0.01).any()):
            raise GroundingError(
                f"`{slot.name}` is exclusive: its probabilities must add up to 1, not to "
                f"{float(sums.flatten()[(sums - 1).abs().argmax()]):g}; if the network has a "
                f"sigmoid for each output, pass outputs={{{slot.predicate.name!r}: 'independent'}}"
            )


def check_lengths(
    lengths: Any,
    batch: tuple[int, ...],
    layout: Layout,
    sizes: Mapping[str, int],
    device: torch.device,
) -> Tensor:
    """Return the lengths of padded sequences as a tensor. Raises GroundingError for wrong ones."""
    if not sizes:
        raise GroundingError(
            "expected no lengths, because the rule has no sequence domain; call it without lengths="
        )
    try:
        checked: Tensor = torch.as_tensor(lengths)
    except (RuntimeError, TypeError, ValueError):
        raise GroundingError(f"lengths: expected integers, got {lengths!r:.80}") from None
    if not _is_integral(checked.dtype) or tuple(checked.shape) != batch:
        mask = checked.dtype == torch.bool
        advice = "if this is a mask, pass `mask.sum(-1)`" if mask else "pass one for each sequence"
        raise GroundingError(
            f"lengths: expected integers of shape {batch}, one per sequence, "
            f"got {checked.dtype} of shape {tuple(checked.shape)}; {advice}"
        )
    refuse_meta(checked)
    checked = checked.long()  # PyTorch has no min() for unsigned integers
    if is_traced(checked) or not checked.numel():  # a trace has no values
        return checked.to(device)
    shortest, longest = layout.shortest, min(sizes.values())
    low, high = int(checked.min()), int(checked.max())
    if low < shortest or high > longest:
        raise GroundingError(
            f"expected lengths from {shortest}, for the positions that the rule names, to "
            f"{longest}, the padded length, got {low if low < shortest else high}"
        )
    return checked.to(device)  # moved after the checks, which then need not wait for the device


def _is_integral(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
