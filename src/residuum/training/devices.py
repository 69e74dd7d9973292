"""The device that networks are trained on, and what a record says of the machine.

PyTorch is imported inside the functions: the command line reads `DeviceName` without it.
"""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Literal

import residuum
from residuum.errors import ResiduumError

if TYPE_CHECKING:
    import torch

DeviceName = Literal["auto", "cpu", "cuda"]


def find_device(name: DeviceName) -> torch.device:
    """Return a device; `auto` is CUDA where PyTorch finds a GPU, and the CPU elsewhere.

    On the CPU, PyTorch is set to one thread unless OMP_NUM_THREADS is set: the steps of small
    networks are so short that threads wait for each other longer than they work.
    """
    try:
        import safetensors  # noqa: F401
        import torch
    except ImportError as error:
        raise ResiduumError(
            f"training needs PyTorch and safetensors, but {error.name} is not installed; "
            "run: pip install 'residuum[study]'"
        ) from None
    if name == "cuda" and not torch.cuda.is_available():
        raise ResiduumError("device cuda: PyTorch finds no CUDA here; choose cpu")
    if name != "cpu" and torch.cuda.is_available():
        return torch.device("cuda")
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    return torch.device("cpu")


def environment(device: torch.device, runs: int) -> dict[str, str | int]:
    """Return the machine, the versions and the number of stacked runs, for a record."""
    import torch

    is_cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if is_cuda else platform.machine(),
        "python": platform.python_version(),
        "residuum": residuum.__version__,
        "runs_together": runs,
        "torch": str(torch.__version__),
    }
