"""On a GPU, with recorded steps and parallel branches, runs give the same results as on a CPU."""

import pytest
import torch
from test_task_stacks import RUNS, training_of

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import load_images


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_stack_on_a_gpu_is_the_stack_on_a_cpu():
    here, there = (
        training_of(
            RUNS, ImageTensors(load_images("embedded"), torch.float64, torch.device(device))
        )
        for device in ("cpu", "cuda")
    )
    for training in (here, there):
        training.run()
    for ours, theirs in zip(there.state, here.state, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=0, atol=1e-8)
