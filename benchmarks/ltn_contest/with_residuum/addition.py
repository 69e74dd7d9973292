"""Digits from sums: of two images only the sum of their digits is known."""

import torch

import residuum as rs


def train(network, batches):
    rule = rs.compile(
        "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)",
        "exact",
        domains={"digit": 10, "sum": 19},
        predicates={"Sum": ("sum",)},
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (left, right, total) in batches:
        loss = rule(Left=network(left), Right=network(right), observed={"Sum": total})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
