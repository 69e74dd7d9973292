"""Runs a benchmark as its command does, in this process, which has loaded PyTorch already."""

import runpy
import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run_benchmark(name: str, *words: str | Path) -> None:
    with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng():
        patch.setattr(sys, "argv", [name, *map(str, words)])
        # Benchmarks set these, and leave them set.
        patch.setenv("KINETO_LOG_LEVEL", "6")
        patch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
        runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
