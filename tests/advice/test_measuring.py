"""Measurements of rules, against values that were worked out by hand."""

import math

import pytest
import torch

import residuum as rs
from residuum.advice.measuring import measure, penalty_gradients
from residuum.advice.samples import Sample, draw_samples
from residuum.relaxations import relaxation
from residuum.syntax import loads

ONE = loads("predicate A\npredicate B\nrule r weight 0: A -> B")
TWO = loads(
    "domain two = 0..1\npredicate A(two) independent\npredicate B(two) independent\n"
    "rule r: forall x in two: A(x) -> B(x)"
)


def sample(**degrees):
    logits = {
        name: torch.logit(torch.tensor([values], dtype=torch.float64))
        for name, values in degrees.items()
    }
    return Sample("made up", logits)


def measured(knowledge, name, **degrees):
    [found] = measure(knowledge, "r", sample(**degrees), [relaxation(name)])
    return found


# A is 0.8 and B is 0.3, so that the rule is violated; the gradients of each logic are
# textbook: s-product (1-b, a) over the degree, r-product (1/a, 1/b), Łukasiewicz (1, 1).
@pytest.mark.parametrize(
    ("name", "raising"),
    [
        ("s-product", 0.8 / 1.5),
        ("r-product", 0.8 / 1.1),
        ("s-godel", 1),
        ("r-godel", 1),
        ("lukasiewicz", 0.5),
    ],
)
def test_an_implication_is_measured_as_by_hand(name, raising):
    found = measured(ONE, name, A=0.8, B=0.3)
    assert (found.examples, found.groundings, found.bytes) == (1, 1, 4)
    assert (found.violated, found.stuck) == (1, 0)
    assert found.raising == pytest.approx(raising)


def test_where_nothing_is_violated_nothing_is_said_of_the_violated():
    found = measured(ONE, "r-product", A=0.2, B=0.3)
    assert found.violated == 0
    assert (found.stuck, found.raising, found.mended, found.evaded) == (None,) * 4


@pytest.mark.parametrize(
    ("name", "stuck"),
    [
        ("lukasiewicz", 1),  # 0.8 + 0.7 is more than 1, where the conjunction is flat
        ("lukasiewicz-maxsat", 0),
        ("s-godel", 0.5),  # the worst grounding alone
        ("r-godel", 0.5),
        ("s-product", 0),
        ("r-product", 0),
    ],
)
def test_groundings_are_stuck_where_the_whole_rule_does_not_feel_them(name, stuck):
    found = measured(TWO, name, A=[0.9, 0.9], B=[0.1, 0.2])
    assert (found.groundings, found.violated) == (2, 1)
    assert found.stuck == stuck


def test_saturated_degrees_do_not_move():
    logits = {"A": torch.tensor([math.inf]).double(), "B": torch.tensor([-math.inf]).double()}
    logits = {name: tensor.clamp(-1e4, 1e4) for name, tensor in logits.items()}
    [found] = measure(ONE, "r", Sample("sure", logits), [relaxation("lukasiewicz")])
    assert found.stuck == 1


@pytest.mark.parametrize(
    ("name", "b", "mended", "evaded"),
    [
        ("r-godel", 0.1, 1, 0),  # only the consequent is ever pulled
        ("s-godel", 0.3, 1, 0),  # max(0.2, 0.3): the consequent is nearer
        ("s-godel", 0.1, 0, 1),  # max(0.2, 0.1): falsifying the antecedent is
        ("s-product", 0.01, 0, 1),
    ],
)
def test_a_descent_ends_where_the_nearer_side_leads(name, b, mended, evaded):
    found = measured(ONE, name, A=0.8, B=b)
    assert (found.mended, found.evaded) == (mended, evaded)


@pytest.mark.parametrize("consequent", ["~B", "~B & ~C", "~B | ~C"])
def test_a_rule_that_only_forbids_is_mended_on_either_side(consequent):
    knowledge = loads(f"predicate A\npredicate B\npredicate C\nrule r: A -> {consequent}")
    for a, b in ((0.6, 0.9), (0.9, 0.6)):  # S-Gödel pulls on the nearer one
        logits = {"A": a, "B": b, "C": b} if "C" in consequent else {"A": a, "B": b}
        found = measured(knowledge, "s-godel", **logits)
        assert (found.mended, found.evaded) == (1, None)


def test_rules_that_are_no_implications_have_no_sides():
    knowledge = loads("predicate A\npredicate B\nrule r: A | B")
    found = measured(knowledge, "s-product", A=0.2, B=0.3)
    assert (found.violated, found.raising, found.evaded) == (1, None, None)
    assert found.mended == 1


def test_quantifiers_inside_a_rule_are_parts_of_its_groundings():
    knowledge = loads(
        "domain two = 0..1\npredicate A(two) independent\npredicate B(two, two) independent\n"
        "rule r: forall x in two: A(x) -> exists y in two: B(x, y)"
    )
    found = measured(
        knowledge, "s-godel", A=[0.9, 0.2], B=[[0.4, 0.3], [0.1, 0.1]]
    )  # max(0.1, 0.4) pulls on B(0, 0)
    assert found.violated == 0.5
    assert (found.stuck, found.raising, found.mended) == (0, 1, 1)


NAMES = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat",
         "s-yager(2)"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("file", ["digits", "chunking"])
def test_groundings_put_together_again_cost_what_the_rule_does(name, file):
    from importlib import resources

    knowledge = loads(resources.files("residuum.data").joinpath(f"{file}.rsd").read_text("utf-8"))
    for drawn in draw_samples(knowledge, examples=5):
        for rule in rs.compile(knowledge, name, reduction="none").rules.values():
            logits = {slot.name: drawn.logits[slot.name] for slot in rule.plan.slots}
            lengths = torch.tensor([8, 3, 2, 8, 5]) if file == "chunking" else None
            each = rule.each(logits, lengths=lengths)
            found = penalty_gradients(each.formula, each.parts, each.counted, rule.relaxation).total
            torch.testing.assert_close(found, rule(logits, lengths=lengths), atol=1e-9, rtol=1e-9)
            obeyed = (each.holds | ~each.counted).all(1)
            assert torch.equal(obeyed, rule.satisfied(logits, lengths=lengths))
            said = (each.covered & each.counted).sum(1) / each.counted.sum(1).clamp(min=1)
            torch.testing.assert_close(said, rule.coverage(logits, lengths=lengths))


def test_an_observed_consequent_may_be_mended_by_its_antecedent():
    told = sample(A=0.8)._replace(observed={"B": torch.tensor([0])})
    [found] = measure(ONE, "r", told, [relaxation("s-product")])
    assert (found.violated, found.stuck, found.raising) == (1, 0, 0)
    assert (found.mended, found.evaded) == (1, None)


def test_a_comparison_of_numbers_is_measured():
    knowledge = loads("predicate Adult\nquantity Age scale 2\nrule r: Age >= 18 -> Adult")
    given = {
        "Age": torch.tensor([30.0, 10.0]).double(),
        "Adult": torch.tensor([-1.0, -1.0]).double(),
    }
    [found] = measure(knowledge, "r", Sample("numbers", given), [relaxation("s-product")])
    assert (found.examples, found.violated, found.stuck, found.mended) == (2, 0.5, 0, 1)


def test_a_rule_that_reads_nothing_is_refused():
    knowledge = loads("predicate A\nrule r: true")
    with pytest.raises(rs.ResiduumError, match="reads no predictions"):
        measure(knowledge, "r", Sample("none", {}), [relaxation("s-product")])
