"""Ground rules of one shape are evaluated together, with the penalties of single rules."""

import random

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

FEATURES = [f"f{i}" for i in range(9)]


def _literal(rng):
    name = rng.choice([*(f'Has("{one}")' for one in FEATURES), "P", "Q"])
    return rng.choice(["", "~"]) + name


def _rule(rng):
    a, b, c, d = (_literal(rng) for _ in range(4))
    shapes = [
        f"{a} & {b} -> {c}",
        f"{a} -> {b} | {c}",
        f"{a} | {b} | {c}",
        f"~({a} & {b} & {c} & {d})",
        f"{a} <-> {b}",
        f"({a} -> {b}) & {c} -> {d}",
        f"{a}",
        f"{a} -> ({b} -> {c})",
    ]
    return rng.choice(shapes)


def _rules(count, seed=0):
    rng = random.Random(seed)
    return [_rule(rng) for _ in range(count)]


def _compiled(rule, relaxation, **options):
    present = "Has" in str(rule)
    return rs.compile(
        rule,
        relaxation,
        domains={"feature": FEATURES},
        predicates={"Has": ("feature",)} if present else {},
        outputs={"Has": "independent"} if present else {},
        **options,
        reduction="none",
    )


def _logits(batch=5):
    torch.manual_seed(0)
    return {
        "Has": torch.randn(batch, len(FEATURES), dtype=torch.float64, requires_grad=True),
        "P": torch.randn(batch, dtype=torch.float64, requires_grad=True),
        "Q": torch.randn(batch, dtype=torch.float64, requires_grad=True),
    }


def _read(rule, logits):
    return rule({name: logits[name] for name in rule.forms})


@pytest.mark.parametrize("relaxation", relaxation_names())
def test_a_conjunction_of_rules_costs_the_sum_or_the_maximum_of_its_rules(relaxation):
    rules, logits = _rules(60), _logits()
    together = _compiled(" & ".join(f"({rule})" for rule in rules), relaxation)
    alone = torch.stack([_read(_compiled(rule, relaxation), logits) for rule in rules])
    logic = rs.relaxation(relaxation)
    expected = alone.sum(0) if logic.has_generator else alone.amax(0)
    if logic.is_capped and logic.has_generator:
        expected = expected.clamp(max=float(logic.tnorm.limit))
    torch.testing.assert_close(_read(together, logits), expected)


@pytest.mark.parametrize("relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz-maxsat"])
def test_gradients_of_lifted_rules_equal_those_of_single_rules(relaxation):
    rules, logits = _rules(40, seed=1), _logits()
    together = _compiled(" & ".join(f"({rule})" for rule in rules), relaxation)
    inputs = list(logits.values())
    found = torch.autograd.grad(_read(together, logits).sum(), inputs)
    alone = torch.stack([_read(_compiled(rule, relaxation), logits) for rule in rules])
    combined = alone.amax(0) if relaxation == "s-godel" else alone.sum(0)
    expected = torch.autograd.grad(combined.sum(), inputs)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz"])
def test_a_knowledge_base_gives_each_rule_its_own_penalty(relaxation):
    rules = _rules(50, seed=2)
    declared = ", ".join(FEATURES)
    text = f"domain feature = {declared}\npredicate Has(feature) independent\n"
    text += "predicate P\npredicate Q\n"
    text += "\n".join(f"rule r{i} weight 0.5: {rule}" for i, rule in enumerate(rules))
    text += "\nrule general: forall x in feature: Has(x) -> P\n"
    logits = _logits()
    found = rs.compile(rs.loads(text), relaxation, reduction="none")(logits)
    assert list(found) == [*(f"r{i}" for i in range(50)), "general"]
    for i, rule in enumerate(rules):
        alone = _read(_compiled(rule, relaxation), logits)
        torch.testing.assert_close(found[f"r{i}"], alone)


def test_lifted_rules_take_one_example_without_a_batch():
    text = "domain d = 0..4\npredicate A(d) independent\n"
    text += "\n".join(f"rule r{i}: A({i}) <-> A(0)" for i in range(1, 5))
    logits = torch.randn(5)
    found = rs.compile(rs.loads(text), "lukasiewicz")(A=logits)
    truths = torch.sigmoid(logits)
    for i in range(1, 5):
        torch.testing.assert_close(found[f"r{i}"], (truths[i] - truths[0]).abs())
    together = " & ".join(f"(A({i}) <-> A(0))" for i in range(1, 5))
    options = {"domains": {"d": 5}, "predicates": {"A": ("d",)}, "outputs": {"A": "independent"}}
    total = rs.compile(together, "lukasiewicz-maxsat", **options)(A=logits)
    torch.testing.assert_close(total, (truths - truths[0]).abs().sum())


def test_rules_over_classes_of_one_softmax_are_lifted_too():
    clauses = [f"Digit({a}) -> Parity({a % 2})" for a in range(10)]
    domains = {"digit": 10, "bit": 2}
    predicates = {"Digit": ("digit",), "Parity": ("bit",)}
    ground = rs.compile(" & ".join(f"({c})" for c in clauses), domains=domains,
                        predicates=predicates, reduction="none")  # fmt: skip
    general = rs.compile("forall d in digit: Digit(d) -> Parity(d mod 2)", domains=domains,
                         predicates=predicates, reduction="none")  # fmt: skip
    logits = {"Digit": torch.randn(6, 10), "Parity": torch.randn(6, 2)}
    torch.testing.assert_close(ground(logits), general(logits))


@pytest.mark.parametrize("relaxation", ["s-product", "lukasiewicz-maxsat", "s-hamacher(2)"])
@pytest.mark.parametrize("side", ["antecedent", "consequent"])
def test_detach_works_on_lifted_rules(relaxation, side):
    domains = {"domains": {"d": 5}, "predicates": {"A": ("d",), "B": ("d",)}}
    clauses = " & ".join(f"(A({i}) -> B({(i + 1) % 5}))" for i in range(5))
    leaves = {name: torch.randn(3, 5, requires_grad=True) for name in "AB"}
    rs.compile(clauses, relaxation, detach=side, **domains, reduction="none")(
        leaves
    ).sum().backward()
    kept, moved = ("A", "B") if side == "antecedent" else ("B", "A")
    assert leaves[kept].grad is None or not leaves[kept].grad.any()
    assert leaves[moved].grad.any()


@pytest.mark.parametrize("shapes", [((5,), (7, 5)), ((3, 5), (7, 5)), ((2, 1, 5), (3, 5))])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_rules_about_different_batches_keep_their_batch_shapes(shapes, reduction):
    text = "domain d = 0..4\npredicate A(d)\npredicate B(d)\n"
    text += "\n".join(f"rule {p.lower()}{i}: ~{p}({i})" for p in "AB" for i in range(3))
    given = dict(zip("AB", map(torch.randn, shapes), strict=True))
    found = rs.compile(rs.loads(text), "s-product", reduction=reduction)(given)
    reduce = {"none": lambda x: x, "sum": torch.sum, "mean": torch.mean}[reduction]
    for name, penalty in found.items():
        entropy = -torch.log1p(-torch.softmax(given[name[0].upper()], -1)[..., int(name[1])])
        torch.testing.assert_close(penalty, reduce(entropy))


@pytest.mark.parametrize("count", [3, 4])
def test_rules_about_an_open_domain_may_be_many(count):
    text = "domain image\ndomain f = w, b\npredicate Has(image, f) independent\n"
    text += "\n".join(f"rule r{i}: forall m in image: Has(m, w) -> Has(m, b)" for i in range(count))
    logits = torch.randn(3, 2)
    logs = torch.nn.functional.logsigmoid(logits)
    for penalty in rs.compile(rs.loads(text), "r-product", reduction="none")(Has=logits).values():
        torch.testing.assert_close(penalty, torch.relu(logs[:, 0] - logs[:, 1]))


@pytest.mark.parametrize("count", [3, 4])
def test_positions_that_a_sequence_does_not_have_are_refused(count):
    text = "domain t = A, B\ndomain position sequence\npredicate Tag(position, t)\n"
    text += "\n".join(f"rule r{i}: Tag({i}, A)" for i in range(count))
    rules = rs.compile(rs.loads(text), reduction="none")
    with pytest.raises(rs.ResiduumError, match="expected lengths from"):
        rules(Tag=torch.randn(2, 6, 2), lengths=torch.tensor([6, 1]))
