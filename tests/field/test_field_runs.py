"""Runs of tasks: planned, trained once, and kept as soon as they have ended."""

import pytest
import torch

from made_up_tasks import make_task
from residuum.errors import ResiduumError
from residuum.field import DivergedError, plan, run_all
from residuum.results import Store
from residuum.results.records import Divergence

CPU = torch.device("cpu")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


def ids(runs):
    return [(run.part, run.method, run.seed) for run in runs]


def test_all_methods_and_seeds_of_each_part_are_planned():
    task = make_task(parts={"x": {}, "y": {}}, only_in={"b": ["y"]}, published=[])
    assert ids(plan(task, CPU, seeds=[1, 2, 1])) == [
        ("x", "a", 1), ("x", "a", 2), ("y", "a", 1), ("y", "a", 2), ("y", "b", 1), ("y", "b", 2),
    ]  # fmt: skip
    assert ids(plan(task, CPU, methods=["b"], seeds=[1])) == [("y", "b", 1)]
    assert ids(plan(task, CPU, methods=["a", "a"], parts=["y", "y"], seeds=[1])) == [("y", "a", 1)]


def test_seeds_that_choose_take_no_part_in_results():
    seeds = {split: {run.seed for run in plan(make_task(), CPU, split=split)}
             for split in ("test", "valid")}  # fmt: skip
    assert seeds == {"test": set(range(1, 11)), "valid": {101, 102, 103}}
    assert {run.seed for run in plan(make_task(), CPU, is_quick=True)} == {1}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"methods": ["c"]}, "expected a method of a, b, got 'c'"),
        ({"parts": ["z"]}, "expected a part of x, y, got 'z'"),
        ({"methods": ["b"], "parts": ["x"]}, "methods that these parts have, got b in x"),
        ({"replaced": {"rat": "1"}}, "one of rate, depth, is_kind, name, got 'rat'.*`rate`"),
        ({"replaced": {"depth": "1.5"}}, "--set depth: expected a value such as 3, got '1.5'"),
        ({"replaced": {"is_kind": "yes"}}, "--set is_kind: .* such as True, got 'yes'"),
    ],
)
def test_what_cannot_be_planned_is_refused(wanted, message):
    settings = {"rate": 0.5, "depth": 3, "is_kind": True, "name": "x"}
    task = make_task(
        parts={"x": {}, "y": {}}, only_in={"b": ["y"]}, settings=settings, published=[]
    )
    with pytest.raises(ResiduumError, match=message):
        plan(task, CPU, **wanted)


def test_replaced_settings_have_the_types_of_the_page():
    task = make_task(settings={"rate": 0.5, "depth": 3, "is_kind": True, "name": "x"})
    replaced = {"rate": "1", "depth": "4", "is_kind": "false", "name": "7"}
    run = plan(task, CPU, replaced=replaced)[0]
    assert repr(dict(run.settings)) == ("{'rate': 1.0, 'depth': 4, 'is_kind': False, 'name': '7'}")
    assert run.id != plan(task, CPU)[0].id


def test_a_run_is_trained_once_and_read_afterwards(store):
    trained = []

    def train(_data, run):
        trained.append(run.seed)
        return {"right": torch.tensor(90.0 + run.seed)}

    task = make_task(train=train)
    first = run_all(plan(task, CPU, methods=["a"], seeds=[1, 2]), store)
    again = run_all(plan(task, CPU, methods=["a"], seeds=[1, 2, 3]), store)
    assert trained == [1, 2, 3]
    assert again[:2] == first
    assert [record.measures for record in again] == [{"right": 90.0 + n} for n in (1, 2, 3)]
    assert {record.study for record in again} == {"field-made-up"}
    assert again[0].configuration == {
        "method": "a", "part": "", "seed": 1, "split": "test", "quick": False,
    }  # fmt: skip


def test_data_are_loaded_once_and_only_if_a_run_is_missing(store):
    loaded = []
    task = make_task(load=loaded.append)
    for _ in range(2):
        run_all(plan(task, CPU, seeds=[1]), store)
    assert loaded == [False]


def test_runs_that_ended_before_a_stop_are_kept(store):
    def train(_data, run):
        if run.seed == 2:
            raise KeyboardInterrupt
        return {"right": 1.0}

    runs = plan(make_task(train=train), CPU, methods=["a"], seeds=[1, 2])
    with pytest.raises(KeyboardInterrupt):
        run_all(runs, store)
    assert [run.id in store for run in runs] == [True, False]


def test_a_loss_that_is_not_finite_is_a_record_without_measures(store):
    def train(_data, run):
        for epoch in run.epochs(5):
            run.check(epoch, sums=1.0, labels=float("inf") if epoch == 3 else 0.0)
        return {"right": 1.0}

    [record] = run_all(plan(make_task(train=train), CPU, methods=["a"], seeds=[1]), store)
    assert record.diverged == Divergence(3, ["labels"])
    assert dict(record.measures) == {}


def test_seeds_that_are_trained_together_have_a_record_each(store):
    stacks = []

    def together(_data, runs):
        stacks.append([run.seed for run in runs])
        yield from ({"right": 1.0} for _ in runs[1:])
        yield Divergence(2, ["loss"])

    task = make_task(train=None, together=together)
    run_all(plan(task, CPU, methods=["a"], seeds=[2]), store)
    records = run_all(plan(task, CPU, seeds=[1, 2, 3]), store)
    assert stacks == [[2], [1, 3], [1, 2, 3]]
    assert [record.diverged is not None for record in records] == [
        False, True, True, False, False, True,
    ]  # fmt: skip
    assert records[0].environment["runs_together"] == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train": lambda _data, _run: {"rigth": 1.0}}, "the measures right, got rigth"),
        ({"train": lambda _data, _run: {}}, "the measures right, got none"),
        ({"train": lambda _data, run: run["rate"]}, "a setting 'rate' of a, got"),
        ({"train": None, "together": lambda _data, _runs: []}, "1 outcomes of `together`, got 0"),
    ],
)
def test_a_page_that_returns_something_else_is_refused(store, changed, message):
    with pytest.raises(ResiduumError, match=message):
        run_all(plan(make_task(**changed), CPU, seeds=[1]), store)
    assert list(store) == []


def test_a_run_tells_of_its_progress_and_its_end(store, monkeypatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    told = []

    def train(_data, run):
        list(run.epochs(2))
        return {"right": 42.0}

    run_all(plan(make_task(train=train), CPU, methods=["a"], seeds=[1], tell=told.append), store)
    assert told[0] == "made-up, a, seed 1: epoch 1 of 2, 3 s left"
    assert told[-1].startswith("done: a, seed 1: right 42.0 (")


def test_the_error_of_a_diverged_run_says_what_was_not_finite():
    assert str(DivergedError(4, "loss")) == "diverged in epoch 4: loss not finite"
