"""A penalty that falls while the rule is broken more often, how one sees it, and what to do.

Under r-product `A & B -> C` costs nothing once C is as likely as A and B together: at 0.6, 0.6 and
0.4 it is satisfied by half, and yet A and B are predicted, and C is not. Here all three have
labels that are often wrong, so that a network is never sure: where x is above 0, six labels in ten
say A, six say B, and three or four say C. Run it with `python examples/satisfied_by_half.py`.
"""

import torch

import residuum as rs


def outputs_of(network, inputs):
    """Return one logit per example for each predicate."""
    return dict(zip("ABC", network(inputs).unbind(1), strict=True))


def trained(relaxation):
    """Train under a relaxation; return what is measured before and after."""
    torch.manual_seed(0)
    inputs = torch.randn(2000, 4)
    shares = {"A": 0.63, "B": 0.63, "C": 0.35}
    labels = {
        name: ((inputs[:, 0] > 0) & (torch.rand(2000) < share)).float()
        for name, share in shares.items()
    }
    network = torch.nn.Linear(4, 3)
    with torch.no_grad():
        network.bias.copy_(torch.tensor([-0.5, -0.5, -3.0]))  # at first little is predicted
    rule = rs.compile("A & B -> C", relaxation, weight=2.0)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    before = rule.diagnose(outputs_of(network, inputs))
    for _ in range(300):
        outputs = outputs_of(network, inputs)
        loss = rule(outputs)
        for name, given in labels.items():
            loss = loss + rs.facts(outputs[name], given, independent=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, rule.diagnose(outputs_of(network, inputs))


def main():
    """Print the penalty beside the share of examples that obey, for three relaxations."""
    print("relaxation  penalty         examples that obey  violations without a gradient")
    for relaxation in ("r-product", "s-product", "exact"):
        before, after = trained(relaxation)
        print(
            f"{relaxation:<10}  {before['penalty']:.3f} -> {after['penalty']:.3f}"
            f"  {before['satisfied']:>6.1%} -> {after['satisfied']:>6.1%}"
            f"    {before['without_gradient']:.1%} -> {after['without_gradient']:.1%}"
        )


if __name__ == "__main__":
    main()
