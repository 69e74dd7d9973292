"""The option `over=` of rules, knowledge and theories, and in rule files."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError, KnowledgeError, ResiduumError
from residuum.syntax.over import AGGREGATORS, read_over

RULE = "forall a in d: A(a) -> B(a)"
FILE = """
domain d = 0..4
predicate A(d) independent
predicate B(d) independent
rule plain: forall a in d: A(a) -> B(a)
rule long weight 0.5 over worst(40%): forall a in d: A(a) | B(a)
rule over over mean: forall a in d: B(a)
rule short over p-mean(2): exists a in d: A(a)
"""


def tensors(batch=(3,)):
    torch.manual_seed(0)
    return {name: torch.randn(*batch, 5, dtype=torch.float64) for name in "AB"}


def compiled(over, name="s-product", rule=RULE, **options):
    outputs = {"A": "independent", "B": "independent"}
    return rs.compile(rule, name, domains={"d": 5}, outputs=outputs, over=over, **options)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("meen", "Did you mean `mean`?"),
        ("p-mean", "takes a number from 1 to 1000 in brackets, got none"),
        ("p-mean(0.5)", "takes a number from 1 to 1000 in brackets, got 0.5"),
        ("mean(2)", "`mean` takes no number, got 2"),
        ("worst(0.1)", "write `worst(10%)`"),
        ("worst(10)", "write `worst(10%)`"),
        ("worst(200%)", "from 1e-06% to 100%"),
        ("log-mean-exp(0)", "from 1e-06 to 1e+06"),
        ("", "expected"),
        (3, "expected"),
    ],
)
def test_a_wrong_aggregator_is_refused_in_words(written, said):
    with pytest.raises(ResiduumError) as caught:
        compiled(written)
    assert said in str(caught.value)


def test_every_aggregator_is_read_back_as_it_is_printed():
    for name, known in AGGREGATORS.items():
        written = name if known is None else f"{name}(12.5{known.unit})"
        assert str(read_over(written)) == written


def test_rules_print_and_explain_how_groundings_are_aggregated():
    assert "over" not in str(compiled(None))
    assert "over=worst(10%)" in str(compiled("worst( 10% )"))
    assert "over worst(10%)" in compiled("worst(10%)").explain(tensors())
    assert "over mean" in compiled("mean", "s-godel").explain()
    assert "worst grounding" not in compiled("mean", "s-godel").explain()


def test_rule_files_say_how_groundings_are_aggregated():
    knowledge = rs.loads(FILE)
    assert {name: rule.over for name, rule in knowledge.rules.items()} == {
        "plain": None, "long": "worst(40%)", "over": "mean", "short": "p-mean(2)",
    }  # fmt: skip
    rules = rs.compile(knowledge, "s-product")
    assert [rule.over for rule in rules.rules.values()] == [
        "conjunction", "worst(40%)", "mean", "p-mean(2)",
    ]  # fmt: skip
    assert "long, weight 0.5 over worst(40%): forall" in str(rules)
    alone = rs.compile("over", "s-product", knowledge=knowledge)
    assert alone.over == "mean"
    assert alone(B=tensors()["B"]) == rules(tensors())["over"]
    assert rs.compile("over", "s-product", knowledge=knowledge, over="conjunction").over == (
        "conjunction"
    )


def test_a_text_is_for_rules_that_say_nothing_and_a_mapping_replaces():
    knowledge = rs.loads(FILE)
    for_all = rs.compile(knowledge, over="log-mean-exp(1)").rules
    assert for_all["plain"].over == "log-mean-exp(1)"
    assert for_all["long"].over == "worst(40%)"
    replaced = rs.compile(knowledge, over={"long": "mean"}).rules
    assert [replaced["plain"].over, replaced["long"].over] == ["conjunction", "mean"]
    with pytest.raises(GroundingError, match=r"has no rule `lang`\. Did you mean `long`"):
        rs.compile(knowledge, over={"lang": "mean"})


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("over meen", "Did you mean `mean`?"),
        ("over worst(10)", "write `worst(10%)`"),
        ("over", "expected a name, got `:`"),
        ("over mean weight 2", "got `weight`"),
    ],
)
def test_mistakes_in_rule_files_are_reported(clause, said):
    with pytest.raises(KnowledgeError) as caught:
        rs.loads(f"domain d = 0..4\npredicate A(d)\nrule r {clause}: forall a in d: A(a)")
    assert said in str(caught.value)


def test_over_stays_a_name():
    knowledge = rs.loads("""
        domain over = 0..2
        predicate Over(over)
        rule over weight 2: forall over in over: Over(over)
    """)
    assert str(knowledge.rules["over"].formula) == "forall over in over: Over(over)"
    assert knowledge.rules["over"].over is None
    assert str(rs.parse("over(x) -> over")) == "over(x) -> over"


def test_exact_refuses_aggregators():
    with pytest.raises(GroundingError, match='expected "conjunction" under `exact`'):
        compiled("mean", "exact")
    knowledge = rs.loads(FILE)
    with pytest.raises(GroundingError, match="for `long`"):
        rs.compile(knowledge, "exact")
    replaced = dict.fromkeys(knowledge.rules, "conjunction")
    rs.compile(knowledge, "exact", over=replaced)
    # Exact questions about rules under another relaxation are about the rules themselves.
    prediction = rs.compile(knowledge, "s-product").decode(tensors())
    assert set(prediction) >= {"A", "B"}


def test_shadowing_inside_of_groundings_is_refused():
    with pytest.raises(GroundingError, match="shadows a variable"):
        compiled("mean", rule="forall a in d: A(a) & (forall b in d: forall b in d: B(b))")
    # A variable of the outermost quantifiers may be shadowed: each counts.
    rule = compiled("mean", rule="forall a in d where a < 2: forall a in d: A(a) | B(a)")
    torch.testing.assert_close(
        rule(tensors()), compiled("mean", rule=RULE.replace("->", "|"))(tensors())
    )


def test_rules_without_outermost_variables_are_as_ever():
    for over in ("mean", "worst(10%)", "p-mean(2)"):
        ground = rs.compile("A -> B", over=over)
        given = {"A": torch.zeros(2), "B": torch.ones(2)}
        assert torch.equal(ground(given), rs.compile("A -> B")(given))


@pytest.mark.parametrize("name", ["s-product", "lukasiewicz", "s-godel"])
def test_knowledge_is_the_same_together_and_one_by_one(name):
    file = FILE + "rule last over mean: forall a, b in d where a < b: A(a) & A(b) -> B(a)\n"
    knowledge, given = rs.loads(file), tensors()
    rules = rs.compile(knowledge, name, reduction="none")
    alone = {one: rs.compile(one, name, knowledge=knowledge, weight=1.0, reduction="none")(
        {key: given[key] for key in [slot.name for slot in rule.plan.slots]})
        for one, rule in rules.rules.items()}  # fmt: skip
    together = rules(given)
    for one, penalty in alone.items():
        torch.testing.assert_close(together[one], penalty)
    torch.testing.assert_close(rules.penalties(given), torch.stack(list(alone.values())))
    metrics = rules.metrics(given)
    assert metrics["over/penalty"] == pytest.approx(float(alone["over"].mean()))


@pytest.mark.parametrize("name", ["s-product", "lukasiewicz", "r-product"])
def test_totals_of_means_that_are_evaluated_together(name):
    knowledge = rs.loads("""
        domain d = 0..4
        predicate A(d) independent
        predicate B(d) independent
        rule one over mean: forall a in d: A(a) -> B(a)
        rule two: forall a in d: B(a) -> A((a + 1) mod 5)
    """)
    rules, given = rs.compile(knowledge, name, reduction="none"), tensors()
    assert "2 rules together" in rules.explain(given)
    parts = torch.stack([
        rs.compile(one, name, knowledge=knowledge, reduction="none")(given)
        for one in ("one", "two")
    ])  # fmt: skip
    total = parts.sum(0)
    torch.testing.assert_close(
        rules.total(given), total.clamp(max=1) if name == "lukasiewicz" else total
    )
    torch.testing.assert_close(rules.total(given, combine="sum"), total)


def test_theories_take_over():
    knowledge = rs.loads("""
        domain item
        domain d = 0..4
        predicate Is(item, d)
        rule one: forall i in item, a in d where a < 3: ~Is(i, a)
    """)
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 5)
    sums, means = (rs.Theory(knowledge, Is=network, over=over) for over in (None, "mean"))
    item = torch.randn(4, 3)
    torch.testing.assert_close(means(item=item).total, sums(item=item).total / 3)
    assert "one, weight 1 over mean: forall" in str(means)


def test_copies_and_files_keep_the_aggregator():
    rule, given = compiled("worst(40%)"), tensors()
    file = io.BytesIO()
    torch.save(rule, file)
    file.seek(0)
    for other in (copy.deepcopy(rule), torch.load(file, weights_only=False)):
        assert torch.equal(other(given), rule(given))


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # by torch
@pytest.mark.parametrize("over", ["mean", "p-mean(2)", "log-mean-exp(1)", "worst(40%)"])
def test_transforms_agree(over):
    rule, given = compiled(over, reduction="none"), tensors()
    expected = rule(given)
    each = torch.func.vmap(lambda a, b: rule(A=a, B=b))(given["A"], given["B"])
    torch.testing.assert_close(each, expected)
    _, slope = torch.func.jvp(
        lambda a: rule(A=a, B=given["B"]), (given["A"],), (torch.ones_like(given["A"]),)
    )
    leaf = given["A"].clone().requires_grad_()
    [gradient] = torch.autograd.grad(rule(A=leaf, B=given["B"]).sum(), leaf)
    torch.testing.assert_close(slope, gradient.sum(-1))
    assert rule({name: one[:0] for name, one in given.items()}).shape == (0,)


def test_a_truth_has_the_penalty_of_its_rule():
    given = tensors()
    for over in ("mean", "p-mean(2)", "worst(40%)"):
        rule = compiled(over, reduction="none")
        torch.testing.assert_close(-rule.truth(given).log(), rule(given))
        capped = compiled(over, "lukasiewicz-maxsat", reduction="none")
        torch.testing.assert_close(1 - capped.truth(given), capped(given).clamp(max=1))


@pytest.mark.parametrize("over", ["mean", "worst(40%)"])
def test_one_trace_serves_batches_and_lengths(over):
    torch._dynamo.reset()
    rule = rs.compile(
        "forall i in position: Tag(i, 0) -> Tag(i + 1, 1)", "r-product",
        domains={"position": "sequence", "tag": 2}, predicates={"Tag": ("position", "tag")},
        over=over, reduction="none",
    )  # fmt: skip
    traced = torch.compile(lambda tag, n: rule(Tag=tag, lengths=n), fullgraph=True, backend="eager")
    for batch in (3, 4):
        tag = torch.randn(batch, 6, 2)
        lengths = torch.arange(batch)
        torch.testing.assert_close(traced(tag, lengths), rule(Tag=tag, lengths=lengths))


def test_a_file_on_disk(tmp_path: Path):
    path = tmp_path / "rules.rsd"
    path.write_text(FILE)
    assert rs.load(path).rules["over"].over == "mean"
