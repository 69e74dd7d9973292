"""Reasoning shortcuts, compared with all relabellings, one by one."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import residuum as rs
from residuum.errors import ResiduumError

ADDITION = """
    domain digit = 0..{last}
    domain sum = 0..{most}
    predicate Left(digit)
    predicate Right(digit)
    predicate Sum(sum)
    rule addition: {rule}
"""
IMPLIES = "forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)"
EXISTS = "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"
READER = [("Left", "Right")]


def addition(classes, rule=IMPLIES):
    return rs.loads(ADDITION.format(last=classes - 1, most=2 * classes - 2, rule=rule))


def sums_of(pairs):
    left, right = (list(one) for one in zip(*pairs, strict=True))
    return {"Left": left, "Right": right, "Sum": [a + b for a, b in pairs]}


def relabellings(pairs, classes):
    """All ways to take the digits that occur for others so that every sum stays."""
    seen = sorted({digit for pair in pairs for digit in pair})
    for taken in itertools.product(range(classes), repeat=len(seen)):
        changed = dict(zip(seen, taken, strict=True))
        if all(changed[a] + changed[b] == a + b for a, b in pairs):
            yield {true: k for true, k in changed.items() if k != true}


def fewest_labels(changes):
    classes = sorted({true for one in changes for true in one})
    for size in range(len(classes) + 1):
        if any(all(set(one) & set(some) for one in changes)
               for some in itertools.combinations(classes, size)):  # fmt: skip
            return size
    raise AssertionError


@pytest.mark.parametrize("rule", [IMPLIES, EXISTS])
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 2), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_shortcuts_are_those_that_brute_force_finds(rule, pairs):
    found = rs.shortcuts(addition(5, rule), sums_of(pairs), READER)
    changes = [one for one in relabellings(pairs, 5) if one]
    assert (found.count, found.is_all) == (len(changes), True)
    if not changes:
        assert (dict(found.example), dict(found.labels_needed)) == ({}, {})
        return
    assert found.example["Left"] in changes
    assert len(found.example["Left"]) == min(map(len, changes))
    needed = set(found.labels_needed["Left"])
    assert len(needed) == fewest_labels(changes)
    assert all(needed & set(one) for one in changes)


def test_two_networks_may_be_wrong_together():
    knowledge = rs.loads("""
        domain bit = 0, 1
        predicate One(bit)
        predicate Other(bit)
        predicate Differ
        rule exclusive: forall a, b in bit: One(a) & Other(b) -> (Differ <-> One(1 - b))
    """)
    seen = {"One": [0, 0, 1, 1], "Other": [0, 1, 0, 1], "Differ": [0, 1, 1, 0]}
    found = rs.shortcuts(knowledge, seen, ["One", "Other"])
    assert found.count == 1  # both are wrong about every bit
    assert found.example == {"One": {0: 1, 1: 0}, "Other": {0: 1, 1: 0}}
    assert sum(map(len, found.labels_needed.values())) == 1
    assert rs.shortcuts(knowledge, seen, [("One", "Other")]).count == 1
    known = rs.shortcuts(knowledge, seen, ["One"])  # the other is observed
    assert (known.count, str(known)) == (
        0, "no shortcuts: the rules determine all classes that occur in the examples",
    )  # fmt: skip


LONG = """
    domain place = 0..1
    domain carried = 0..2
    domain digit = 0..3
    domain bit = 0, 1
    predicate Left(place, digit)
    predicate Right(place, digit)
    predicate Sum(place, digit)
    predicate Carry(carried, bit) hidden
    rule first: Carry(0, 0)
    rule digits: forall p in place, a, b in digit, c in bit:
        Left(p, a) & Right(p, b) & Carry(p, c) -> Sum(p, (a + b + c) mod 4)
    rule carries: forall p in place, a, b in digit, c in bit:
        Left(p, a) & Right(p, b) & Carry(p, c) -> Carry(p + 1, (a + b + c) div 4)
"""


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_hidden_carries_are_summed_out(numbers):
    digits = np.array(numbers).reshape(-1, 2, 2)  # example, which number, place
    totals = (digits * [1, 4]).sum((1, 2))
    sums = np.stack([totals % 4, totals // 4 % 4], 1)
    seen = {"Left": digits[:, 0], "Right": digits[:, 1], "Sum": sums}
    found = rs.shortcuts(rs.loads(LONG), seen, READER)
    classes = np.unique(digits)
    count = -1
    for taken in itertools.product(range(4), repeat=len(classes)):
        as_taken = np.zeros(4, int)
        as_taken[classes] = taken
        count += np.array_equal((as_taken[digits] * [1, 4]).sum((1, 2)) % 16, totals % 16)
    assert found.count == count


def test_what_is_not_observed_restricts_nothing():
    seen = {"Left": [0, 2], "Right": [1, 3], "Sum": [1, -100]}
    assert rs.shortcuts(addition(4), seen, READER).count == 2 * 4 * 4 - 1


def test_counting_stops_where_it_is_told_to():
    seen = sums_of([(3, 3), (0, 6), (1, 5)])
    found = rs.shortcuts(addition(7), seen, READER, most=5)
    assert (found.count, found.is_all) == (5, False)
    assert str(found).startswith("at least 5 shortcuts, in one of which Left takes ")
    assert set(found.labels_needed["Left"]) in ({0, 1}, {0, 5}, {6, 1}, {6, 5})


def test_labels_are_named_as_the_domain_names_them():
    knowledge = rs.loads("""
        domain colour = red, green, blue
        predicate Light(colour)
        predicate Go
        rule go: Go <-> Light(green)
    """)
    found = rs.shortcuts(knowledge, {"Light": [0, 1, 2], "Go": [0, 1, 0]}, ["Light"])
    assert found.count == 3
    assert found.example["Light"] in ({"red": "blue"}, {"blue": "red"})
    assert found.labels_needed["Light"] == ("red", "blue")


def test_tensors_and_many_equal_examples_are_taken():
    left, right = torch.randint(5, (2, 20_000), generator=torch.Generator().manual_seed(0))
    seen = {"Left": left, "Right": right, "Sum": left + right}
    assert rs.shortcuts(addition(5), seen, READER).count == 0


@pytest.mark.parametrize(
    ("changed", "networks", "message"),
    [
        ({"Sum": [0, 3]}, READER, "got example 1, which breaks them"),
        ({"Sum": [0]}, READER, "as many labels of each predicate, got Left: 2, Right: 2, Sum: 1"),
        ({"Sum": [0, 9]}, READER, "labels of `Sum` from 0 to 8, got 9"),
        ({"Left": [0, -100]}, READER, "labels of `Left` from 0 to 4, got -100"),
        ({"Sum": [0.0, 2.0]}, READER, r"shape \(examples\) for `Sum`, got float64"),
        ({"Sum": [[0, 2]]}, READER, r"shape \(examples\) for `Sum`, got int64 .* \(1, 2\)"),
        ({"Sum": 3}, READER, r"got int64 of the shape \(\)"),
        ({"Som": [0, 2]}, READER, "Left, Right, Sum, got 'Som'.*`Sum`"),
        ({}, ["Lefd"], "Left, Right, Sum, got 'Lefd'.*`Left`"),
        ({}, [("Left", "Sum")], "one domain of classes for `Left` and `Sum`"),
        ({}, [], "networks: expected predicates, got none"),
    ],
)
def test_mistakes_are_refused_in_words(changed, networks, message):
    with pytest.raises(ResiduumError, match=message):
        rs.shortcuts(addition(5), sums_of([(0, 0), (1, 1)]) | changed, networks)


def test_missing_labels_are_asked_for():
    with pytest.raises(ResiduumError, match="expected labels of `Sum`, which the rules read"):
        rs.shortcuts(addition(5), {"Left": [0], "Right": [0]}, READER)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("domain w sequence domain t = 0, 1 predicate T(w, t) rule r: forall i in w: T(i, 0)",
         "rule r: expected domains of listed members"),
        ("domain w sequence domain t = 0, 1 predicate T(w, t) rule r: T(0, 0)", "rule r: expected"),
        ("predicate T rule r: T", "expected predicates whose last argument is a class, got `T`"),
        ("domain d = 0..2 predicate T(d) independent rule r: exists i in d: T(i)", "independent"),
    ],
)  # fmt: skip
def test_rules_without_classes_are_refused(text, message):
    with pytest.raises(ResiduumError, match=message):
        rs.shortcuts(rs.loads(text), {"T": [1]}, ["T"])


def test_too_many_examples_are_refused():
    knowledge = rs.loads("""
        domain d = 0..99
        predicate P(d, d)
        predicate Q(d, d)
        rule same: forall i, k in d: P(i, k) <-> Q(i, k)
    """)
    labels = np.random.default_rng(0).integers(100, size=(30, 100))
    with pytest.raises(ResiduumError, match=r"200,000 atoms .* got 600,000; give"):
        rs.shortcuts(knowledge, {"P": labels, "Q": labels}, ["P"])
    with pytest.raises(ResiduumError, match="expected a Knowledge"):
        rs.shortcuts("P", {}, ["P"])
    with pytest.raises(ResiduumError, match="most: expected a whole number"):
        rs.shortcuts(addition(2), sums_of([(0, 0)]), READER, most=0)
