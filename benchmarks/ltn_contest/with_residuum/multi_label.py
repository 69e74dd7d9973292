"""Crabs that are blue or orange, and male or female: four labels, and rules that exclude two."""

import torch

import residuum as rs


def train(network, batches):
    rules = rs.compile(
        "~(Is(blue) & Is(orange)) & ~(Is(male) & Is(female))",
        domains={"label": ["blue", "orange", "male", "female"]},
        predicates={"Is": ("label",)},
        outputs={"Is": "independent"},
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (crabs, labels) in batches:
        logits = network(crabs)
        said_yes = torch.where(labels, 1, -100)  # what is not said is left to the rules
        loss = rs.facts(logits, said_yes, independent=True) + rules(Is=logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
