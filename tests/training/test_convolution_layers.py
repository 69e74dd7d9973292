"""The layer of many runs against PyTorch's own, run by run, and the fused kernels against both."""

import os
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from residuum.errors import ResiduumError
from residuum.training.layers import _is_right, conv_relu_pool

SHAPES = [(1, 2, 4, 6, 1, 3), (3, 2, 6, 4, 2, 5)]  # runs, images, height, width, channels, outputs


def draw(runs, images, height, width, channels, outputs, dtype=torch.float64):
    generator = torch.Generator().manual_seed(7)
    shapes = [
        (runs, images, height, width, channels),
        (runs, 3, 3, channels, outputs),
        (runs, outputs),
    ]
    return [
        torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes
    ]


def textbook(x, weight, bias):
    """Pixel by pixel, run by run; relu stands before the pool, as in the definition."""
    runs = []
    for own, kernel, shift in zip(x, weight, bias, strict=True):
        padded = functional.pad(own, (0, 0, 1, 1, 1, 1))
        height, width = own.shape[1:3]
        convolved = shift + sum(
            padded[:, ky : ky + height, kx : kx + width] @ kernel[ky, kx]
            for ky in range(3)
            for kx in range(3)
        )
        windows = convolved.clamp(min=0).unflatten(2, (-1, 2)).unflatten(1, (-1, 2))
        runs.append(windows.amax((2, 4)))
    return torch.stack(runs)


@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_are_those_of_the_definition(shape):
    inputs = draw(*shape)
    found, wanted = conv_relu_pool(*inputs), textbook(*inputs)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    slope = torch.randn(wanted.shape, dtype=torch.float64)
    for own, other in zip(
        torch.autograd.grad(found, inputs, slope),
        torch.autograd.grad(wanted, inputs, slope),
        strict=True,
    ):
        torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)


def test_gradients_are_those_of_finite_differences():
    assert torch.autograd.gradcheck(conv_relu_pool, draw(2, 1, 2, 4, 2, 2))


def test_a_run_in_a_stack_is_the_run_alone():
    inputs = draw(3, 4, 6, 8, 2, 3, torch.float32)
    stack = conv_relu_pool(*inputs)
    gradients = torch.autograd.grad(stack.square().sum(), inputs)
    for run in range(3):
        own = [tensor.detach()[run : run + 1].requires_grad_() for tensor in inputs]
        alone = conv_relu_pool(*own)
        assert torch.equal(alone[0], stack[run])
        for one, other in zip(
            torch.autograd.grad(alone.square().sum(), own), gradients, strict=True
        ):
            assert torch.equal(one[0], other[run])


def test_the_first_of_equal_positions_has_the_gradient():
    x = torch.ones(1, 1, 2, 4, 1, requires_grad=True)
    middle = torch.zeros(1, 3, 3, 1, 1)
    middle[0, 1, 1] = 1
    conv_relu_pool(x, middle, torch.zeros(1, 1)).sum().backward()
    assert x.grad.flatten().tolist() == [1, 0, 1, 0, 0, 0, 0, 0]


def test_the_gradient_of_relu_at_zero_is_zero():
    x = torch.zeros(1, 1, 2, 2, 1, requires_grad=True)
    bias = torch.zeros(1, 1, requires_grad=True)
    conv_relu_pool(x, torch.ones(1, 3, 3, 1, 1), bias).sum().backward()
    assert not x.grad.any()
    assert not bias.grad.any()


def test_weights_may_be_wider_than_images():
    x, weight, bias = draw(1, 2, 4, 4, 1, 2, torch.float32)
    result = conv_relu_pool(x.bfloat16(), weight, bias)
    assert result.dtype == torch.bfloat16
    result.float().sum().backward()
    assert weight.grad.dtype == torch.float32


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(1, 1, 3, 4, 1), (1, 3, 3, 1, 2), (1, 2)], "even height"),
        ([(1, 1, 4, 5, 1), (1, 3, 3, 1, 2), (1, 2)], "even height"),
        ([(1, 4, 4, 1), (1, 3, 3, 1, 2), (1, 2)], "x: expected"),
        ([(2, 1, 4, 4, 1), (1, 3, 3, 1, 2), (1, 2)], "weight: expected"),
        ([(1, 1, 4, 4, 1), (1, 3, 3, 1, 2), (2, 2)], "bias: expected"),
    ],
)
def test_wrong_shapes_are_refused_in_words(shapes, said):
    with pytest.raises(ResiduumError, match=said):
        conv_relu_pool(*map(torch.zeros, shapes))


INTERPRETED = """
import torch
from residuum.training import fused_convolutions as fused
from residuum.training.layers import conv_relu_pool

torch.manual_seed(0)
small = fused.Launch(positions=16, tiles=2, warps=1, channels=16, outputs=16)
launches = fused.Launches(small, small, small, small, small)
for channels, outputs in ((1, 32), (16, 16), (32, 32)):
    x, weight = torch.randn(2, 5, 4, 8, channels), torch.randn(2, 3, 3, channels, outputs) / 3
    bias, slope = torch.randn(2, outputs), torch.randn(2, 5, 2, 4, outputs)
    exact = [tensor.double().requires_grad_() for tensor in (x, weight, bias)]
    wanted = conv_relu_pool(*exact)
    wanted_slopes = torch.autograd.grad(wanted, exact, slope.double())
    found, codes = fused.forward(x, weight, bias, launches)
    slopes = fused.weight_gradient(x, slope, codes, launches)
    if channels > 1:
        slopes = fused.data_gradient(slope, codes, weight, launches), *slopes
    for one, other in ((found, wanted), *zip(slopes, wanted_slopes[-len(slopes) :])):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)
"""


@pytest.mark.skipif(
    find_spec("triton") is None or torch.cuda.is_available(),
    reason="the interpreter needs Triton, and is slow where the kernels themselves can be tested",
)
def test_fused_kernels_agree_in_the_interpreter():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run(
        [sys.executable, "-c", INTERPRETED], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("wrong", [None, "result", "gradient", "nothing written"])
def test_kernels_that_a_compiler_got_wrong_are_not_used(monkeypatch, wrong):
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            with torch.enable_grad():
                ctx.given = [t.detach().requires_grad_() for t in (x, weight, bias)]
                ctx.result = textbook(*(t.double() for t in ctx.given)).bfloat16()
            return {
                "result": 1.05 * ctx.result, "nothing written": ctx.result * torch.nan,
            }.get(wrong, ctx.result).detach()  # fmt: skip

        @staticmethod
        def backward(ctx, slope):
            found = torch.autograd.grad(ctx.result, ctx.given, slope)
            return tuple(1.05 * one if wrong == "gradient" else one for one in found)

    module = SimpleNamespace(FusedConvolution=Fused)
    monkeypatch.setitem(sys.modules, "residuum.training.fused_convolutions", module)
    said = nullcontext() if wrong is None else pytest.warns(UserWarning, match="are not used")
    with said:
        found = _is_right.__wrapped__((4, 4, 16), 16, torch.device("cpu"))
    assert found == (wrong is None)


def step(x, weight, bias, slope):
    """Return the result and the gradients that are needed in training, none for images."""
    inputs = [t.detach().requires_grad_() for t in (x, weight, bias)]
    inputs[0].requires_grad_(x.shape[-1] > 1)
    result = conv_relu_pool(*inputs)
    needed = [t for t in inputs if t.requires_grad]
    return [result, *torch.autograd.grad(result, needed, slope)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
class TestOnTheGpu:
    @pytest.fixture(params=[(3, 64, 28, 28, 1, 32), (3, 64, 14, 14, 32, 64)])
    def inputs(self, request):
        """Two layers of the digits, with sums in several parts; weights are exact in bfloat16."""
        runs, images, height, width, _, outputs = request.param
        x, weight, bias = (t.detach().to("cuda", torch.bfloat16) for t in draw(*request.param))
        slope = torch.randn(runs, images, height // 2, width // 2, outputs).to(x)
        return x, weight.float(), bias.float(), slope

    def test_the_fused_kernels_are_used_and_agree_with_float64(self, inputs):
        found = step(*inputs)
        assert type(found[0].grad_fn).__name__ == "FusedConvolutionBackward"
        exact = [t.double().requires_grad_() for t in inputs[:3]]
        wanted = textbook(*exact)
        slopes = torch.autograd.grad(wanted, exact, inputs[3].double())
        for one, other in zip(found, (wanted, *slopes[1 - len(found) :]), strict=True):
            assert (one - other).norm() <= 2**-8 * other.norm()

    def test_a_run_in_a_stack_is_the_run_alone_to_the_bit(self, inputs):
        alone = step(*(t[1:2].clone() for t in inputs))
        for one, other in zip(alone, step(*inputs), strict=True):
            assert torch.equal(one[0], other[1])

    def test_a_replayed_graph_agrees_to_the_bit(self, inputs):
        eager = step(*inputs)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            replayed = [t.detach() for t in step(*inputs)]
        for one in replayed:
            one.fill_(torch.nan)
        graph.replay()
        for one, other in zip(replayed, eager, strict=True):
            assert torch.equal(one, other)

    def test_odd_numbers_of_channels_take_the_plain_path(self):
        x, weight, bias = (t.detach().cuda() for t in draw(2, 2, 4, 4, 3, 5))
        found = conv_relu_pool(x, weight, bias).cpu()
        torch.testing.assert_close(found, textbook(x.cpu(), weight.cpu(), bias.cpu()))


def test_neither_triton_nor_its_kernels_are_loaded_without_need():
    code = (
        "import sys, torch; from residuum.training.layers import conv_relu_pool;"
        "conv_relu_pool(torch.ones(1, 1, 2, 2, 1), torch.ones(1, 3, 3, 1, 1), torch.ones(1, 1));"
        "print([m for m in sys.modules if m.startswith('residuum.training.') and 'kern' in m])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("[]\n", 0)
