"""Tensors as a carrier: values and gradients of its functions equal formulas by hand."""

from __future__ import annotations

import math

import pytest
import torch

from residuum.losses.degrees.tensors import TENSORS, floor

POINTS = [1e-20, 1e-5, 0.3, 0.5, 0.7, 1 - 1e-6]
FUNCTIONS = {
    "log": (TENSORS.log, math.log, lambda x: 1 / x),
    "log1p": (TENSORS.log1p, math.log1p, lambda x: 1 / (1 + x)),
    "log1p of -x": (lambda x: TENSORS.log1p(-x), lambda x: math.log1p(-x), lambda x: -1 / (1 - x)),
    "square root": (lambda x: TENSORS.power(x, 0.5), math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "cube": (lambda x: TENSORS.power(x, 3), lambda x: x**3, lambda x: 3 * x * x),
    "exp": (TENSORS.exp, math.exp, math.exp),
    "expm1": (TENSORS.expm1, math.expm1, math.exp),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_the_function(name, dtype):
    function, value, derivative = FUNCTIONS[name]
    x = torch.tensor(POINTS, dtype=dtype, requires_grad=True)
    y = function(x)
    y.sum().backward()
    points = x.tolist()
    torch.testing.assert_close(y.detach(), torch.tensor([value(p) for p in points], dtype=dtype))
    torch.testing.assert_close(x.grad, torch.tensor([derivative(p) for p in points], dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_below_the_floor_the_logarithm_is_its_tangent(dtype):
    bottom = floor(torch.zeros((), dtype=dtype))
    x = torch.tensor([0.0, bottom / 2], dtype=dtype, requires_grad=True)
    y = TENSORS.log(x)
    y.sum().backward()
    expected = [math.log(bottom) - 1, math.log(bottom) - 0.5]
    torch.testing.assert_close(y.detach(), torch.tensor(expected, dtype=dtype))
    torch.testing.assert_close(x.grad, torch.full((2,), 1 / bottom, dtype=dtype))


def test_an_excess_has_no_gradient_where_its_arguments_are_equal():
    x = torch.tensor([0.5, 0.5], requires_grad=True)
    TENSORS.excess(x[0], x[1]).backward()
    assert x.grad.tolist() == [0, 0]


def test_equal_arguments_share_the_gradient_of_a_minimum():
    x = torch.tensor([0.5, 0.5], requires_grad=True)
    TENSORS.minimum(x[0], x[1]).backward()
    assert x.grad.tolist() == [0.5, 0.5]
