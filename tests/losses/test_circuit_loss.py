"""Circuits of other tools as losses, against an enumeration of all predictions."""

from itertools import product

import pytest
import torch

import residuum as rs
from residuum.circuits.circuit import Builder
from residuum.errors import GroundingError

# Exactly one of three, and the fourth is free, as c2d writes it.
EXACTLY_ONE = """nnf 10 12 4
L 1
L -1
L 2
L -2
L 3
L -3
A 3 0 3 5
A 3 1 2 5
A 3 1 3 4
O 0 3 6 7 8
"""


@pytest.fixture
def loss(tmp_path):
    (tmp_path / "one.nnf").write_text(EXACTLY_ONE)
    return rs.CircuitLoss(rs.load_circuit(tmp_path / "one.nnf"), reduction="none")


def states():
    return [state for state in product([0, 1], repeat=4) if sum(state[:3]) == 1]


def chances(logits):
    """Return the probability of each prediction that obeys, examples × predictions."""
    p = torch.sigmoid(logits)
    each = [torch.where(torch.tensor(state) == 1, p, 1 - p).prod(-1) for state in states()]
    return torch.stack(each, -1)


def test_the_penalty_is_that_of_all_predictions_that_obey(loss):
    logits = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    expected = -chances(logits).sum(-1).log()
    torch.testing.assert_close(loss(logits), expected)
    gradients = [torch.autograd.grad(one.sum(), logits)[0] for one in (loss(logits), expected)]
    torch.testing.assert_close(*gradients)
    assert loss.count() == len(states())
    assert "4 outputs" in str(loss)


def test_questions_answer_under_the_name_label(loss):
    logits = torch.randn(5, 4, dtype=torch.float64)
    shares = chances(logits) / chances(logits).sum(-1, keepdim=True)
    best = torch.tensor(states())[shares.argmax(-1)]
    assert torch.equal(loss.decode({"Label": logits})["Label"], best)
    expected = shares @ torch.tensor(states(), dtype=torch.float64)
    torch.testing.assert_close(loss.marginals(Label=logits)["Label"], expected)


def test_evidence_is_given_as_labels(loss):
    logits = torch.randn(1, 4, dtype=torch.float64)
    observed = torch.tensor([[1, -100, -100, -100]])
    p = torch.sigmoid(logits[0])
    expected = -torch.log((1 - p[1]) * (1 - p[2]))
    torch.testing.assert_close(loss(logits, observed=observed)[0], expected)


def test_a_batch_is_reduced(loss):
    logits = torch.randn(2, 3, 4)
    mean = rs.CircuitLoss(loss.circuit)(logits)
    torch.testing.assert_close(mean, loss(logits).mean())


def test_circuits_over_classes_are_refused():
    build = Builder([3], 10)
    with pytest.raises(GroundingError, match="binary variables"):
        rs.CircuitLoss(build.finish(build.leaf(0, 1)))


def test_a_circuit_is_called_as_a_rule_is(loss):
    logits = torch.randn(2, 4)
    expected = loss(logits)
    torch.testing.assert_close(loss(Label=logits), expected)
    torch.testing.assert_close(loss({"Label": logits}), expected)
