"""Smokers and friends, the first example of Logic Tensor Networks.

Fourteen people live in two towns (Serafini and Garcez, 2016). Friendships inside a town are known,
all smokers of the first town and two of the second, and who has cancer in the first town alone. The
rules have exceptions: the networks find degrees that obey them as far as the facts allow.
"""

import torch
from torch import nn

import residuum as rs

PEOPLE = list("abcdefghijklmn")
TOWNS = "abcdefgh", "ijklmn"
FRIENDS = ["ab", "ae", "af", "ag", "bc", "cd", "ef", "gh", "ij", "jm", "kl", "mn"]
SMOKERS = {"a": 1, "e": 1, "f": 1, "g": 1, "b": 0, "c": 0, "d": 0, "h": 0, "i": 1, "n": 1}
CANCER = {"a": 1, "e": 1, "b": 0, "c": 0, "d": 0, "f": 0, "g": 0, "h": 0}

knowledge = rs.loads("""
    domain person
    predicate Smokes(person)
    predicate Cancer(person)
    predicate Friends(person, person)
    facts friends: Friends
    facts smokers: Smokes
    facts cancer: Cancer
    rule irreflexive: forall x in person: ~Friends(x, x)
    rule symmetric:   forall x, y in person: Friends(x, y) -> Friends(y, x)
    rule company:     forall x in person: exists y in person: Friends(x, y)
    rule influence:   forall x, y in person: Friends(x, y) & Smokes(x) -> Smokes(y)
    rule harm:        forall x in person: Smokes(x) -> Cancer(x)
""")


def network(members: int) -> nn.Module:
    """Return a network that reads the embeddings of some people, and gives one logit."""
    layers = nn.Sequential(nn.Linear(5 * members, 16), nn.ELU(), nn.Linear(16, 1))
    return rs.concatenated(layers)


def pairs_in_one_town() -> tuple[torch.Tensor, torch.Tensor]:
    """Return all pairs of different people of one town, and whether they are known as friends."""
    pairs = [(x, y) for town in TOWNS for x in town for y in town if x < y]
    index = torch.tensor([[PEOPLE.index(x), PEOPLE.index(y)] for x, y in pairs]).T
    return index, torch.tensor([int(x + y in FRIENDS) for x, y in pairs])


def of_people(known: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the numbers of people of whom something is known, and what it is."""
    return torch.tensor([PEOPLE.index(x) for x in known]), torch.tensor(list(known.values()))


torch.manual_seed(0)
theory = rs.Theory(
    knowledge,
    relaxation="s-product",
    Smokes=network(1),
    Cancer=network(1),
    Friends=network(2),
    person=rs.Members(PEOPLE, dim=5),
)
facts = {
    "friends": pairs_in_one_town(),
    "smokers": of_people(SMOKERS),
    "cancer": of_people(CANCER),
}
optimizer = torch.optim.Adam(theory.parameters(), lr=0.01)
for step in range(401):
    assessed = theory(facts)
    if step % 200 == 0:
        truth = theory.metrics()
        told = [f"{name} {truth[f'{name}/truth']:.2f}" for name in knowledge.rules]
        cost = sum(assessed.parts[name].item() for name in facts)
        print(f"step {step:3}: facts cost {cost:.2f}; mean truth of", *told)
    optimizer.zero_grad()
    assessed.total.backward()
    optimizer.step()

print("what the networks believe, though it breaks a rule:")
for broken in theory.violations(top=2).values():
    for one in broken:
        print(f"  {one}")
