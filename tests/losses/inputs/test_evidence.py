"""Observed outputs have the degrees of the constants true and false, in every relaxation."""

from __future__ import annotations

import itertools
import math
import re

import brute_force
import pytest
import torch
from brute_force import TEXTBOOK, Textbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_rules import SHAPES, rules
from test_against_brute_force import (
    FAMILIES,
    PAPER,
    batch_of,
    compiled,
    tensors_for,
    tolerance,
    world,
)

import residuum as rs
from residuum.losses.degrees.tensors import impossible

SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 3)"
THREE = {"digit": 3}
RULES = {
    "sum": SUM,
    "some sum": "exists a, b in digit: Left(a) & Right(b) & Sum((a + b) mod 3)",
    "negated": "forall a in digit: Sum(a) -> ~(Left(a) | ~Right(a))",
    "equal": "forall a in digit: (Sum(a) <-> Left(a)) & (Right(a) -> Sum(a) | Left(a))",
    "to false": "forall a in digit: Left(a) -> (Right(a) -> Sum(a))",
}
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


# Against loops over groundings


class AtZero(Textbook):
    """A logic whose degrees may be 0: evidence makes them 0 without a rounding."""

    def strict(self) -> bool:
        return False


def draw_labels(module, independent, generator):
    """Return labels for about two of three slots, with some outputs left open."""
    labels = {}
    for slot in module.plan.slots:
        if not labels or torch.rand((), generator=generator) < 0.6:
            shape = (2, *SHAPES[slot.name])
            is_exclusive = shape[1:] and slot.name not in independent
            classes = shape[-1] if is_exclusive else 2
            own = torch.randint(classes, shape[:-1] if is_exclusive else shape, generator=generator)
            unseen = torch.rand(own.shape, generator=generator) < 0.2
            labels[slot.name] = own.where(~unseen, -100)
    return labels


def as_seen(tensor, labels, is_exclusive):
    """Return nested lists of degrees, those of observed outputs replaced one by one."""
    seen = tensor.clone()
    for index in itertools.product(*map(range, labels.shape)):
        label = int(labels[index])
        if label == -100:
            continue
        if not is_exclusive:
            seen[index] = float(label)
            continue
        for number in range(tensor.shape[-1]):
            seen[(*index, number)] = float(number == label)
    return seen


def compare(rule, seed, name):
    used = {node.predicate for node in rs.logic.distinct_nodes(rule) if isinstance(node, rs.Atom)}
    independent = {"N", "R"} & used
    module = compiled(rule, name, inputs="probs", outputs=dict.fromkeys(independent, "independent"))
    tensors = tensors_for(module, seed)
    assume(tensors)  # without any, the answer is in single precision
    labels = draw_labels(module, independent, torch.Generator().manual_seed(seed))
    last = next(reversed(tensors), None)  # given in any case, so that all is in double precision
    seen = {
        key: as_seen(one, labels[key], key not in independent and key != "S")
        if key in labels
        else one
        for key, one in tensors.items()
    }
    given = {
        key: one
        for key, one in tensors.items()
        if key == last or key not in labels or (labels[key] == -100).any()
    }
    found = batch_of(module(given, observed=labels))
    degrees = batch_of(module.truth(given, observed=labels))
    holds = batch_of(module.satisfied(given, observed=labels))
    assert holds == batch_of(module.satisfied(seen))
    logic = AtZero(**vars(TEXTBOOK[name]))
    for example in range(2):
        here = world(seen, example)
        expected = brute_force.degree(rule, here, logic)
        assert degrees[example] == pytest.approx(expected, abs=tolerance(name))
        if 0 < expected < 1e-6:
            continue  # these floats have lost the digits of its logarithm
        cost = brute_force.penalty(rule, here, logic)
        if cost == math.inf:
            assert 50 < found[example] < math.inf
        else:
            assert found[example] == pytest.approx(cost, rel=tolerance(name), abs=tolerance(name))


@pytest.mark.parametrize("name", [*PAPER, *FAMILIES])
@settings(derandomize=True, deadline=None, max_examples=25, report_multiple_bugs=False)
@given(rules(), st.integers(0, 2**32 - 1))
def test_penalties_and_degrees_are_those_of_groundings_with_constants(name, rule, seed):
    compare(rule, seed, name)


def spelt_out(text, labels):
    """Return a rule without quantifiers, with true and false for the observed atoms."""
    ground = str(rs.expand(rs.parse(text), {"digit": [0, 1, 2]}))
    for name, label in labels.items():
        for number in range(3):
            truth = "true" if number == label else "false"
            ground = ground.replace(f"{name}({number})", truth)
    return rs.parse(re.sub(r"(\w+)\((\d)\)", r"\1_\2", ground))


def gradients_of(value, given):
    """Return the gradients of tensors: 0 under `r-godel` where only consequents have some."""
    leaves = list(given.values())
    if not value.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    return torch.autograd.grad(value.sum(), leaves, materialize_grads=True)


def degree_of(formula, values, name):
    read = {str(atom) for atom in rs.atoms_of(formula)}
    return float(rs.truth(formula, {key: values[key] for key in read}, name))


@pytest.mark.parametrize("text", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name", [*PAPER, *FAMILIES])
def test_degrees_and_gradients_are_those_of_the_rule_with_constants(name, text):
    module = rs.compile(text, name, domains=THREE, inputs="probs")
    torch.manual_seed(3)
    for label in range(3):
        labels = {"Sum": label}
        formula = spelt_out(text, labels)
        given = {n: torch.rand(3, dtype=torch.float64).requires_grad_() for n in ("Left", "Right")}
        values = {
            f"{n}_{i}": x for n, one in given.items() for i, x in enumerate(one.detach().tolist())
        }
        degree = module.truth(given, observed=labels)
        assert degree.item() == pytest.approx(degree_of(formula, values, name), abs=1e-7)
        for one, gradient in zip(given, gradients_of(degree, given), strict=True):
            for number in range(3):
                key, step = f"{one}_{number}", 1e-6
                up, down = (
                    degree_of(formula, {**values, key: values[key] + sign * step}, name)
                    for sign in (1, -1)
                )
                slope = (up - down) / (2 * step)
                assert float(gradient[number]) == pytest.approx(slope, abs=1e-4), (key, label)


@pytest.mark.parametrize("name", [*PAPER, *FAMILIES, "exact"])
@pytest.mark.parametrize("form", ["logits", "log_probs", "probs"])
def test_evidence_means_the_same_in_every_form(name, form):
    text = "forall a in digit: (Left(a) -> Sum(a)) & (Has(a) | ~Sum(a)) & (Q -> Has(a))"
    rule = rs.compile(
        text, name, domains=THREE, inputs=form, outputs={"Has": "independent"}, reduction="none"
    )
    likeliest = torch.tensor([[0.7, 0.2, 0.1]] * 2, dtype=torch.float64)
    given = likeliest if form == "probs" else likeliest.log()
    labels = {"Sum": torch.tensor([0, 2]), "Has": [[1, 1, 0], [0, 1, 1]], "Q": [False, True]}
    plain = rs.compile(
        text, name, domains=THREE, inputs="probs", outputs={"Has": "independent"}, reduction="none"
    )
    crisp = {
        "Left": likeliest,
        "Sum": torch.eye(3, dtype=torch.float64)[labels["Sum"]],
        "Has": torch.tensor(labels["Has"], dtype=torch.float64),
        "Q": torch.tensor(labels["Q"], dtype=torch.float64),
    }
    torch.testing.assert_close(rule(Left=given, observed=labels), plain(crisp))


# Partial evidence, precision, gradients


@pytest.mark.parametrize("name", [*PAPER, "exact"])
def test_a_tensor_serves_where_nothing_is_observed(name):
    rule = rs.compile(SUM, name, domains=THREE, reduction="none")
    torch.manual_seed(0)
    given = {n: torch.randn(4, 3, requires_grad=True) for n in ("Left", "Right", "Sum")}
    labels = torch.tensor([-100, 1, -100, 2])
    found = rule(given, observed={"Sum": labels})
    slopes = gradients_of(found, given)
    seen, unseen = labels != -100, labels == -100
    alone = rule(given)
    own = gradients_of(alone, given)
    torch.testing.assert_close(found[unseen], alone[unseen])
    for one, expected in zip(slopes, own, strict=True):
        torch.testing.assert_close(one[unseen], expected[unseen])
    without = {n: given[n][seen] for n in ("Left", "Right")}
    torch.testing.assert_close(found[seen], rule(without, observed={"Sum": labels[seen]}))
    assert not slopes[2][seen].any()


def test_labels_win_over_a_tensor_which_gets_no_gradient_even_from_nan():
    rule = rs.compile("forall a in digit: Left(a) -> Sum(a)", "s-product", domains=THREE)
    left = torch.randn(2, 3, requires_grad=True)
    ignored = torch.full((2, 3), torch.nan, requires_grad=True)
    labels = {"Sum": [2, 0]}
    penalty = rule(Left=left, Sum=ignored, observed=labels)
    penalty.backward()
    torch.testing.assert_close(penalty, rule(Left=left, observed=labels))
    assert torch.equal(ignored.grad, torch.zeros(2, 3))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["exclusive", "independent"])
def test_every_precision_takes_evidence(dtype, kind):
    rule = rs.compile(
        "forall a in digit: Left(a) -> Sum(a)",
        "s-product",
        domains=THREE,
        outputs={"Sum": kind},
        reduction="none",
    )
    left = torch.tensor([[1.0, -2.0, 0.5]] * 2, dtype=dtype, requires_grad=True)
    open_to = torch.tensor([[0.5, 0.25, 2.0]] * 2, dtype=dtype, requires_grad=True)
    labels = [-100, 1] if kind == "exclusive" else [[-100, 1, 0], [1, 1, 0]]
    found = rule(Left=left, Sum=open_to, observed={"Sum": labels})
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    found.sum().backward()
    p = left.detach().double().softmax(-1)
    s = open_to.detach().double()
    s = s.softmax(-1) if kind == "exclusive" else s.sigmoid()
    for row, own in enumerate(labels):
        for number in range(3):
            label = own if kind == "exclusive" else own[number]
            if label != -100:
                s[row, number] = float(number == label if kind == "exclusive" else label)
    expected = -torch.log1p(-p * (1 - s)).sum(-1)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)
    assert open_to.grad.dtype == dtype
    assert bool(open_to.grad[0].any())
    assert not open_to.grad[1].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["s-product", "r-product", "exact"])
def test_a_contradiction_costs_the_floor_and_has_finite_gradients(name, dtype):
    assert float(rs.compile("R", name)(observed={"R": [0]})) == pytest.approx(
        -impossible(torch.float32)
    )
    rule = rs.compile("P & Q -> R", name)
    p = torch.tensor([2.0], dtype=dtype, requires_grad=True)
    found = rule(P=p, observed={"P": [1], "Q": [1], "R": [0]})
    # As in every rule that is certainly false: three ways to be false share the floor.
    assert found.item() == pytest.approx(-impossible(dtype), abs=math.log(3) + 1e-4)
    found.backward()
    assert torch.equal(p.grad, torch.zeros_like(p))


@pytest.mark.parametrize("name", [*PAPER, *FAMILIES, "s-drastic", "r-dombi(0.5)", "exact"])
def test_contradictions_and_saturated_networks_give_finite_numbers(name):
    rule = rs.compile(SUM, name, domains=THREE, reduction="none")
    rows = torch.tensor(list(itertools.product([-torch.inf, -1e30, 0.0, 50.0, 1e30], repeat=3)))
    for label in range(3):
        given = {n: rows.clone().requires_grad_() for n in ("Left", "Right")}
        found = rule(given, observed={"Sum": torch.tensor(label)})
        assert torch.isfinite(found).all()
        for slope in gradients_of(found, given):
            assert torch.isfinite(slope).all()


@pytest.mark.parametrize("name", ["r-product", "r-hamacher(2)", "r-frank(2)", "r-dombi(2)"])
def test_an_antecedent_that_is_observed_to_be_false_makes_everything_true(name):
    rule = rs.compile("P -> Q & R", name)
    assert float(rule(observed={"P": 0, "Q": 0, "R": 0})) == 0
    hopeless = torch.tensor(-300.0, requires_grad=True)  # less likely than the floor of P
    found = rule(Q=hopeless, observed={"P": 0, "R": 1})
    found.backward()
    assert found.item() == 0
    assert hopeless.grad.item() == 0
    nested = rs.compile("(P -> Q) -> R", name)  # P -> false is false unless P is
    assert nested.truth(P=torch.tensor(1.0), observed={"Q": 0, "R": 0}).item() == 1
    both = rs.compile("P <-> Q & R", name)
    assert both.truth(observed={"P": 0, "Q": 0, "R": 0}).item() == 1
    assert both.truth(observed={"P": 1, "Q": 0, "R": 0}).item() < 1e-20


# Batches


def test_the_batches_of_labels_broadcast_as_those_of_tensors_do():
    rule = rs.compile(SUM, "r-product", domains=THREE, reduction="none")
    left, right = torch.randn(5, 3), torch.randn(3)
    one = rule(Left=left, Right=right, observed={"Sum": 2})
    many = rule(Left=left, Right=right.expand(5, 3), observed={"Sum": torch.full((5,), 2)})
    assert one.shape == (5,)
    torch.testing.assert_close(one, many)
    only = rule(Left=left, Right=right, Sum=torch.randn(3), observed={"Sum": torch.full((5,), 2)})
    torch.testing.assert_close(only, many)


@pytest.mark.parametrize("name", ["s-product", "s-godel", "r-product"])
def test_blocks_change_nothing_with_evidence(name):
    torch.manual_seed(1)
    text = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 10)"
    labels, found = torch.randint(10, (16,)), []
    given = {n: torch.randn(16, 10, requires_grad=True) for n in ("Left", "Right")}
    for block in (None, 200, 30):
        rule = rs.compile(text, name, domains={"digit": 10}, block=block)
        penalty = rule(given, observed={"Sum": labels})
        slopes = torch.autograd.grad(penalty, list(given.values()), materialize_grads=True)
        found.append((penalty, *slopes, rule.truth(given, observed={"Sum": labels})))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])


def test_calls_with_and_without_evidence_do_not_disturb_each_other():
    torch.manual_seed(2)
    given = {n: torch.randn(4, 3) for n in ("Left", "Right", "Sum")}
    labels = {"Sum": torch.tensor([0, 1, 2, 0])}
    rule = rs.compile(SUM, "s-product", domains=THREE)
    calls = [{}, {"observed": labels}, {"observed": {}}]
    for _ in range(2):
        for call in calls:
            fresh = rs.compile(SUM, "s-product", domains=THREE)
            torch.testing.assert_close(rule(given, **call), fresh(given, **call))
    assert "evaluated by steps" in rule.explain(given, observed=labels)
    assert "evaluated by clauses" in rule.explain(given)


# Sequences

TAGGED = {
    "domains": {"position": "sequence", "tag": 3},
    "predicates": {"Tag": ("position", "tag"), "Word": ("position", "tag")},
}
NEIGHBOURS = "forall i in position, t in tag: Tag(i, t) & Word(i, t) -> Tag(i + 1, (t + 1) mod 3)"


@pytest.mark.parametrize("padding", [-100, 7])
@pytest.mark.parametrize("name", [*PAPER, "exact"])
def test_padded_labels_are_those_of_each_sequence_alone(name, padding):
    rule = rs.compile(NEIGHBOURS, name, reduction="none", **TAGGED)
    torch.manual_seed(4)
    words = torch.randn(3, 4, 3)
    lengths = torch.tensor([4, 2, 1])
    labels = torch.randint(3, (3, 4))
    for row, length in enumerate(lengths):
        labels[row, length:] = padding
        words[row, length:] = torch.nan
    found = rule(Word=words, lengths=lengths, observed={"Tag": labels})
    for row, length in enumerate(lengths.tolist()):
        own = {"Tag": labels[row, :length]}
        alone = rule(Word=words[row, :length], observed=own)
        torch.testing.assert_close(found[row], alone)


def test_labels_of_a_softmax_over_positions_are_positions():
    rule = rs.compile(
        "forall i, j in position: Head(i, j) -> Root(j)",
        "s-product",
        domains={"position": "sequence"},
        predicates={"Head": ("position", "position"), "Root": ("position",)},
        reduction="none",
    )
    root = torch.randn(2, 3)
    labels = torch.tensor([[0, 2, 1], [1, 0, -100]])
    lengths = torch.tensor([3, 2])
    found = rule(Root=root, lengths=lengths, observed={"Head": labels})
    crisp = torch.full((2, 3, 3), -torch.inf)
    for row, column in itertools.product(range(2), range(3)):
        crisp[row, column, max(0, labels[row, column])] = 0.0
    torch.testing.assert_close(found, rule(Root=root, Head=crisp, lengths=lengths))
    with pytest.raises(rs.errors.GroundingError, match="to the last position of its sequence"):
        rule(Root=root, lengths=lengths, observed={"Head": labels.where(labels != 0, 2)})
    with pytest.raises(rs.errors.GroundingError, match="shows the length of sequence `position`"):
        rs.compile(
            "exists j in position: Root(j)",
            domains={"position": "sequence"},
            predicates={"Root": ("position",)},
        )(observed={"Root": [1]})


# The exact probability


@pytest.mark.parametrize("label", range(3))
def test_exact_is_the_probability_of_the_rule_given_the_evidence(label):
    rule = rs.compile(SUM, "exact", domains=THREE, reduction="none")
    torch.manual_seed(label)
    given = {n: torch.randn(3, dtype=torch.float64, requires_grad=True) for n in ("Left", "Right")}
    p, q = (one.softmax(-1) for one in given.values())
    chance = sum(p[a] * q[b] for a in range(3) for b in range(3) if (a + b) % 3 == label)
    found = rule(given, observed={"Sum": label})
    torch.testing.assert_close(found, -torch.log(chance))
    torch.testing.assert_close(rule.truth(given, observed={"Sum": label}), chance)
    for one, other in zip(
        torch.autograd.grad(found, list(given.values())),
        torch.autograd.grad(-torch.log(chance), list(given.values())),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_exact_sums_over_what_is_not_observed():
    text = "forall a in digit: (Has(a) -> Left(a) | Q) & (Left(a) -> Has(a))"
    rule = rs.compile(text, "exact", domains=THREE, outputs={"Has": "independent"})
    torch.manual_seed(5)
    has, left, q = (torch.randn(shape, dtype=torch.float64) for shape in ((3,), (3,), ()))
    labels = [1, -100, 0]
    total = 0.0
    for states in itertools.product([0, 1], repeat=3):
        if any(label not in (-100, state) for label, state in zip(labels, states, strict=True)):
            continue
        for likely, holds in itertools.product(range(3), [0, 1]):
            obeyed = all(
                (not states[a] or likely == a or holds) and (likely != a or states[a])
                for a in range(3)
            )
            chance = float(has[1].sigmoid()) if states[1] else float((-has[1]).sigmoid())
            chance *= float(left.softmax(-1)[likely])
            chance *= float(q.sigmoid()) if holds else float((-q).sigmoid())
            total += chance * obeyed
    found = rule(Has=has, Left=left, Q=q, observed={"Has": labels})
    assert float(found) == pytest.approx(-math.log(total), rel=1e-9)


# Every method, and the tools of PyTorch


def test_every_question_reads_the_evidence():
    rule = rs.compile(SUM, "s-product", domains=THREE, reduction="none")
    eye = 9 * torch.eye(3)
    given, labels = {"Left": eye[[1, 2]], "Right": eye[[1, 2]]}, {"Sum": torch.tensor([2, 0])}
    assert rule.satisfied(given, observed=labels).tolist() == [True, False]
    assert rule.coverage(given, observed=labels).tolist() == pytest.approx([1 / 9, 1 / 9])
    [violation] = rule.violations(given, observed=labels)
    assert str(violation.grounding) == "Left(2) & Right(2) -> Sum(1)"
    assert violation.example == (1,)
    single = rule.each(given, observed=labels)
    [number] = [n for n, one in single.parts.items() if set(one.flatten().tolist()) == {0.0, 1.0}]
    assert str(single.formula).endswith(number)
    assert single.holds.all(1).tolist() == [True, False]
    assert rule.truth(given, observed=labels)[0] > 0.9 > rule.truth(given, observed=labels)[1]


@pytest.mark.parametrize("name", ["s-product", "r-product", "lukasiewicz", "exact"])
def test_a_compiled_function_takes_evidence(name):
    rule = rs.compile(
        "forall a in digit: (Left(a) -> Sum(a)) & (Has(a) -> Left(a))",
        name,
        domains=THREE,
        outputs={"Has": "independent"},
    )

    def loss(left, open_to, labels, has):
        return rule(Left=left, Sum=open_to, observed={"Sum": labels, "Has": has})

    torch._dynamo.reset()
    traced = torch.compile(loss, fullgraph=True, backend="aot_eager")
    labels, has = torch.tensor([0, -100, 2, 1]), torch.tensor([[1, 0, 1]] * 4)
    for _ in range(2):
        given = [torch.randn(4, 3, requires_grad=True) for _ in range(2)]
        found, expected = traced(*given, labels, has), loss(*given, labels, has)
        torch.testing.assert_close(found, expected)
        for one, other in zip(
            torch.autograd.grad(found, given), torch.autograd.grad(expected, given), strict=True
        ):
            torch.testing.assert_close(one, other)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use of it
@pytest.mark.parametrize("name", ["s-product", "r-product", "s-godel", "exact"])
def test_vmap_and_functional_gradients_take_evidence(name):
    rule = rs.compile(
        "forall a in digit: (Left(a) -> Sum(a)) & (Has(a) -> Left(a))",
        name,
        domains=THREE,
        outputs={"Has": "independent"},
    )
    torch.manual_seed(6)
    left, labels = torch.randn(4, 3), torch.tensor([0, 1, 2, 1])
    has = torch.randint(2, (4, 3))

    def loss(left, label, has):
        return rule(Left=left, observed={"Sum": label, "Has": has})

    found = torch.vmap(loss)(left, labels, has)
    slopes = torch.vmap(torch.func.grad(loss))(left, labels, has)
    for row in range(4):
        leaf = left[row].clone().requires_grad_()
        expected = loss(leaf, labels[row], has[row])
        torch.testing.assert_close(found[row], expected)
        (slope,) = torch.autograd.grad(expected, leaf)
        torch.testing.assert_close(slopes[row], slope)
        forward = torch.func.jacfwd(loss)(left[row], labels[row], has[row])
        torch.testing.assert_close(forward, slope)


def test_labels_that_a_trace_cannot_check_give_nan_where_nothing_is_known():
    rule = rs.compile("forall a in digit: Left(a) -> Sum(a)", "s-product", domains=THREE)
    found = torch.vmap(lambda left, label: rule(Left=left, observed={"Sum": label}))(
        torch.randn(3, 3), torch.tensor([-100, 1, 9])
    )
    assert found.isnan().tolist() == [True, False, True]


# Mistakes

LABELS = torch.tensor([0, 1])
GIVEN = {"Left": torch.zeros(2, 3), "Right": torch.zeros(2, 3)}


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({"Som": LABELS}, "nothing reads `Som`. Did you mean `Sum`"),
        (LABELS, "expected labels by the names of predicates, .* got Tensor"),
        ([("Sum", LABELS)], "got list"),
        ({"Sum": LABELS.float()}, "expected the number of a member of digit.*got torch.float32"),
        ({"Sum": LABELS.bool()}, "got torch.bool"),
        ({"Sum": "zero"}, "expected labels as a tensor of integers, got 'zero'"),
        ({"Sum": torch.tensor([0, 3])}, "labels from 0 to 2, or -100 .* got 3"),
        ({"Sum": torch.tensor([0, -1])}, "labels from 0 to 2, or -100 .* got -1"),
        ({"Sum": torch.tensor([0, -100])}, "expected a tensor for the outputs that are not obs"),
        ({"Sum": LABELS.unsqueeze(-1)}, "would broadcast to"),
        ({"Left": torch.eye(3)[:2]}, r"if these are one-hot, pass `labels.argmax\(-1\)`"),
        ({"Left": torch.eye(3)[:2].long()}, r"that of the predictions; if these are one-hot, pass"),
        ({"Left": LABELS.float()}, r"pass `labels.long\(\)` if they are whole numbers"),
        ({"Sum": torch.tensor([0, 1, 2])}, "the batches do not fit together"),
        ({"Sum": LABELS.to("meta")}, "a shape and no values"),
        ({"Sum": LABELS.to_sparse()}, "expected a dense tensor of labels"),
    ],
)
def test_wrong_labels_are_refused_in_words(observed, message):
    rule = rs.compile(SUM, "r-product", domains=THREE)
    with pytest.raises(rs.errors.GroundingError, match=message):
        rule(GIVEN, observed=observed)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1, 2]] * 2, "labels from 0 to 1, or -100 .* got 2"),
        ([[0.0, 1.0, 1.0]] * 2, "expected 0, 1 or -100 for each output"),
        ([0, 1], r"of shape \(batch, 3\) or as Booleans, got torch.int64 of shape \(2,\)"),
    ],
)
def test_wrong_labels_of_independent_outputs_are_refused(labels, message):
    rule = rs.compile(SUM, domains=THREE, outputs={"Sum": "independent"})
    with pytest.raises(rs.errors.GroundingError, match=message):
        rule(GIVEN, observed={"Sum": labels})


def test_a_tensor_that_is_missing_beside_the_evidence_is_named():
    rule = rs.compile(SUM, domains=THREE)
    with pytest.raises(rs.errors.GroundingError, match="no tensor is given for `Right`"):
        rule(Left=GIVEN["Left"], observed={"Sum": LABELS})


def test_checked_rules_refuse_evidence_that_contradicts_them():
    rule = rs.compile("forall a in digit: Left(a) -> ~Sum(a)", domains=THREE, check=True)
    assert float(rule(observed={"Left": [0, 1], "Sum": [1, 2]})) == 0
    with pytest.raises(rs.errors.GroundingError, match=r"example 1: Left\(2\) -> ~Sum\(2\)"):
        rule(observed={"Left": [0, 2], "Sum": [1, 2]})
    partly = rule(Left=torch.zeros(2, 3), observed={"Left": [0, -100], "Sum": [0, 2]})
    assert float(partly) > 0  # a network might still be right about the second example
    with pytest.raises(rs.errors.GroundingError, match="NaN"):
        rule(Left=torch.full((2, 3), torch.nan), observed={"Sum": [0, 2]})
