"""Binary classification: points inside of a disc and outside."""

import torch

import residuum as rs


def train(network, batches):
    yes, no = rs.compile("Inside"), rs.compile("~Inside")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (points, labels) in batches:
        logits = network(points).squeeze(1)
        loss = yes(Inside=logits[labels]) + no(Inside=logits[~labels])  # a mean over each group
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
