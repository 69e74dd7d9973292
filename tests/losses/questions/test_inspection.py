"""Looking into rules: violations, coverage, reductions, weights, the plan in words."""

from __future__ import annotations

import pytest
import torch

import residuum as rs
from residuum.errors import ResiduumError

SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 10)"


def certain(*labels):
    return torch.nn.functional.one_hot(torch.tensor(labels), 10).float()


def digits(name="lukasiewicz", **options):
    return rs.compile(SUM, name, domains={"digit": 10}, inputs="probs", **options)


def test_the_worst_groundings_are_named_worst_first():
    wrong = certain(2, 4)
    wrong[1] = torch.full((10,), 0.1)
    wrong[0, 2] = 0.04
    wrong[0, 3] = 0.96
    found = digits().violations(Left=certain(3, 1), Right=certain(9, 3), Sum=wrong, top=2)
    assert [str(one) for one in found] == [
        "example 0: Left(3) & Right(9) -> Sum(2), degree 0.04",
        "example 1: Left(1) & Right(3) -> Sum(4), degree 0.1",
    ]
    assert [one.example for one in found] == [(0,), (1,)]


def test_what_is_wholly_true_is_no_violation():
    assert digits().violations(Left=certain(3), Right=certain(9), Sum=certain(2), top=50) == []


def test_violations_spell_functions_guards_and_positions():
    rule = rs.compile(
        "forall i in s, X, Y in chunk where X != Y: Tag(i, begin(X)) -> ~Tag(i + 1, inside(Y))",
        "lukasiewicz",
        domains={"s": "sequence", "chunk": ("NP", "VP"), "tag": ("B-NP", "I-NP", "B-VP", "I-VP")},
        predicates={"Tag": ("s", "tag")},
        functions={"begin": lambda c: f"B-{c}", "inside": lambda c: f"I-{c}"},
        inputs="probs",
    )
    tags = torch.zeros(2, 4, 4)
    tags[1, 1, 0] = tags[1, 2, 3] = 1
    (found,) = rule.violations(Tag=tags)
    assert str(found) == 'example 1: Tag(1, "B-NP") -> ~Tag(2, "I-VP"), degree 0'
    assert found.example == (1,)
    assert rule.violations(Tag=tags, lengths=[4, 2]) == []
    shifted = rs.compile(
        "forall i in s: Tag(i - 1, 0) -> Tag(i, 1)",
        "lukasiewicz",
        domains={"s": "sequence", "t": 2},
        predicates={"Tag": ("s", "t")},
        inputs="probs",
    )
    given = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    assert str(shifted.violations(Tag=given)[0]) == "Tag(1, 0) -> Tag(2, 1), degree 0"


def test_violations_over_an_open_domain_leave_its_variable():
    rule = rs.compile(
        "forall p in pair, a in digit: Digit(left(p), a) -> Sum(p, a)",
        "lukasiewicz",
        domains={"digit": 10, "pair": "open", "image": "open"},
        predicates={"Digit": ("image", "digit"), "Sum": ("pair", "digit")},
        inputs="probs",
    )
    (found,) = rule.violations({"Digit(left(p))": certain(3), "Sum": certain(4)})
    assert str(found) == "example 0: Digit(left(p), 3) -> Sum(p, 3), degree 0"


@pytest.mark.parametrize(
    ("outer", "times"),
    [
        ("forall x in one", 1),
        ("forall x in five where x < 2", 2),
        ("forall x in five, y in one where x < 2", 2),
        ("forall y in five", 5),
        ("forall y in two: forall y in two", 4),
        ("forall x in two: forall x in one", 2),
        ("forall x in none", 0),
    ],
)
@pytest.mark.parametrize("block", [None, 1, 4])
def test_outer_variables_that_the_body_forgets_repeat_its_groundings(outer, times, block):
    rule = rs.compile(
        f"{outer}: forall y in three: P(y) -> Q(y)",
        "lukasiewicz",
        domains={"none": 0, "one": 1, "two": 2, "three": 3, "five": 5},
        outputs={"P": "independent", "Q": "independent"},
        inputs="probs",
        block=block,
    )
    given = {"P": torch.tensor([0.75, 0.25, 1.0]), "Q": torch.tensor([0.5, 0.5, 0.25])}
    worst_first = ["P(2) -> Q(2), degree 0.25"] * times + ["P(0) -> Q(0), degree 0.75"] * times
    assert [str(one) for one in rule.violations(given, top=20)] == worst_first
    assert rule.coverage(given) == pytest.approx(2 / 3 if times else 0)
    assert rule.each(given).counted.sum() == 3 * times
    assert rule.satisfied(given) == (times == 0)
    assert rule(given) == min(1, times)


def test_too_many_groundings_to_look_at_one_by_one_are_refused():
    rule = rs.compile("forall x, y in many: P(x) -> P(y)", domains={"many": 20_000})
    with pytest.raises(ResiduumError, match=r"400,000,000 groundings; .* make the domains smaller"):
        rule.each(P=torch.zeros(20_000))


def test_an_empty_batch_has_no_groundings():
    rule = rs.compile("forall x in two: P(x) -> Q", domains={"two": 2})
    found = rule.each(P=torch.zeros(0, 2), Q=torch.zeros(0))
    assert found.counted.shape == found.holds.shape == found.covered.shape == (0, 2)
    assert [part.shape for part in found.parts.values()] == [(0, 2), (0, 2)]


def test_coverage_is_the_share_of_groundings_whose_antecedent_holds():
    rule = rs.compile("forall a in d: P(a) -> Q(a)", domains={"d": 4}, inputs="probs",
                      outputs={"P": "independent"})  # fmt: skip
    given = torch.tensor([[0.9, 0.6, 0.2, 0.5], [0.1, 0.1, 0.1, 0.1]])
    assert rule.coverage(P=given, Q=given).tolist() == [0.5, 0]
    guarded = rs.compile("forall a in d where a < 3: P(a) -> Q(a)", domains={"d": 4},
                         inputs="probs", outputs={"P": "independent"})  # fmt: skip
    assert guarded.coverage(P=given[0], Q=given[0]) == pytest.approx(2 / 3)
    assert rs.compile("P -> Q", inputs="probs").coverage(P=given[:, 0], Q=given[:, 0]).tolist() == [
        1,
        0,
    ]


def test_coverage_counts_nested_antecedents_in_pairs():
    found = digits().coverage(Left=certain(3, 1), Right=certain(9, 3), Sum=certain(2, 4))
    assert found.tolist() == pytest.approx([0.01, 0.01])


def test_reductions_and_weights_give_what_their_definitions_say():
    given = {"Left": certain(3, 1), "Right": certain(9, 3), "Sum": torch.full((2, 10), 0.25)}

    def found(name, reduction, weight=1.0):
        return digits(name, reduction=reduction, weight=weight)(given)

    assert found("lukasiewicz", "none").tolist() == [0.75, 0.75]
    assert found("lukasiewicz", "mean", 0.5) == 0.375
    assert found("lukasiewicz", "sum") == 1.5
    assert found("lukasiewicz", "conjunction") == 1
    assert found("lukasiewicz-maxsat", "conjunction") == 1.5
    assert found("s-godel", "conjunction", 2.0) == 1.5
    given["Sum"][1] = 0.125
    assert found("r-godel", "conjunction") == 0.875
    assert found("r-godel", "mean") == 0.8125


def test_only_the_outermost_conjunctions_of_maxsat_are_uncapped():
    half = torch.full((4,), 0.25)

    def found(text, name):
        return float(rs.compile(text, name, domains={"d": 4}, inputs="probs")(P=half))

    assert found("forall x in d: P(x)", "lukasiewicz") == 1
    assert found("forall x in d: P(x)", "lukasiewicz-maxsat") == 3
    assert found("(forall x in d: P(x)) & (forall x in d: P(x) & P(x))", "lukasiewicz-maxsat") == 9
    for name in ("lukasiewicz", "lukasiewicz-maxsat"):
        assert found("~~(forall x in d: P(x))", name) == 1
        assert found("true -> (forall x in d: P(x))", name) == 1


def test_detach_keeps_gradients_from_one_side():
    for name in ("s-product", "r-product", "s-godel", "lukasiewicz"):
        for side, silent, speaking in (("antecedent", "P", "Q"), ("consequent", "Q", "P")):
            leaves = {key: torch.tensor([v], requires_grad=True) for key, v in
                      (("P", 0.9), ("Q", 0.3 if speaking == "Q" else 0.05))}  # fmt: skip
            rule = rs.compile("P -> Q", name, detach=side, inputs="probs", reduction="none")
            rule(leaves).sum().backward()
            assert leaves[silent].grad is None or leaves[silent].grad == 0
            if (name, speaking) not in {("s-godel", "Q")} | {("s-godel", "P")}:
                assert leaves[speaking].grad != 0


def test_the_plan_is_explained():
    told = digits("r-product").explain()
    for words in (SUM, "relaxation r-product", "reads Left(digit 10), exclusive",
                  "axis a over digit, 10 long", "100 groundings per example"):  # fmt: skip
        assert words in told


ABOUT_ONE_LABEL = [
    ("~(Has(cat) & Has(dog))", "obeyed"),
    ("Has(cat) -> ~Has(dog)", "obeyed"),
    ("exists x in label: Has(x)", "obeyed"),
    ("forall x, y in label where x != y: ~(Has(x) & Has(y))", "obeyed"),
    ("Has(cat) & Has(dog)", "broken"),
    ("forall x in label: Has(x)", "broken"),
    ("Has(cat) | Has(dog)", None),
    ("Has(cat) -> Other", None),
    ("Has(cat) & Has(dog) -> Other", "obeyed"),
    ("Has(cat) -> ~Has(dog) | Other2 & Other3", "obeyed"),
]


@pytest.mark.parametrize(("text", "outcome"), ABOUT_ONE_LABEL)
def test_a_rule_that_one_label_decides_is_warned_of(text, outcome):
    options = {"domains": {"label": ["cat", "dog", "animal"]}, "predicates": {"Has": ("label",)}}
    told = rs.compile(text, **options).explain()
    if outcome is None:
        assert "warning" not in told
    else:
        assert "warning" in told
        assert f"the rule is {outcome}" in told
    apart = rs.compile(text, outputs={"Has": "independent"}, **options)
    assert "warning" not in apart.explain()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P -> P | Q", "holds for every prediction by its form"),
        ("forall x in d: R(x) & S(x) -> R(x)", "holds for every prediction by its form"),
        ("forall x in d: R(x) & ~R(x)", "fails for every prediction by its form"),
        ("P & (exists x in d: R(x)) -> exists x in d: R(x)", "holds for every prediction"),
        ("forall x in d: R(x) -> R((x + 1) mod 3)", None),
        ("P & Q -> P & P", "holds for every prediction"),
    ],
)
def test_a_rule_that_cannot_fail_or_hold_is_warned_of(text, said):
    outputs = {"R": "independent", "S": "independent"}
    told = rs.compile(text, domains={"d": 3}, outputs=outputs).explain()
    assert "warning" not in told if said is None else f"warning: the rule {said}" in told


@pytest.mark.parametrize(
    ("relaxation", "is_warned_of"),
    [("r-product", True), ("r-godel", True), ("r-hamacher(2)", True), ("s-product", False),
     ("s-godel", False), ("lukasiewicz-maxsat", False), ("exact", False)],
)  # fmt: skip
def test_an_observed_consequent_is_warned_of_under_r_logics(relaxation, is_warned_of):
    text = "forall a, b in d: A(a) & B(b) -> C((a + b) mod 3)"
    rule = rs.compile(text, relaxation, domains={"d": 3})
    given = {"A": torch.randn(4, 3), "B": torch.randn(4, 3)}
    labels = {"C": torch.tensor([0, 1, 2, 0])}
    told = rule.explain(given, observed=labels)
    assert ("warning: `C` is observed and stands in a consequent" in told) == is_warned_of
    assert told.splitlines()[-1].startswith("evaluated by")
    other = rule.explain(
        {"B": given["B"], "C": given["A"]}, observed={"A": torch.tensor([0, 1, 2, 0])}
    )
    assert "is observed" not in other
    knowledge = rs.compile(rs.loads(f"""domain d = 0..2\npredicate A(d)\npredicate B(d)
        predicate C(d)\nrule sums: {text}"""), relaxation)  # fmt: skip
    assert ("`C` is observed" in knowledge.explain(given, observed=labels)) == is_warned_of


def test_examples_that_cost_all_that_the_logic_counts_are_warned_of():
    options = {"domains": {"d": 100}, "outputs": {"A": "independent", "B": "independent"}}
    text = "forall x in d: A(x) -> B(x)"
    given = {"A": torch.zeros(4, 100), "B": torch.zeros(4, 100)}
    given["A"][:3, :9] = 2.0
    told = rs.compile(text, "lukasiewicz", **options).explain(given)
    assert "warning: 3 of 4 examples cost 1, the most that lukasiewicz counts" in told
    assert "take lukasiewicz-maxsat" in told
    for name in ("lukasiewicz-maxsat", "s-product"):
        assert "warning" not in rs.compile(text, name, **options).explain(given)
    assert "warning: 3 of 4" in rs.compile(text, "r-yager(0.5)", **options).explain(given)


def test_compiled_rules_have_no_parameters_and_print_themselves():
    rule = digits("r-product")
    assert list(rule.parameters()) == []
    assert SUM in repr(rule)


def test_a_registered_relaxation_compiles():
    rs.register(
        "cubic",
        rs.Generated(
            generator=lambda x: x.false**3,
            inverse=lambda on, penalty: rs.Degree(on, false=on.power(penalty, 1 / 3)),
            at_zero=1,
        ),
    )
    p, q = torch.tensor([0.9, 0.2]), torch.tensor([0.4, 0.6])
    rule = rs.compile("P -> Q", "r-cubic", inputs="probs", reduction="none")
    torch.testing.assert_close(rule(P=p, Q=q), ((1 - q) ** 3 - (1 - p) ** 3).clamp(min=0))
    both = rs.compile("P & Q", "s-cubic", inputs="probs", reduction="none")
    torch.testing.assert_close(both(P=p, Q=q), ((1 - q) ** 3 + (1 - p) ** 3).clamp(max=1))


def test_an_unknown_relaxation_is_refused_with_the_nearest_name():
    with pytest.raises(ResiduumError, match=r"no relaxation is called `r-prodct`. Did you mean"):
        rs.compile("P", "r-prodct")


def test_knowledge_gives_the_penalty_of_each_rule_without_its_weight():
    knowledge = rs.loads("""
        domain d = 0..2
        predicate P(d)
        predicate Q(d) independent
        rule one weight 0.5: forall x in d: P(x) -> Q(x)
        rule two: exists x in d: Q(x)
    """)
    given = {"P": torch.randn(4, 3), "Q": torch.randn(4, 3)}
    found = rs.compile(knowledge, "s-product", reduction="none")(given)
    alone = rs.compile("forall x in d: P(x) -> Q(x)", "s-product", domains={"d": 3},
                       outputs={"Q": "independent"}, reduction="none")  # fmt: skip
    torch.testing.assert_close(found["one"], alone(given))
    named = rs.compile("two", "s-product", knowledge=knowledge, reduction="none")
    torch.testing.assert_close(found["two"], named(Q=given["Q"]))
    written = rs.compile("exists x in d: Q(x)", "s-product", knowledge=knowledge, reduction="none")
    torch.testing.assert_close(found["two"], written(Q=given["Q"]))
    with pytest.raises(ResiduumError, match="nothing reads `R`"):
        rs.compile(knowledge)({**given, "R": given["Q"]})


PETS = {
    "domains": {"image": "open", "place": "sequence", "pet": ("cat", "dog", "animal")},
    "functions": {"up": {"cat": "animal", "dog": "animal", "animal": "animal"}},
}


@pytest.mark.parametrize(
    ("text", "is_warned_of"),
    [
        ("forall x in image: Is(x, cat) -> Is(x, animal)", True),
        ("forall x in image: Is(x, cat) -> Is(x, animal) | Is(x, dog)", True),
        ("forall x in image: Is(x, cat) & Seen(x) -> Is(x, animal) & Seen(x)", True),
        ("forall x in image, c in pet: Is(x, c) -> Is(x, up(c))", True),
        ("forall x in image: Is(x, cat) -> Is(x, dog) | Seen(x)", False),
        ("forall x in image, c in pet: Is(x, c) -> Is(x, animal)", True),
        ("forall x in image: Is(x, cat) -> Seen(x)", False),
        ("forall x in image: ~Is(x, cat) -> Is(x, animal)", False),
        ("forall x in image: Is(x, cat) -> Is(x, cat) & Seen(x)", False),
        ("forall x in place: At(x, cat) -> At(x, animal)", True),
        ("forall x in place: At(x, cat) -> At(x + 1, animal)", False),
    ],
)
def test_explain_warns_where_one_class_of_a_softmax_implies_another(text, is_warned_of):
    of = {"Is": ("image", "pet"), "Seen": ("image",), "At": ("place", "pet")}
    predicates = {name: domains for name, domains in of.items() if name in text}
    told = rs.compile(text, predicates=predicates, **PETS).explain()
    name = "At" if "At" in text else "Is"
    assert (f"warning: `{name}` is one softmax, so that exactly one" in told) == is_warned_of
    independent = rs.compile(text, predicates=predicates, outputs={name: "independent"}, **PETS)
    assert "softmax" not in independent.explain()


def test_explain_names_the_route_and_why_not_those_before_it():
    text = "forall a, b in d: P(a) & Q(b) -> R((a + b) mod 100)"
    told = rs.compile(text, domains={"d": 100}).explain().splitlines()
    assert told[-1] == "evaluated by tables"
    assert "not by clauses: a matrix of the clauses would be too large" in told
    small = rs.compile("forall a in d: P(a) -> Q(a)", domains={"d": 3}).explain().splitlines()
    assert small[-1] == "evaluated by clauses"
    assert not any("not by tables" in line for line in small)


def test_a_cross_is_preferred_to_a_matrix_of_the_clauses():
    text = "forall a, b in d: P(a) & Q(b) -> R((a + b) mod 20)"
    told = rs.compile(text, "lukasiewicz", domains={"d": 20}).explain()
    assert "not by clauses: a cross of their table is smaller than a matrix of the clauses" in told
    assert told.endswith("evaluated by tables")


def test_explain_looks_at_the_tensors_that_it_is_given():
    rule = rs.compile("forall a in d: P(a) -> Q(a)", domains={"d": 3}, block=12)
    given = {name: torch.randn(3, 3) for name in "PQ"}
    assert rule.explain(given).endswith("evaluated by clauses")
    many = {name: torch.randn(5, 3) for name in "PQ"}
    assert "not by clauses: 15 groundings do not fit one block" in rule.explain(many)
    assert rule.explain(**many).endswith("evaluated by blocks")
    given["P"][0, 0] = 1e31
    assert "not by clauses: some logits are masked" in rule.explain(given)
    assert rule.explain(given).endswith("evaluated by steps")


def test_explain_of_a_rule_over_sequences_needs_tensors_for_the_route():
    options = {"domains": {"i": "sequence"}, "outputs": {"P": "independent"}}
    rule = rs.compile("forall x in i: P(x) -> P(x + 1)", **options)
    assert "pass tensors to `explain`" in rule.explain()
    assert rule.explain(P=torch.randn(2, 5)).endswith("evaluated by clauses")


def test_explain_under_exact_names_no_other_route():
    told = digits("exact").explain()
    assert told.splitlines()[-1].startswith("evaluated by exact, with a circuit of")
    assert "not by" not in told
