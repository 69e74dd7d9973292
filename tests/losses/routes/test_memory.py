"""Memory does not grow with the number of groundings.

The environment variable makes the allocator return large blocks at once, so that the tests measure
memory in use, not memory kept for later.
"""

import os
import subprocess
import sys

import pytest

RETURNED_AT_ONCE = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 16)}

QUESTIONS = """
import resource
import torch
import residuum as rs

torch.set_num_threads(1)
rule = rs.compile("forall i, j in k: A(i) & B(j) -> C((i + j) mod 2000)", domains={"k": 2000})
outputs = {name: (3 * torch.randn(16, 2000)).requires_grad_() for name in "ABC"}
# A first small rule imports the parts of PyTorch that recompute a block.
small = rs.compile("forall i in k: A(i) -> B(i)", domains={"k": 9}, block=4)
small.truth({name: torch.randn(2, 9, requires_grad=True) for name in "AB"}).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rule(outputs).mean().backward()
assert all(torch.isfinite(one.grad).all() for one in outputs.values())
rule.truth(outputs).sum().backward()
assert rule.truth(outputs).shape == rule.satisfied(outputs).shape == (16,)
assert (rule.coverage(outputs) == 1 / 2000**2).all()
assert len(rule.violations(outputs, top=9)) == 9
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20)
"""


TABLE = """
import resource
import torch
import residuum as rs

torch.set_num_threads(1)
rules = [
    rs.compile(
        "forall i in k, j in half, z in two: A(i) & B(j) & Z(z) -> C((i + j + z) mod 800)",
        name,
        domains={"k": 800, "half": 400, "two": 2},
        predicates={"A": ("k",), "B": ("half",), "Z": ("two",), "C": ("k",)},
    )
    for name in ("r-product", "s-product", "lukasiewicz", "s-godel")
]
sizes = {"A": 800, "B": 400, "Z": 2, "C": 800}
outputs = {name: torch.randn(64, size, requires_grad=True) for name, size in sizes.items()}
for rule in rules:
    rule({name: one[:4] for name, one in outputs.items()}).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for rule in rules:
    rule(outputs).mean().backward()
    torch.autograd.grad(rule(outputs).mean(), list(outputs.values()), create_graph=True)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_41_million_groundings_of_a_long_table_need_less_than_100_mebibytes():
    done = subprocess.run(
        [sys.executable, "-c", TABLE], capture_output=True, text=True, env=RETURNED_AT_ONCE
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1  # in GiB; one float for each grounding would be 0.15 GiB


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_penalties_and_questions_about_64_million_groundings_need_less_than_100_mebibytes():
    done = subprocess.run(
        [sys.executable, "-c", QUESTIONS], capture_output=True, text=True, env=RETURNED_AT_ONCE
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1  # in GiB; one float for each grounding would be 0.24 GiB
