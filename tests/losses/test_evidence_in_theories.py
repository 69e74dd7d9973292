"""Evidence for the rules of a knowledge, and for the networks of a theory."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import residuum as rs
from residuum.errors import GroundingError

ANIMALS = rs.loads("""
    domain animal = cat, dog, bird
    predicate Is(animal)
    predicate Flies
    predicate Sings
    rule birds weight 2: Is(bird) -> Flies
    rule others: Is(cat) | Is(dog) -> ~Flies
    rule songs: Sings -> Is(bird)
""")
RELAXATIONS = ["s-product", "r-product", "s-godel", "lukasiewicz", "exact"]
LABELS = {"Flies": torch.tensor([1, 0, 0, 1]), "Sings": torch.tensor([1, 0, 0, 0])}


def animals():
    torch.manual_seed(0)
    return {"Is": torch.randn(4, 3, requires_grad=True)}


@pytest.mark.parametrize("name", RELAXATIONS)
def test_a_knowledge_answers_as_its_rules_do(name):
    rules, given = rs.compile(ANIMALS, name), animals()
    alone = {
        key: rule(given, observed={n: LABELS[n] for n in rule.forms if n in LABELS})
        for key, rule in rules.rules.items()
    }
    found = rules(given, observed=LABELS)
    torch.testing.assert_close(found, alone)
    torch.testing.assert_close(
        rules.penalties(given, observed=LABELS), torch.stack([*alone.values()])
    )
    added = rules.total(given, combine="sum", observed=LABELS)
    torch.testing.assert_close(added, 2 * alone["birds"] + alone["others"] + alone["songs"])
    for question in ("truth", "satisfied", "coverage", "violations"):
        answers = getattr(rules, question)(given, observed=LABELS)
        for key, rule in rules.rules.items():
            own = {n: LABELS[n] for n in rule.forms if n in LABELS}
            expected = getattr(rule, question)(given, observed=own)
            same = answers[key] == expected
            assert same if question == "violations" else same.all()
    assert "evaluated by" in rules.explain(given, observed=LABELS)


@pytest.mark.parametrize("name", ["s-product", "r-product", "s-godel", "r-godel", "r-dombi(2)"])
def test_many_rules_that_are_evaluated_together_read_the_evidence(name):
    bodies = {f"r{n}": f"A(x{n % 4}) & B(x{n % 3}) -> C(x{n % 5}) & B(x{n % 5})" for n in range(40)}
    kinds = "\n".join(f"predicate {one}(d) independent" for one in "ABC")
    rules = rs.compile(
        rs.loads(
            f"domain d = x0, x1, x2, x3, x4\n{kinds}\n"
            + "\n".join(f"rule {key}: {body}" for key, body in bodies.items())
        ),
        name,
    )
    torch.manual_seed(1)
    given = {"A": torch.randn(6, 5, dtype=torch.float64)}
    labels = {n: torch.randint(2, (6, 5)) for n in "BC"}
    found, degrees = rules(given, observed=labels), rules.truth(given, observed=labels)
    for key, body in bodies.items():
        for row in range(6):
            values = {
                f"{n}_x{i}": float(one)
                for n, each in (("A", given["A"].sigmoid()), *labels.items())
                for i, one in enumerate(each[row])
            }
            formula = rs.parse(re.sub(r"(\w)\((\w+)\)", r"\1_\2", body))
            read = {str(atom): values[str(atom)] for atom in rs.atoms_of(formula)}
            expected = float(rs.truth(formula, read, name))
            assert degrees[key][row].item() == pytest.approx(expected, abs=1e-9)
        torch.testing.assert_close(found[key], rules.rules[key](given, observed=labels))


def test_a_label_that_no_rule_reads_is_refused():
    rules = rs.compile(ANIMALS, "s-product")
    with pytest.raises(GroundingError, match=r"nothing reads `Swims`\. Did you mean `Sings`"):
        rules(animals(), observed={"Swims": LABELS["Sings"]})


def test_labels_of_another_batch_are_not_evaluated_together():
    rules, given = rs.compile(ANIMALS, "s-product"), animals()
    one = rules(given, observed={"Flies": torch.tensor(1), "Sings": LABELS["Sings"]})
    four = rules(given, observed={"Flies": torch.ones(4).long(), "Sings": LABELS["Sings"]})
    torch.testing.assert_close(one, four)


# Theories

DIGITS = rs.loads("""
    domain digit = 0..3
    domain image
    domain pair
    function left(pair): image
    function right(pair): image
    predicate Digit(image, digit)
    predicate Sum(pair, digit)
    facts labels: Digit
    rule sum: forall p in pair, a, b in digit:
        Digit(left(p), a) & Digit(right(p), b) -> Sum(p, (a + b) mod 4)
""")


class Counted(nn.Linear):
    """A network that counts the rows it has seen."""

    rows = 0

    def forward(self, given):
        self.rows += len(given)
        return super().forward(given)


def digits(name="s-product"):
    torch.manual_seed(2)
    return rs.Theory(DIGITS, relaxation=name, Digit=Counted(6, 4), Sum=Counted(12, 4))


PAIRS = {"left": torch.randn(5, 6), "right": torch.randn(5, 6)}
SUMS = torch.tensor([0, 1, 2, 3, 0])


@pytest.mark.parametrize("name", ["s-product", "r-product", "exact"])
def test_an_observed_network_does_not_run(name):
    theory = digits(name)
    assessed = theory(observed={"Sum": SUMS}, **PAIRS)
    rule = rs.compile("sum", name, knowledge=DIGITS)
    outputs = {f"Digit({key}(p))": theory.networks["Digit"](one) for key, one in PAIRS.items()}
    torch.testing.assert_close(assessed.parts["sum"], rule(outputs, observed={"Sum": SUMS}))
    assert theory.networks["Sum"].rows == 0
    assessed.total.backward()
    assert theory.networks["Digit"].weight.grad is not None
    assert theory.networks["Sum"].weight.grad is None
    questions = theory.satisfied(observed={"Sum": SUMS}, **PAIRS)
    assert torch.equal(questions["sum"], rule.satisfied(outputs, observed={"Sum": SUMS}))
    found = theory.violations(observed={"Sum": SUMS}, top=2, **PAIRS)["sum"]
    alone = rule.violations(outputs, observed={"Sum": SUMS}, top=2)
    assert [(one.example, one.grounding) for one in found] == [
        (one.example, one.grounding) for one in alone
    ]
    assert [one.degree for one in found] == pytest.approx([one.degree for one in alone])
    assert theory.networks["Sum"].rows == 0


def test_a_network_runs_where_its_outputs_are_observed_in_part():
    theory = digits()
    partly = SUMS.where(SUMS != 3, -100)
    with pytest.raises(GroundingError, match="`Sum` needs the tensor `pair`"):
        theory(observed={"Sum": partly}, **PAIRS)
    theory(observed={"Sum": partly}, pair=torch.randn(5, 12), **PAIRS).total.backward()
    assert theory.networks["Sum"].rows == 5
    assert theory.networks["Sum"].weight.grad.any()


def test_one_use_of_a_predicate_is_observed_by_its_own_name():
    theory = digits()
    with pytest.raises(GroundingError, match=r"one of Digit\(left\(p\)\), Digit\(right\(p\)\)"):
        theory(observed={"Digit": SUMS}, **PAIRS)
    labels = {"Digit(left(p))": SUMS, "Sum": SUMS}
    assessed = theory(observed=labels, right=PAIRS["right"])
    assert theory.networks["Digit"].rows == 5  # those on the right only
    assert torch.isfinite(assessed.total)
    all_known = {**labels, "Digit(right(p))": torch.zeros(5).long()}
    assert theory(observed=all_known).total.item() == pytest.approx(0, abs=1e-6)
    assert theory.networks["Digit"].rows == 5


def test_facts_still_run_the_network_whose_uses_are_observed():
    theory = digits()
    images, labels = torch.randn(3, 6), torch.tensor([0, 1, 2])
    known = {"Digit(left(p))": SUMS, "Digit(right(p))": SUMS, "Sum": 2 * SUMS % 4}
    parts = theory({"labels": (images, labels)}, observed=known).parts
    assert set(parts) == {"labels", "sum"}
    assert theory.networks["Digit"].rows == 3


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({"Som": SUMS}, "nothing reads `Som`. Did you mean `Sum`"),
        ({"Sum": SUMS.float()}, "expected the number of a member of digit"),
        (SUMS, "expected labels by the names of predicates"),
        ({"Sum": SUMS + 1}, "labels from 0 to 3, or -100 .* got 4"),
    ],
)
def test_wrong_evidence_for_a_theory_is_refused(observed, message):
    with pytest.raises(GroundingError, match=message):
        digits()(observed=observed, **PAIRS)


def test_a_theory_of_sequences_does_not_run_for_padded_labels():
    knowledge = rs.loads("""
        domain position sequence
        domain tag = B, I, O
        predicate Tag(position, tag)
        predicate Known(position, tag)
        rule same: forall i in position, t in tag: Known(i, t) -> Tag(i, t)
    """)
    theory = rs.Theory(knowledge, relaxation="s-product", Tag=Counted(4, 3), Known=Counted(4, 3))
    labels = torch.tensor([[0, 1, 2], [2, -100, -100]])
    lengths = torch.tensor([3, 1])
    words = torch.randn(2, 3, 4)
    found = theory(Tag=words, lengths=lengths, observed={"Known": labels}).total
    assert theory.networks["Known"].rows == 0
    chances = theory.networks["Tag"](words).log_softmax(-1)
    expected = [
        -sum(chances[row, i, labels[row, i]] for i in range(length))
        for row, length in enumerate([3, 1])
    ]
    torch.testing.assert_close(found, torch.stack(expected).mean())
    with pytest.raises(GroundingError, match="lengths: expected integers"):
        theory(Tag=words, Known=words, lengths="long", observed={"Known": labels})


def test_a_compiled_theory_takes_evidence():
    theory = rs.Theory(DIGITS, relaxation="r-product", Digit=nn.Linear(6, 4), Sum=nn.Linear(12, 4))
    pair = torch.randn(5, 12)

    def loss(labels):
        return theory(observed={"Sum": labels}, pair=pair, **PAIRS).total

    torch._dynamo.reset()
    traced = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(traced(SUMS), loss(SUMS))
