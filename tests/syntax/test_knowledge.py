"""Domains of integers are ranges: nothing about them takes longer if they are larger."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum.syntax import Domain
from strategies import many

HUGE = 10**12
integers = st.integers(-6, 6)
label_lists = st.lists(integers | st.sampled_from(["a", "1", "b"]), unique=True, max_size=6)
label_ranges = st.builds(
    range, integers, integers, st.integers(-3, 3).filter(lambda step: step != 0)
).map(tuple)
labels = (label_lists.map(tuple)) | label_ranges


@many
@given(labels, labels, integers | st.sampled_from(["a", "1", "c"]))
def test_questions_of_a_domain_agree_with_lists(mine, others, value):
    one, other = Domain("d", mine), Domain("e", others)
    assert tuple(one) == mine
    assert one.has(value) == (value in mine)
    assert one.place(value) == (mine.index(value) if value in mine else None)
    assert one.is_part_of(other) == (set(mine) <= set(others))
    assert one.is_numeric == all(isinstance(label, int) for label in mine)


@many
@given(labels, labels)
def test_domains_are_equal_if_their_labels_are(mine, others):
    one, other = Domain("d", mine), Domain("d", others)
    assert (one == other) == (mine == others)
    assert hash(one) == hash(other) or mine != others
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize("given_as", [range(5, 10), (5, 6, 7, 8, 9)])
def test_a_range_is_one_however_it_is_given(given_as):
    assert Domain("d", given_as).labels == range(5, 10)


def test_no_question_walks_a_range():
    domain = Domain("d", range(HUGE))
    assert domain == Domain("d", range(HUGE))
    assert hash(domain) == hash(Domain("d", range(HUGE)))
    assert domain.has(HUGE - 1)
    assert not domain.has(HUGE)
    assert not domain.has("a")
    assert domain.place(7) == 7
    assert domain.twin_of("7").endswith("is a number.")
    assert domain.is_numeric
    assert Domain("e", range(0, HUGE, 2)).is_part_of(domain)
    assert not domain.is_part_of(Domain("e", range(HUGE - 1)))
    assert str(domain) == "`d` (0, 1, 2, 3, 4, 5, …)"


def test_long_labels_are_cut_in_messages():
    assert len(str(Domain("d", tuple(letter * 900 for letter in "abcdefgh")))) < 300
