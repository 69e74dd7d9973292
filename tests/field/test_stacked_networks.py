"""A stacked network is an ordinary one, and the same alone and in any stack."""

import pytest
import torch
from torch import nn

from residuum.field.stacked_networks import StackedNetworks


def test_a_network_of_a_stack_is_a_multilayer_perceptron():
    networks = StackedNetworks([3, 4], [6, 10, 10, 2], bias=torch.ones(2, 2))
    x = torch.randn(2, 7, 6)
    for place in range(2):
        layers = []
        for weight, bias in zip(networks.parameters[::2], networks.parameters[1::2], strict=True):
            layer = nn.Linear(weight.shape[1], weight.shape[2])
            layer.weight.data, layer.bias.data = weight[place].T, bias[place]
            layers += [layer, nn.ReLU()]
        expected = nn.Sequential(*layers[:-1])(x[place])
        torch.testing.assert_close(networks(x)[place], expected)
        torch.testing.assert_close(
            networks(x[place : place + 1], slice(place, place + 1))[0], expected
        )
    assert (networks.parameters[-1] == 1).all()


def test_a_network_is_the_same_alone_and_in_a_stack():
    both, alone = (StackedNetworks(seeds, [6, 10, 2]) for seeds in ([3, 4], [4]))
    x = torch.randn(2, 7, 6)
    for one, other in zip(both.parameters, alone.parameters, strict=True):
        assert torch.equal(one[1:], other)
    found = both(x, step=5, dropout=(0.5, 0.5))
    torch.testing.assert_close(found[1:], alone(x[1:], step=5, dropout=(0.5, 0.5)))
    assert not torch.equal(found, both(x, step=6, dropout=(0.5, 0.5)))
    rows = torch.arange(20).expand(2, -1)
    batches = list(both.batches(rows, 8, epoch=1))
    assert [batch.shape for batch in batches] == [(2, 8), (2, 8), (2, 4)]
    order = torch.cat(batches, 1)
    assert order[1].tolist() == torch.cat(list(alone.batches(rows[:1], 8, 1)), 1)[0].tolist()
    assert order.sort(1).values.tolist() == rows.tolist()
    assert order[0].tolist() != order[1].tolist()


@pytest.mark.parametrize("place", [0, 1])
def test_units_are_dropped_at_the_rate_that_is_asked_for(place):
    dropout = (0.7, 0.0) if place == 0 else (0.0, 0.7)
    networks = StackedNetworks([1], [400, 400, 1])
    with torch.no_grad():
        networks.parameters[0].copy_(torch.eye(400))
        networks.parameters[2].fill_(1 / 400)
    found = networks(torch.ones(1, 200, 400), dropout=dropout)
    assert found.mean().item() == pytest.approx(1, abs=0.02)  # scaled up by as much
    assert found.std().item() == pytest.approx((0.7 / 0.3 / 400) ** 0.5, rel=0.2)
