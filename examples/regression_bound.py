"""A regression that knows an order: at one place, a house with more rooms does not cost less.

Ten prices are given, with errors. The rule is about sixty other houses without prices.
"""

import torch
from torch import nn

import residuum as rs

HOUSES, LABELLED, PLACES = 60, 10, 3

rule = rs.compile(
    """forall h, g in house:
           Place(h) = Place(g) & Rooms(h) < Rooms(g) -> 0 <= Price(h) & Price(h) <= Price(g)""",
    "s-product",
    domains={"house": HOUSES},
    quantities={"Place": 0, "Rooms": 0, "Price": 0.1},  # places and rooms are known: crisp
    weight=1 / HOUSES,
)


def draw(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the places, the rooms and the true prices of some houses."""
    place, rooms = torch.randint(PLACES, (count,)), torch.randint(1, 7, (count,)).float()
    return place, rooms, 0.2 + place + 0.3 * rooms


def features(place: torch.Tensor, rooms: torch.Tensor) -> torch.Tensor:
    """Return what the network sees of houses."""
    return torch.cat([nn.functional.one_hot(place, PLACES).float(), rooms[:, None]], 1)


def train(weight: float) -> None:
    """Train a network on the labels and the rule, and print what it has learnt."""
    torch.manual_seed(1)
    place, rooms, price = draw(LABELLED)
    price = price + torch.randn(LABELLED)  # labels with errors
    others = draw(HOUSES)
    known = {"Place": others[0].float(), "Rooms": others[1]}
    network = nn.Sequential(
        nn.Linear(PLACES + 1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(301):
        predicted = network(features(*others[:2])).squeeze(1)
        loss = nn.functional.mse_loss(network(features(place, rooms)).squeeze(1), price)
        if weight:
            loss = loss + weight * rule(known, Price=predicted)
        if step % 100 == 0:
            error = (predicted - others[2]).abs().mean()
            broken = 1 - rule.metrics(known, Price=predicted.detach())["groundings"]
            print(
                f"  step {step:3}: error {error.item():.2f}, pairs that break the rule {broken:.1%}"
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


print("labels alone")
train(weight=0.0)
print("labels and the rule")
train(weight=1.0)
