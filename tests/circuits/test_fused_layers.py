"""Circuits in Triton's kernels, on a GPU or in Triton's interpreter, against logarithms."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

COMPARED = """
import sys
import torch
from ground_formulas import random_case, stated
from residuum.circuits import fused_layers
from residuum.circuits.compiling import compile_circuit
from residuum.circuits.evaluation import Evaluator
from residuum.circuits.propositions import Propositions

device, seeds = torch.device(sys.argv[1]), int(sys.argv[2])
fused_layers.MOST_COLUMNS = 4
compared = 0
for seed in range(seeds):
    sizes, formula = random_case(seed)
    of = Propositions(sizes)
    root = stated(formula, of)
    if root in (of.TRUE, of.FALSE):
        continue
    evaluator = Evaluator(compile_circuit(of, root), device)
    if evaluator.constant is not None:
        continue
    torch.manual_seed(seed)
    drawn = [torch.randn(6, n, dtype=torch.float64) for n in sizes]
    drawn[0][1:3] *= 300  # so that probabilities are too small for double precision
    weights = torch.cat([one.log_softmax(-1) for one in drawn], 1).to(device).requires_grad_()
    fused = fused_layers.FusedLayers(evaluator.layers, device)
    expected = evaluator.log_probability(weights)
    [gradient] = torch.autograd.grad(expected.sum(), weights)
    for at_a_time in (1 << 27, 1):
        fused_layers.AT_A_TIME = at_a_time
        with torch.no_grad():
            value, known = fused.run(weights, wants_gradient=True)
            alone, nothing = fused.run(weights, wants_gradient=False)
        torch.testing.assert_close(value, expected.detach(), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(known, gradient, rtol=1e-9, atol=1e-9)
        assert torch.equal(alone, value) and nothing is None
    none = fused.run(weights[:0].detach(), wants_gradient=True)
    assert none[0].shape == (0,) and none[1].shape == weights[:0].shape
    impossible = torch.full_like(weights, -torch.inf).detach()
    value, known = fused.run(impossible, wants_gradient=True)
    assert (value == -torch.inf).all() and not known.isnan().any()
    compared += 1
assert compared > seeds / 5
"""


def compare(device, seeds, **environment):
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, *filter(None, sys.path)])
    command = [sys.executable, "-c", COMPARED, device, str(seeds)]
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_kernels_agree_with_logarithms_on_a_gpu():
    compare("cuda", 60)


@pytest.mark.skipif(
    find_spec("triton") is None or torch.cuda.is_available(),
    reason="the interpreter needs Triton, and is slow where the kernels themselves can be tested",
)
def test_kernels_agree_with_logarithms_in_the_interpreter():
    compare("cpu", 20, TRITON_INTERPRET="1")
