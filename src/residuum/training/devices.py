"""Where networks are trained."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from residuum.errors import ResiduumError

if TYPE_CHECKING:
    import torch

DeviceName = Literal["auto", "cpu", "cuda"]


def find_device(name: DeviceName) -> torch.device:
    """Return a device; `auto` is CUDA where there is any.

    On a CPU one thread is then used, unless OMP_NUM_THREADS says otherwise: steps of small
    networks are so short that threads wait for each other longer than they work.
    """
    try:
        import safetensors  # noqa: F401
        import torch
    except ImportError as error:
        raise ResiduumError(
            f"networks are trained by PyTorch, and {error.name} is not installed; "
            "run: pip install 'residuum[study]'"
        ) from None
    if name == "cuda" and not torch.cuda.is_available():
        raise ResiduumError("device cuda: PyTorch finds no CUDA here; choose cpu")
    if name != "cpu" and torch.cuda.is_available():
        return torch.device("cuda")
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    return torch.device("cpu")
