"""Draws how a network learns from a rule: the picture of the README (docs/first-rule.png).

Labels say which digit an image shows, and only the rule says which digit comes next. Run it with
`python examples/first_picture.py docs/first-rule.png`; it takes seconds.
"""

import sys

import torch
from matplotlib.figure import Figure

import residuum as rs

RULE = "forall d in digit: Digit(d) -> Next((d + 1) mod 10)"
STEPS = 60


def train() -> tuple[list[float], list[float]]:
    """Return the loss of each step, and the share of examples that violate the rule."""
    torch.manual_seed(0)
    rule = rs.compile(RULE, domains={"digit": 10})
    labels = torch.arange(1000) % 10
    images = torch.eye(10)[labels] + 0.1 * torch.randn(1000, 10)
    network = torch.nn.Linear(10, 20)  # which digit it is, and which one comes next
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    losses, violated = [], []
    for _ in range(STEPS):
        digit, following = network(images).chunk(2, dim=1)
        outputs = {"Digit": digit, "Next": following}
        loss = rs.facts(digit, labels) + rule(outputs)
        losses.append(loss.item())
        violated.append(1 - rule.satisfied(outputs).float().mean().item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses, violated


def draw(path: str) -> None:
    """Train, and draw both curves under the rule."""
    losses, violated = train()
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    figure.suptitle(RULE, family="monospace", fontsize=11)
    left, right = figure.subplots(1, 2)
    left.plot(losses, color="#1f4e8c", linewidth=2)
    left.set(title="the loss falls: labels of digits, and the rule", ylim=(0, None))
    right.plot([100 * share for share in violated], color="#b1361e", linewidth=2)
    right.set(title="violations vanish: % of examples", ylim=(-2, 102))
    for axis in (left, right):
        axis.title.set_fontsize(10)
        axis.set_xlabel("step of training")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "first-rule.png")
