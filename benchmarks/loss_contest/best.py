"""The fastest hand-written references: one function for each workload and relaxation.

Logarithms are taken of batch × classes numbers only. Each grounding costs a few passes over a block
that stays in the cache, with the longest axis innermost; gradients come from the same pass. Under
softmaxes the piecewise linear rules need no groundings at all: two classes of one softmax cannot
both exceed ½, so that only one row or one column of a table of pairs matters. Unlike residuum,
these functions are not safe for saturated logits, which is part of their speed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from loss_contest.workloads import (
    CHUNKS,
    FEATURES,
    Clauses,
    Inputs,
    Penalties,
    SumRule,
    Workload,
)

BLOCK = 1 << 17


class _WithGradients(torch.autograd.Function):
    """Autograd for a function that returns one value per example and its gradients, batch first."""

    @staticmethod
    def forward(ctx: Any, evaluate: Callable[..., Any], *inputs: Tensor) -> Tensor:
        value, gradients = evaluate(*inputs)
        ctx.save_for_backward(*gradients)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return None, *(
            gradient * upstream.reshape(-1, *(1,) * (gradient.dim() - 1))
            for gradient in ctx.saved_tensors
        )


class _Clauses(torch.autograd.Function):
    """Clauses over sides of literals, literals × examples: one matrix product each way."""

    @staticmethod
    def forward(
        ctx: Any, relaxation: str, matrix: Tensor, lengths: Tensor | None, sides: Tensor
    ) -> Tensor:
        value, gradient = _of_clauses(relaxation, matrix, lengths, sides)
        ctx.save_for_backward(gradient)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, None, ctx.saved_tensors[0] * upstream


def _sum_of_logs(broken: Tensor, axis: int) -> Tensor:
    """Return Σ log(1 − x) along an axis, by the logarithms of products of up to four.

    The complement of (1 − x)(1 − y), x + y − xy, keeps the digits that 1 − x would lose.
    """
    for _ in range(2):
        half = broken.shape[axis] // 2
        if half == 0:
            break
        first, second = broken.narrow(axis, 0, half), broken.narrow(axis, half, half)
        pairs = (first + second).addcmul_(first, second, value=-1)
        odd = broken.narrow(axis, 2 * half, broken.shape[axis] % 2)
        broken = torch.cat([pairs, odd], axis) if odd.numel() else pairs
    return torch.log1p(-broken).sum(axis)


def _of_clauses(relaxation: str, matrix: Tensor, lengths: Tensor | None, sides: Tensor) -> Any:
    """Return the penalties of clauses, and their gradients as literals × examples.

    A row of the matrix counts the literals that violate a clause; for a residuum the sides are
    logarithms and its head counts −1.
    """
    slack = matrix @ sides if lengths is None else torch.addmm(1 - lengths, matrix, sides)
    if relaxation == "s-product":
        broken = slack.exp_()
        weights = broken / (1 - broken)
        return -_sum_of_logs(broken, 0), matrix.t() @ weights
    weights = torch.gt(slack, 0, out=torch.empty_like(slack))
    return slack.mul_(weights).sum(0), matrix.t() @ weights


# The sum rule: (a, b) against (a + b) mod K

FEW_CLASSES = 16
"""Up to this number of classes, two matrix products evaluate the K² groundings as clauses."""


def _softmaxes(inputs: Inputs, *, logarithms: bool) -> Tensor:
    """Return the three softmaxes as classes × examples: over the inner axis they would be slow."""
    stacked = torch.stack([x.t() for x in inputs.values()])
    return stacked.log_softmax(1) if logarithms else stacked.softmax(1)


@functools.cache
def _all_pairs(classes: int, sign: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the matrix of pairs (a, b): literals a and b, and (a + b) mod K with a sign."""
    a, b = torch.cartesian_prod(torch.arange(classes), torch.arange(classes)).unbind(-1)
    matrix = torch.zeros(classes * classes, 3 * classes)
    rows = torch.arange(classes * classes)
    matrix[rows, a] = matrix[rows, classes + b] = 1.0
    matrix[rows, 2 * classes + (a + b) % classes] = sign
    return matrix.to(device, dtype)


def _over_pairs(weigh: Callable[..., Tensor | None], left: Tensor, right: Tensor, total: Tensor
                ) -> Any:  # fmt: skip
    """Return the sum over pairs (a, b) and its gradients. The gradient of a pair is one weight.

    `weigh(left, right, total, out)` writes the gradients of a block and returns the sum of its
    values along b; None says that the value is the sum of gradient × argument.
    """
    batch, classes = left.shape
    windows = torch.cat([total, total], 1).unfold(1, classes, 1)
    rows = max(1, min(classes, BLOCK // (batch * classes)))
    # Each row is written one step further right, so that a sum over rows is one over diagonals.
    skewed = total.new_zeros(batch, rows, classes + rows)
    gradients = [torch.zeros_like(left), torch.zeros_like(right)]
    diagonals = total.new_zeros(batch, 2 * classes)
    value = total.new_zeros(batch)
    for first in range(0, classes, rows):
        count = min(rows, classes - first)
        if count < rows:
            skewed[:, count:].zero_()
        weights = skewed.as_strided(
            (batch, count, classes),
            (skewed.stride(0), skewed.stride(1) + 1, 1),
        )
        part = weigh(
            left[:, first : first + count, None],
            right[:, None],
            windows[:, first : first + count],
            weights,
        )
        if part is not None:
            value += part.sum(1)
        gradients[0][:, first : first + count] = weights.sum(2)
        gradients[1] += weights.sum(1)
        diagonals[:, first : first + classes + count] += skewed.sum(1)[:, : classes + count]
    gradients.append(diagonals[:, :classes] + diagonals[:, classes:])
    if part is None:
        gradients[2].neg_()
        arguments = (left, right, total)
        value = sum((x * gradient).sum(1) for x, gradient in zip(arguments, gradients, strict=True))
    return value, gradients


def _sum_r_product(inputs: Inputs) -> Tensor:
    logs = _softmaxes(inputs, logarithms=True)
    classes = logs.shape[1]
    if classes <= FEW_CLASSES:
        matrix = _all_pairs(classes, -1.0, logs.device, logs.dtype)
        return _Clauses.apply("r-product", matrix, None, logs.flatten(0, 1))

    def weigh(left: Tensor, right: Tensor, total: Tensor, out: Tensor) -> None:
        torch.gt((right - total).add_(left), 0, out=out)

    rows = [x.t().contiguous() for x in logs.unbind()]
    return _WithGradients.apply(lambda *x: _over_pairs(weigh, *x), *rows)


def _sum_s_product(inputs: Inputs) -> Tensor:
    classes = inputs["Sum"].shape[-1]
    if classes <= FEW_CLASSES:
        logs = _softmaxes(inputs, logarithms=True)
        matrix = _all_pairs(classes, 1.0, logs.device, logs.dtype)
        sides = torch.cat([logs[0], logs[1], torch.log1p(-logs[2].exp())])
        return _Clauses.apply("s-product", matrix, None, sides)

    def weigh(p: Tensor, q: Tensor, n: Tensor, out: Tensor) -> Tensor:
        broken = torch.mul(q, n).mul_(p)
        torch.div(broken, 1 - broken, out=out)
        return -_sum_of_logs(broken, 2)

    def evaluate(*given: Tensor) -> Any:
        value, gradients = _over_pairs(weigh, *given)
        return value, [gradient / x for gradient, x in zip(gradients, given, strict=True)]

    p, q, s = (x.t().contiguous() for x in _softmaxes(inputs, logarithms=False).unbind())
    return _WithGradients.apply(evaluate, p, q, 1 - s)


def _sum_lukasiewicz(inputs: Inputs) -> Tensor:
    """Only the row or column of the largest probability can have p + q > 1 + s."""
    p, q, s = _softmaxes(inputs, logarithms=False).unbind()
    (top_p, at_p), (top_q, at_q) = p.max(0), q.max(0)
    is_row = top_p >= top_q
    start = torch.where(is_row, at_p, at_q)
    place = (start + torch.arange(len(s), device=s.device)[:, None]) % len(s)
    largest, others = torch.maximum(top_p, top_q) - 1, torch.where(is_row, q, p)
    return torch.relu(largest + others - s.gather(0, place)).sum(0)


def _sum_godel(inputs: Inputs) -> Tensor:
    """The worst pair has the two largest probabilities, or one largest and one second largest.

    If the sum of the largest pair has a probability above ½, no other sum has, and the second
    largest probabilities are at most ½; otherwise the largest pair itself is the worst.
    """
    given = _softmaxes(inputs, logarithms=False)
    places = given[:2].detach().topk(2, 1).indices
    (p1, p2), (q1, q2) = (x.unbind() for x in given[:2].gather(1, places).unbind())
    total = (places[0, :1] + places[1, :1]) % given.shape[1]
    worst = torch.minimum(torch.minimum(p1, q1), 1 - given[2].gather(0, total)[0])
    return torch.maximum(worst, torch.maximum(torch.minimum(p1, q2), torch.minimum(p2, q1)))


# Transitions: a tag of one type before the inside tag of another


def _one_line(first: Tensor, following: Tensor, excess: Callable[..., Tensor]) -> Tensor:
    """Return the sum of excess(f, g) over pairs of different types; it is 0 unless f + g > 1.

    `first` has begin tags followed by inside tags, because both are of one softmax.
    """
    (top_first, at_first), (top_next, at_next) = (
        x.max(-1, keepdim=True) for x in (first, following)
    )
    is_row = top_first >= top_next
    types = torch.arange(CHUNKS, device=first.device)
    row = torch.where(types == at_first % CHUNKS, 0.0, excess(top_first, following))
    column = excess(first, top_next).unflatten(-1, (2, CHUNKS)).sum(-2)
    column = torch.where(types == at_next, 0.0, column)
    return torch.where(is_row, row, column).sum((-1, -2))


def _transitions_line(inputs: Inputs, excess: Callable[..., Tensor]) -> Tensor:
    p = inputs["Tag"].softmax(-1)
    first, following = p[:, :-1, : 2 * CHUNKS], p[:, 1:, CHUNKS : 2 * CHUNKS]
    return _one_line(first, following, excess)


def _transitions_r_product(inputs: Inputs) -> Tensor:
    return _transitions_line(
        inputs, lambda first, following: torch.relu(first.log() - torch.log1p(-following))
    )


def _transitions_lukasiewicz(inputs: Inputs) -> Tensor:
    return _transitions_line(inputs, lambda first, following: torch.relu(first + following - 1))


def _transitions_s_product(inputs: Inputs) -> Tensor:
    p = inputs["Tag"].softmax(-1)

    def evaluate(p: Tensor) -> Any:
        sentences, tokens, _ = p.shape
        by_tag = p.permute(2, 0, 1).contiguous()
        first = by_tag[: 2 * CHUNKS, :, :-1].reshape(2, 1, CHUNKS, -1)
        inside = by_tag[CHUNKS : 2 * CHUNKS, :, 1:].reshape(CHUNKS, -1)
        # Shifts by 1 to 10 pair each type with every other type, and never with itself.
        shifted = torch.cat([inside, inside]).unfold(0, CHUNKS, 1).movedim(-1, 1)[1:CHUNKS]
        broken = first * shifted
        inverse = (1 - broken).reciprocal_()
        value = -_sum_of_logs(broken.flatten(0, 2), 0)
        gradient = torch.zeros_like(by_tag)
        gradient[: 2 * CHUNKS, :, :-1] = (
            (inverse * shifted).sum(1).reshape(2 * CHUNKS, sentences, tokens - 1)
        )
        onto = inverse.mul_(first).sum(0)
        for shift in range(1, CHUNKS):
            rolled = onto[shift - 1].roll(shift, 0).reshape(CHUNKS, sentences, tokens - 1)
            gradient[CHUNKS : 2 * CHUNKS, :, 1:] += rolled
        return value.reshape(sentences, -1).sum(-1), [gradient.permute(1, 2, 0)]

    return _WithGradients.apply(evaluate, p)


def _transitions_godel(inputs: Inputs) -> Tensor:
    """The worst pair of types has both largest probabilities, or one largest and one second."""
    p = inputs["Tag"].softmax(-1)
    following, at = p[:, 1:, CHUNKS : 2 * CHUNKS].topk(2, -1)
    worst = []
    for first in (p[:, :-1, :CHUNKS], p[:, :-1, CHUNKS : 2 * CHUNKS]):
        tops, places = first.topk(2, -1)
        both = torch.minimum(tops[..., 0], following[..., 0])
        mixed = torch.maximum(
            torch.minimum(tops[..., 0], following[..., 1]),
            torch.minimum(tops[..., 1], following[..., 0]),
        )
        worst.append(torch.where(places[..., 0] == at[..., 0], mixed, both).amax(-1))
    return worst[0] + worst[1]


# Clauses: one matrix product over both sides of every output


def clauses(workload: Clauses, relaxation: str) -> Penalties:
    """Return the penalties of clauses, from a matrix of the literals that violate them."""
    literals = workload.literals()
    if relaxation == "s-godel":
        return _clauses_godel(workload)
    matrix = torch.zeros(workload.count, 2 * FEATURES)
    for number, clause in enumerate(literals):
        for place, (feature, affirmed) in enumerate(clause):
            is_head = place == len(clause) - 1
            if is_head and relaxation == "r-product":
                matrix[number, feature + FEATURES * (not affirmed)] -= 1
            else:
                matrix[number, feature + FEATURES * (affirmed == is_head)] += 1
    lengths = torch.tensor([[float(len(clause))] for clause in literals])

    @functools.cache
    def like(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return matrix.to(device, dtype), lengths.to(device, dtype)

    def penalties(inputs: Inputs) -> Tensor:
        z = inputs["Has"].t()
        both = torch.cat([z, -z])
        breaks, counts = like(z.device, z.dtype)
        if relaxation == "lukasiewicz-maxsat":
            return _Clauses.apply(relaxation, breaks, counts, both.sigmoid())
        return _Clauses.apply(relaxation, breaks, None, logsigmoid(both))

    return penalties


def _clauses_godel(workload: Clauses) -> Penalties:
    """Follow the literal that decides each clause, without autograd; examples are innermost."""
    places = torch.zeros(5, workload.count, dtype=torch.long)
    for number, clause in enumerate(workload.literals()):
        for place in range(5):  # a short clause repeats its first literal, which changes nothing
            feature, affirmed = clause[place if place < len(clause) else 0]
            is_head = place == len(clause) - 1
            places[place, number] = feature + FEATURES * (affirmed == is_head)

    on = functools.cache(places.to)

    def evaluate(z: Tensor) -> Any:
        p = z.t().sigmoid()
        sides = torch.cat([p, 1 - p])
        at = on(z.device)
        lowest = sides[at[0]]
        for place in at[1:]:
            torch.minimum(lowest, sides[place], out=lowest)
        gradient = torch.zeros_like(sides)
        if workload.form == "one formula":
            value, clause = lowest.max(0)
            deciding = (sides.gather(0, at[:, clause]) == value).to(torch.uint8).argmax(0)
            side = at[:, clause].gather(0, deciding[None])
            gradient.scatter_(0, side, 1.0)
        else:
            value = lowest.sum(0)
            left = torch.ones_like(lowest)
            for place in at:
                hits = torch.eq(sides[place], lowest, out=torch.empty_like(lowest)).mul_(left)
                left.sub_(hits)
                gradient.index_add_(0, place, hits)
        return value, [((gradient[:FEATURES] - gradient[FEATURES:]) * p * (1 - p)).t()]

    return lambda inputs: _WithGradients.apply(evaluate, inputs["Has"])


_SUMS = {
    "r-product": _sum_r_product,
    "s-product": _sum_s_product,
    "lukasiewicz-maxsat": _sum_lukasiewicz,
    "s-godel": _sum_godel,
}
_TRANSITIONS = {
    "r-product": _transitions_r_product,
    "s-product": _transitions_s_product,
    "lukasiewicz-maxsat": _transitions_lukasiewicz,
    "s-godel": _transitions_godel,
}


def reference(workload: Workload, relaxation: str) -> Penalties:
    """Return the function of the inputs that gives one penalty per example."""
    if isinstance(workload, Clauses):
        return clauses(workload, relaxation)
    return (_SUMS if isinstance(workload, SumRule) else _TRANSITIONS)[relaxation]
