"""One model trained by several processes, which reach what one process alone reaches.

    torchrun --nproc-per-node 2 examples/ddp.py    # on several machines: --nnodes, --rdzv-endpoint
    python examples/ddp.py                         # alone

With the name of a file as an argument, the parameters are saved there.
"""

import os
import sys

import torch

# Imported before there is a group, because the functions of this module keep the group they find.
# A group that nothing keeps ends its threads when it is destroyed, not while Python shuts down.
import torch.distributed.nn
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import residuum as rs

EXAMPLES, BATCH, EPOCHS = 600, 75, 20


def train() -> None:
    """Train the network on facts and the rule. Nothing keeps the process group afterwards."""
    group = distributed.group.WORLD if is_shared else None
    torch.manual_seed(0)  # so that all processes have the same parameters and examples
    labels = torch.arange(EXAMPLES) % 10
    images = torch.eye(10, dtype=torch.float64)[labels]
    images += 0.3 * torch.randn(EXAMPLES, 10, dtype=torch.float64)
    images, labels = images.to(device), labels.to(device)
    network: nn.Module = nn.Linear(10, 20, dtype=torch.float64, device=device)
    if is_shared:
        network = DistributedDataParallel(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    # With a process group the mean is over the batch of all processes, however it is shared out.
    rule = rs.compile(
        "forall d in digit: Digit(d) -> Next((d + 1) mod 10)",
        domains={"digit": 10},
        process_group=group,
    )
    for epoch in range(EPOCHS):
        order = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(epoch)).to(device)
        for batch in order.split(BATCH):
            mine = batch[rank::size]
            digit, following = network(images[mine]).chunk(2, dim=1)
            loss = rs.facts(digit, labels[mine], process_group=group)
            loss = loss + rule(Digit=digit, Next=following)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if rank == 0:
        with torch.no_grad():
            _, following = getattr(network, "module", network)(images).chunk(2, dim=1)
        right = (following.argmax(1) == (labels + 1) % 10).double().mean()
        print(f"{size} processes: last loss {loss.item():.6f}, next digit right {right:.0%}")
        if len(sys.argv) > 1:
            torch.save(getattr(network, "module", network).state_dict(), sys.argv[1])


is_shared = "RANK" in os.environ  # set by torchrun
rank, size = (int(os.environ.get(name, usual)) for name, usual in (("RANK", 0), ("WORLD_SIZE", 1)))
device = torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
if is_shared:
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
train()
if is_shared:
    distributed.barrier()
    distributed.destroy_process_group()
