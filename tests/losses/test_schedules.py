"""Weights that change with the epoch, in rules, knowledge and theories; epochs that are kept."""

import copy
import math
import warnings

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError
from residuum.losses import schedules

TEXT = """
    domain image
    predicate P(image, label)
    domain label = 0..2
    rule one weight 2: forall x in image: ~P(x, 0)
    rule two: forall x in image: P(x, 1) | P(x, 2)
"""
OUTPUTS = {"P": torch.linspace(-1, 1, 6).reshape(2, 3)}
HALF = rs.ramp(0, 1, epochs=2)


def made(weight=HALF):
    """Return a rule, knowledge and a theory with a weight that may be a schedule."""
    return [
        rs.compile("~P(0)", weight=weight, domains={"d": 3}, predicates={"P": ("d",)}),
        rs.compile(rs.loads(TEXT), weights={"one": weight}),
        rs.Theory(rs.loads(TEXT), weights={"one": weight}, P=torch.nn.Identity()),
    ]


def cost(model):
    """Return what a rule, knowledge or theory costs, with its weights."""
    if isinstance(model, rs.Theory):
        return model(image=OUTPUTS["P"]).total
    return model.total(OUTPUTS) if isinstance(model, rs.CompiledKnowledge) else model(OUTPUTS)


def test_a_weight_follows_the_epoch_that_is_set_or_advanced():
    p = OUTPUTS["P"].softmax(-1)
    one = -(1 - p[:, 0]).log()
    two = -(1 - (1 - p[:, 1]) * (1 - p[:, 2])).log()
    for model, rest in zip(made(), (0, two, two), strict=True):
        assert model.epoch == 0
        for weight in (0, 0.5, 1, 1):
            assert cost(model).item() == pytest.approx((weight * one + rest).mean().item())
            model.epoch += 1


@pytest.mark.parametrize("combine", ["conjunction", "sum"])
@pytest.mark.parametrize("relaxation", ["s-product", "s-godel", "lukasiewicz"])
def test_rules_that_are_evaluated_together_follow_it_too(relaxation, combine):
    text = "domain d = 0..2\npredicate P(d) independent\n"
    text += "\n".join(f"rule r{a}{b}: P({a}) -> P({b})" for a in range(3) for b in range(3))
    scheduled = rs.compile(rs.loads(text), relaxation, weights={"r01": rs.ramp(1, 3, epochs=1)})
    for epoch, weight in enumerate((1, 3)):
        scheduled.epoch = epoch
        fixed = rs.compile(rs.loads(text.replace("rule r01", f"rule r01 weight {weight}")),
                           relaxation)  # fmt: skip
        assert scheduled.weights == fixed.weights
        totals = [one.total(OUTPUTS, combine=combine).item() for one in (scheduled, fixed)]
        assert totals[0] == pytest.approx(totals[1])
        assert str(scheduled) == str(fixed)
        assert scheduled.explain() == fixed.explain()


def test_a_state_dict_has_the_epoch():
    for model, twin in zip(made(), made(), strict=True):
        model.epoch = 7
        outer = torch.nn.ModuleDict({"inner": model})
        assert outer.state_dict()["inner.epoch"] == 7
        torch.nn.ModuleDict({"inner": twin}).load_state_dict(outer.state_dict())
        assert twin.epoch == 7
        assert copy.deepcopy(model).epoch == 7


def test_a_state_dict_of_an_older_version_loads():
    for model in made():
        model.epoch = 3
        model.load_state_dict({})
        assert model.epoch == 3


def test_a_state_dict_loads_where_no_weight_is_a_schedule_any_more():
    for model, plain in zip(made(), made(weight=1.0), strict=True):
        assert not plain.state_dict()  # what has no schedule has no state
        model.epoch = 4
        plain.load_state_dict(model.state_dict())
        assert plain.epoch == 4


def test_other_keys_that_nothing_expects_are_still_refused():
    for model in made():
        with pytest.raises(RuntimeError, match="Unexpected"):
            model.load_state_dict({"epok": torch.tensor(1)})


def test_a_schedule_that_was_never_advanced_warns_once(monkeypatch):
    monkeypatch.setattr(schedules, "PATIENCE", 3)
    for model in made():
        with torch.no_grad():
            for _ in range(9):
                cost(model)  # nothing is learnt here
        cost(model), cost(model)
        with pytest.warns(UserWarning, match="epoch was never set in 3 calls"):
            cost(model)
        for _ in range(9):
            cost(model)


def test_who_sets_the_epoch_or_has_no_schedule_is_not_warned(monkeypatch):
    monkeypatch.setattr(schedules, "PATIENCE", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in made():
            model.epoch = 0
            for _ in range(9):
                cost(model)
        for model in made(weight=0.5):
            for _ in range(9):
                cost(model)


@pytest.mark.parametrize("wrong", [-1, 1.5, "two", True, None])
def test_an_epoch_that_is_none_is_refused(wrong):
    for model in made():
        with pytest.raises(GroundingError, match="epoch: expected an integer, 0 or more"):
            model.epoch = wrong


def test_weights_that_are_none_are_refused():
    for model in made(weight=lambda epoch: -1.0 if epoch else 1.0):
        cost(model)
        model.epoch = 1
        with pytest.raises(GroundingError, match="is a number from 0 on, got -1"):
            cost(model)
    rule = made(weight=1.0)[0]
    with pytest.raises(GroundingError, match="from 0 on"):
        rule.weight = math.nan
    with pytest.raises(GroundingError, match=r"no rule `oen`\. Did you mean `one`"):
        rs.compile(rs.loads(TEXT), weights={"oen": 1.0})
    with pytest.raises(GroundingError, match="which has `weight`"):
        rs.compile("A", weights={"A": 1.0})
    with pytest.raises(GroundingError, match="got a schedule, which only"):
        rs.compile("A", rs.warm_up("r-product", "s-product", epochs=1))


def test_a_scheduled_rule_can_be_traced():
    rule = made()[0]
    fast = torch.compile(rule, backend="eager", fullgraph=True)
    for epoch in (0, 1):
        rule.epoch = epoch
        torch.testing.assert_close(fast(**OUTPUTS), rule(**OUTPUTS))
