"""Makes what `residuum report --rules` reads: rules, predictions, and a training log of metrics.

Run it with `python examples/report_of_own_rules.py FOLDER`, and then the command that it prints.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

import residuum as rs

RULES = """
    domain digit = 0..9
    predicate Digit(digit)
    predicate Next(digit)
    predicate Even
    predicate Large

    rule next: forall d in digit: Digit(d) -> Next((d + 1) mod 10)
    rule even: forall d in digit where d mod 2 = 0: Digit(d) -> Even
    rule odd: forall d in digit where d mod 2 = 1: Digit(d) -> ~Even
    rule large: forall d in digit where d > 5: Digit(d) -> Large
"""
EPOCHS = 60


def outputs_of(network, images):
    """Return the logits of each predicate."""
    digit, following, even, large = network(images).split([10, 10, 1, 1], 1)
    return {
        "Digit": digit,
        "Next": following,
        "Even": even.squeeze(1),
        "Large": large.squeeze(1),
    }


def main(folder):
    """Train a network on labels and rules; log metrics after each epoch, and save predictions."""
    torch.manual_seed(0)
    knowledge = rs.loads(RULES)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rules.rsd").write_text(RULES)
    rules = rs.compile(knowledge, "r-product")
    labels = torch.randint(10, (1000,))
    images = torch.eye(10)[labels] + 0.4 * torch.randn(1000, 10)
    network = torch.nn.Linear(10, 22)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.03)
    with (folder / "log.jsonl").open("w") as log:
        for epoch in range(EPOCHS):
            outputs = outputs_of(network, images)
            loss = rs.facts(outputs["Digit"], labels) + 0.1 * rules.total(outputs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            line = {"epoch": epoch, "loss": loss.item(), **rules.diagnose(outputs)}
            log.write(json.dumps(line) + "\n")
    with torch.no_grad():
        predictions = outputs_of(network, images[:200])
    np.savez(folder / "predictions.npz", **{name: z.numpy() for name, z in predictions.items()})


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    main(place)
    print(
        f"residuum report --rules {place / 'rules.rsd'} --sample {place / 'predictions.npz'} "
        f"--inputs logits --run {place / 'log.jsonl'}"
    )
