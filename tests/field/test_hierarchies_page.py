"""The page of hierarchies: scores that obey the tree, stacks that do not mix, and a small run."""

import sys

import pytest
import torch

from residuum.field import find_task, plan, run_all
from residuum.field.data.arff import Hierarchy
from residuum.results import Store

TASK = find_task("hierarchies")
PAGE = sys.modules["residuum_field_hierarchies"]
CPU = torch.device("cpu")
TREE = Hierarchy(("a", "b", "a/c", "a/d", "a/c/e"), (-1, -1, 0, 0, 2))
ABOVE = {0: [], 1: [], 2: [0], 3: [0], 4: [0, 2]}


def _run(method, **replaced):
    [run] = plan(TASK, CPU, methods=[method], parts=["enron"], is_quick=True, replaced=replaced)
    return run


def test_a_raised_score_is_the_largest_of_a_class_and_those_below_it():
    scores = torch.rand(20, 5, generator=torch.Generator().manual_seed(1))
    raised = PAGE.raised(scores, TREE)
    for row, found in zip(scores.tolist(), raised.tolist(), strict=True):
        for one in range(5):
            below = [row[c] for c in range(5) if c == one or one in ABOVE[c]]
            assert found[one] == max(below)


def test_the_rule_is_broken_by_a_class_without_its_parent():
    rule = PAGE.hierarchy_rule(TREE, "exact")
    states = torch.cartesian_prod(*[torch.tensor([0, 1])] * 5)
    found = rule.satisfied({}, observed={"Has": states})
    for state, obeys in zip(states.tolist(), found.tolist(), strict=True):
        assert obeys == all(state[a] for c in range(5) if state[c] for a in ABOVE[c])


def test_a_layer_starts_with_the_shares_of_the_classes():
    labels = torch.zeros(1000, 5, dtype=torch.bool)
    for one, count in enumerate((600, 100, 300, 200, 90)):
        labels[:count, one] = True
    start = PAGE.shares(labels, TREE, is_layer=True)
    found = PAGE.hierarchy_rule(TREE, "exact").marginals(Has=start)["Has"]
    assert found.tolist() == pytest.approx([0.6, 0.1, 0.3, 0.2, 0.09], abs=2e-3)
    alone = PAGE.shares(labels, TREE, is_layer=False).sigmoid()
    assert alone.tolist() == pytest.approx([0.6, 0.1, 0.3, 0.2, 0.09], abs=2e-3)


def test_the_max_layer_learns_a_class_from_those_below_that_are_there():
    outputs = torch.tensor([[[-1.0, 0.5, 2.0, 3.0, -2.0]]])
    labels = torch.tensor([[[True, False, True, False, False]]])
    run = _run("max layer")
    scores = torch.tensor([2.0, 0.5, 2.0, 3.0, -2.0])  # a: of a and a/c, which are there
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        scores, labels[0, 0].float(), reduction="sum"
    )
    found = PAGE.losses(run, None, TREE, outputs, labels)
    assert float(found) == pytest.approx(float(expected), abs=1e-5)


def test_the_layer_learns_the_share_of_the_labels_among_all_that_obey():
    outputs = torch.randn(1, 3, 5, generator=torch.Generator().manual_seed(2))
    labels = torch.tensor([[[1, 0, 1, 0, 1], [0, 1, 0, 0, 0], [1, 1, 0, 1, 0]]]).bool()
    rule = PAGE.hierarchy_rule(TREE, "exact")
    states = torch.cartesian_prod(*[torch.tensor([0, 1])] * 5)
    kept = [s for s in states.tolist() if all(s[a] for c in range(5) if s[c] for a in ABOVE[c])]
    every = torch.tensor(kept, dtype=torch.float64)
    scores = outputs[0].double() @ every.T
    right = (outputs[0].double() * labels[0]).sum(1)
    expected = (scores.logsumexp(1) - right).sum()
    found = PAGE.losses(_run("layer"), rule, TREE, outputs, labels)
    assert float(found) == pytest.approx(float(expected), abs=1e-4)


def test_a_run_is_the_same_alone_and_in_a_stack():
    data = PAGE.load(True)
    runs = plan(TASK, CPU, methods=["plain raised"], parts=["enron"], seeds=[1, 2], split="valid",
                is_quick=True, replaced={"epochs": 2})  # fmt: skip
    both = list(PAGE.together(data, runs))
    [alone] = PAGE.together(data, runs[1:])
    assert alone == pytest.approx(both[1], abs=1e-4)
    assert both[0] != both[1]


def test_a_small_run_of_each_method_obeys_where_it_must(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        runs = plan(TASK, CPU, parts=["enron"], is_quick=True, replaced={"epochs": 2})
        records = run_all(runs, store)
    for run, record in zip(runs, records, strict=True):
        assert set(record.measures) == set(TASK.measures)
        if run["decode"] or run["loss"] == "layer":
            assert record.measures["violations"] == 0
