"""The options of `rs.compile`: a type checker knows them, and what their defaults mean."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError
from residuum.losses.compile import KnowledgeOptions, RuleOptions

ROOT = Path(__file__).parents[2]
CHECKED = """\
import residuum as rs

knowledge = rs.loads("predicate P")
rule = rs.compile("P -> Q", "r-product", block=3, reduction="none", weight=0.5)
everything = rs.compile(knowledge, block=3)
reveal_type(rule)
reveal_type(everything)
rs.compile("P -> Q", blok=3)
rs.compile("P -> Q", block="many")
rs.compile("P -> Q", reduction="average")
rs.compile(knowledge, blok=3)
rs.compile(knowledge, weight=0.5)
rule.violations(top="many")
rule.satisfied(block=3)
everything.truth(observed=["P"])
everything.entropy(rules=3)
reveal_type(rule.satisfied())
reveal_type(everything.violations(top=3))
"""


def test_a_type_checker_refuses_options_that_do_not_exist(tmp_path):
    file = tmp_path / "checked.py"
    file.write_text(CHECKED, encoding="utf-8")
    # In the root, so that the settings and the cache are those of `make types`.
    result = subprocess.run(
        [sys.executable, "-m", "mypy", str(file)], capture_output=True, text=True, cwd=ROOT
    )
    refused = {int(line) for line in re.findall(r"checked\.py:(\d+): error", result.stdout)}
    wrong = ("rs.compile", "rule.", "everything.")
    lines = enumerate(CHECKED.splitlines(), 1)
    assert refused == {number for number, line in lines if line.startswith(wrong)}, (
        result.stdout + result.stderr
    )
    revealed = re.findall(r'Revealed type is "(.*)"', result.stdout)
    assert [re.findall(r"\w+", name)[-1] for name in revealed] == [
        "CompiledRule", "CompiledKnowledge", "Tensor", "Violation",
    ]  # fmt: skip


def test_a_type_checker_knows_every_option():
    parameters = inspect.signature(rs.compile).parameters
    options = {name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert set(RuleOptions.__annotations__) == options - {"weights"}
    of_knowledge = options - {"knowledge", "domains", "predicates", "quantities", "weight"}
    assert set(KnowledgeOptions.__annotations__) == of_knowledge


def test_a_rule_is_reduced_by_the_mean_unless_another_reduction_is_named():
    given = {"P": torch.tensor([1.0, 1.0, 0.5]), "Q": torch.tensor([0.25, 1.0, 0.5])}

    def penalty(**options):
        return rs.compile("P -> Q", "lukasiewicz", inputs="probs", **options)(given)

    assert penalty(reduction="none").tolist() == [0.75, 0.0, 0.0]
    assert penalty().shape == ()
    assert penalty() == penalty(reduction="mean") == 0.25
    assert penalty(weight=2.0) == 0.5


def test_the_mean_is_over_all_dimensions_of_the_batch():
    given = {"P": torch.ones(2, 1), "Q": torch.tensor([[0.0, 0.5, 1.0], [0.5, 0.5, 0.5]])}
    rule = rs.compile("P -> Q", "lukasiewicz", inputs="probs")
    assert rule(given) == 0.5


def test_the_mean_is_over_sequences_however_long_they_are():
    rule = rs.compile(
        "forall i in s: P(i)",
        "lukasiewicz-maxsat",
        domains={"s": "sequence"},
        outputs={"P": "independent"},
        inputs="probs",
    )
    # The first sequence costs 1 + 1 + 1, the second 1, and the one without positions 0.
    assert rule(P=torch.zeros(3, 3), lengths=[3, 1, 0]) == pytest.approx(4 / 3)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "conjunction"])
def test_one_example_without_a_batch_has_one_penalty_under_every_reduction(reduction):
    rule = rs.compile("P -> Q", "lukasiewicz", inputs="probs", reduction=reduction)
    penalty = rule(P=torch.tensor(1.0), Q=torch.tensor(0.25))
    assert penalty.shape == ()
    assert penalty == 0.75


@pytest.mark.parametrize("name", ["r-product", "lukasiewicz", "s-godel", "exact"])
def test_the_mean_of_an_empty_batch_is_0_with_gradients_of_0(name):
    given = {key: torch.zeros(0, requires_grad=True) for key in "PQ"}
    penalty = rs.compile("P -> Q", name)(given)
    assert penalty.shape == ()
    assert penalty == 0
    penalty.backward()
    assert all(leaf.grad is None or leaf.grad.shape == (0,) for leaf in given.values())


@pytest.mark.parametrize("name", ["r-product", "s-godel"])
def test_the_mean_can_be_traced_for_all_batch_sizes_and_mapped_over(name):
    rule = rs.compile("forall x in d: P(x) -> Q(x)", name, domains={"d": 3})
    each = rs.compile("forall x in d: P(x) -> Q(x)", name, domains={"d": 3}, reduction="none")
    traced = torch.compile(rule, backend="eager", fullgraph=True, dynamic=True)
    for size in (2, 5, 7):
        given = {key: torch.randn(size, 3, dtype=torch.float64) for key in "PQ"}
        torch.testing.assert_close(traced(given), each(given).mean())
        torch.testing.assert_close(torch.func.vmap(rule)(given), each(given))


def test_rules_share_settings_that_name_predicates_they_do_not_read():
    shared = {"Cat": "independent", "Has": "independent", "Tag2": "softmax", "Tag1": "sigmoid"}
    options = {"domains": {"d": 3}, "predicates": {"Tag1": ("d",)}, "outputs": shared}
    assert rs.compile("Tag1(0) -> Tag1(1)", **options).plan.slots[0].predicate.is_independent
    options["predicates"] |= {"Cat": ("d",), "Has": ("d",)}
    options["inputs"] = {"Tag1": "probs", "Cat": "log_probs"}
    half = torch.full((3,), 0.5)
    assert rs.compile("Tag1(0) -> Tag1(1)", **options).truth(Tag1=half).item() == 0.75
    logits = rs.compile("forall x in d: Has(x)", **options)  # those that are not named
    assert logits.truth(Has=torch.zeros(3)).item() == pytest.approx(0.125)
    knowledge = rs.loads("domain d = 0..2\npredicate Has(d)\nrule r: Has(0)")
    rule = rs.compile(knowledge, outputs=shared).rules["r"]
    assert rule.plan.slots[0].predicate.is_independent


def test_settings_of_a_misspelt_predicate_are_refused():
    for wrong in ("Anmal", "animal"):
        with pytest.raises(GroundingError, match="Did you mean `Animal`"):
            rs.compile("Animal(0)", domains={"d": 2}, predicates={"Animal": ("d",)},
                       outputs={wrong: "independent"})  # fmt: skip
    with pytest.raises(GroundingError, match="expected 'exclusive'"):
        rs.compile("A", outputs={"Elsewhere": "sigmoids"})


def test_labels_are_compared_alike_in_python_and_in_rule_files():
    for operator in ("<", "<=", ">", ">="):
        text = f"forall x, y in d where x {operator} y & x != c: P(x) -> P(y)"
        files = rs.compile(rs.loads(f"""domain d = b, "a b", a, c, B
            predicate P(d) independent
            rule r: {text}""")).rules["r"]  # fmt: skip
        labels = ["b", "a b", "a", "c", "B"]
        python = rs.compile(text.replace("!= c", '!= "c"'), domains={"d": labels},
                            outputs={"P": "independent"})  # fmt: skip
        given = torch.tensor([[1.0, -1, 1, -1, 1], [-1, 1, -1, 1, -1]])
        pairs = []
        for rule in (files, python):
            found = rule.violations(P=given, top=99)
            pairs.append(sorted((one.example, str(one.grounding)) for one in found))
        compare = {"<": str.__lt__, "<=": str.__le__, ">": str.__gt__, ">=": str.__ge__}[operator]
        expected = sum(
            compare(x, y) and x != "c" and bool(row[i] > 0) and bool(row[j] < 0)
            for row in given
            for i, x in enumerate(labels)
            for j, y in enumerate(labels)
        )
        assert pairs[0] == pairs[1]
        assert len(pairs[0]) == expected > 0
