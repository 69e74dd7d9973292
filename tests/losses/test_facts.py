"""Labelled data as facts."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import residuum as rs
from residuum.errors import GroundingError

PRODUCTS = ["s-product", "r-product"]


def both(ours, theirs, given):
    """Assert that two losses agree in value and gradient."""
    results = []
    for loss in (ours, theirs):
        leaf = given.clone().requires_grad_()
        value = loss(leaf)
        value.sum().backward()
        results.append((value.detach(), leaf.grad))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_product_facts_are_cross_entropy(name, dtype, reduction):
    generator = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(30, 7, dtype=dtype, generator=generator)
    labels = torch.randint(0, 7, (30,), generator=generator)
    labels[::4] = -100
    both(
        lambda z: rs.facts(z, labels, name, reduction=reduction),
        lambda z: functional.cross_entropy(z, labels, reduction=reduction),
        logits,
    )


@pytest.mark.parametrize("name", PRODUCTS)
def test_facts_about_sequences_are_cross_entropy_of_each_position(name):
    logits = torch.randn(3, 5, 4)
    labels = torch.randint(0, 4, (3, 5))
    labels[1, 2:] = -100
    both(
        lambda z: rs.facts(z, labels, name),
        lambda z: functional.cross_entropy(z.transpose(1, 2), labels),
        logits,
    )


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_independent_product_facts_are_binary_cross_entropy(name, reduction):
    logits = 4 * torch.randn(6, 5, dtype=torch.float64)
    labels = torch.randint(0, 2, (6, 5))
    both(
        lambda z: rs.facts(z, labels, name, independent=True, reduction=reduction),
        lambda z: functional.binary_cross_entropy_with_logits(
            z, labels.double(), reduction=reduction
        ),
        logits,
    )


@pytest.mark.parametrize("name", ["lukasiewicz", "lukasiewicz-maxsat", "s-godel", "r-godel"])
def test_linear_facts_are_the_missing_probability(name):
    logits, labels = torch.randn(8, 3), torch.randint(0, 3, (8,))
    expected = 1 - logits.softmax(-1)[torch.arange(8), labels]
    torch.testing.assert_close(rs.facts(logits, labels, name, reduction="none"), expected)


def test_the_conjunction_of_facts_is_the_logics_own():
    probs, labels = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]), torch.tensor([0, 0, 1])

    def found(name):
        return float(rs.facts(probs, labels, name, inputs="probs", reduction="conjunction"))

    assert found("lukasiewicz") == 1
    assert found("lukasiewicz-maxsat") == 1.75
    assert found("s-godel") == 0.75
    assert found("r-product") == pytest.approx(-torch.log(torch.tensor(0.0625)))


def test_labels_may_be_a_list_and_all_may_be_missing():
    logits = torch.randn(2, 3, requires_grad=True)
    torch.testing.assert_close(rs.facts(logits, [0, 2]), rs.facts(logits, torch.tensor([0, 2])))
    nothing = rs.facts(logits, [-100, -100])
    assert nothing == 0
    nothing.backward()
    assert (logits.grad == 0).all()


def test_half_precision_is_answered_in_single():
    assert rs.facts(torch.zeros(2, 3, dtype=torch.bfloat16), [0, 1]).dtype == torch.float32


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0, 3], {}, "labels lie between 0 and 2, got 3"),
        ([0, -1], {}, "labels lie between 0 and 2, got -1"),
        ([0], {}, r"expected integers of shape \(2,\)"),
        ([0.0, 1.0], {}, "expected integers"),
        ([0, 1], {"independent": True}, r"expected 0 or 1 in shape \(2, 3\)"),
        ([[0, 1, 2], [0, 0, 0]], {"independent": True}, "expected 0 or 1"),
        ([0, 1], {"reduction": "average"}, "reduction: expected one of"),
        ([0, 1], {"inputs": "logit"}, "expected one of logits"),
    ],
)
def test_wrong_labels_and_options_are_refused_in_words(labels, options, message):
    with pytest.raises(GroundingError, match=message):
        rs.facts(torch.zeros(2, 3), labels, **options)


@pytest.mark.parametrize("labels", [None, ["a", "b"], [0, None]])
def test_labels_that_are_no_numbers_are_refused_in_words(labels):
    with pytest.raises(GroundingError, match="labels: expected integers, got "):
        rs.facts(torch.zeros(2, 3), labels)


@pytest.mark.parametrize(
    "outputs",
    [[[0.0, 1.0]], torch.tensor(0.5), torch.tensor([[0, 1]]), torch.tensor([[0j, 1j]])],
)
def test_outputs_that_are_no_tensor_of_classes_are_refused(outputs):
    with pytest.raises(GroundingError, match="expected"):
        rs.facts(outputs, [0])


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (torch.zeros(2, 0), r"at least one class, got a tensor of shape \(2, 0\)"),
        (torch.zeros(2, 3).to(torch.float8_e5m2), "16 bits or more, got torch.float8_e5m2"),
        (torch.zeros(2, 3).to_sparse(), "expected a dense tensor, got torch.sparse_coo"),
        (torch.zeros(2, 3, device="meta"), "a shape and no values"),
    ],
)
@pytest.mark.parametrize("labels", [[0, 0], [-100, -100]])
def test_outputs_that_cannot_be_computed_with_are_refused(outputs, labels, message):
    with pytest.raises(GroundingError, match=message):
        rs.facts(outputs, labels)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_labels_may_be_integers_of_any_width(dtype):
    labels = torch.tensor([1, 99, 127, 156 if dtype == torch.uint8 else 0])
    logits = torch.randn(4, 200)
    found = rs.facts(logits, labels.to(dtype), reduction="none")
    torch.testing.assert_close(found, functional.cross_entropy(logits, labels, reduction="none"))


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_facts_are_traced_and_mapped():
    logits, labels = torch.randn(4, 2, 3), torch.tensor([[0, 1], [2, -100], [1, 1], [0, 2]])
    expected = torch.stack([rs.facts(*one) for one in zip(logits, labels, strict=True)])
    torch.testing.assert_close(torch.func.vmap(rs.facts)(logits, labels), expected)
    traced = torch.compile(lambda z, y: rs.facts(z, y), fullgraph=True, backend="eager")
    torch.testing.assert_close(traced(logits, labels), rs.facts(logits, labels))


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_facts_about_independent_outputs_are_traced_and_mapped():
    def cost(z, y):
        return rs.facts(z, y, independent=True)

    logits, labels = torch.randn(4, 2, 3), torch.randint(2, (4, 2, 3))
    each = zip(logits, labels.float(), strict=True)
    expected = [functional.binary_cross_entropy_with_logits(*one) for one in each]
    torch.testing.assert_close(torch.func.vmap(cost)(logits, labels), torch.stack(expected))
    traced = torch.compile(cost, fullgraph=True, backend="eager")
    torch.testing.assert_close(traced(logits, labels), torch.stack(expected).mean())


@pytest.mark.parametrize("wrong", [0.5, 2, torch.nan])
def test_a_statement_is_0_or_1(wrong):
    with pytest.raises(GroundingError, match=rf"expected 0 or 1 in shape \(2,\), got {wrong:g}"):
        rs.facts(torch.zeros(2), torch.tensor([1, wrong]), independent=True)


def test_complex_labels_are_refused():
    with pytest.raises(GroundingError, match=r"expected integers .* got torch\.complex64"):
        rs.facts(torch.zeros(1, 2), torch.tensor([1 + 1j]))


def test_labels_that_say_only_yes_leave_the_other_outputs_alone():
    logits = torch.randn(4, 3, requires_grad=True)
    labels = torch.full((4, 3), -100)
    labels[0, 1] = labels[2, 0] = 1
    given = [labels, labels.float(), labels.to(torch.int8)]
    for one in given:
        penalty = rs.facts(logits, one, independent=True)
        expected = torch.nn.functional.softplus(-logits[[0, 2], [1, 0]]).mean()
        torch.testing.assert_close(penalty, expected)
        (gradient,) = torch.autograd.grad(penalty, logits)
        assert (gradient != 0).tolist() == (labels == 1).tolist()
    each = rs.facts(logits, labels, independent=True, reduction="none")
    assert (each != 0).tolist() == (labels == 1).tolist()
    nothing = rs.facts(logits, torch.full((4, 3), -100), independent=True)
    assert nothing == 0
    assert not torch.autograd.grad(nothing, logits)[0].any()


def test_labels_of_several_classes_are_told_of_independent():
    for labels in (torch.ones(4, 3), torch.ones(4, 3, dtype=torch.int64)):
        with pytest.raises(GroundingError, match="pass independent=True, or declare"):
            rs.facts(torch.randn(4, 3), labels)
    with pytest.raises(GroundingError, match=r"expected 0 or 1 .* got torch\.complex64"):
        rs.facts(torch.zeros(2), torch.ones(2, dtype=torch.complex64), independent=True)
