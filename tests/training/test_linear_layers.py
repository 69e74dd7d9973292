"""Linear layers of many runs against sums of products."""

import pytest
import torch

from residuum.errors import ResiduumError
from residuum.training.layers import linear


def draw(dtype=torch.float64):
    generator = torch.Generator().manual_seed(3)
    shapes = [(3, 4, 5), (3, 5, 2), (3, 2)]
    return [torch.randn(s, generator=generator, dtype=dtype).requires_grad_() for s in shapes]


def test_each_run_has_its_own_weights():
    x, weight, bias = draw()
    wanted = torch.stack([a @ w + b for a, w, b in zip(x, weight, bias, strict=True)])
    torch.testing.assert_close(linear(x, weight, bias), wanted)
    assert torch.autograd.gradcheck(linear, (x, weight, bias))


def test_logits_are_not_rounded_to_the_precision_of_their_inputs():
    x, weight, bias = (t.detach().bfloat16().float().requires_grad_() for t in draw(torch.float32))
    half = x.detach().bfloat16().requires_grad_()
    found = linear(half, weight, bias, result=torch.float32)
    wanted = linear(x, weight, bias)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    assert not torch.equal(found, found.bfloat16().float())
    slope = torch.ones_like(found)
    own = torch.autograd.grad(found, (half, weight, bias), slope)
    other = torch.autograd.grad(wanted, (x, weight, bias), slope)
    torch.testing.assert_close(own[0].float(), other[0], rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(own[1:], other[1:], rtol=1e-6, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_logits_on_the_gpu_are_those_of_the_processor():
    x, weight, bias = (t.detach().float() for t in draw())
    there = linear(x.bfloat16().cuda(), weight.cuda(), bias.cuda(), result=torch.float32)
    here = linear(x.bfloat16(), weight, bias, result=torch.float32)
    torch.testing.assert_close(there.cpu(), here, rtol=1e-5, atol=1e-5)


def test_wrong_shapes_and_precisions_are_refused_in_words():
    x, weight, bias = draw()
    with pytest.raises(ResiduumError, match=r"got \(3, 4, 5\), \(3, 5, 2\) and \(2,\)"):
        linear(x, weight, bias[0])
    with pytest.raises(ResiduumError, match="result: expected"):
        linear(x, weight, bias, result=torch.float32)
