"""Evidence: observed outputs, as tensors whose degrees are exactly 1 and 0.

An observed output becomes a number in the form of its slot that is certainly true or false. Then
every route evaluates it like any other output, and no gradient reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from residuum.errors import GroundingError, suggest
from residuum.grounding import Plan
from residuum.grounding.plans import Slot
from residuum.losses.degrees.logits import CERTAIN, Form, widened
from residuum.losses.degrees.tensors import is_traced
from residuum.losses.inputs.checking import common_batch, refuse_meta, refuse_unknown, take_tensor
from residuum.losses.inputs.padding import inside
from residuum.syntax import Domain

Observed = Mapping[str, Any]
"""Labels by the names of slots."""

IGNORED: Final = -100
"""The label of an output that is not observed, as in PyTorch."""


def with_evidence(
    plan: Plan, forms: Sequence[Form], given: Any, labels: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the tensors of a call, in which observed outputs are certain.

    An output that has neither a label nor a tensor becomes NaN. This looks at no values: see
    `check_evidence`.
    """
    names = [slot.name for slot in plan.given]
    refuse_unknown(given, names)
    tensors = {
        slot.name: take_tensor(slot, given, names) for slot in plan.given if slot.name in given
    }
    for slot in plan.slots:
        if slot.name in labels and slot.name in tensors:
            _refuse_one_hot(slot, labels[slot.name], tensors[slot.name])
    sizes = shown_lengths(plan.given, tensors, labels)
    nothing = _nothing(tensors, labels)
    found = dict(tensors)
    for slot, form in zip(plan.slots, forms, strict=True):
        if slot.name in labels:
            found[slot.name] = _certain(
                slot, form, labels[slot.name], tensors.get(slot.name), nothing, sizes
            )
    return found


def refuse_unknown_labels(observed: Any, known: Iterable[str]) -> None:
    """Raise GroundingError if labels are not passed by name, or nothing reads one of the names."""
    if not isinstance(observed, Mapping):
        raise GroundingError(
            "observed: expected labels by the names of predicates, {name: labels}, got "
            f"{type(observed).__name__}; if a predicate is called `observed`, pass the tensors in "
            "a mapping"
        )
    for name in observed:
        if name not in known:
            raise GroundingError(
                f"observed: nothing reads `{name}`.{suggest(str(name), known)} "
                f"Expected: {', '.join(known) or 'no labels'}"
            )


def labels_of(slots: Sequence[Slot], observed: Observed) -> dict[str, Tensor]:
    """Return the labels of the observed slots as integers. GroundingError says what is wrong."""
    refuse_unknown_labels(observed, [slot.name for slot in slots])
    return {
        slot.name: _labels(slot, observed[slot.name]) for slot in slots if slot.name in observed
    }


def batches_of_labels(slots: Sequence[Slot], observed: Observed) -> list[torch.Size]:
    """Return the batch shape of the labels of each observed slot."""
    read = {slot.name: observed[slot.name] for slot in slots if slot.name in observed}
    labels = labels_of(slots, read)
    return [
        labels[slot.name].shape[: labels[slot.name].dim() - len(_labelled(slot))]
        for slot in slots
        if slot.name in labels
    ]


def _labels(slot: Slot, given: Any) -> Tensor:
    try:
        labels: Tensor = torch.as_tensor(given)
    except (RuntimeError, TypeError, ValueError):
        raise GroundingError(
            f"observed `{slot.name}`: expected labels as a tensor of integers, got {given!r:.80}"
        ) from None
    refuse_meta(labels)
    if labels.is_nested or labels.layout is not torch.strided:
        raise GroundingError(
            f"observed `{slot.name}`: expected a dense tensor of labels, got another layout; pass "
            "`tensor.to_dense()`, or for a nested one `torch.nested.to_padded_tensor(tensor, -100)`"
        )
    is_no_integer = labels.is_floating_point() or labels.is_complex()
    domains = _labelled(slot)
    own = tuple(labels.shape[max(0, labels.dim() - len(domains)) :])
    sizes = [None if domain.labels is None else len(domain.labels) for domain in domains]
    fits = len(own) == len(sizes) and all(
        size is None or size == found for size, found in zip(sizes, own, strict=True)
    )
    if is_no_integer or not fits or (slot.is_exclusive and labels.dtype == torch.bool):
        raise GroundingError(
            f"observed `{slot.name}`: expected {_expected(slot)}, got {labels.dtype} of shape "
            f"{tuple(labels.shape)}; {_what_to_do(slot, labels)}"
        )
    return labels.long()


def _labelled(slot: Slot) -> tuple[Domain, ...]:
    """Return the domains that the labels of a slot have a dimension for."""
    return slot.domains[:-1] if slot.is_exclusive else slot.domains


def _expected(slot: Slot) -> str:
    sizes = [domain.name if domain.labels is None else str(len(domain.labels))
             for domain in _labelled(slot)]  # fmt: skip
    shape = f"({', '.join(['batch', *sizes])})"
    if not slot.is_exclusive:
        return f"0, 1 or {IGNORED} for each output, as integers of shape {shape} or as Booleans"
    return (
        f"the number of a member of {slot.domains[-1].name}, or {IGNORED}, as integers of shape "
        f"{shape}, which has no dimension for {slot.domains[-1].name}"
    )


def _refuse_one_hot(slot: Slot, labels: Tensor, tensor: Tensor) -> None:
    """Raise GroundingError if labels have a dimension for classes, as predictions do."""
    has_batch = tensor.dim() > len(slot.domains)
    if slot.is_exclusive and has_batch and tuple(labels.shape) == tuple(tensor.shape):
        raise GroundingError(
            f"observed `{slot.name}`: expected {_expected(slot)}, got {labels.dtype} of shape "
            f"{tuple(labels.shape)}, that of the predictions; {_what_to_do(slot, labels)}"
        )


def _what_to_do(slot: Slot, labels: Tensor) -> str:
    """Return what to do about labels that do not fit."""
    sizes = [None if domain.labels is None else len(domain.labels) for domain in slot.domains]
    own = labels.shape[max(0, labels.dim() - len(sizes)) :]
    looks_like_logits = len(own) == len(sizes) and all(
        size is None or size == found for size, found in zip(sizes, own, strict=True)
    )
    if slot.is_exclusive and looks_like_logits:
        return "if these are one-hot, pass `labels.argmax(-1)`"
    if labels.is_floating_point() or labels.is_complex():
        return "pass `labels.long()` if they are whole numbers"
    return "pass labels of this shape"


def shown_lengths(
    slots: Iterable[Slot], tensors: Mapping[str, Tensor], labels: Mapping[str, Tensor]
) -> dict[str, int]:
    """Return the padded lengths of sequences, as far as tensors and labels show them."""
    found: dict[str, int] = {}
    for slot in slots:
        shown = [(slot.domains, tensors.get(slot.name)), (_labelled(slot), labels.get(slot.name))]
        for domains, one in shown:
            if one is None:
                continue
            for domain, size in zip(domains, one.shape[one.dim() - len(domains) :], strict=True):
                if domain.is_sequence and found.setdefault(domain.name, size) != size:
                    raise GroundingError(
                        f"sequence `{domain.name}`: expected one length in all tensors and labels, "
                        f"got {found[domain.name]} in one of them and {size} in those of "
                        f"`{slot.name}`; pad all to the same length"
                    )
    return found


def _nothing(tensors: Mapping[str, Tensor], labels: Mapping[str, Tensor]) -> Tensor:
    """Return a NaN in the dtype and on the device of the tensors that evidence belongs to."""
    dtype = torch.float32
    for one in tensors.values():
        dtype = torch.promote_types(dtype, one.dtype)
    like = (*tensors.values(), *labels.values(), torch.empty(()))[0]
    return torch.full((), torch.nan, dtype=dtype, device=like.device)


def _certain(
    slot: Slot,
    form: Form,
    labels: Tensor,
    tensor: Tensor | None,
    nothing: Tensor,
    sizes: Mapping[str, int],
) -> Tensor:
    """Return the tensor of a slot with certain numbers where it is observed."""
    rest = nothing
    if tensor is not None:
        domains, own = _labelled(slot), len(slot.domains)
        shapes = [labels.shape[: labels.dim() - len(domains)], tensor.shape[: tensor.dim() - own]]
        common_batch([f"labels of `{slot.name}`", f"`{slot.name}`"], [tuple(s) for s in shapes])
        # Half precision has no certain logit, and gradients must fit it again.
        rest = widened(tensor, is_steep=tensor.dtype not in (torch.float32, torch.float64))
    labels = labels.to(rest.device)
    true, false = (rest.new_full((), number) for number in _certainties(slot, form))
    if not slot.is_exclusive:
        return torch.where(labels == 1, true, torch.where(labels == 0, false, rest))
    labels, classes = labels.unsqueeze(-1), _classes(slot, sizes)
    states = torch.where(labels == torch.arange(classes, device=rest.device), true, false)
    return torch.where((labels >= 0) & (labels < classes), states, rest)


def _certainties(slot: Slot, form: Form) -> tuple[float, float]:
    """Return the numbers that are certainly true and certainly false."""
    if form == "probs":
        return 1.0, 0.0
    is_sigmoid = form == "logits" and not slot.is_exclusive
    return CERTAIN if is_sigmoid else 0.0, -torch.inf


def _classes(slot: Slot, sizes: Mapping[str, int]) -> int:
    domain = slot.domains[-1]
    if domain.labels is not None:
        return len(domain.labels)
    if domain.name not in sizes:
        raise GroundingError(
            f"observed `{slot.name}`: expected a tensor that shows the length of sequence "
            f"`{domain.name}`, got labels only; pass a tensor for `{slot.name}` too"
        )
    return sizes[domain.name]


def observed_entries(
    slots: Sequence[Slot], inputs: Sequence[Tensor], labels: Mapping[str, Tensor] | None
) -> list[Tensor]:
    """Return for the tensor of each slot which of its entries are observed."""
    found = []
    for slot, tensor in zip(slots, inputs, strict=True):
        mask = torch.zeros((), dtype=torch.bool, device=tensor.device)
        if labels and slot.name in labels:
            mask = labels[slot.name].to(tensor.device) >= 0
            mask = mask.unsqueeze(-1) if slot.is_exclusive else mask
        found.append(mask.expand(tensor.shape))
    return found


# Checks of values, where Python can look at them


def check_evidence(
    plan: Plan,
    labels: Mapping[str, Tensor],
    given: Mapping[str, Tensor],
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
) -> None:
    """Raise GroundingError for a label outside its domain, or an output without label and tensor.

    `given` are the tensors of the call, `inputs` those with the evidence in them. In a trace there
    are no values to look at. Labels are looked at where they are: those on a CPU wait for no GPU.
    """
    for slot, tensor in zip(plan.slots, inputs, strict=True):
        if slot.name in labels and not is_traced(labels[slot.name]):
            classes = tensor.shape[-1] if slot.is_exclusive else 2
            _check_labels(slot, labels[slot.name], classes, slot.name in given, lengths)


def _check_labels(
    slot: Slot, labels: Tensor, classes: int, has_tensor: bool, lengths: Tensor | None
) -> None:
    limit: int | Tensor = classes
    if lengths is not None:
        lengths = lengths.to(labels.device)
        if slot.is_exclusive and slot.domains[-1].is_sequence:  # a position before the end
            limit = lengths.reshape(*lengths.shape, *(1,) * len(_labelled(slot)))
    counts = _counting(slot, labels, lengths)
    is_label = (labels >= 0) & (labels < limit)
    if bool((is_label | ~counts).all()):
        return
    is_wrong = counts & ~is_label & (labels != IGNORED)
    if bool(is_wrong.any()):
        wrong = labels.expand(is_wrong.shape)[is_wrong][0]
        most = "the last position of its sequence" if isinstance(limit, Tensor) else classes - 1
        raise GroundingError(
            f"observed `{slot.name}`: expected labels from 0 to {most}, or {IGNORED} for an output "
            f"that is not observed, got {int(wrong)}; correct the labels"
        )
    if not has_tensor:
        raise GroundingError(
            f"observed `{slot.name}`: expected a tensor for the outputs that are not observed, "
            f"those with label {IGNORED}, got none; pass `{slot.name}` too, or label all outputs"
        )


def _counting(slot: Slot, labels: Tensor, lengths: Tensor | None) -> Tensor:
    """Return a mask of the labels that count: those of padding do not."""
    if lengths is None:
        return torch.ones_like(labels, dtype=torch.bool)
    mask = inside(replace(slot, domains=_labelled(slot)), labels, lengths.to(labels.device))
    return mask.expand(torch.broadcast_shapes(mask.shape, labels.shape))  # type: ignore[no-untyped-call]


def is_observed_in_full(slot: Slot, labels: Tensor, lengths: Any) -> bool:
    """Return whether every output of a slot has a label. In a trace nobody can tell: False."""
    if is_traced(labels):
        return False
    is_label = labels != IGNORED
    if lengths is None or bool(is_label.all()):
        return bool(is_label.all())
    try:
        lengths = torch.as_tensor(lengths)
    except (RuntimeError, TypeError, ValueError):
        return False  # the rules refuse such lengths in words
    if is_traced(lengths) or lengths.shape != labels.shape[: labels.dim() - len(_labelled(slot))]:
        return False
    return bool((is_label | ~_counting(slot, labels, lengths)).all())


def are_all_observed(
    slots: Sequence[Slot], labels: Mapping[str, Tensor], lengths: Tensor | None
) -> bool:
    """Return whether every output of some slots is observed, and there is one."""
    return bool(labels) and all(
        slot.name in labels and is_observed_in_full(slot, labels[slot.name], lengths)
        for slot in slots
    )
