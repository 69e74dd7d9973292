"""The sets are as the paper describes them, and the same everywhere; checked by Python's sets."""

import hashlib
import itertools

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.study.digits.data.images import Images
from residuum.study.digits.data.sets import (
    DIGIT_SIZES,
    PAIR_SIZES,
    Sets,
    distinct_tuples,
    make_sets,
)
from residuum.study.random_draws import permutation, stream


def _blank(name: str, train: int, test: int) -> Images:
    """As many images as a data set has, of one pixel: the sets depend on nothing else."""
    pixels = [np.zeros((count, 1, 1), np.uint8) for count in (train, test)]
    labels = [np.zeros(count, np.int64) for count in (train, test)]
    return Images(name, pixels[0], labels[0], pixels[1], labels[1], 255)


MNIST = _blank("mnist", 60_000, 10_000)
EMBEDDED = _blank("embedded", 1_440, 357)
ALL = [(MNIST, "mnist"), (EMBEDDED, "embedded")]


@pytest.fixture(scope="module", params=ALL, ids=["mnist", "embedded"])
def drawn(request) -> tuple[Images, dict[tuple[int, str], Sets]]:
    images, name = request.param
    large = PAIR_SIZES[name][-1]
    return images, {
        (size, pool): make_sets(images, size, large, pool)
        for size in DIGIT_SIZES[name]
        for pool in ("paper", "original")
    }


def _rows(indices) -> list[tuple[int, ...]]:
    return list(map(tuple, indices.tolist()))


def _same(left: Sets, right: Sets, *names: str) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names)


EVALUATION = ("pair_dev", "pair_test", "commutativity", "associativity", "distributivity")


@pytest.mark.parametrize(
    ("images", "sizes"), [(MNIST, (50_000, 10_000, 50_000)), (EMBEDDED, (1_200, 240, 1_785))]
)
def test_sizes_are_those_of_the_paper_for_mnist_and_in_proportion_otherwise(images, sizes):
    sets = make_sets(images, 200, 300)
    assert (len(sets.train), len(sets.dev), len(sets.pair_test)) == sizes
    assert (sets.digit.shape, sets.pairs.shape) == ((200,), (300, 2))
    rows = 5 * len(images.test)
    assert sets.pair_dev.shape == (5 * len(sets.dev), 2)
    assert sets.commutativity.shape == (rows, 2)
    assert sets.associativity.shape == sets.distributivity.shape == (rows, 3)


def test_train_and_dev_part_the_training_images(drawn):
    images, by_setting = drawn
    for sets in by_setting.values():
        assert sorted([*sets.train, *sets.dev]) == list(range(len(images.train)))


def test_a_smaller_digit_is_the_beginning_of_a_larger_and_all_are_in_train(drawn):
    _, by_setting = drawn
    settings = sorted(by_setting)
    for size, pool in settings:
        digit = by_setting[size, pool].digit.tolist()
        assert len(set(digit)) == size
        assert set(digit) <= set(by_setting[size, pool].train.tolist())
        assert digit == by_setting[settings[-1]].digit[:size].tolist()


def test_pairs_of_the_paper_are_of_train_outside_every_digit_set_and_the_same_for_all(drawn):
    _, by_setting = drawn
    papers = {size: sets for (size, pool), sets in by_setting.items() if pool == "paper"}
    largest = papers[max(papers)]
    for sets in papers.values():
        members = set(sets.pairs.ravel().tolist())
        assert members <= set(sets.train.tolist()) - set(largest.digit.tolist())
        assert _same(sets, largest, "pairs")


def test_original_pairs_are_of_as_many_images_as_digit_has_outside_that_digit(drawn):
    _, by_setting = drawn
    largest = max(size for size, _ in by_setting)
    every_digit = set(by_setting[largest, "paper"].digit.tolist())
    for (size, pool), sets in by_setting.items():
        if pool == "original":
            members = set(sets.pairs.ravel().tolist())
            assert members <= set(sets.train.tolist()) - set(sets.digit.tolist())
            assert len(members) <= size
            assert bool(members & every_digit) == (size < largest)


def test_no_pair_has_one_image_twice_nor_occurs_twice_nor_reversed(drawn):
    _, by_setting = drawn
    for sets in by_setting.values():
        pairs = _rows(sets.pairs)
        assert len({frozenset(pair) for pair in pairs}) == len(pairs)
        assert all(first != second for first, second in pairs)


@pytest.mark.parametrize("pool", ["paper", "original"])
@pytest.mark.parametrize(("images", "name"), ALL)
def test_a_smaller_pair_is_the_beginning_of_a_larger(images, name, pool):
    small, middle, large = (
        make_sets(images, DIGIT_SIZES[name][0], size, pool).pairs for size in PAIR_SIZES[name]
    )
    assert _rows(small) == _rows(large)[: len(small)]
    assert _rows(middle) == _rows(large)[: len(middle)]


def test_beginnings_are_equal_when_all_pairs_there_are_are_drawn():
    pool = np.arange(250)
    most = 250 * 249 // 2
    whole = distinct_tuples(stream(1, "x"), pool, 2, most, ordered=False)
    part = distinct_tuples(stream(1, "x"), pool, 2, most - 5_000, ordered=False)
    assert len({frozenset(pair) for pair in _rows(whole)}) == most
    assert _rows(part) == _rows(whole)[: len(part)]


def test_sets_for_evaluation_have_different_images_in_a_row_and_no_row_twice(drawn):
    images, by_setting = drawn
    sets = next(iter(by_setting.values()))
    for name in EVALUATION:
        rows = _rows(getattr(sets, name))
        assert len(set(rows)) == len(rows)
        assert all(len(set(row)) == len(row) for row in rows)
    assert len(set(map(frozenset, _rows(sets.commutativity)))) == len(sets.commutativity)
    assert set(sets.pair_dev.ravel().tolist()) <= set(sets.dev.tolist())
    for name in EVALUATION[1:]:
        assert set(getattr(sets, name).ravel().tolist()) <= set(range(len(images.test)))


def test_ordered_pairs_may_occur_reversed(drawn):
    _, by_setting = drawn
    rows = set(_rows(next(iter(by_setting.values())).pair_test))
    assert any(row[::-1] in rows for row in rows)


def test_sets_for_evaluation_do_not_depend_on_the_setting(drawn):
    _, by_setting = drawn
    first, *others = by_setting.values()
    assert all(_same(first, other, "train", "dev", *EVALUATION) for other in others)


def test_sets_of_one_shape_are_drawn_independently():
    sets = make_sets(MNIST, 1_000, 1_000)
    positions = np.searchsorted(sets.dev, sets.pair_dev)
    for left, right in [
        (positions, sets.pair_test),
        (sets.pair_test, sets.commutativity),
        (sets.associativity, sets.distributivity),
        (sets.pair_test, sets.associativity[:, :2]),
    ]:
        assert (left == right).all(axis=1).mean() < 0.001


def test_every_image_is_drawn_about_equally_often():
    sets = make_sets(MNIST, 25_000, 25_000)
    for name, images in [("pair_test", 10_000), ("distributivity", 10_000)]:
        counts = np.bincount(getattr(sets, name).ravel(), minlength=images)
        # Nearly Poisson: its mean and variance agree, and beyond 7 deviations there is nothing.
        assert abs(counts.var() / counts.mean() - 1) < 0.1
        assert abs(counts - counts.mean()).max() < 7 * counts.mean() ** 0.5
    left, right = sets.pairs.mean(axis=0)
    assert abs(left - right) < 620  # four standard errors: 60,000 / √12 · √(2 / 25,000) is 155


@pytest.mark.parametrize("name", list(vars(make_sets(EMBEDDED, 50, 50))))
def test_equal_seeds_give_equal_sets_and_others_give_others(name):
    first, again, other = (make_sets(EMBEDDED, 50, 50, seed=seed) for seed in (20, 20, 21))
    assert _same(first, again, name)
    assert not _same(first, other, name)


def test_the_default_seed_of_sets_is_20():
    assert _same(make_sets(EMBEDDED, 50, 50), make_sets(EMBEDDED, 50, 50, "paper", 20), "pairs")


PINNED = {
    ("mnist", "paper"): "e2b54a3cde1452483dc690ab8e7a5332a67cfd1745437114da99cc2c9ccedb60",
    ("mnist", "original"): "7a21a210dd93d24e0d246632d85aaf1294d687d13c605d066b6810f754a08588",
    ("embedded", "paper"): "9587d06e6619c809763d87b04b4224ac201a26365974860fd5c5871812664cb9",
    ("embedded", "original"): "dbd0136a016b69ac6b93da1322fa657f9e621da7cc5663367983e3342b0bcc88",
}


@pytest.mark.parametrize(("name", "pool"), PINNED)
def test_the_sets_are_the_ones_that_figures_were_measured_on(name, pool):
    images = {"mnist": MNIST, "embedded": EMBEDDED}[name]
    sets = make_sets(images, DIGIT_SIZES[name][1], PAIR_SIZES[name][1], pool)
    content = b"".join(indices.astype("<i8").tobytes() for indices in vars(sets).values())
    assert hashlib.sha256(content).hexdigest() == PINNED[name, pool]


def test_sets_are_indices_that_cannot_be_written_to():
    for indices in vars(make_sets(EMBEDDED, 50, 50)).values():
        assert indices.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            indices[0] = 1


@pytest.mark.parametrize("size", [0, -1, 601])
def test_an_impossible_digit_size_is_refused_with_the_largest(size):
    make_sets(EMBEDDED, 600, 50)
    with pytest.raises(DataError, match=f"1 to 600 of the 1,200 .* not {size}"):
        make_sets(EMBEDDED, size, 50)


def test_an_impossible_pair_size_is_refused_with_the_largest():
    with pytest.raises(DataError, match=r"600 images make at most 179,700 .* got 179,701"):
        make_sets(EMBEDDED, 600, 179_701)
    with pytest.raises(DataError, match=r"at least 1 .* got 0"):
        make_sets(EMBEDDED, 600, 0)


def test_the_original_pool_is_bounded_by_digit():
    pairs = make_sets(EMBEDDED, 50, 1_225, "original").pairs
    assert len(set(map(frozenset, _rows(pairs)))) == 50 * 49 // 2
    with pytest.raises(DataError, match="50 images make at most 1,225 different pairs"):
        make_sets(EMBEDDED, 50, 1_226, "original")


def test_other_mistakes_are_refused():
    with pytest.raises(DataError, match="paper or original, got 'orginal'"):
        make_sets(EMBEDDED, 50, 50, "orginal")
    with pytest.raises(DataError, match=r"seed: expected .*, got -1"):
        make_sets(EMBEDDED, 50, 50, seed=-1)
    with pytest.raises(DataError, match="2 images make at most 2 different ordered pairs"):
        make_sets(_blank("few", 12, 12), 2, 2)


@pytest.mark.parametrize(("width", "ordered"), [(2, True), (2, False), (3, True), (3, False)])
def test_all_tuples_there_are_can_be_drawn_and_any_may_come_first(width, ordered):
    pool = np.array([3, 5, 8, 13])
    kind = itertools.permutations if ordered else itertools.combinations
    every = set(kind(pool.tolist(), width))
    firsts = set()
    for seed in range(300):
        rows = _rows(distinct_tuples(stream(seed, "x"), pool, width, len(every), ordered=ordered))
        assert len(rows) == len(every)
        assert {row if ordered else tuple(sorted(row)) for row in rows} == every
        firsts.add(rows[0])
    assert firsts == set(itertools.permutations(pool.tolist(), width))


@pytest.mark.parametrize(("width", "ordered"), [(2, True), (2, False), (3, True)])
def test_tuples_are_those_that_drawing_one_after_the_other_accepts(width, ordered):
    pool, numbers = np.arange(100, 160), stream(7, "x")
    rows, seen = [], set()
    while len(rows) < 1_500:
        row = [int(number) % 60 for number in numbers.random_raw(width)]
        members = tuple(row) if ordered else frozenset(row)
        if len(set(row)) == width and members not in seen:
            seen.add(members)
            rows.append(tuple(100 + position for position in row))
    assert _rows(distinct_tuples(stream(7, "x"), pool, width, 1_500, ordered=ordered)) == rows


def test_a_permutation_has_each_number_once():
    assert sorted(permutation(stream(3, "x"), 1000)) == list(range(1000))
    assert permutation(stream(3, "x"), 1000).tolist() != list(range(1000))


def test_streams_differ_by_seed_and_by_purpose():
    seen = {
        stream(seed, purpose).random_raw()
        for seed in (0, 1, 2**32, 2**32 + 1, 97)
        for purpose in ("", "a", "aa", "ab", "b")
    }
    assert len(seen) == 25
