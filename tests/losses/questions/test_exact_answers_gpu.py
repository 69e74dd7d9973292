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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_recorded_probabilities_and_gradients_are_those_of_the_cpu(dtype):
    recorded = rs.compile(SUM, "exact", domains={"digit": 5}, reduction="none")
    plain = rs.compile(SUM, "exact", domains={"digit": 5}, reduction="none", replay=False)
    tolerance = {"rtol": 2e-3, "atol": 2e-3} if dtype == torch.float16 else {}
    for call in range(6):  # the third one is recorded, and later ones are replayed
        torch.manual_seed(call)
        drawn = (30 * torch.randn(3, 7, 5)).to(dtype)
        found = []
        for rule, device in ((recorded, "cuda"), (plain, "cuda"), (plain, "cpu")):
            given = [one.to(device).requires_grad_() for one in drawn.clone().unbind(0)]
            value = rule(dict(zip(("Left", "Right", "Sum"), given, strict=True)))
            value.sum().backward()
            with torch.no_grad():
                alone = rule(dict(zip(("Left", "Right", "Sum"), given, strict=True)))
            torch.testing.assert_close(alone, value.detach())
            found.append([value.detach().cpu(), *(one.grad.cpu() for one in given)])
        torch.testing.assert_close(found[0], found[1])
        torch.testing.assert_close(found[0], found[2], **tolerance)


def test_second_derivatives_of_recorded_rules():
    rule = rs.compile("at least 2 x in d: P(x)", "exact", domains={"d": 4},
                      outputs={"P": "independent"}, reduction="none")  # fmt: skip
    for _ in range(5):
        given = torch.randn(2, 4, dtype=torch.float64, device="cuda", requires_grad=True)
        assert torch.autograd.gradgradcheck(lambda z: rule(P=z), given)
