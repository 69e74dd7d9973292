"""`facts`: the penalty of labelled data. A label states a fact, and facts are knowledge too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.losses.degrees.logits import FORMS, MIRRORED, Form, Source, degree_with, sources_of
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.degrees.tensors import in_full, is_traced
from residuum.losses.inputs.checking import floating_point, refuse_meta
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.reductions import Reduction, check_reduction, reduce_batch
from residuum.relaxations import DEFAULT, Degree, Relaxation


def facts(
    outputs: Tensor,
    labels: Any,
    relaxation: str | Relaxation = DEFAULT,
    *,
    inputs: Form = "logits",
    independent: bool = False,
    reduction: Reduction = "mean",
    process_group: Any = None,
) -> Tensor:
    """Return the penalty of the facts that each example has its label, by default their mean.

    Labels are integers, one per example; −100 marks an example without a label, which does not
    count. With `independent` outputs labels are 0 or 1, or −100, one for each output: labels that
    say only what is true are 1 and −100. Under the product logics the penalty is cross-entropy.
    With a `process_group` the batch is that of all its processes.

    >>> import torch
    >>> logits, labels = torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([0])
    >>> same = torch.nn.functional.cross_entropy(logits, labels)
    >>> bool(torch.isclose(facts(logits, labels, "s-product"), same))
    True
    """
    logic = find_logic(relaxation)
    check_reduction(reduction)
    if inputs not in FORMS:
        raise GroundingError(f"inputs: expected one of {', '.join(FORMS)}, got {inputs!r}")
    refuse_meta(floating_point(outputs, "outputs"))
    try:
        labels = torch.as_tensor(labels)
    except (RuntimeError, TypeError, ValueError):
        raise GroundingError(f"labels: expected integers, got {labels!r:.80}") from None
    check = _check_statements if independent else _check_labels
    check(outputs, labels)  # before labels move: to look at values on a GPU would wait for it
    labels = labels.to(outputs.device)
    (source,) = sources_of([outputs], [inputs], [not independent], needs_care=True)
    degree = _stated(source, labels) if independent else _labelled(source, labels)
    with in_full(outputs.device):
        counts = labels.long() != IGNORED
        penalty = torch.where(counts, logic.penalty(degree), 0.0)
        if reduction != "none":
            penalty = penalty.reshape(-1)
        return reduce_batch(penalty, reduction, logic, counts, process_group)


def _check_labels(outputs: Tensor, labels: Tensor) -> None:
    is_integral = not (labels.is_floating_point() or labels.is_complex())
    if outputs.dim() == 0 or labels.shape != outputs.shape[:-1] or not is_integral:
        advice = ""
        if outputs.dim() and labels.shape == outputs.shape:
            advice = (
                "; if these are 0 or 1 for each output, pass independent=True, or declare the "
                "predicate of a theory `independent`"
            )
        raise GroundingError(
            f"labels: expected integers of shape {tuple(outputs.shape[:-1])}, one per example, "
            f"got {labels.dtype} of shape {tuple(labels.shape)}{advice}"
        )
    classes = outputs.shape[-1]
    if not classes:
        raise GroundingError(
            f"outputs: expected at least one class, got a tensor of shape {tuple(outputs.shape)}"
        )
    labels = labels.long()  # unsigned bytes cannot be compared with −100
    if not is_traced(labels) and labels.numel():
        wrong = labels[(labels != IGNORED) & ((labels < 0) | (labels >= classes))]
        if wrong.numel():
            raise GroundingError(
                f"labels lie between 0 and {classes - 1}, got {int(wrong[0])} "
                f"({IGNORED} marks an example without a label)"
            )


def _check_statements(outputs: Tensor, labels: Tensor) -> None:
    expected = f"labels of independent outputs: expected 0 or 1 in shape {tuple(outputs.shape)}"
    if labels.shape != outputs.shape or labels.is_complex():
        raise GroundingError(f"{expected}, got {labels.dtype} of shape {tuple(labels.shape)}")
    if not is_traced(labels):
        # unsigned bytes cannot be compared with −100
        known = labels if labels.is_floating_point() else labels.long()
        wrong = labels[(known != 0) & (known != 1) & (known != IGNORED)]
        if wrong.numel():
            raise GroundingError(
                f"{expected}, got {wrong[0].item():g} ({IGNORED} marks an output without a label)"
            )


def _labelled(source: Source, labels: Tensor) -> Degree:
    """Return the degree of the labelled class of each example."""
    labels = labels.long()
    index = labels.where(labels != IGNORED, 0).unsqueeze(-1)
    return degree_with(lambda side: source.side(side).gather(-1, index).squeeze(-1))


def _stated(source: Source, labels: Tensor) -> Degree:
    """Return the degree of each output, or of its negation where the label is 0."""
    holds = labels == 1
    return degree_with(
        lambda side: torch.where(holds, source.side(side), source.side(MIRRORED[side]))
    )
