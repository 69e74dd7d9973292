"""Training one model in two processes reaches what one process alone reaches."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import torch

EXAMPLE = str(Path(__file__).parents[1] / "examples" / "ddp.py")


def test_two_processes_reach_the_parameters_of_one(tmp_path, monkeypatch, capsys):
    alone, shared = str(tmp_path / "alone.pt"), str(tmp_path / "shared.pt")
    monkeypatch.setattr(sys, "argv", [EXAMPLE, alone])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with torch.random.fork_rng():
        runpy.run_path(EXAMPLE, run_name="__main__")
    assert "1 processes" in capsys.readouterr().out
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*launcher, "--nproc-per-node", "2", EXAMPLE, shared],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    assert "2 processes" in done.stdout
    expected, found = torch.load(alone), torch.load(shared)
    assert expected.keys() == found.keys() == {"weight", "bias"}
    untrained = torch.nn.Linear(10, 20).state_dict()
    for name, value in expected.items():
        assert value.dtype == torch.float64
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-11)
        assert (value - untrained[name]).abs().max() > 0.1
