"""Memory stays flat in the number of groundings."""

import subprocess
import sys

import pytest

LARGE = """
import resource
import torch
import residuum as rs

torch.set_num_threads(1)
rule = rs.compile("forall i, j in k: A(i) & B(j) -> C((i + j) mod 2000)", domains={"k": 2000})
outputs = {name: torch.randn(64, 2000, requires_grad=True) for name in "ABC"}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rule(outputs).mean().backward()
assert all(torch.isfinite(one.grad).all() for one in outputs.values())
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is counted in other units")
def test_256_million_groundings_take_less_than_a_gibibyte():
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1
