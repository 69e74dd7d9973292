"""With what a run was trained."""

from __future__ import annotations

import platform

import torch

import residuum


def environment(device: torch.device, runs: int) -> dict[str, str | int]:
    """Return the machine and the versions that so many runs were trained with, for a record."""
    is_cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if is_cuda else platform.machine(),
        "python": platform.python_version(),
        "residuum": residuum.__version__,
        "runs_together": runs,
        "torch": str(torch.__version__),
    }
