"""Compiled knowledge can be asked what a rule can be asked, and prints its rules."""

import pytest
import torch

import residuum as rs

TEXT = """
    domain d = 0..2
    predicate P(d)
    predicate Q(d) independent
    rule one weight 0.5: forall x in d: P(x) -> Q(x)
    rule some: exists x in d: Q(x)
    rule back: forall x in d: Q(x) -> P(x)
"""


@pytest.fixture
def given():
    source = torch.Generator().manual_seed(0)
    return {name: 2 * torch.randn(4, 3, generator=source) for name in "PQ"}


@pytest.mark.parametrize("question", ["truth", "satisfied", "coverage", "violations"])
def test_it_answers_for_each_rule_as_the_rule_does(given, question):
    knowledge = rs.loads(TEXT)
    found = getattr(rs.compile(knowledge), question)(given)
    assert list(found) == ["one", "some", "back"]
    for name, answer in found.items():
        rule = rs.compile(name, knowledge=knowledge)
        expected = getattr(rule, question)({key: given[key] for key in rule.forms})
        same = answer == expected
        assert same if question == "violations" else same.all()


def test_it_prints_its_rules_with_their_weights():
    shown = repr(rs.compile(rs.loads(TEXT), "s-product", reduction="sum"))
    for rule in (
        "one, weight 0.5: forall x in d: P(x) -> Q(x)",
        "some, weight 1: exists x in d: Q(x)",
        "back, weight 1: forall x in d: Q(x) -> P(x)",
    ):
        assert f"\n  {rule}\n" in shown
    assert "relaxation=s-product, reduction=sum" in shown
    assert repr(rs.compile(rs.loads("predicate P"))) == "CompiledKnowledge()"


def test_a_theory_prints_rules_and_facts_with_their_weights_of_the_epoch():
    theory = rs.Theory(
        rs.loads(TEXT + "facts labels: P"),
        weights={"back": rs.ramp(0, 1, 4)},
        P=torch.nn.Linear(3, 3),
        Q=torch.nn.Linear(3, 3),
    )
    theory.epoch = 1
    shown = repr(theory)
    for line in (
        "one, weight 0.5: forall x in d: P(x) -> Q(x)",
        "back, weight 0.25: forall x in d: Q(x) -> P(x)",
        "labels, weight 1: facts",
    ):
        assert f"\n  {line}\n" in shown


def test_parts_are_without_weights_in_a_theory_and_in_compiled_knowledge_alike(given):
    knowledge = rs.loads(TEXT.replace("0.5", "8"))
    compiled = rs.compile(knowledge, "s-product")
    theory = rs.Theory(
        knowledge, relaxation="s-product", P=torch.nn.Identity(), Q=torch.nn.Identity()
    )
    assessed, parts = theory(**given), compiled(given)
    for name, weight in (("one", 8.0), ("some", 1.0), ("back", 1.0)):
        rule = knowledge.rules[name].formula
        alone = rs.compile(rule, "s-product", knowledge=knowledge, weight=1.0)
        expected = alone({key: given[key] for key in alone.forms})
        torch.testing.assert_close(parts[name], expected)
        torch.testing.assert_close(assessed.parts[name], expected)
        assert theory.weight(name) == compiled.weights[name] == weight
    total = 8 * parts["one"] + parts["some"] + parts["back"]
    torch.testing.assert_close(assessed.total, total)
    torch.testing.assert_close(compiled.total(given), total)
    for shown in (repr(theory), repr(compiled), compiled.explain()):
        assert "without weights" in shown


def test_a_rule_that_is_compiled_by_itself_is_weighted():
    knowledge = rs.loads(TEXT)
    logits = {name: torch.randn(4, 3) for name in "PQ"}
    rule = rs.compile("one", knowledge=knowledge)
    expected = rs.compile("one", knowledge=knowledge, weight=1.0)(logits)
    torch.testing.assert_close(rule(logits), 0.5 * expected)
    assert "weight=0.5" in repr(rule)
    assert "weight 0.5" in rule.explain()


def test_it_explains_each_rule_and_which_are_evaluated_together(given):
    knowledge = rs.compile(rs.loads(TEXT))
    for told in (knowledge.explain(), knowledge.explain(given), knowledge.explain(**given)):
        starts = [told.index(f"rule {name}, weight") for name in ("one", "some", "back")]
        one, some, back = (
            told[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)
        )
        assert "evaluated by clauses, 2 rules together" in one
        assert "evaluated by clauses, 2 rules together" in back
        assert "evaluated by steps" in some


def test_it_explains_that_rules_with_other_batches_are_evaluated_one_by_one(given):
    knowledge = rs.compile(rs.loads(TEXT))
    told = knowledge.explain(P=given["P"], Q=given["Q"][0])
    assert "together" not in told
    assert told.count("evaluated by") == 3


def test_a_rule_over_sequences_needs_tensors_for_its_route():
    text = "domain s sequence\npredicate P(s) independent\nrule r: forall i in s: P(i) -> P(i + 1)"
    knowledge = rs.compile(rs.loads(text + "\nrule q: forall i in s: P(i + 1) -> P(i)"))
    assert "pass tensors to `explain`" in knowledge.explain()
    told = knowledge.explain(P=torch.randn(2, 5), lengths=[5, 2])
    assert "evaluated by clauses, 2 rules together" in told


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("relaxation", ["r-product", "s-godel", "lukasiewicz"])
@pytest.mark.parametrize("text", [TEXT, "apart", "together"])
def test_penalties_in_one_tensor_are_those_by_name(given, text, relaxation, reduction):
    if text != TEXT:  # ground rules, which are evaluated together
        count = 6 if text == "together" else 1
        rules = "\n".join(
            f"rule r{n} weight {n + 1}: P({n % 3}) -> Q({n % 2})" for n in range(count)
        )
        text = f"domain d = 0..2\npredicate P(d)\npredicate Q(d) independent\n{rules}"
    knowledge = rs.compile(rs.loads(text), relaxation, reduction=reduction)
    leaves = {name: one.clone().requires_grad_() for name, one in given.items()}
    penalties, by_name = knowledge.penalties(leaves), knowledge(leaves)
    assert list(by_name) == list(knowledge.rules)
    torch.testing.assert_close(penalties, torch.stack(list(by_name.values())))
    shares = torch.arange(1.0, 1 + penalties.numel()).reshape(penalties.shape)
    in_one = torch.autograd.grad(
        (penalties * shares).sum(), leaves.values(), materialize_grads=True
    )
    apart = sum((part * share).sum() for part, share in zip(by_name.values(), shares, strict=True))
    each = torch.autograd.grad(apart, leaves.values(), materialize_grads=True)
    torch.testing.assert_close(in_one, each)


def test_penalties_of_batches_of_different_shapes_are_broadcast():
    knowledge = rs.compile(rs.loads(TEXT), reduction="none")
    given = {"P": torch.randn(5, 1, 3), "Q": torch.randn(2, 3)}
    assert knowledge.penalties(given).shape == (3, 5, 2)


def test_no_rules_have_no_penalties():
    with pytest.raises(rs.errors.GroundingError, match="at least one rule"):
        rs.compile(rs.loads("predicate P")).penalties({})
