"""Reductions over several processes give the value and the gradient of the whole batch."""

import os
import subprocess
import sys

WORKER = """
import os
import sys
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import residuum as rs

rank, meeting = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
torch.manual_seed(0)
images = torch.randn(8, 6, dtype=torch.float64)
images[5] = images[0]  # a tie between the two shards

KNOWLEDGE = rs.loads('''
    domain digit = 0..2
    predicate Left(digit)
    predicate Right(digit)
    rule follows: forall a in digit: Left(a) -> Right((a + 1) mod 3)
    rule some weight 2: exists a in digit: Left(a) & Right(a)
    rule differs weight 0.5: forall a in digit: Left(a) -> ~Right(a)
''')
# A masked class in the first shard: there, but not in the second, rules are evaluated one by one.
masks = torch.zeros(8, 3, dtype=torch.float64)
masks[1, 2] = -torch.inf

def losses_of(network, rows, relaxation, options):
    rule = rs.compile(
        "forall a in digit: Left(a) -> Right((a + 1) mod 3)", relaxation,
        domains={"digit": 3}, **options
    )
    knowledge = rs.compile(KNOWLEDGE, relaxation, **options)
    left, right = network(images[rows]).chunk(2, dim=1)
    given = {"Left": left + masks[rows], "Right": right}
    return [rule(given), knowledge.total(given), *knowledge(given).values()]

def compare(relaxation, options, first):
    shard = slice(0, first) if rank == 0 else slice(first, 8)
    alone = nn.Linear(6, 6, dtype=torch.float64)
    shared = DistributedDataParallel(nn.Linear(6, 6, dtype=torch.float64))
    shared.module.load_state_dict(alone.state_dict())
    whole = losses_of(alone, slice(0, 8), relaxation, options)
    group = {"process_group": distributed.group.WORLD}
    part = losses_of(shared, shard, relaxation, options | group)
    for mine, theirs in zip(whole, part, strict=True):
        assert torch.isclose(mine, theirs, rtol=1e-12), (whole, part)
    sum(n * loss for n, loss in enumerate(whole, start=1)).backward()
    sum(n * loss for n, loss in enumerate(part, start=1)).backward()
    for mine, theirs in zip(alone.parameters(), shared.module.parameters()):
        assert torch.allclose(mine.grad, theirs.grad, rtol=1e-9, atol=1e-12)
        assert mine.grad.abs().sum() > 0

for relaxation in ("r-product", "s-godel"):
    for options in ({}, {"reduction": "sum"}, {"reduction": "conjunction"}):
        compare(relaxation, options, first=3)
compare("r-product", {"reduction": "mean"}, first=8)  # the second shard has no example
distributed.barrier()
# The threads of gloo may fail while Python shuts down, which is not what is tested.
os._exit(0)
"""


def test_uneven_and_empty_shards_give_the_values_and_gradients_of_the_whole_batch(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path / "meeting")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for rank in (0, 1)
    ]
    # Wait for both before asserting: a process that is left behind would fail a later test.
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
