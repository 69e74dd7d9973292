"""The miniature training: what it shows is what its name says."""

import json

import pytest

from residuum.errors import ResiduumError

pytest.importorskip("torch", reason="PyTorch is not installed")

from residuum.explorer import training

USUAL = {
    "first": "r-product", "second": "s-product", "outputs": "softmax", "begin": "fresh",
    "weight": 1, "labels": 1, "optimizer": "Adam", "rate": 0.02, "steps": 100, "seed": 0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(training, "PAUSE", 0)


def train(**given):
    parts = list(training.train(USUAL | given))
    json.dumps(parts, allow_nan=False)
    return parts


def test_a_rule_teaches_what_no_label_says():
    *parts, end = train()
    assert parts[-1]["step"] == 100
    assert all(run["next"] > 0.9 for run in parts[-1]["runs"])
    assert all(sentence.startswith("Learnt") for sentence in end["ended"])
    first, second = parts[0]["runs"]
    assert (first["digit"], first["next"]) == (second["digit"], second["next"])  # both begin alike
    assert train() == [*parts, end]  # and every time


def test_a_dead_gradient_is_exactly_zero_and_nothing_moves():
    given = {"first": "lukasiewicz", "outputs": "sigmoid", "begin": "wrong", "labels": 0}
    *parts, end = train(**given, steps=60)
    assert {(part["runs"][0]["penalty"], part["runs"][0]["gradient"]) for part in parts} == {(1, 0)}
    assert end["ended"][0].startswith("A dead gradient")
    assert parts[0]["runs"][1]["gradient"] > 1


def test_without_labels_the_rule_is_obeyed_and_says_nothing():
    *parts, end = train(labels=0)
    for run, sentence in zip(parts[-1]["runs"], end["ended"], strict=True):
        assert run["obeyed"] > 0.8
        assert run["next"] < 0.5
        assert sentence.startswith("A trivial solution")


def test_a_rate_that_is_too_large_diverges():
    *_, end = train(second="lukasiewicz", optimizer="SGD", rate=20, weight=5)
    assert end["ended"][0].startswith("Diverged: its penalty rose")
    *_, end = train(optimizer="SGD", rate=1e6, weight=1000, labels=1000, steps=30)
    assert end["ended"][0].startswith("Diverged")


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 10**9}, {"steps": 1.5}, {"rate": -1}, {"rate": "1"}, {"weight": float("nan")},
        {"first": "no-such"}, {"first": "exact(2)"}, {"optimizer": "__class__"}, {"begin": None},
        {"seed": -1}, {"outputs": 3},
    ],
)  # fmt: skip
def test_settings_that_are_none_are_refused(wrong):
    with pytest.raises(ResiduumError):
        train(**wrong)
