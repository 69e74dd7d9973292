"""What one logs of rules: plain numbers that agree with the questions they summarise."""

import math

import pytest
import torch

import residuum as rs
from residuum.relaxations import PAPER

RULE = "forall d in digit: A(d) -> B((d + 1) mod 3)"
OPTIONS = {"domains": {"digit": 3}, "outputs": {"A": "independent", "B": "independent"}}
NAMES = ["penalty", "truth", "satisfied", "groundings", "coverage"]


@pytest.mark.parametrize("relaxation", [*PAPER, "exact"])
def test_the_numbers_are_those_of_loops(relaxation):
    rule = rs.compile(RULE, relaxation, weight=3.0, **OPTIONS)
    torch.manual_seed(0)
    outputs = {name: torch.randn(5, 3, requires_grad=True) for name in "AB"}
    found = rule.metrics(outputs)
    a, b = ((one > 0).tolist() for one in outputs.values())
    holds = [[not a[i][d] or b[i][(d + 1) % 3] for d in range(3)] for i in range(5)]
    assert list(found) == NAMES
    assert all(type(number) is float for number in found.values())
    alone = rs.compile(RULE, relaxation, reduction="none", **OPTIONS)
    assert found["penalty"] == pytest.approx(alone(outputs).mean().item(), rel=1e-6)
    assert found["truth"] == pytest.approx(alone.truth(outputs).mean().item(), rel=1e-6)
    assert found["satisfied"] == sum(map(all, holds)) / 5
    assert found["groundings"] == pytest.approx(sum(map(sum, holds)) / 15)
    assert found["coverage"] == pytest.approx(sum(map(sum, a)) / 15)


def test_padding_does_not_count():
    rule = rs.compile("forall i in s: P(i) -> P(i + 1)", "s-product", domains={"s": "sequence"},
                      predicates={"P": ("s",)}, outputs={"P": "independent"})  # fmt: skip
    given = torch.tensor([[1.0, 1.0, -1.0], [1.0, -1.0, 9.0]])
    found = rule.metrics(P=given, lengths=[3, 2])
    assert found["groundings"] == pytest.approx(1 / 3)
    assert found["satisfied"] == 0


def test_an_empty_batch_has_numbers_too():
    found = rs.compile(RULE, **OPTIONS).metrics(A=torch.zeros(0, 3), B=torch.zeros(0, 3))
    assert all(math.isfinite(number) for number in found.values())


def test_where_there_are_no_groundings_none_is_broken():
    rule = rs.compile("forall i in s: P(i) -> P(i + 1)", domains={"s": "sequence"},
                      predicates={"P": ("s",)}, outputs={"P": "independent"})  # fmt: skip
    found = rule.metrics(P=torch.ones(2, 4), lengths=[1, 0])
    assert (found["penalty"], found["groundings"], found["satisfied"]) == (0, 1, 1)


def test_blocks_do_not_change_the_numbers():
    outputs = {name: torch.randn(6, 3) for name in "AB"}
    whole, parts = (
        rs.compile(RULE, block=block, **OPTIONS).metrics(outputs) for block in (None, 2)
    )
    assert whole == pytest.approx(parts, rel=1e-6)


def test_knowledge_and_theories_name_their_rules():
    text = """
        domain image
        domain d = 0..2
        predicate A(image, d)
        rule one: forall x in image: ~A(x, 0)
        rule two: forall x in image: A(x, 1) | A(x, 2)
    """
    knowledge = rs.compile(rs.loads(text))
    outputs = {"A": torch.randn(4, 3)}
    found = knowledge.metrics(outputs)
    assert list(found) == [f"{rule}/{name}" for rule in ("one", "two") for name in NAMES]
    for rule, compiled in knowledge.rules.items():
        alone = compiled.metrics(outputs)
        assert alone == {name: found[f"{rule}/{name}"] for name in NAMES}
    theory = rs.Theory(rs.loads(text), A=torch.nn.Identity())
    assert theory.metrics(image=outputs["A"]) == pytest.approx(found)
    assert (
        theory.metrics(image=outputs["A"], observed={"A": torch.tensor([1, 1, 0, 2])})[
            "one/satisfied"
        ]
        == 0.75
    )
