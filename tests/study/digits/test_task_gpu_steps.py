"""On a GPU, with recorded steps and parallel branches, runs give the same results as on a CPU."""

from dataclasses import replace

import pytest
import torch
from test_task_stacks import RUNS, training_of

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import load_images

STEADY = [
    replace(run, clip=clip, average=0.9, weight_ramp=2, rate_ramp=1)
    for run, clip in zip(RUNS, (0.5, None, 2.0, 100.0), strict=True)
]
WILD = [*RUNS, replace(RUNS[0], learning_rate=1e200)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("runs", [RUNS, STEADY, WILD])
def test_a_stack_on_a_gpu_is_the_stack_on_a_cpu(runs):
    here, there = (
        training_of(
            runs, ImageTensors(load_images("embedded"), torch.float64, torch.device(device))
        )
        for device in ("cpu", "cuda")
    )
    for training in (here, there):
        training.run()
    for ours, theirs in zip(there.state, here.state, strict=True):
        torch.testing.assert_close(ours[: len(RUNS)].cpu(), theirs[: len(RUNS)], rtol=0, atol=1e-8)
    are_lost = [[one.diverged is not None for one in training.curves] for training in (here, there)]
    assert are_lost[0] == are_lost[1] == [run.learning_rate > 1 for run in runs]
