"""Recurrent layers are PyTorch's, for many networks at once."""

import pytest
import torch
from torch import nn

from residuum.training.recurrence import gru, lstm

NETWORKS, POSITIONS, EXAMPLES, INPUTS, UNITS = 3, 5, 4, 2, 6


def _layers(kind):
    torch.manual_seed(0)
    return [kind(INPUTS, UNITS).double() for _ in range(NETWORKS)]


def _inputs():
    torch.manual_seed(1)
    return torch.randn(NETWORKS, POSITIONS, EXAMPLES, INPUTS, dtype=torch.float64)


def _run_lstm(layers, x):
    gates = [
        one @ layer.weight_ih_l0.T + layer.bias_ih_l0 + layer.bias_hh_l0
        for layer, one in zip(layers, x, strict=True)
    ]
    return lstm(torch.stack(gates), torch.stack([layer.weight_hh_l0.T for layer in layers]))


def _run_gru(layers, x):
    gates = [
        one @ layer.weight_ih_l0.T + layer.bias_ih_l0 for layer, one in zip(layers, x, strict=True)
    ]
    weights = torch.stack([layer.weight_hh_l0.T for layer in layers])
    return gru(torch.stack(gates), weights, torch.stack([layer.bias_hh_l0 for layer in layers]))


@pytest.mark.parametrize(("kind", "run"), [(nn.LSTM, _run_lstm), (nn.GRU, _run_gru)])
def test_outputs_and_gradients_are_those_of_the_layers_one_by_one(kind, run):
    layers, x = _layers(kind), _inputs()
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    found = run(layers, x)
    expected = torch.stack([layer(one)[0] for layer, one in zip(layers, x, strict=True)])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
    slope = torch.randn(found.shape, dtype=torch.float64)
    ours, theirs = (
        torch.autograd.grad(outputs, parameters, slope) for outputs in (found, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


def test_the_gradient_of_the_lstm_is_that_of_differences():
    torch.manual_seed(2)
    gates = torch.randn(2, 3, 2, 4 * 2, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 2, 4 * 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lstm, (gates, weight))


def test_one_position_has_no_state_before_it():
    gates = torch.randn(1, 1, 2, 4 * 3, requires_grad=True)
    weight = torch.randn(1, 3, 4 * 3, requires_grad=True)
    of_weight = torch.autograd.grad(lstm(gates, weight).sum(), weight)[0]
    assert not of_weight.any()
