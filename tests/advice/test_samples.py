"""Predictions that are read, refused or drawn."""

import numpy as np
import pytest
import torch

from residuum.advice import draw_samples, read_sample
from residuum.errors import ResiduumError
from residuum.syntax import loads

TAGS = loads(
    "domain digit = 0..2\npredicate D(digit)\npredicate S\nrule r: forall d in digit: D(d) -> S\n"
)
SEQUENCES = loads(
    "domain position sequence\ndomain tag = B, I, O\npredicate T(position, tag)\n"
    "rule r: forall i in position: T(i, O) -> ~T(i + 1, I)"
)
GOOD = {"D": [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], "S": [0.5, 0.75]}


def written(tmp_path, **arrays):
    path = tmp_path / "predictions.npz"
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})
    return path


def test_probabilities_become_logits_that_mean_the_same(tmp_path):
    found = read_sample(written(tmp_path, **GOOD), TAGS)
    assert found.name == "predictions.npz"
    torch.testing.assert_close(
        found.logits["D"].softmax(-1), torch.tensor(GOOD["D"], dtype=torch.float64)
    )
    torch.testing.assert_close(
        found.logits["S"].sigmoid(), torch.tensor(GOOD["S"], dtype=torch.float64)
    )


@pytest.mark.parametrize("form", ["logits", "log_probs"])
def test_other_forms_mean_the_same_too(tmp_path, form):
    probabilities = np.array([[0.5, 0.3, 0.2]]), np.array([0.9])
    given = [np.log(one) for one in probabilities]
    if form == "logits":
        given[1] = np.log(9.0)[None]
    found = read_sample(written(tmp_path, D=given[0], S=given[1]), TAGS, form)
    np.testing.assert_allclose(found.logits["D"].softmax(-1), probabilities[0])
    np.testing.assert_allclose(found.logits["S"].sigmoid(), probabilities[1])


def test_lengths_of_sequences_are_an_array_of_their_own(tmp_path):
    given = np.full((2, 4, 3), 1 / 3)
    found = read_sample(written(tmp_path, T=given, lengths=[4, 2]), SEQUENCES)
    assert found.lengths.tolist() == [4, 2]
    with pytest.raises(ResiduumError, match="lengths"):
        read_sample(written(tmp_path, T=given, lengths=[4, 9]), SEQUENCES)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"S": None}, "no tensor is given for `S`; expected: D, S"),
        ({"D": [[0.5, 0.5]]}, "`D` has domain digit of size 3, got a tensor of shape"),
        ({"S": [0.5, np.nan]}, "`S`: the tensor has a NaN"),
        ({"S": [0.5, 1.5]}, r"`S`: a probability is in \[0, 1\], got 1.5"),
        ({"D": [[2.0, 1.0, 0.5], [0.0, 0.0, 1.0]]}, r"`D`: a probability is in \[0, 1\]"),
        ({"D": [[0.5, 0.5, 0.5], [0.0, 0.0, 1.0]]}, "add up to 1, not to 1.5"),
        ({"S": [0.5, 0.5, 0.5]}, "the batches do not fit together"),
        ({"S": ["a", "b"]}, "`S`: expected numbers, got an array of <U1"),
        ({"Extra": [1.0]}, "nothing reads `Extra`"),
        ({"D": np.zeros((0, 3)), "S": np.zeros(0)}, "one or more"),
        ({"D": [0.5, 0.25, 0.25], "S": 0.5}, "first dimension are the examples"),
    ],
)
def test_predictions_that_do_not_fit_are_refused_in_words(tmp_path, changed, message):
    arrays = {name: array for name, array in {**GOOD, **changed}.items() if array is not None}
    with pytest.raises(ResiduumError, match=message):
        read_sample(written(tmp_path, **arrays), TAGS)


def test_files_that_hold_no_arrays_are_refused(tmp_path):
    missing, text, single = (tmp_path / name for name in ("none.npz", "text.npz", "one.npy"))
    text.write_text("no archive")
    np.save(single, np.zeros(3))
    for path, message in (
        (missing, "No such file"), (text, "expected an .npz file"), (single, "got a single array"),
    ):  # fmt: skip
        with pytest.raises(ResiduumError, match=message):
            read_sample(path, TAGS)


def test_pickled_objects_are_never_loaded(tmp_path):
    path = written(tmp_path, D=np.array([{"a": 1}], dtype=object), S=[0.5])
    with pytest.raises(ResiduumError, match=r"expected an \.npz file"):
        read_sample(path, TAGS)


def test_a_form_that_is_none_and_a_file_without_rules_are_refused(tmp_path):
    with pytest.raises(ResiduumError, match="one of logits, log_probs, probs"):
        read_sample(written(tmp_path, **GOOD), TAGS, "odds")
    with pytest.raises(ResiduumError, match="a rule or more"):
        draw_samples(loads("predicate A"))


def test_uniform_predictions_are_uniform_on_the_simplex_and_the_interval():
    uniform, confident = draw_samples(TAGS, examples=20_000)
    assert (uniform.name, confident.name) == ("uniform", "confident")
    classes, degrees = uniform.logits["D"].softmax(-1), uniform.logits["S"].sigmoid()
    # On the simplex of three the mean of p² is 1/6, and of pq 1/12; on [0, 1] of x² 1/3.
    assert float((classes[:, 0] ** 2).mean()) == pytest.approx(1 / 6, abs=0.006)
    assert float((classes[:, 0] * classes[:, 1]).mean()) == pytest.approx(1 / 12, abs=0.003)
    assert float((degrees**2).mean()) == pytest.approx(1 / 3, abs=0.01)
    assert float(confident.logits["D"].softmax(-1).amax(-1).mean()) > 0.85
    again = draw_samples(TAGS, examples=20_000)[0]
    assert torch.equal(again.logits["D"], uniform.logits["D"])
