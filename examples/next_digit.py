"""A network learns what comes after a digit from a rule alone: no successor is ever given."""

import torch

import residuum as rs

torch.manual_seed(0)
rule = rs.compile("forall d in digit: Digit(d) -> Next((d + 1) mod 10)", domains={"digit": 10})
labels = torch.arange(1000) % 10
images = torch.eye(10)[labels] + 0.1 * torch.randn(1000, 10)
network = torch.nn.Linear(10, 20)  # which digit it is, and which one comes next
optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
for epoch in range(101):
    digit, following = network(images).chunk(2, dim=1)
    outputs = {"Digit": digit, "Next": following}
    loss = rs.facts(digit, labels) + rule(outputs)
    if epoch % 20 == 0:
        right = (following.argmax(1) == (labels + 1) % 10).float().mean()
        obeyed = rule.satisfied(outputs).float().mean()
        print(f"epoch {epoch:3}: loss {loss.item():6.3f}, next digit right {right:4.0%}, "
              f"rule obeyed {obeyed:4.0%}")  # fmt: skip
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
