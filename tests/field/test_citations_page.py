"""The page of citation networks: its pieces against loops, and all of it at a tiny size."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from residuum.field import find_task, plan, run_all  # noqa: E402
from residuum.results import Store  # noqa: E402

TASK = find_task("citations")
PAGE = sys.modules[TASK.train.__module__]
CITATIONS = torch.tensor([[0, 0, 2], [1, 3, 3]])


def iff(a, b, relaxation):
    """Return the penalties of a(c) <-> b(c), added up, for two lists of probabilities."""
    pairs = np.stack([a, b]).T
    if relaxation == "exact":
        return -np.log(sum(x * y for x, y in pairs))
    if relaxation == "s-product":
        return -sum(np.log((1 - x + x * y) * (1 - y + x * y)) for x, y in pairs)
    return sum(abs(np.log(x) - np.log(y)) for x, y in pairs)


@pytest.mark.parametrize("relaxation", ["exact", "s-product", "r-product"])
def test_the_rule_is_the_mean_over_citing_papers(relaxation):
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    chances = logits.double().softmax(1).numpy()
    expected = np.mean([iff(chances[i], chances[j], relaxation) for i, j in CITATIONS.T.tolist()])
    found = PAGE.rule_over(CITATIONS, 3, relaxation)(logits)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_a_convolution_divides_by_the_roots_of_both_degrees():
    (into, of), shares = PAGE.convolution(CITATIONS, 4)
    found = torch.zeros(4, 4).index_put((into, of), shares, accumulate=True)
    adjacent = torch.eye(4)
    for i, j in CITATIONS.T.tolist():
        adjacent[i, j] = adjacent[j, i] = 1
    degree = adjacent.sum(1)
    torch.testing.assert_close(found, adjacent / (degree[:, None] * degree).sqrt())


@pytest.mark.parametrize("convolves", [False, True])
def test_the_network_reads_the_mean_of_the_words_of_a_paper(convolves):
    words = torch.tensor([[1.0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1]])
    run = {"hidden": 5, "dropout": 0.5}
    graph = PAGE.convolution(CITATIONS, 4) if convolves else None
    network = PAGE.Network(words, 2, run, graph).eval()
    (into, of), shares = graph or (torch.arange(4).expand(2, -1), torch.ones(4))
    mixing = torch.zeros(4, 4).index_put((into, of), shares)
    means = words / words.sum(1, keepdim=True).clamp(min=1)
    hidden = torch.relu(mixing @ (means @ network.first.weight) + network.bias)
    torch.testing.assert_close(network(), mixing @ network.last(hidden))


def test_labels_spread_to_papers_that_cite_each_other_and_to_no_others():
    rule = PAGE.rule_over(torch.tensor([[0], [1]]), 2, "exact")
    known = (torch.tensor([0]),), torch.tensor([[20.0, 0.0]])
    before = torch.tensor([[0.0, 0.0], [0.0, 0.4], [0.0, 0.4]])
    after = PAGE.apply(rule, before, known, {"steps": 60, "pull": 3.0})
    assert after[0].tolist() == [20.0, 0.0]
    assert after[1].argmax() == 0
    assert after[2].argmax() == 1
    torch.testing.assert_close(after[2].softmax(0), before[2].softmax(0), atol=1e-3, rtol=0)


def test_generated_papers_mostly_cite_their_own_category():
    found = PAGE.generate()
    first, second = found.citations
    assert (first < second).all()
    alike = found.categories[first] == found.categories[second]
    assert 0.75 < alike.mean() < 0.85
    listed = np.concatenate([found.train, found.valid, found.test])
    assert sorted(listed) == list(range(len(found.words)))
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == len(first)


def test_every_method_runs(tmp_path):
    small = {"epochs": 4, "start": 1, "steps": 2}
    runs = plan(TASK, torch.device("cpu"), parts=["cora"], is_quick=True, replaced=small)
    with Store(tmp_path / "runs.sqlite") as store:
        records = run_all(runs, store)
    assert len(records) == len(TASK.methods)
    for record in records:
        assert record.diverged is None
        assert set(record.measures) == {"alone", "applied", "alike"}
        assert all(0 <= value <= 100 for value in record.measures.values())


def test_validation_is_measured_on_other_papers_than_test():
    labels = np.array([0, 1, 0, 1])
    given = SimpleNamespace(
        words=np.eye(4, dtype=np.float32), categories=labels, citations=CITATIONS.numpy(),
        train=np.array([0, 1]), valid=np.array([0, 1]), test=np.array([3]),
    )  # fmt: skip
    found = {}
    for split in ("valid", "test"):
        small = {"epochs": 150, "steps": 1, "dropout": 0.0}
        given_to = {"methods": ["labels"], "parts": ["cora"], "replaced": small}
        run, *_ = plan(TASK, torch.device("cpu"), split=split, **given_to)
        found[split] = TASK.train({"cora": given}, run)["alone"]
    assert found["valid"] == 100
    assert found["test"] in (0, 100)
