"""A number for each patient, by the rule that prediction and measurement are about equal."""

import torch

import residuum as rs


def train(network, batches):
    rule = rs.compile("Predicted = Measured", quantities={"Predicted": 20.0, "Measured": 0})
    optimizer = torch.optim.Adam(network.parameters(), lr=0.0005)
    for _, (features, numbers) in batches:
        loss = rule(Predicted=network(features).squeeze(1), Measured=numbers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
