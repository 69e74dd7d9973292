"""Exact questions have the same answers on a GPU. Without a GPU these tests skip."""

import pytest
import torch

import residuum as rs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 5)"


def outputs(device):
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(3, 7, 5, generator=generator, dtype=torch.float64).to(device)
    return dict(zip(("Left", "Right", "Sum"), drawn, strict=True))


def seen(device):
    return {"Sum": torch.tensor([0, 1, 2, 3, 4, -100, -100], device=device)}


@pytest.mark.parametrize("question", ["probability", "entropy", "marginals", "decode"])
@pytest.mark.parametrize("has_evidence", [False, True])
def test_answers_are_those_of_the_cpu(question, has_evidence):
    rule = rs.compile(SUM, "r-product", domains={"digit": 5})
    here, there = (
        getattr(rule, question)(outputs(device), observed=seen(device) if has_evidence else None)
        for device in ("cpu", "cuda")
    )
    if isinstance(here, dict):
        for name in here:
            assert there[name].is_cuda
            torch.testing.assert_close(there[name].cpu(), here[name])
    else:
        torch.testing.assert_close(there.cpu(), here)


def test_samples_obey_and_take_a_generator_or_none():
    rule = rs.compile(SUM, "exact", domains={"digit": 5})
    for generator in (None, torch.Generator("cuda").manual_seed(1)):
        drawn = rule.sample(outputs("cuda"), 20, generator=generator)
        assert rule.satisfied({}, observed=drawn).all()


def test_hidden_outputs_and_several_predictions():
    rule = rs.compile("forall x in d: H(x) <-> A(x)", "exact", domains={"d": 3},
                      outputs={"H": "hidden"})  # fmt: skip
    given = torch.randn(4, 3, device="cuda", requires_grad=True)
    rule(A=given).backward()
    assert torch.isfinite(given.grad).all()
    best, second = rule.decode(A=given, k=2)
    assert (best["A"] == best["H"]).all()
    assert (best["A"] != second["A"]).all()


def test_a_circuit_of_a_file_is_a_loss_on_a_gpu():
    loss = rs.CircuitLoss(rs.load_circuit("tests/circuits/data/small.nnf"), reduction="none")
    logits = torch.randn(6, 5, dtype=torch.float64)
    torch.testing.assert_close(loss(logits.cuda()).cpu(), loss(logits))
