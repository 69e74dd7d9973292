"""Comparisons of quantities. The oracle is Python: nested loops over `eval` of the same text."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import pytest
import torch

import residuum as rs

OPERATORS = ["<", "<=", ">", ">=", "=", "!="]
SIDES = [
    ("A(h)", "B(g)"),
    ("2 * A(h) - 0.5", "abs(B(g) - A(g)) / 4 + h"),
    ("A((h + g) mod 3)", "-C + 1.5 * (g - 1)"),
    ("A(h) * B(g) - abs(-3)", "h div 2 + twice(g)"),
    ("C", "2"),
]
DOMAINS = {"house": 3}


def signed(text: str, world: dict) -> float:
    """Return left minus right of a comparison, computed by Python."""
    left, right = (side.replace("div", "//").replace("mod", "%") for side in text)
    return eval(left, dict(world)) - eval(right, dict(world))


def degree(operator: str, difference: float, scale: float, smoothing: str) -> float:
    """Return the degree of a comparison from left − right, by the definition."""
    if operator in ("=", "!="):
        equal = math.exp(-abs(difference) / scale)
        return equal if operator == "=" else 1 - equal
    d = (difference if operator[0] == ">" else -difference) / scale
    if smoothing == "ramp":
        return min(1.0, max(0.0, 0.5 + d / 2))
    return 1 / (1 + math.exp(-d))


def holds(operator: str, difference: float) -> bool:
    return eval(f"{difference!r} {'==' if operator == '=' else operator} 0")


def world_of(tensors: dict, example: int, h: int, g: int) -> dict:
    world = {name: tensors[name][example].tolist().__getitem__ for name in ("A", "B")}
    return world | {"C": tensors["C"][example].item(), "h": h, "g": g, "twice": lambda n: 2 * n}


def quantities(scale: float, smoothing: str) -> dict:
    # The largest scale of a comparison counts, and the smoothing of crisp quantities does not.
    return {
        "A": rs.Quantity(scale, smoothing, ("house",)),
        "B": rs.Quantity(scale / 3, smoothing, ("house",)),
        "C": rs.Quantity(0 if smoothing == "ramp" else scale),
    }


def drawn(seed: int, examples: int = 3) -> dict:
    generator = torch.Generator().manual_seed(seed)
    given = {name: torch.randn(examples, 3, dtype=torch.float64, generator=generator)
             for name in ("A", "B")}  # fmt: skip
    return given | {"C": torch.randn(examples, dtype=torch.float64, generator=generator)}


@pytest.mark.parametrize("smoothing", ["logistic", "ramp"])
@pytest.mark.parametrize("sides", SIDES[:4])
def test_degrees_and_answers_are_those_of_nested_loops(sides, smoothing):
    tensors = drawn(len(sides[0]))
    for operator in OPERATORS:
        text = f"{sides[0]} {operator} {sides[1]}"
        rule = rs.compile(
            f"forall h, g in house where h != g: {text}",
            "s-product",
            domains=DOMAINS,
            quantities=quantities(0.7, smoothing),
            functions={"twice": {n: 2 * n for n in range(3)}},
            reduction="none",
        )
        read = {slot.name: tensors[slot.name] for slot in rule.plan.given}
        found, obeyed = rule(read), rule.satisfied(read)
        for example in range(3):
            differences = [
                signed(sides, world_of(tensors, example, h, g))
                for h, g in itertools.permutations(range(3), 2)
            ]
            degrees = [degree(operator, one, 0.7, smoothing) for one in differences]
            expected = sum(-math.log(max(one, 1e-300)) for one in degrees)
            if min(degrees) > 0:  # the logarithm of 0 is the floor
                assert found[example].item() == pytest.approx(expected, rel=1e-9)
            assert found[example] >= 600 or min(degrees) > 0
            assert obeyed[example] == all(holds(operator, one) for one in differences)


PENALTIES = {
    "s-product": lambda a, c: -math.log(1 - a * (1 - c)),
    "r-product": lambda a, c: max(0.0, math.log(a) - math.log(c)),
    "lukasiewicz-maxsat": lambda a, c: max(0.0, a - c),
    "s-godel": lambda a, c: 1 - max(1 - a, c),
    "r-godel": lambda a, c: 0.0 if a <= c else 1 - c,
}


@pytest.mark.parametrize("relaxation", PENALTIES)
@pytest.mark.parametrize("block", [None, 2])
def test_penalties_of_a_rule_are_those_of_nested_loops(relaxation, block):
    generator = torch.Generator().manual_seed(5)
    price = torch.randn(2, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    rooms = torch.randint(1, 4, (2, 4), generator=generator).double()
    rule = rs.compile(
        "forall h, g in house: Rooms(h) < Rooms(g) -> Price(h) <= Price(g) + 0.25",
        relaxation,
        domains={"house": 4},
        quantities={"Rooms": 0.5, "Price": 0.3},
        reduction="none",
        block=block,
    )
    found = rule(Rooms=rooms, Price=price)
    covered, broken = (
        rule.coverage(Rooms=rooms, Price=price),
        rule.violations(Rooms=rooms, Price=price, top=99),
    )
    for example in range(2):
        r, p = rooms[example].tolist(), price[example].tolist()
        costs, antecedents, failures = [], 0, set()
        for h, g in itertools.product(range(4), repeat=2):
            a = degree("<", r[h] - r[g], 0.5, "logistic")
            c = degree("<=", p[h] - p[g] - 0.25, 0.3, "logistic")
            costs.append(PENALTIES[relaxation](a, c))
            antecedents += r[h] < r[g]
            if r[h] < r[g] and p[h] > p[g] + 0.25:
                failures.add(f"Rooms({h}) < Rooms({g}) -> Price({h}) <= Price({g}) + 0.25")
        total = max(costs) if "godel" in relaxation else sum(costs)
        assert found[example].item() == pytest.approx(total, rel=1e-9)
        assert covered[example].item() == pytest.approx(antecedents / 16)
        mine = {str(one.grounding) for one in broken if one.example == (example,)}
        assert mine == failures
    assert torch.autograd.gradcheck(lambda p: rule(Rooms=rooms, Price=p), (price,))


@pytest.mark.parametrize("smoothing", ["logistic", "ramp"])
def test_gradients_are_those_of_finite_differences(smoothing):
    rule = rs.compile(
        "forall h in house: A(h) * A(h) <= abs(C - 2.5) / 2 | A(h) = 0.5 * C | A(h) != 3",
        "s-product",
        domains=DOMAINS,
        quantities={"A": rs.Quantity(4.0, smoothing), "C": rs.Quantity(4.0, smoothing)},
    )
    given = drawn(2)
    leaves = [given[name].requires_grad_() for name in ("A", "C")]
    assert torch.autograd.gradcheck(lambda a, c: rule(A=a, C=c), leaves)


# At the corners


@pytest.mark.parametrize("smoothing", ["logistic", "ramp"])
@pytest.mark.parametrize("scale", [0, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_answers_are_crisp_at_equality_and_next_to_it(smoothing, scale, dtype):
    one = torch.tensor(1.0, dtype=dtype)
    near = one + torch.finfo(dtype).eps
    x = torch.stack([near, one, 2 - near, one * 0, -one, one * 60000])
    y = torch.stack([one, one, one, one * 0, -one, -one * 60000])
    for operator in OPERATORS:
        numbers = dict.fromkeys("XY", rs.Quantity(scale, smoothing))
        rule = rs.compile(f"X {operator} Y", quantities=numbers)
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        expected = [holds(operator, a - b) for a, b in pairs]
        assert rule.satisfied(X=x, Y=y).tolist() == expected
        assert rule.coverage(X=x, Y=y).tolist() == [1.0] * 6
        assert len(rule.violations(X=x, Y=y, top=9)) == 6 - sum(expected)


def test_a_decimal_equals_its_own_number_in_single_precision():
    rule = rs.compile("X = 0.1", quantities={"X": 1.0})
    assert rule.satisfied(X=torch.tensor([0.1])).all()


HUGE = [0.0, 1.0, -1.0, 1e-30, 1e30, -1e30, 3e38, -3e38]
RULES = [
    "X < Y", "X >= Y", "X = Y", "X != Y", "abs(X - Y) <= 2", "X * Y - X > Y * Y", "X / 1e-30 < Y",
    "X < Y -> Y = X", "~(X < Y) & X != 3",
]  # fmt: skip


@pytest.mark.parametrize("smoothing", ["logistic", "ramp"])
@pytest.mark.parametrize("relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz", "exact",
                                        "s-hamacher(0)", "r-dombi(2)", "s-yager(3)"])  # fmt: skip
def test_gradients_are_finite_for_all_finite_numbers(relaxation, smoothing):
    pairs = torch.tensor(list(itertools.product(HUGE, repeat=2)), dtype=torch.float64)
    for text, scale in itertools.product(RULES, (0, 1e-30, 1.0, 1e30)):
        numbers = dict.fromkeys("XY", rs.Quantity(scale, smoothing))
        rule = rs.compile(text, relaxation, quantities=numbers, comparisons="degrees")
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            limit = torch.finfo(dtype).max
            cut = pairs.clamp(-limit, limit).to(dtype).requires_grad_()
            penalty = rule(X=cut[:, 0], Y=cut[:, 1])
            if penalty.requires_grad:
                penalty.backward()
                assert torch.isfinite(cut.grad).all(), (text, scale, dtype)
            assert torch.isfinite(penalty), (text, scale, dtype)
            assert penalty.dtype == torch.promote_types(dtype, torch.float32)


def slope(relaxation: str, distance: float, smoothing: str = "logistic") -> float:
    rule = rs.compile("X <= 0", relaxation, quantities={"X": rs.Quantity(0.25, smoothing)})
    x = torch.tensor(distance, requires_grad=True)
    rule(X=x).backward()
    return x.grad.item()


@pytest.mark.parametrize("distance", [20.0, 1e4, 1e30])
def test_the_gradient_of_a_broken_comparison_tends_to_one_by_scale(distance):
    for relaxation in ("s-product", "r-product"):
        assert slope(relaxation, distance) == pytest.approx(4.0)
    for relaxation in ("s-godel", "lukasiewicz", "s-yager(2)"):
        assert slope(relaxation, distance) == pytest.approx(0.0, abs=1e-6)
    assert slope("s-product", distance, "ramp") == 0.0


@pytest.mark.parametrize(
    ("relaxation", "quantity", "said"),
    [("r-product", 0.25, "its gradient is 1 / scale = 4"),
     ("s-godel", 0.25, "hardly a gradient where its sides are many scales apart"),
     ("lukasiewicz", 0.25, "hardly a gradient where its sides are many scales apart"),
     ("s-dombi(1)", 0.25, "a gradient however far"),
     ("r-product", rs.Quantity(0.25, "ramp"), "no gradient where its sides are 0.25 or more"),
     ("r-product", 0, "crisply: no gradient"),
     ("exact", 0.25, "crisply: no gradient")],
)  # fmt: skip
def test_explain_says_where_gradients_die(relaxation, quantity, said):
    rule = rs.compile("X <= 0", relaxation, quantities={"X": quantity})
    assert said in rule.explain()
    assert "reads X, numbers" in rule.explain()


def test_a_crisp_antecedent_that_is_false_costs_nothing():
    for relaxation in rs.relaxation_names():
        if relaxation != "exact":
            rule = rs.compile(
                "X >= 18 -> P", relaxation, quantities={"X": 0}, inputs={"P": "probs"}
            )
            x = torch.tensor([17.0, 18.0], requires_grad=True)
            p = torch.zeros(2, requires_grad=True)
            penalty = rule(X=x[:1], P=p[:1])
            assert penalty.item() == 0, relaxation
            assert rule.truth(X=x, P=p).tolist() == pytest.approx([1, 0]), relaxation


# Kinds of domains, and everything around


def test_sequences_are_compared_as_each_alone():
    rule = rs.compile(
        "forall i in step: Speed(i + 1) <= Speed(i) + 0.5 * i & Speed(0) > -1 -> Calm(i)",
        "s-product",
        domains={"step": "sequence"},
        quantities={"Speed": 0.5},
        outputs={"Calm": "independent"},
        reduction="none",
    )
    speed, calm = torch.randn(3, 5, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)
    lengths = torch.tensor([5, 3, 1])
    padded = speed.masked_fill(torch.arange(5) >= lengths[:, None], torch.nan).requires_grad_()
    found = rule(Speed=padded, Calm=calm, lengths=lengths)
    found.sum().backward()
    assert torch.isfinite(padded.grad).all()
    for example, length in enumerate(lengths.tolist()):
        v, p = speed[example, :length].tolist(), torch.sigmoid(calm[example]).tolist()
        expected = 0.0
        for i in range(length - 1):
            a = degree("<=", v[i + 1] - v[i] - 0.5 * i, 0.5, "logistic")
            b = degree(">", v[0] + 1, 0.5, "logistic")
            expected -= math.log(1 - a * b * (1 - p[i]))
        assert found[example].item() == pytest.approx(expected)
        alone = {"Speed": speed[example, :length], "Calm": calm[example, :length]}
        assert found[example].item() == pytest.approx(rule(alone).item())
        assert (
            rule.satisfied(alone)
            == rule.satisfied(Speed=padded, Calm=calm, lengths=lengths)[example]
        )


@pytest.mark.parametrize("relaxation", ["r-product", "exact"])
def test_a_fixed_position_needs_no_other_tensor(relaxation):
    rule = rs.compile(
        "Speed(1) <= 3",
        relaxation,
        domains={"step": "sequence"},
        quantities={"Speed": rs.Quantity(1.0, domains=("step",))},
        reduction="none",
    )
    speed = torch.tensor([[0.0, 3.0, 9.0], [0.0, 103.0, 0.0]])
    for given in ({}, {"lengths": torch.tensor([3, 2])}):
        first, second = rule(Speed=speed, **given).tolist()
        assert first == pytest.approx(0.0 if relaxation == "exact" else math.log(2))
        assert second > 60
    with pytest.raises(rs.ResiduumError, match="is no position"):
        rule(Speed=speed[:, :1])


def test_batches_broadcast():
    rule = rs.compile("X < Y", quantities={"X": 1, "Y": 1}, reduction="none")
    x, y = torch.randn(2, 3), torch.randn(())
    assert torch.equal(rule(X=x, Y=y), rule(X=x, Y=y.expand(2, 3)))
    with pytest.raises(rs.ResiduumError, match=r"squeeze\(-1\)"):
        rule(X=torch.randn(5, 1), Y=torch.randn(5))


KNOWLEDGE = """
    domain house
    domain pair
    function left(pair): house
    function right(pair): house
    predicate Cheap(house)
    quantity Price(house) scale 2
    quantity Rooms(house) scale 0
    quantity Cap scale 0
    rule cheap weight 2: forall h in house: Price(h) < Cap -> Cheap(h)
    rule order: forall p in pair:
        Rooms(left(p)) <= Rooms(right(p)) -> Price(left(p)) <= Price(right(p)) + 0.5
"""


class Number(torch.nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.linear = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.linear(x).squeeze(-1)


def test_a_theory_binds_quantities_to_modules_or_tensors():
    price, cheap = Number(0), Number(1)
    theory = rs.Theory(rs.loads(KNOWLEDGE), relaxation="r-product", Price=price, Cheap=cheap)
    x = torch.randn(6, 3)
    rooms = {
        "Rooms(left(p))": torch.tensor([1.0, 2.0]),
        "Rooms(right(p))": torch.tensor([1.0, 1.0]),
    }
    given = {"house": x, "left": x[:2], "right": x[2:4], "Cap": torch.tensor(0.3), **rooms}
    assessed = theory(**given)
    prices, logits = price(x), cheap(x)
    a, c = torch.sigmoid((0.3 - prices) / 2), torch.sigmoid(logits)
    cheaper = torch.relu(torch.log(a) - torch.log(c)).mean()
    ordered = -torch.nn.functional.logsigmoid((prices[2] + 0.5 - prices[0]) / 2) / 2
    assert assessed.parts["cheap"].item() == pytest.approx(cheaper.item(), rel=1e-5)
    assert assessed.parts["order"].item() == pytest.approx(ordered.item(), rel=1e-5)
    assert assessed.total.item() == pytest.approx((2 * cheaper + ordered).item(), rel=1e-5)
    assert theory.satisfied(**given)["order"].tolist() == [bool(prices[0] <= prices[2] + 0.5), True]
    assert theory.metrics(**given)["order/coverage"] == 0.5
    theory.freeze("Price")
    theory(**given).total.backward()
    assert price.linear.weight.grad is None
    assert cheap.linear.weight.grad is not None
    with pytest.raises(rs.ResiduumError, match=r"`Cap` needs the tensor `Cap`"):
        theory(**{name: one for name, one in given.items() if name != "Cap"})
    with pytest.raises(rs.ResiduumError, match="nothing reads `Price`"):
        theory(**given, observed={"Price": torch.zeros(6, dtype=torch.long)})


def test_rules_of_a_knowledge_do_not_share_comparisons_with_the_same_text():
    rules = rs.compile(
        rs.loads("""
        domain few = 0..1
        domain many = 0..4
        quantity Limit scale 1
        predicate P(few) independent
        predicate Q(many) independent
        rule a: forall n in few: Limit > n -> P(n)
        rule b: forall n in many: Limit > n -> Q(n)
        rule c: Limit > 1
        rule d: Limit > 2
        rule e: Limit > 3 | Limit > 2
    """),
        "s-product",
    )
    given = {"Limit": torch.randn(3), "P": torch.randn(3, 2), "Q": torch.randn(3, 5)}
    together = rules(given)
    for name, rule in rules.rules.items():
        own = {slot.name: given[slot.name] for slot in rule.plan.given}
        assert together[name].item() == pytest.approx(rule(own).item(), rel=1e-5)
    total = rules.total(given)
    assert total.item() == pytest.approx(sum(map(float, together.values())), rel=1e-5)


def test_exact_takes_comparisons_as_they_are_or_as_probabilities():
    age, adult = torch.tensor([17.0, 18.0, 30.0]), torch.tensor([0.25, 0.25, 0.75])
    given = {"Age": age, "Adult": adult}
    options = {"quantities": {"Age": 2.0}, "inputs": "probs"}
    for relaxation in ("exact", "r-product"):
        rule = rs.compile("Age >= 18 <-> Adult", relaxation, **options)
        assert rule.probability(given).tolist() == pytest.approx([0.75, 0.25, 0.75])
        assert rule.decode(given)["Adult"].tolist() == [0, 1, 1]
        assert rule.marginals(given).keys() == {"Adult"}
        assert rule.sample(given, 2)["Adult"].tolist() == [[0, 1, 1]] * 2
        with pytest.raises(rs.ResiduumError, match="countable"):
            rule.count()
    rule = rs.compile("Age >= 18 <-> Adult", "exact", **options, comparisons="degrees")
    chances = torch.sigmoid((age - 18) / 2)
    expected = chances * adult + (1 - chances) * (1 - adult)
    assert rule.probability(given).tolist() == pytest.approx(expected.tolist())
    assert rule.satisfied(given).tolist() == [True, False, True]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_copies_and_transforms_compute_the_same():
    rule = rs.compile(
        "forall h, g in house: X(h) < X(g) + 1 | X(h) = 3.5",
        "s-product",
        domains=DOMAINS,
        quantities={"X": 0.5},
        reduction="none",
    )
    x = torch.randn(4, 3)
    expected = rule(X=x).tolist()
    assert pickle.loads(pickle.dumps(rule))(X=x).tolist() == expected
    assert copy.deepcopy(rule)(X=x).tolist() == expected
    assert torch.vmap(lambda one: rule(X=one))(x).tolist() == pytest.approx(expected)
    traced = torch.compile(lambda one: rule(X=one), backend="eager", fullgraph=True)
    assert traced(x).tolist() == pytest.approx(expected)


def test_check_refuses_numbers_that_are_none():
    rule = rs.compile("X < 3", quantities={"X": 1}, check=True)
    with pytest.raises(rs.ResiduumError, match="NaN"):
        rule(X=torch.tensor([torch.nan]))


def test_quantities_that_a_rule_does_not_read_are_ignored():
    shared = {"Age": 2.0, "Price": 3.0}
    assert rs.compile("Age > 3", quantities=shared)(Age=torch.tensor([3.0])).item() > 0


PERSON = {"domains": {"person": ["ann", "bob"]}}


@pytest.mark.parametrize(
    ("text", "quantities", "said"),
    [("Age >= 18 -> Adult", {}, r"the scale of `Age`.*quantities=\{'Age': 2.0\}"),
     ("Age >= Agee", {"Age": 1}, "scale of `Agee`.* Did you mean `Age`"),
     ("forall x in person: x = ann -> P(x)", {}, "nothing is known of the scale of `ann`"),
     ("forall x, y in person: x = y -> P(x)", {}, "write `where x = y`"),
     ("forall x in person where Age(x) > 3: P(x)", {"Age": 1}, "into the body"),
     ("forall x in person where x = 3.5: P(x)", {}, "into the body"),
     ("forall x in person: Age(x) > x", {"Age": 1}, "got labels for `x`"),
     ('forall x in person: Age(x) > "ann"', {"Age": 1}, 'got the label "ann"'),
     ("forall x in person: 2 / Age(x) > 1", {"Age": 1}, "expected a number to divide by"),
     ("forall x in person: Age(x) / 1e-31 > 1", {"Age": 1}, "expected a number to divide by"),
     ("forall x in person: Age(x) mod 2 > 1", {"Age": 1}, "`mod` is for integers"),
     ("forall x in person: half(Age(x)) > 1", {"Age": 1}, "is no number"),
     ("forall x in person: P(x) & P(3.5)", {}, "decimals stand only in comparisons"),
     ("Age(ann) > 1", {"Age": 1}, "rs.Quantity"),
     ("Age > 1 & Age", {"Age": 1}, "stands in the rule as a predicate"),
     ("Age > Price", {"Age": 1, "Price": rs.Quantity(1, "ramp")}, "one smoothing"),
     ("Age > 1", {"Age": -1}, "expected a scale from 1e-30"),
     ("Age > 1", {"Age": math.nan}, "expected a scale from 1e-30"),
     ("Age > 1", {"Age": "2"}, "expected its scale as a number"),
     ("Age > 1", ["Age"], "expected a mapping by name")],
)  # fmt: skip
def test_mistakes_are_told_in_words(text, quantities, said):
    with pytest.raises(rs.ResiduumError, match=said):
        rs.compile(text, quantities=quantities, **PERSON)


def test_a_comparison_that_repeats_its_parts_is_refused_for_its_size_at_once():
    term = rs.Variable("X")
    for _ in range(90):
        term = rs.Arithmetic("+", term, term)
    with pytest.raises(rs.ResiduumError, match="characters"):
        rs.compile(rs.Comparison("<", term, 3.5), quantities={"X": 1})


def test_a_function_called_abs_is_not_mistaken_for_the_absolute_value():
    with pytest.raises(rs.ResiduumError, match="rename the function"):
        rs.compile("abs(X) > 1", quantities={"X": 1}, functions={"abs": {1: 2}})


def test_existential_and_counting_quantifiers_compare():
    price = torch.tensor([[1.0, 5.0, 4.0], [0.0, 1.0, 2.0]], dtype=torch.float64)
    rules = ["exists h in house: Price(h) > 3", "at least 2 h in house: Price(h) > 3"]
    some, two = (
        rs.compile(text, "s-product", domains=DOMAINS, quantities={"Price": 0.5}) for text in rules
    )
    for row in price:
        chances = [degree(">", p - 3, 0.5, "logistic") for p in row.tolist()]
        none = math.prod(1 - c for c in chances)
        one = sum(c * math.prod(1 - d for d in chances if d is not c) for c in chances)
        assert some.truth(Price=row).item() == pytest.approx(1 - none)
        assert two.truth(Price=row).item() == pytest.approx(1 - none - one)
        assert two.satisfied(Price=row).item() == (sum(p > 3 for p in row.tolist()) >= 2)


def test_a_quantity_says_what_is_wrong_with_it():
    with pytest.raises(rs.ResiduumError, match="among logistic, ramp"):
        rs.Quantity(1.0, "step")
    with pytest.raises(rs.ResiduumError, match="tuple of domain names"):
        rs.Quantity(1.0, domains="house")
    with pytest.raises(rs.ResiduumError, match="expected 'crisp' or 'degrees'"):
        rs.compile("X > 1", quantities={"X": 1}, comparisons="soft")


def test_the_theory_side_refuses_comparisons_in_words():
    for question in (
        lambda: rs.truth("X < 3", {}, "s-product"),
        lambda: rs.consistency("X < 3 -> P", "s-product"),
        lambda: rs.gradients("X < 3 -> P", "s-product"),
        lambda: rs.evaluate("X < 3 -> P", {"P": True}),
    ):
        with pytest.raises(rs.ResiduumError, match=r"`rs\.compile` evaluates comparisons"):
            question()
    assert str(rs.expand(rs.parse("forall x in D: Age(x) < x + 1"), {"D": 2})) == (
        "Age(0) < 1 & Age(1) < 2"
    )
    assert str(rs.negation_normal_form(rs.parse("~(X < 3 -> P)"))) == "X < 3 & ~P"


def test_checks_leave_out_rules_that_compare():
    found = rs.check(rs.loads("quantity X scale 1 predicate P rule a: X < 3 -> P rule b: P & ~P"))
    assert "compares quantities" in found.unchecked["a"]
    assert found.contradictions[0].rules == ("b",)
