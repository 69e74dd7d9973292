"""Reductions over several processes: one value, and the gradient of the whole batch."""

import os
import subprocess
import sys

import pytest

WORKER = """
import os
import sys
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import residuum as rs

rank, meeting, relaxation, reduction = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
torch.manual_seed(0)
images = torch.randn(8, 6, dtype=torch.float64)
images[5] = images[0]  # a tie between the two shards
shard = slice(0, 3) if rank == 0 else slice(3, 8)

def loss_of(network, rows, group):
    rule = rs.compile(
        "forall a in digit: Left(a) -> Right((a + 1) mod 3)", relaxation,
        domains={"digit": 3}, reduction=reduction, process_group=group,
    )
    left, right = network(rows).chunk(2, dim=1)
    return rule(Left=left, Right=right)

alone = nn.Linear(6, 6, dtype=torch.float64)
shared = DistributedDataParallel(nn.Linear(6, 6, dtype=torch.float64))
shared.module.load_state_dict(alone.state_dict())
whole = loss_of(alone, images, None)
whole.backward()
part = loss_of(shared, images[shard], distributed.group.WORLD)
part.backward()
assert torch.isclose(whole, part, rtol=1e-12), (whole, part)
for mine, theirs in zip(alone.parameters(), shared.module.parameters()):
    assert torch.allclose(mine.grad, theirs.grad, rtol=1e-9, atol=1e-12)
    assert mine.grad.abs().sum() > 0
distributed.barrier()
# What gloo's threads do while Python shuts down is no matter of this test.
os._exit(0)
"""


@pytest.mark.parametrize("reduction", ["mean", "sum", "conjunction"])
@pytest.mark.parametrize("relaxation", ["r-product", "s-godel"])
def test_uneven_shards_give_the_value_and_gradient_of_the_whole_batch(
    tmp_path, relaxation, reduction
):
    words = [str(tmp_path / "meeting"), relaxation, reduction]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), *words],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for rank in (0, 1)
    ]
    # Both are waited for before anything is asserted: one left behind would fail a later test.
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
