"""A wrong rule fails when it is compiled, and a wrong tensor at the call; the error says why."""

from __future__ import annotations

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError, ResiduumError

SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 10)"
TEN = {"digit": 10}
P_ALONE = rs.loads("predicate P")
GIVEN = {name: torch.zeros(64, 10) for name in ("Left", "Right", "Sum")}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (SUM, {}, "nothing is known of domain `digit`; pass domains="),
        (SUM, {"domains": {"digits": 10}}, "domain `digit`.*Did you mean `digits`"),
        (SUM, {"domains": {"digit": -1}}, "cannot have -1 members"),
        (SUM, {"domains": {"digit": "ten"}}, "expected its size, its labels"),
        (SUM, {"domains": {"digit": [1, 1]}}, "lists a label twice"),
        (SUM, {"domains": {"digit": [0.5, 1.5]}}, "integer or text, got 0.5; write it as text"),
        (SUM, {"domains": {"digit": [True, False]}}, "integer or text, got True"),
        (SUM, {"domains": {"digit": [[0], [1]]}}, r"integer or text, got \[0\]"),
        (SUM, {"domains": ["digit"]}, "domains: expected a mapping by name, got list"),
        (SUM, {"predicates": ["Sum"], "domains": TEN}, "predicates: expected a mapping by name"),
        (SUM, {"functions": [min], "domains": TEN}, "functions: expected a mapping by name"),
        (SUM, {"knowledge": "digits.rsd"}, "knowledge: expected a Knowledge, as rs.load"),
        ("P", {"knowledge": P_ALONE, "domains": TEN}, "domains: expected none beside a Knowledge"),
        ("P", {"knowledge": P_ALONE, "predicates": {"P": ()}}, "predicates: expected none beside"),
        (SUM, {"predicates": {"Smu": ("digit",)}, "domains": TEN}, "not read `Smu`. Did you mean"),
        (SUM, {"predicates": {"Sum": "digit"}, "domains": TEN}, "expected a tuple of domain names"),
        (SUM, {"predicates": {"Sum": ()}, "domains": TEN}, "`Sum` takes 0 arguments"),
        (SUM, {"outputs": {"Sum": "soft"}, "domains": TEN}, "or 'softmax'"),
        (
            SUM,
            {"outputs": {"Som": "exclusive"}, "domains": TEN},
            "not read `Som`. Did you mean",
        ),
        (SUM, {"inputs": "logit", "domains": TEN}, "expected one of logits, log_probs, probs"),
        (SUM, {"inputs": ["probs"], "domains": TEN}, "or a mapping of predicates to them, got"),
        (SUM, {"inputs": {"Som": "probs"}, "domains": TEN}, "not read `Som`. Did you mean"),
        (SUM, {"reduction": "avg", "domains": TEN}, "reduction: expected one of none, mean"),
        (SUM, {"detach": "both", "domains": TEN}, "expected 'antecedent' or 'consequent'"),
        ("forall a in d, b in e: P(a + b)", {"domains": {"d": 2, "e": 3}}, "does not make plain"),
        ("forall a in d, b in e: P(a) & P(b)", {"domains": {"d": 2, "e": 3}}, "and over `d` else"),
        ("forall a in d: P(a) & P(a, a)", {"domains": {"d": 2}}, "arguments in one place and"),
        ("forall a in d: P(f(a))", {"domains": {"d": 2}}, "does not make plain"),
        (
            "exists m in image: Q",
            {"domains": {"image": "open"}},
            "no atom reads `m`",
        ),
        (
            "forall m, n in image: forall m in image: P(m, n)",
            {"domains": {"image": "open"}},
            "`m` is bound by two of the outermost `forall`s",
        ),
        (
            "forall m in image, a in d where a != m: P(m, a)",
            {"domains": {"image": "open", "d": 2}},
            "about members of an open domain and about `a`",
        ),
    ],
)
def test_a_rule_that_does_not_fit_is_refused_when_compiled(text, options, message):
    with pytest.raises(GroundingError, match=message):
        rs.compile(text, **options)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Sum": torch.zeros(64, 12)}, r"`Sum` has domain digit of size 10, .* \(64, 12\)"),
        ({"Sum": torch.zeros(())}, r"`Sum` has domain digit of size 10, .*shape \(\)"),
        ({"Som": torch.zeros(64, 10)}, "nothing reads `Som`. Did you mean `Sum`"),
        ({"Sum": torch.zeros(63, 10)}, r"batches do not fit together: .*`Sum` \(63,\)"),
        ({"Sum": torch.zeros(64, 10).long()}, "expected a floating-point tensor, got torch.int64"),
        ({"Sum": [0.0] * 10}, "expected a floating-point tensor, got list"),
        ({"Sum": torch.zeros(64, 10, device="meta")}, "one device.*`Sum` on meta"),
        ({"Sum": torch.zeros(64, 10).to(torch.float8_e4m3fn)}, "16 bits or more, got .*float8"),
        ({"Sum": torch.zeros(64, 10).to_sparse()}, "`Sum`: expected a dense tensor, got .*sparse"),
        ({name: one.to("meta") for name, one in GIVEN.items()}, "`meta` has .* no values; pass"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(changed, message):
    rule = rs.compile(SUM, domains=TEN, reduction="none")
    with pytest.raises(GroundingError, match=message):
        rule({**GIVEN, **changed})
    rule(GIVEN)
    with pytest.raises(GroundingError, match=message):  # also after a call that fits
        rule({**GIVEN, **changed})


def test_a_missing_tensor_is_named():
    with pytest.raises(GroundingError, match="no tensor is given for `Sum`; expected: Left, Right"):
        rs.compile(SUM, domains=TEN)(Left=GIVEN["Left"], Right=GIVEN["Right"])


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        ("logits", torch.nan, "NaN or an infinity"),
        ("logits", torch.inf, "NaN or an infinity"),
        ("probs", 1.5, r"`P`: .*\[0, 1\], got 1.5"),
        ("probs", -0.25, "got -0.25"),
        ("log_probs", 0.5, "`P`: .*at most 0, got 0.5"),
    ],
)
def test_check_refuses_values_that_do_not_fit_the_form(form, value, message):
    with pytest.raises(GroundingError, match=message):
        rs.compile("P", inputs=form, check=True)(P=torch.tensor([value]))


def test_values_cannot_be_checked_where_vmap_hides_them():
    rule = rs.compile("P", check=True)
    with pytest.raises(GroundingError, match=r"check=True.*vmap"):
        torch.func.vmap(lambda given: rule(P=given))(torch.zeros(2))


def test_a_masked_class_passes_the_check():
    rule = rs.compile("forall x in d: P(x)", domains={"d": 2}, check=True)
    assert rule(P=torch.tensor([0.0, -torch.inf])).isfinite()


@pytest.mark.parametrize("name", ["r-product", "s-godel", "lukasiewicz", "r-yager(2)"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "conjunction"])
def test_an_empty_batch_costs_nothing_and_still_backpropagates(name, reduction):
    given = {key: torch.zeros(0, 10, requires_grad=True) for key in GIVEN}
    penalty = rs.compile(SUM, name, domains=TEN, reduction=reduction)(given)
    assert penalty.sum() == 0
    assert penalty.shape == ((0,) if reduction == "none" else ())
    penalty.sum().backward()
    assert all(leaf.grad.shape == (0, 10) for leaf in given.values())


@pytest.mark.parametrize("block", [0, -1, 1.5, "8", True])
def test_a_block_is_a_positive_number_of_groundings(block):
    with pytest.raises(GroundingError, match="block: expected"):
        rs.compile("P", block=block)


@pytest.mark.parametrize("budget", [0, -1, "1 GB", True, float("nan"), float("inf")])
def test_a_memory_budget_is_a_number_of_bytes(budget):
    with pytest.raises(GroundingError, match=f"memory_budget: expected .* bytes, got {budget!r}"):
        rs.compile("P", memory_budget=budget)


def test_a_memory_budget_may_be_written_with_an_exponent():
    assert rs.compile("P", memory_budget=1e3).block == rs.compile("P", memory_budget=1000).block


def test_a_sequence_has_the_same_length_in_all_tensors():
    rule = rs.compile(
        "forall i in s: A(i) -> B(i)",
        domains={"s": "sequence"},
        outputs={"A": "independent", "B": "independent"},
    )
    with pytest.raises(GroundingError, match=r"`s`: .*got 3 .* 4 in `B`"):
        rule(A=torch.zeros(3), B=torch.zeros(4))


def test_every_error_is_a_value_error_too():
    with pytest.raises(ValueError, match="nothing reads"):
        rs.compile("P")(Q=torch.zeros(1))
    assert issubclass(GroundingError, ResiduumError)


def test_a_single_tensor_is_refused_with_the_names_to_use():
    rule = rs.compile("P -> Q")
    with pytest.raises(rs.ResiduumError, match=r"by name, .*rule\(P=…, Q=…\)"):
        rule(torch.zeros(3))


def test_batches_that_would_pair_all_examples_are_refused():
    rule = rs.compile("~(Cat & Dog)", reduction="none")
    with pytest.raises(rs.ResiduumError, match=r"`Cat` \(5, 1\).*\(5, 5\) examples; drop"):
        rule(Cat=torch.zeros(5, 1), Dog=torch.zeros(5))
    assert rule(Cat=torch.zeros(5, 1), Dog=torch.zeros(1, 7)).shape == (5, 7)
    assert rule(Cat=torch.zeros(3, 5), Dog=torch.zeros(5)).shape == (3, 5)


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "1", True])
def test_a_weight_is_a_number_from_0_on(weight):
    with pytest.raises(rs.ResiduumError, match="the weight of `rule` is a number from 0 on"):
        rs.compile("P -> Q", weight=weight)


def test_an_unknown_rule_of_a_knowledge_is_named_with_the_nearest():
    knowledge = rs.loads("predicate P\nrule hierarchy: P -> P")
    with pytest.raises(rs.ResiduumError, match="Did you mean `hierarchy`"):
        rs.compile("hierarchi", knowledge=knowledge)


def test_a_variable_that_no_quantifier_binds_is_named():
    with pytest.raises(rs.ResiduumError, match=r"`Next\(e\)`: `e` is bound by no quantifier"):
        rs.compile("forall d in digit: Digit(d) -> Next(e)", domains={"digit": 3})


def test_outputs_must_be_a_mapping_by_predicate():
    with pytest.raises(rs.ResiduumError, match="expected a mapping such as"):
        rs.compile("P -> Q", outputs="independent")


def test_probabilities_of_one_softmax_must_add_up_to_1():
    rule = rs.compile("forall d in digit: P(d)", inputs="probs", domains={"digit": 3}, check=True)
    with pytest.raises(rs.ResiduumError, match=r"`P`.*not to 1\.8; .*sigmoid.*independent"):
        rule(P=torch.full((2, 3), 0.6))


@pytest.mark.parametrize("top", [-1, 1.5, True, "2", None])
def test_the_number_of_violations_is_an_integer_from_0_on(top):
    with pytest.raises(rs.ResiduumError, match=f"top: .* got {top!r}"):
        rs.compile("P -> Q").violations(P=torch.zeros(2), Q=torch.zeros(2), top=top)


@pytest.mark.parametrize(
    ("members", "label", "message"),
    [
        (3, '"1"', '"1" is text, and the label 1 is a number'),
        (["1", "2"], "1", '1 is a number, and the label "1" is text'),
        (["1", "2"], "3", "a larger domain of its own"),
    ],
)
def test_a_number_and_the_text_that_spells_it_are_told_apart(members, label, message):
    with pytest.raises(GroundingError, match=message):
        rs.compile(f"P({label})", domains={"d": members}, predicates={"P": ("d",)})


def test_an_unknown_relaxation_gives_a_message_that_names_exact():
    with pytest.raises(rs.ResiduumError, match="and `exact`"):
        rs.compile("P -> Q", "exac")


@pytest.mark.parametrize("name", ["s-yager(0)", "s-yager", "r-product(2)"])
def test_exact_is_not_named_where_a_parameter_is_wrong(name):
    with pytest.raises(rs.ResiduumError) as caught:
        rs.compile("P -> Q", name)
    assert "exact" not in str(caught.value)


def test_a_rule_nested_too_deep_is_refused():
    with pytest.raises(rs.ResiduumError, match="nested 100 deep at most"):
        rs.compile("~" * 3000 + "P")


@pytest.mark.parametrize("rule", ["P & Q", "~(P -> Q)", "P | (P -> Q)"])
def test_an_antecedent_is_detached_only_where_the_rule_has_one(rule):
    with pytest.raises(rs.ResiduumError, match="no antecedent to detach"):
        rs.compile(rule, "s-product", detach="antecedent")


def test_the_exact_probability_has_no_consequent_to_detach():
    with pytest.raises(rs.ResiduumError, match="no consequent to detach"):
        rs.compile("P -> Q", "exact", detach="consequent")


def test_a_block_and_a_memory_budget_exclude_each_other():
    with pytest.raises(rs.ResiduumError, match="got both; leave one out"):
        rs.compile("P -> Q", block=3, memory_budget=1000)


def test_layouts_of_very_many_lengths_are_not_all_kept():
    rule = rs.compile(
        "forall i in position: P(i)",
        domains={"position": "sequence"},
        outputs={"P": "independent"},
    )
    for length in range(300):
        assert rule(P=torch.zeros(length)).isfinite()
    assert len(rule._definition._bound) <= 256
    assert len(rule._receiver._cases) <= 256


@pytest.mark.filterwarnings("ignore:.*prototype")  # PyTorch's, of nested tensors
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_tensor_is_refused_with_what_to_pass_instead(layout):
    parts = [torch.zeros(2, 3), torch.zeros(4, 3)]
    given = {"P": torch.nested.nested_tensor(parts, layout=layout), "Q": torch.zeros(2, 3)}
    remedy = r"got a nested one; pass `torch\.nested\.to_padded_tensor"
    rule = "rule {}: forall x in d: {}(x) -> {}(x)"
    text = f"domain d = 0..2\npredicate P(d)\npredicate Q(d)\n{rule.format('a', 'P', 'Q')}\n"
    knowledge = rs.compile(rs.loads(text + rule.format("b", "Q", "P")))
    for ask in (knowledge, knowledge.total, knowledge.rules["a"], knowledge.rules["a"].satisfied):
        with pytest.raises(GroundingError, match=remedy):
            ask(given)
    with pytest.raises(GroundingError, match=remedy):
        rs.facts(given["P"], [0, 1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.zeros(2), r"by name, .*rule\(P=…, Q=…\)"),
        ([torch.zeros(2), torch.zeros(2)], "by name"),
        ({"P": torch.zeros(2), 1: torch.zeros(2)}, "nothing reads `1`"),
    ],
)
def test_knowledge_takes_tensors_by_name(given, message):
    knowledge = rs.compile(rs.loads("predicate P\npredicate Q\nrule a: P -> Q"))
    rule = knowledge.rules["a"]
    asked = (knowledge, knowledge.total, knowledge.satisfied, knowledge.violations, rule)
    for ask in asked:
        with pytest.raises(GroundingError, match=message):
            ask(given)


@pytest.mark.parametrize(
    "option",
    [{"knowledge": P_ALONE}, {"domains": TEN}, {"predicates": {"P": ()}}, {"weight": 2.0}],
    ids=lambda option: next(iter(option)),
)
def test_options_that_a_whole_knowledge_has_itself_are_refused(option):
    [name] = option
    with pytest.raises(GroundingError, match=f"{name}: expected none beside a Knowledge"):
        rs.compile(P_ALONE, **option)


def test_knowledge_without_sequences_takes_no_lengths():
    knowledge = rs.compile(rs.loads("predicate P\nrule a: P"))
    for ask in (
        knowledge,
        knowledge.total,
        knowledge.truth,
        knowledge.satisfied,
        knowledge.coverage,
        knowledge.violations,
        knowledge.explain,
    ):
        with pytest.raises(GroundingError, match=r"lengths: .* no rule is over a sequence"):
            ask(P=torch.zeros(2), lengths=[1, 2])
