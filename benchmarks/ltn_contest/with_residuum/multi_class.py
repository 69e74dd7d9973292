"""Three species of irises, of which each flower has one."""

import torch

import residuum as rs


def train(network, batches):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (flowers, species) in batches:
        loss = rs.facts(network(flowers), species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
