"""Four clusters from rules alone: close points lie in one cluster, distant points do not."""

import torch

import residuum as rs

KNOWLEDGE = rs.loads("""
    domain point = 0..199
    domain cluster = 0..3
    quantity Distance(point, point) scale 0
    predicate In(point, cluster)
    rule used: forall c in cluster: exists x in point: In(x, c)
    rule close: forall x, y in point, c in cluster:
        Distance(x, y) < 0.2 & In(x, c) -> In(y, c)
    rule distant: forall x, y in point, c in cluster:
        Distance(x, y) > 1.0 -> ~(In(x, c) & In(y, c))
""")


def train(network, batches):
    rules = rs.compile(KNOWLEDGE, "s-product", over="mean")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (points, distances) in batches:
        loss = rules.total(In=network(points), Distance=distances)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
