"""The digit networks equal PyTorch's layers, and do not depend on the other runs."""

import pytest
import torch
from scipy import stats

from residuum.study.digits.networks import Classifiers

SEEDS = [0, 20, 50]


def some_images(runs, examples, height=8, width=8):
    chance = torch.Generator().manual_seed(7)
    return torch.randn((runs, examples, height, width), generator=chance).double()


def pytorch_twin(networks, run, height, width):
    """The network of one run, made of PyTorch's own layers."""
    flat = (height // 4) * (width // 4)
    twin = torch.nn.Sequential(
        torch.nn.Conv2d(1, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(flat * 64, 128), torch.nn.ReLU(),
        torch.nn.Dropout(0.5), torch.nn.Linear(128, 10),
    ).double()  # fmt: skip
    # Here channels come last, in kernels and in what is flattened; there they come first.
    hidden = networks.hidden_weight[run].reshape(flat, 64, 128).permute(2, 1, 0)
    weights = {
        "0.weight": networks.first_weight[run].permute(3, 2, 0, 1),
        "0.bias": networks.first_bias[run],
        "3.weight": networks.second_weight[run].permute(3, 2, 0, 1),
        "3.bias": networks.second_bias[run],
        "7.weight": hidden.reshape(128, -1),
        "7.bias": networks.hidden_bias[run],
        "10.weight": networks.output_weight[run].T,
        "10.bias": networks.output_bias[run],
    }
    twin.load_state_dict(weights)
    return twin.eval()


@pytest.mark.parametrize("width", [8, 16])
def test_each_run_is_a_network_of_pytorchs_layers(width):
    networks = Classifiers("Sum", SEEDS, 8, width, precision="float64")
    images = some_images(3, 5, width=width)
    found = networks(images)
    gradients = torch.autograd.grad(found.square().sum(), networks.hidden_weight)[0]
    for run in range(3):
        twin = pytorch_twin(networks, run, 8, width)
        expected = twin(images[run].unsqueeze(1))
        torch.testing.assert_close(found[run], expected, rtol=1e-10, atol=1e-12)
        expected.square().sum().backward()
        theirs = twin[7].weight.grad.reshape(128, 64, -1).permute(2, 1, 0).reshape(-1, 128)
        torch.testing.assert_close(gradients[run], theirs, rtol=1e-9, atol=1e-12)


def hidden_units(networks, images, moment):
    """What the output layer sees, read off logits that are made to repeat it."""
    with torch.no_grad():
        networks.output_weight.zero_()
        networks.output_bias.zero_()
        seen = []
        for start in range(0, 120, 10):
            networks.output_weight.zero_()
            for digit in range(10):
                networks.output_weight[:, start + digit, digit] = 1
            seen.append(networks(images, moment))
    return torch.cat(seen, -1)


def test_half_of_the_units_are_dropped_and_the_rest_doubled():
    networks = Classifiers("Sum", SEEDS, 8, 8, precision="float64")
    images = some_images(3, 100)
    whole = hidden_units(networks, images, None)
    trained = hidden_units(networks, images, torch.tensor(5))
    alive = whole > 0
    is_kept = trained[alive] > 0
    torch.testing.assert_close(trained[alive][is_kept], 2 * whole[alive][is_kept])
    assert not trained[~alive].any()
    deviation = (0.25 / len(is_kept)) ** 0.5
    assert abs(float(is_kept.double().mean()) - 0.5) < 5 * deviation


def dropped(name, seeds, moment):
    """Which of a unit and an example are dropped, with units that are never 0 without."""
    networks = Classifiers(name, seeds, 8, 8, precision="float64")
    with torch.no_grad():
        networks.hidden_weight.zero_()
        networks.hidden_bias.fill_(1)
    return hidden_units(networks, some_images(len(seeds), 50), torch.tensor(moment)) == 0


def test_what_is_dropped_differs_by_step_run_network_and_example_but_not_by_company():
    found = dropped("Sum", SEEDS, 5)
    for place, seed in enumerate(SEEDS):
        assert torch.equal(dropped("Sum", [seed], 5)[0], found[place])
    others = [
        found[1], dropped("Sum", [0], 6)[0], dropped("Product", [0], 5)[0], found[0].roll(1, 0),
    ]  # fmt: skip
    for other in others:  # as independent coins are: half of them agree
        share = float((other == found[0]).double().mean())
        assert abs(share - 0.5) < 5 * (0.25 / other.numel()) ** 0.5


def test_parameters_begin_as_pytorchs_do():
    networks = Classifiers("Sum", SEEDS, 8, 16, precision="float64")
    twin = pytorch_twin(networks, 0, 8, 16)
    torch.manual_seed(0)
    for place, name in ((0, "first"), (3, "second"), (7, "hidden"), (10, "output")):
        twin[place].reset_parameters()
        for part, size in (("weight", 30_000), ("bias", 128)):
            ours = getattr(networks, f"{name}_{part}").detach()
            theirs = getattr(twin[place], part).detach()
            bound = twin[place].weight[0].numel() ** -0.5
            assert ours[0].numel() == theirs.numel()
            assert float(ours.abs().max()) <= bound
            sample = ours.flatten()[:size].numpy()
            assert stats.kstest(sample, "uniform", (-bound, 2 * bound)).pvalue > 1e-4
            assert stats.ks_2samp(sample, theirs.flatten()[:size].numpy()).pvalue > 1e-4
            assert len(set(map(tuple, ours.flatten(1).tolist()))) == 3  # each run its own


def test_parameters_depend_on_the_run_and_the_name_alone():
    together = Classifiers("Sum", SEEDS, 8, 8)
    alone = Classifiers("Sum", [50], 8, 8)
    other = Classifiers("Product", [50], 8, 8)
    for name, parameter in alone.named_parameters():
        assert torch.equal(parameter[0], together.get_parameter(name)[2])
        assert not torch.equal(parameter, other.get_parameter(name))


def test_half_precision_is_near_single_precision():
    images = some_images(2, 20)
    single = Classifiers("Sum", SEEDS[:2], 8, 8)
    half = Classifiers("Sum", SEEDS[:2], 8, 8, precision="bfloat16")
    moment = torch.tensor(3)
    expected, found = single(images.float(), moment), half(images.bfloat16(), moment)
    assert found.dtype == torch.float32
    assert all(parameter.dtype == torch.float32 for parameter in half.parameters())
    assert not torch.equal(found, expected)
    spread = float(expected.detach().std())
    torch.testing.assert_close(found, expected, rtol=0, atol=2**-5 * spread)  # of 2**-8 a rounding
    gradients = [
        torch.autograd.grad(logits.square().sum(), list(networks.parameters()))
        for logits, networks in ((expected, single), (found, half))
    ]
    for wanted, ours in zip(*gradients, strict=True):
        assert ours.dtype == torch.float32
        likeness = torch.nn.functional.cosine_similarity(ours.flatten(), wanted.flatten(), dim=0)
        assert likeness > 0.99
