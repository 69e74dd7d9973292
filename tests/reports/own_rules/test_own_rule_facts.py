"""What the page says of rules, against nested loops and direct calls of compiled rules."""

from itertools import product

import numpy as np
import pytest
import torch

import residuum as rs
from reports.own_rules.made_up_rules import IS, RULES, A, B, asked, facts_of, write_files
from residuum.errors import DataError
from residuum.reports.own_rules import obeying, sample_facts

EXAMPLES = range(len(A))
COLOURS = ("red", "green", "blue")


def groundings(a, b, colour):
    """Return by rule whether each grounding holds, for truth values and the number of a colour."""
    return {
        "copy": [not a[0] or b[0], not a[1] or b[1]],
        "red": [colour != 0 or (a[0] and b[0])],
        "never": [not (a[1] and colour == 2)],
    }


def predicted(example):
    a, b = ([one > 0.5 for one in own[example]] for own in (A, B))
    return a, b, int(np.argmax(IS[example]))


@pytest.fixture(scope="module")
def question(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def facts(question):
    return facts_of(question)


def test_shares_are_those_that_loops_count(facts):
    held = [groundings(*predicted(e)) for e in EXAMPLES]
    for one in facts.on_sample:
        own = [found[one.rule] for found in held]
        assert one.examples == len(A)
        assert one.broken == pytest.approx(np.mean([not all(found) for found in own]))
        assert one.broken_groundings == pytest.approx(1 - np.mean(own))
    by_name = {one.rule: one for one in facts.on_sample}
    assert by_name["copy"].coverage == pytest.approx(np.mean(np.array(A) > 0.5))
    names = [one.rule for one in facts.broken]
    assert names == sorted(names, key=lambda name: -by_name[name].broken)
    assert {*names} == {one.rule for one in facts.on_sample if one.broken > 0}


def test_the_worst_violations_have_the_degrees_of_the_formulas(facts):
    assert facts.advised.relaxation in {None, "exact", *rs.relaxation_names()}
    [copy] = [one for one in facts.on_sample if one.rule == "copy"]
    s_product = facts_of_under(facts, "copy", "s-product")
    expected = sorted(
        (1 - A[e][x] * (1 - B[e][x]), e, f"A({x}) → B({x})")
        for e, x in product(EXAMPLES, range(2))
        if A[e][x] > 0.5 >= B[e][x]
    )
    found = [(one.degree, one.example, one.grounding) for one in s_product.worst]
    assert [one[1:] for one in found] == [one[1:] for one in expected]
    assert [one[0] for one in found] == pytest.approx([one[0] for one in expected], abs=1e-6)
    assert {one.example for one in copy.worst} == {one[1] for one in expected}
    assert all(isinstance(rs.parse(one.grounding), rs.Implies) for one in copy.worst)


def facts_of_under(facts, rule, under):
    sample = rs_sample(facts)
    return sample_facts.facts_of_sample(facts.knowledge, rule, sample, ["s-product"], under)


def rs_sample(facts):
    from residuum.advice import read_sample

    return read_sample(facts.asked.sample, facts.knowledge)


def test_gradients_are_those_of_single_groundings(facts):
    """The gradient of each violated grounding by itself, by a rule without quantifiers."""
    for one in facts.broken:
        for relaxation, share in one.without_gradient.items():
            dead = []
            for example in EXAMPLES:
                held = groundings(*predicted(example))[one.rule]
                violated = [place for place, holds in enumerate(held) if not holds]
                dead += [not learns(one.rule, at, example, relaxation) for at in violated]
            assert share == pytest.approx(np.mean(dead)), (one.rule, relaxation)


def learns(rule, place, example, relaxation):
    texts = {"copy": f"A{place} -> B{place}", "red": "Red -> A0 & B0", "never": "~(A1 & Blue)"}
    degrees = {
        "A0": A[example][0], "A1": A[example][1], "B0": B[example][0], "B1": B[example][1],
        "Red": IS[example][0], "Blue": IS[example][2],
    }  # fmt: skip
    read = {str(atom) for atom in rs.atoms_of(rs.parse(texts[rule]))}
    leaves = {
        name: torch.tensor([degrees[name]], dtype=torch.float64, requires_grad=True)
        for name in read
    }
    rs.compile(texts[rule], relaxation, inputs="probs")(leaves).backward()
    return any(leaf.grad is not None and float(leaf.grad.abs()) > 0 for leaf in leaves.values())


def test_decoded_predictions_are_the_best_of_all_that_obey(facts):
    assert facts.why_not_decoded == ""
    for one in facts.decoded:
        a, b, colour = predicted(one.example)
        held = groundings(a, b, colour)
        assert list(one.broken) == [name for name, found in held.items() if not all(found)]
        best = best_obeying(one.example)
        free = names_of(a, b, colour)
        changes = {change.output: (change.free, change.obeying) for change in one.changes}
        assert changes == {
            name: (free[name], label) for name, label in best.items() if free[name] != label
        }
        assert one.changed == len(changes)
        for change in one.changes:
            assert change.free_probability == pytest.approx(chance(one.example, change, "free"))
            assert change.obeying_probability == pytest.approx(
                chance(one.example, change, "obeying")
            )
    counts = [len(one.broken) for one in facts.decoded]
    assert counts == sorted(counts, reverse=True)
    assert counts


def names_of(a, b, colour):
    truths = {f"A({x})": a[x] for x in range(2)} | {f"B({x})": b[x] for x in range(2)}
    return {name: str(bool(held)).lower() for name, held in truths.items()} | {
        "Is": COLOURS[colour]
    }


def chance(example, change, which):
    label = getattr(change, which)
    if change.output == "Is":
        return IS[example][COLOURS.index(label)]
    degree = {"A": A, "B": B}[change.output[0]][example][int(change.output[2])]
    return degree if label == "true" else 1 - degree


def best_obeying(example):
    def probability(a, b, colour):
        chances = [
            own[example][x] if truth[x] else 1 - own[example][x]
            for own, truth in ((A, a), (B, b))
            for x in range(2)
        ]
        return np.prod(chances) * IS[example][colour]

    states = [
        ((a0, a1), (b0, b1), colour)
        for a0, a1, b0, b1 in product((False, True), repeat=4)
        for colour in range(3)
    ]
    obeying_all = [state for state in states if all(map(all, groundings(*state).values()))]
    return names_of(*max(obeying_all, key=lambda state: probability(*state)))


def test_rules_are_stated_with_their_groundings(facts):
    stated = {one.name: one for one in facts.statements}
    assert stated["copy"].formula == "∀x ∈ two: A(x) → B(x)"
    assert [one.groundings for one in facts.statements] == [2, 1, 1]
    assert stated["red"].weight == 2
    assert stated["copy"].domains == {"two": "2 members"}
    assert stated["red"].domains == {"colour": "3 members", "two": "2 members"}


def test_groundings_of_sequences_are_those_of_the_sample(tmp_path):
    rules = """
        domain position sequence
        domain tag = b, i
        predicate Tag(position, tag)
        rule start: forall p in position where p = 0: ~Tag(p, i)
        rule next: forall p in position: Tag(p, b) -> Tag(p + 1, i)
    """
    (tmp_path / "rules.rsd").write_text(rules)
    found = facts_of(asked(tmp_path))
    assert [(one.groundings, one.length) for one in found.statements] == [(1, 10), (9, 10)]
    assert not found.on_sample
    tags = np.array([[[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]], [[0.2, 0.8], [0.7, 0.3], [0.6, 0.4]]])
    np.savez(tmp_path / "p.npz", Tag=tags, lengths=[2, 3])
    found = facts_of(asked(tmp_path, "p.npz"))
    assert [(one.groundings, one.length) for one in found.statements] == [(1, 3), (2, 3)]
    assert [(one.broken, one.broken_groundings) for one in found.on_sample] == [
        (0.5, 0.5), (1.0, pytest.approx(2 / 3)),
    ]  # fmt: skip
    decoded = {one.example: [change.output for change in one.changes] for one in found.decoded}
    assert decoded == {0: ["Tag(1)"], 1: ["Tag(0)", "Tag(1)"]}


def test_large_samples_are_thinned_for_gradients_alone(question, monkeypatch):
    monkeypatch.setattr(sample_facts, "MOST_DIAGNOSED", 4)
    found = {one.rule: one for one in facts_of(question).on_sample}
    assert {name: (one.examples, one.diagnosed) for name, one in found.items()} == {
        "copy": (4, 2), "red": (4, 4), "never": (4, 4),
    }  # fmt: skip


def test_what_is_too_large_to_decode_is_not_and_says_so(question, monkeypatch):
    monkeypatch.setattr(obeying, "MOST_GROUNDINGS", 3)
    found = facts_of(question)
    assert found.decoded == []
    assert found.why_not_decoded == (
        "one example has 4 groundings, more than the 3 that are decoded here"
    )


def test_contradicting_rules_are_not_decoded(tmp_path):
    (tmp_path / "rules.rsd").write_text("predicate A\nrule yes: A\nrule no: ~A\n")
    np.savez(tmp_path / "p.npz", A=[0.9, 0.1])
    found = facts_of(asked(tmp_path, "p.npz"))
    assert found.decoded == []
    assert found.why_not_decoded
    assert not found.checked.is_consistent


def test_predictions_in_other_forms_say_the_same(question, facts):
    logits = {name: np.log(np.array(own)) for name, own in (("A", A), ("B", B), ("Is", IS))}
    for name in "AB":
        logits[name] = logits[name] - np.log1p(-np.exp(logits[name]))
    np.savez(question.rules.parent / "logits.npz", **logits)
    folder = question.rules.parent
    other = facts_of(asked(folder, "logits.npz", form="logits", relaxations=()))
    for one, same in zip(facts.on_sample, other.on_sample, strict=True):
        assert one.broken == same.broken
        assert one.without_gradient == same.without_gradient


def test_nan_in_predictions_is_refused_by_name(question):
    np.savez(question.rules.parent / "nan.npz", A=np.array(A) * np.nan, B=np.array(B), Is=IS)
    with pytest.raises((DataError, rs.ResiduumError), match="A"):
        facts_of(asked(question.rules.parent, "nan.npz"))


def test_the_file_of_the_rules_is_the_one_above(question):
    assert question.rules.read_text() == RULES
