"""Binary classification: points inside of a disc and outside."""

import torch

import residuum as rs


def train(network, batches):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (points, labels) in batches:
        loss = rs.facts(network(points).squeeze(1), labels, independent=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
