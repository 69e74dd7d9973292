"""`fused_logits.py` gives the same sides and gradients as `logits.py`."""

from __future__ import annotations

import pytest
import torch

from residuum.losses.degrees.fused_logits import (
    LogSigmoids,
    LogSoftmaxes,
    OddsOfSoftmaxes,
    Sigmoids,
    Softmaxes,
    _side_of,
)

KINDS = [
    (Softmaxes, True, ("true",)),
    (Softmaxes, True, ("true", "false")),
    (OddsOfSoftmaxes, True, ("log_true", "log_false")),
    (LogSoftmaxes, True, ("log_true",)),
    (Sigmoids, False, ("true", "false")),
    (LogSigmoids, False, ("log_true", "log_false")),
]
SHAPE = (2, 5, 7)  # slots, classes, examples


@pytest.mark.parametrize("scale", [0.1, 3.0, 25.0])
@pytest.mark.parametrize("count", [7, 600])  # 600 is above MANY_SOFTMAXES: marks, not indices
@pytest.mark.parametrize(("kind", "is_exclusive", "sides"), KINDS)
def test_fused_sides_and_gradients_equal_the_plain_ones(kind, is_exclusive, sides, count, scale):
    source = torch.Generator().manual_seed(count)
    shape = (*SHAPE[:2], count) if is_exclusive else (2, 1, 5 * count)
    logits = (scale * torch.randn(shape, generator=source, dtype=torch.float64)).requires_grad_()

    def read(side_of):
        return torch.cat([side_of(side) for side in sides])

    def add_up(gradient):
        return sum(gradient.split(2))

    with torch.no_grad():
        fused = kind(logits)
        rows = fused.rows(read)
    expected = read(_side_of(logits, is_exclusive=is_exclusive))
    torch.testing.assert_close(rows, expected, rtol=1e-11, atol=1e-300)
    upstream = torch.randn(rows.shape, generator=source, dtype=torch.float64)
    [gradient] = torch.autograd.grad(expected, logits, upstream)
    # `back` expects, in the row of a falsity, the gradient with respect to the truth.
    signs = torch.tensor([-1.0 if "false" in side else 1.0 for side in sides for _ in range(2)])
    with torch.no_grad():
        found = kind.back(upstream * signs.reshape(-1, 1, 1), add_up, *fused.saved)
    torch.testing.assert_close(found, gradient, rtol=1e-8, atol=1e-12)
