"""The same penalties on a GPU. These tests skip themselves where there is none."""

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 5)"


def _outputs(device, dtype=torch.float64, examples=7, classes=5):
    generator = torch.Generator().manual_seed(0)
    drawn = [3 * torch.randn(examples, classes, generator=generator) for _ in range(3)]
    return {
        name: one.to(device, dtype).requires_grad_()
        for name, one in zip(("Left", "Right", "Sum"), drawn, strict=True)
    }


def _penalty_and_slopes(rule, outputs):
    penalty = rule(outputs)
    found = torch.autograd.grad(penalty.sum(), list(outputs.values()), allow_unused=True)
    return [penalty, *(torch.zeros(()) if one is None else one for one in found)]


@pytest.mark.parametrize("relaxation", [*relaxation_names(), "exact"])
def test_values_and_gradients_are_those_of_the_cpu(relaxation):
    rule = rs.compile(SUM, relaxation, domains={"digit": 5})
    here = _penalty_and_slopes(rule, _outputs("cpu"))
    there = _penalty_and_slopes(rule, _outputs("cuda"))
    for mine, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(theirs.cpu(), mine, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", rs.PAPER)
def test_a_large_table_of_groundings_too(relaxation):
    rule = rs.compile(SUM.replace("5", "70"), relaxation, domains={"digit": 70})
    here = _penalty_and_slopes(rule, _outputs("cpu", classes=70))
    there = _penalty_and_slopes(rule, _outputs("cuda", classes=70))
    for mine, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(theirs.cpu(), mine, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz"])
def test_blocks_on_a_gpu_give_what_one_block_gives(relaxation):
    whole = rs.compile(SUM, relaxation, domains={"digit": 5})
    blocks = rs.compile(SUM, relaxation, domains={"digit": 5}, block=10)
    pairs = zip(
        _penalty_and_slopes(whole, _outputs("cuda")),
        _penalty_and_slopes(blocks, _outputs("cuda")),
        strict=True,
    )
    for mine, theirs in pairs:
        torch.testing.assert_close(theirs, mine, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", rs.PAPER)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_under_autocast_is_returned_in_single_precision(relaxation, dtype):
    rule = rs.compile(SUM, relaxation, domains={"digit": 5})
    outputs = _outputs("cuda", dtype)
    with torch.autocast("cuda", dtype=dtype):
        penalty = rule(outputs)
    assert penalty.dtype == torch.float32
    same = rule({name: one.detach().float() for name, one in outputs.items()})
    torch.testing.assert_close(penalty.detach(), same)


def test_a_saturated_wrong_network_still_learns_on_a_gpu():
    rule = rs.compile("P -> Q", "s-product")
    logits = {"P": torch.tensor([1e4], device="cuda"), "Q": torch.tensor([-1e4], device="cuda")}
    for one in logits.values():
        one.requires_grad_()
    rule(logits).sum().backward()
    slopes = torch.cat([logits["P"].grad, logits["Q"].grad]).cpu()
    torch.testing.assert_close(slopes, torch.tensor([0.5, -0.5]))


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of its own parts
def test_compiled_with_triton_gives_the_same():
    rule = rs.compile(SUM, "r-product", domains={"digit": 5})
    outputs = _outputs("cuda", torch.float32)
    fused = torch.compile(rule, fullgraph=True)
    torch.testing.assert_close(fused(outputs), rule(outputs))


def test_tensors_on_two_devices_are_refused():
    rule = rs.compile("P -> Q", "r-product")
    with pytest.raises(rs.ResiduumError, match="one device"):
        rule(P=torch.zeros(2), Q=torch.zeros(2, device="cuda"))
