"""Exact questions with odd batches, mixed precision and outputs that a rule does not read."""

import itertools

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

RULE = rs.compile(
    "forall x in d: A(x) -> B(x)",
    "exact",
    domains={"d": 3},
    outputs={"A": "independent", "B": "independent"},
    reduction="none",
)
SUM = rs.compile(
    "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 3)",
    "exact",
    domains={"digit": 3},
)


def answers(rule, outputs, labels):
    """Return the answers to all questions without chance in them, by name."""
    found = {
        "penalty": rule(outputs),
        "probability": rule.probability(outputs),
        "entropy": rule.entropy(outputs),
        "likelihood": rule.log_likelihood(outputs, labels),
    }
    for name, one in rule.marginals(outputs).items():
        found[f"marginals {name}"] = one
    for name, one in rule.decode(outputs).items():
        found[f"decode {name}"] = one
    return found


@pytest.mark.parametrize("batch", [(), (0,), (4,), (2, 3)])
def test_every_batch_shape_has_the_answers_of_its_examples(batch):
    torch.manual_seed(0)
    outputs = {name: torch.randn(*batch, 3, dtype=torch.float64) for name in "AB"}
    labels = {"A": torch.zeros(*batch, 3, dtype=torch.int64), "B": torch.full((*batch, 3), -100)}
    found = answers(RULE, outputs, labels)
    for name, one in found.items():
        assert one.shape[: len(batch)] == batch, name
    for place in itertools.product(*map(range, batch)):
        alone = answers(RULE, {name: one[place] for name, one in outputs.items()},
                        {name: one[place] for name, one in labels.items()})  # fmt: skip
        for name, one in found.items():
            torch.testing.assert_close(one[place], alone[name])
    assert RULE.sample(outputs, 3)["A"].shape == (3, *batch, 3)
    assert RULE.decode(outputs, k=2)[1]["A"].shape == (*batch, 3)


def test_tensors_and_labels_broadcast():
    torch.manual_seed(1)
    first, second = torch.randn(3), torch.randn(2, 3)
    one, other = torch.tensor([0, 1, 0]), torch.tensor([[1, 1, 0], [0, 1, -100]])
    found = answers(RULE, {"A": first, "B": second}, {"A": one, "B": other})
    spread = answers(RULE, {"A": first.expand(2, 3), "B": second},
                     {"A": one.expand(2, 3), "B": other})  # fmt: skip
    for name in found:
        torch.testing.assert_close(found[name].expand_as(spread[name]), spread[name])
    by_labels = RULE.log_likelihood({"A": first, "B": second[0]}, {"A": one, "B": other})
    rows = [
        RULE.log_likelihood({"A": first, "B": second[0]}, {"A": one, "B": row}) for row in other
    ]
    torch.testing.assert_close(by_labels, torch.stack(rows))


def test_a_softmax_without_a_batch_is_decoded():
    found = SUM.decode({name: torch.randn(3) for name in ("Left", "Right", "Sum")})
    assert (found["Left"] + found["Right"]) % 3 == found["Sum"]


def test_evidence_excludes_values_in_any_precision():
    outputs = {"Left": torch.randn(1, 3).double(), "Right": torch.randn(1, 3).half(),
               "Sum": torch.randn(1, 3)}  # fmt: skip
    seen = {"Left": torch.tensor([0]), "Right": torch.tensor([1])}
    assert SUM.decode(outputs, observed=seen)["Sum"].tolist() == [1]
    with pytest.raises(GroundingError, match="contradicts the rule"):
        SUM.decode(outputs, observed={**seen, "Sum": torch.tensor([0])})


def test_observed_outputs_that_the_rule_does_not_read_keep_their_labels():
    rules = rs.compile(
        rs.loads("domain d = 0..3\npredicate A(d) independent\nrule r: A(0) -> A(1)"), "exact"
    )
    seen = {"A": torch.tensor([1, -100, 0, 1])}
    best, absent = rules.decode(A=torch.randn(4), observed=seen, k=2)
    assert best["A"].tolist() == [1, 1, 0, 1]
    assert absent["A"].tolist() == [-100] * 4
    assert rules.sample({"A": torch.randn(4)}, 20, observed=seen)["A"][:, 2:].unique(
        dim=0
    ).tolist() == [[0, 1]]


def test_no_probability_is_above_one():
    rule = rs.compile("~(A & B)", "exact", reduction="none")
    outputs = {name: torch.randn(4_000) - 4 for name in "AB"}
    assert (rule(outputs) >= 0).all()
    assert (rule.probability(outputs) <= 1).all()


def test_outputs_that_are_nan_have_no_best_prediction():
    outputs = {"A": torch.tensor([[0.0, 0, 0], [0, torch.nan, 0]]), "B": torch.zeros(2, 3)}
    with pytest.raises(GroundingError, match="example 1: expected outputs that are numbers"):
        RULE.decode(outputs)


def test_rules_with_and_without_examples_hold_together():
    rules = rs.compile(
        rs.loads(
            "domain pair\ndomain d = 0..2\npredicate A(pair, d)\npredicate C(d) independent\n"
            "rule one: forall p in pair, x in d: A(p, x) -> C(x)\nrule two: exists x in d: C(x)"
        ),
        "exact",
    )
    outputs = {"A": torch.randn(5, 3), "C": torch.randn(3)}
    p, c = outputs["A"].softmax(-1), torch.sigmoid(outputs["C"])
    torch.testing.assert_close(rules.probability(outputs), (p * c).sum(-1))
    torch.testing.assert_close(rules.total(outputs), -(p * c).sum(-1).log().mean())


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of its own parts
def test_a_hidden_predicate_is_one_operator_in_a_trace_and_has_no_prediction_of_its_own():
    rule = rs.compile("forall x in d: H(x) <-> A(x)", "exact", domains={"d": 3},
                      outputs={"A": "independent", "H": "hidden"})  # fmt: skip
    given = torch.randn(2, 3)
    torch.testing.assert_close(
        torch.compile(lambda one: rule(A=one), backend="eager")(given), rule(A=given)
    )
    with pytest.raises(GroundingError, match="`H` is hidden"):
        rule.satisfied(A=given)
    labels = {"A": torch.eye(3, dtype=torch.int64)[:2], "H": torch.tensor([0, 1])}
    each = torch.nn.functional.logsigmoid(torch.where(torch.eye(3)[:, None] > 0, given, -given))
    shares = each.sum(-1).log_softmax(0)
    found = rule.log_likelihood({"A": given}, labels)
    torch.testing.assert_close(found, torch.stack([shares[0, 0], shares[1, 1]]))


def test_names_of_rules_that_are_none_are_refused():
    rules = rs.compile(rs.loads("predicate P\nrule r: P"), "exact")
    for wrong in ([1], 5, [["r"]]):
        with pytest.raises(GroundingError, match="rules: expected names of rules"):
            rules.probability(P=torch.zeros(1), rules=wrong)


def test_a_theory_runs_its_networks_once_for_a_likelihood():
    calls = []

    class Network(torch.nn.Linear):
        def forward(self, given):
            calls.append(len(given))
            return super().forward(given)

    knowledge = rs.loads("domain image\ndomain d = 0..2\npredicate A(image, d)\n"
                         "rule r: forall x in image: ~A(x, 0)")  # fmt: skip
    theory = rs.Theory(knowledge, A=Network(2, 3))
    images = torch.randn(4, 2)
    found = theory.log_likelihood({"image": images}, {"A": torch.tensor([1, 2, 1, -100])})
    assert len(calls) == 1
    shares = theory.networks["A"](images)[:, 1:].log_softmax(-1)
    torch.testing.assert_close(found, torch.stack([shares[0, 0], shares[1, 1], shares[2, 0],
                                                   torch.zeros(())]))  # fmt: skip
    with pytest.raises(GroundingError, match="expected tensors by name"):
        theory.decode(images)


def answer(rule, question, given):
    """Return the answer to a question as one tensor."""
    found = getattr(rule, question)(given)
    return torch.cat([found["A"], found["B"]], -1) if isinstance(found, dict) else found


@pytest.mark.parametrize("question", ["probability", "marginals", "entropy"])
def test_vmap_gives_each_example_its_answer_and_its_gradient(question):
    torch.manual_seed(2)
    outputs = {name: torch.randn(4, 3, dtype=torch.float64) for name in "AB"}
    expected = answer(RULE, question, outputs)
    found = torch.func.vmap(lambda given: answer(RULE, question, given))(outputs)
    torch.testing.assert_close(found, expected)

    def squared(given):
        return answer(RULE, question, given).square().sum()

    leaves = {name: one.clone().requires_grad_() for name, one in outputs.items()}
    squared(leaves).backward()
    gradients = torch.func.vmap(torch.func.grad(squared))(outputs)
    for name, leaf in leaves.items():
        torch.testing.assert_close(gradients[name], leaf.grad)


@pytest.mark.parametrize("question", ["marginals", "entropy"])
def test_answers_and_their_gradients_are_the_same_inside_torch_compile(question):
    torch.manual_seed(3)
    outputs = {name: torch.randn(4, 3, dtype=torch.float64) for name in "AB"}
    leaves = [{name: one.clone().requires_grad_() for name, one in outputs.items()} for _ in "12"]

    def squared(given):
        return answer(RULE, question, given).square().sum()

    compiled = torch.compile(squared, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(outputs), squared(outputs))  # without gradients
    compiled(leaves[0]).backward()
    squared(leaves[1]).backward()
    for name in "AB":
        torch.testing.assert_close(leaves[0][name].grad, leaves[1][name].grad)


@pytest.mark.parametrize("question", ["decode", "sample"])
def test_predictions_are_refused_in_words_under_vmap(question):
    outputs = {name: torch.randn(4, 3) for name in "AB"}
    extra = (2,) if question == "sample" else ()
    with pytest.raises(GroundingError, match="whole batch"):
        torch.func.vmap(lambda given: getattr(RULE, question)(given, *extra)["A"],
                        randomness="different")(outputs)  # fmt: skip
