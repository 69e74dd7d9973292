"""The likeliest class of many softmaxes: marks of 1 give the same results as indices."""

import math

import pytest
import torch

import residuum as rs
from residuum.losses.degrees.fused_logits import at_likeliest, complements, likeliest, sum_of_others
from residuum.losses.routes import thresholds
from residuum.relaxations import PAPER

SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 5)"


def logits_of(kind, count):
    source = torch.Generator().manual_seed(0)
    drawn = torch.randn(2, 5, count, generator=source)
    return {
        "drawn": 3 * drawn,
        "tied": torch.round(drawn),
        "equal": torch.zeros_like(drawn),
        "saturated": 30 * drawn,
    }[kind]


@pytest.mark.parametrize("kind", ["drawn", "tied", "equal", "saturated"])
def test_falsities_equal_exact_sums_of_the_other_classes(kind):
    logits = logits_of(kind, thresholds.MANY_SOFTMAXES)
    truths = torch.softmax(logits, 1)
    _, marks = likeliest(truths)
    assert marks.is_floating_point()
    found = complements(truths, marks)
    for slot in range(2):
        for column in range(0, thresholds.MANY_SOFTMAXES, 17):
            odds = [math.exp(float(one)) for one in logits[slot, :, column].double()]
            for place in range(5):
                rest = math.fsum(odds[:place] + odds[place + 1 :]) / math.fsum(odds)
                assert float(found[slot, place, column]) == pytest.approx(rest, rel=3e-6)


@pytest.mark.parametrize("kind", ["drawn", "tied", "equal", "saturated"])
def test_marks_give_the_same_results_as_indices(kind, monkeypatch):
    logits = logits_of(kind, 40)
    gradients = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1))
    largest, places = likeliest(logits)
    monkeypatch.setattr(thresholds, "MANY_SOFTMAXES", 0)
    same, marks = likeliest(logits)
    assert torch.equal(largest, same)
    torch.testing.assert_close(marks.sum(1), torch.ones(2, 40))
    torch.testing.assert_close(sum_of_others(logits, marks), sum_of_others(logits, places))
    if kind in ("drawn", "saturated"):
        assert torch.equal(at_likeliest(gradients, marks), at_likeliest(gradients, places))
    else:  # equally likely classes share evenly
        shared = gradients.masked_fill(logits != largest, torch.nan).nanmean(1, keepdim=True)
        torch.testing.assert_close(at_likeliest(gradients, marks), shared)


@pytest.mark.parametrize("kind", ["drawn", "tied", "equal", "saturated"])
@pytest.mark.parametrize("relaxation", [*PAPER, "lukasiewicz-maxsat"])
def test_a_large_batch_costs_the_same_as_its_small_parts(relaxation, kind):
    rule = rs.compile(SUM, relaxation, domains={"d": 5}, reduction="none")
    stacked = torch.stack([*logits_of(kind, 600), logits_of(kind, 700)[1, :, 100:]])
    given = stacked.transpose(1, 2).clone().requires_grad_()
    whole = rule(dict(zip("PQS", given, strict=True)))
    parts = torch.cat(
        [rule(dict(zip("PQS", given[:, first : first + 60], strict=True)))
         for first in range(0, 600, 60)]
    )  # fmt: skip
    torch.testing.assert_close(whole, parts, rtol=1e-5, atol=1e-6)
    gradients = [torch.autograd.grad(one.sum(), given)[0] for one in (whole, parts)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-6)
