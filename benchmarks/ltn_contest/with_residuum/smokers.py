"""Who smokes, who has cancer and who are friends: facts and rules that contradict each other."""

import torch

import residuum as rs

KNOWLEDGE = rs.loads("""
    domain person = 0..13
    predicate Smokes(person) independent
    predicate Cancer(person) independent
    predicate Friends(person, person) independent
    rule others: forall x in person: ~Friends(x, x)
    rule mutual: forall x, y in person: Friends(x, y) -> Friends(y, x)
    rule somebody: forall x in person: exists y in person: Friends(x, y)
    rule imitation: forall x, y in person: Friends(x, y) & Smokes(x) -> Smokes(y)
    rule effect: forall x in person: Smokes(x) <-> Cancer(x)
""")


def train(people, batches):
    rules = rs.compile(KNOWLEDGE, "s-product", over="mean")
    optimizer = torch.optim.Adam(people.parameters(), lr=0.001)
    for _, (smokes, cancer, friends) in batches:
        outputs = {
            "Smokes": people.smokes(people.vectors).squeeze(1),
            "Cancer": people.cancer(people.vectors).squeeze(1),
            "Friends": people.friends(people.pairs()).squeeze(2),
        }
        loss = rules.total(outputs)
        for name, known in {"Smokes": smokes, "Cancer": cancer, "Friends": friends}.items():
            loss = loss + rs.facts(outputs[name], known, independent=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
