"""The contest that judges advice: its tasks obey their rules, and its figures are those shown."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import residuum as rs  # noqa: E402
from advice_contest import training  # noqa: E402
from advice_contest.contest import JUDGING, NAMING, RELAXATIONS, TASKS, TUNING  # noqa: E402
from advice_contest.regrets import (  # noqa: E402
    advised_with,
    best_constant,
    mean_regret,
    oracle,
    regret,
)
from advice_contest.tables import markdown  # noqa: E402
from advice_contest.training import points, splits, train  # noqa: E402

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "benchmarks/records/advice.json").read_text(encoding="utf-8"))
BROKEN = {"rules with exceptions": (0.7, 0.9), "linked pages": (0.0, 0.6)}
"""Tasks whose rules have exceptions: how many examples obey, at least and at most."""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_truth_obeys_the_rules_but_for_exceptions(task):
    drawn = task.draw(torch.Generator().manual_seed(7), 60)
    rules = rs.compile(rs.loads(task.rules), "s-product")
    numbers = {name: one for name, one in drawn.truth.items() if one.is_floating_point()}
    labels = {name: one for name, one in drawn.truth.items() if name not in numbers}
    obeyed = torch.stack(list(rules.satisfied(numbers, observed=labels or None).values())).all(0)
    least, most = BROKEN.get(task.name, (1.0, 1.0))
    if task.name == "prices in order":
        least = 0.2  # rooms show the price through noise
    assert least <= obeyed.double().mean() <= most


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_seed_always_gives_the_same_task(task):
    first, second = (task.draw(torch.Generator().manual_seed(3), 12) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_stacked_runs_learn_as_they_would_by_themselves(monkeypatch):
    monkeypatch.setattr(training, "STEPS", 8)
    task = next(one for one in TASKS if one.name == "hierarchy")
    weights = torch.tensor([0.1, 1.0])
    together = train(task, splits(task, (1, 2)), (1, 2), "r-product", weights).parameters()
    for place, seed in enumerate((1, 2)):
        data = splits(task, (seed,))
        alone = train(task, data, (seed,), "r-product", weights[place : place + 1]).parameters()
        for one, other in zip(together, alone, strict=True):
            torch.testing.assert_close(one[place], other[0])


@pytest.mark.parametrize(
    ("name", "outputs", "truth", "expected"),
    [
        ("next digit", [[[0.0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]], [[1, 2]], 50),
        ("hierarchy", [[[1.0, 1, -1, -1], [-1, -1, -1, -1]]], [[[1, 0, 1, 0], [0, 0, 0, 0]]], 50),
        ("prices in order", [[[1.0, 2.0, 4.0]]], [[[1.0, 2.0, 3.0]]], 50),
    ],
)
def test_scores_are_those_worked_out_by_hand(name, outputs, truth, expected):
    task = next(one for one in TASKS if one.name == name)
    scored = dict.fromkeys(task.scored, torch.tensor(outputs))
    examples = training.Examples({}, dict.fromkeys(task.scored, torch.tensor(truth)), {})
    [found] = points(task, lambda _: scored, examples)
    assert found == pytest.approx(expected)


def made_up(task, **judging):
    named = {"no_rule": None, "s": "s-product", "exact": "exact"}
    return [
        {"task": task, "relaxation": named[name], "judging": [score], "naming": [100 - score]}
        for name, score in judging.items()
    ]


def test_regret_is_the_distance_to_the_best():
    results = [*made_up("t", no_rule=10, s=40, exact=70), *made_up("u", no_rule=10, s=60, exact=50)]
    assert regret(results, "t", "s-product") == 30
    assert regret(results, "t", None) == 60
    assert oracle(results, "t") == "no rule"  # by other seeds
    assert mean_regret(results, ["t", "u"], lambda _: "s-product") == 15
    assert best_constant(results, ["t", "u"]) == "exact"
    infeasible = made_up("t", no_rule=10, s=40)
    assert regret(infeasible, "t", "exact") == 0  # s-product in its place


def test_the_tie_decides_between_the_best_and_the_usual():
    rehearsed = {"None": 10.0, "s-product": 50.0, "exact": 52.0}
    assert advised_with(rehearsed, 3) == "s-product"
    assert advised_with(rehearsed, 1) == "exact"
    assert advised_with({"None": 52.0, "s-product": 50.0}, 3) is None


def test_the_record_is_complete_and_its_seeds_are_apart():
    assert not {*TUNING} & {*NAMING} | {*NAMING} & {*JUDGING} | {*TUNING} & {*JUDGING}
    assert sum(task.is_held_out for task in TASKS) == 4
    found = {(one["task"], one["relaxation"]) for one in RECORD["results"]}
    assert found == {(task.name, name) for task in TASKS for name in (None, *RELAXATIONS)}
    assert [one["task"] for one in RECORD["advice"]] == [task.name for task in TASKS]
    scores = [one[role] for one in RECORD["results"] for role in ("naming", "judging")]
    assert all(len(some) == 5 and all(map(math.isfinite, some)) for some in scores)


def test_the_page_of_advice_shows_the_record():
    page = (ROOT / "docs/guide/advice.md").read_text(encoding="utf-8")
    for table in markdown(RECORD).split("\n\n"):
        assert table in page


def test_what_is_said_of_the_advice_is_what_was_measured():
    results = RECORD["results"]
    advice = {one["task"]: one["relaxation"] for one in RECORD["advice"]}
    apart = [task.name for task in TASKS if task.is_held_out]
    development = [task.name for task in TASKS if not task.is_held_out]

    def means(tasks):
        always = {n: mean_regret(results, tasks, lambda _, n=n: n) for n in RELAXATIONS}
        best = mean_regret(results, tasks, lambda task: oracle(results, task))
        return mean_regret(results, tasks, advice.get), best, always

    for tasks in (development, [*development, *apart]):
        own, best, always = means(tasks)
        assert own <= best + 1
        assert own < min(always.values()) - 1
        assert min(always, key=always.get) == "exact"
        assert sorted(always, key=always.get)[1] == "s-product"
    rest = [one for one in [*development, *apart] if one != "digits from sums, ->"]
    own, _, always = means(rest)
    assert abs(own - always["s-product"]) < 0.1
    own, best, always = means(apart)
    assert own <= best + 1
    assert {advice[task] for task in apart} == {"s-product"}
    better = {name for name, one in always.items() if one < own}
    assert better == {"lukasiewicz-maxsat", "lukasiewicz", "exact"}
    assert max(apart, key=lambda task: regret(results, task, advice[task])) == "same mention"
