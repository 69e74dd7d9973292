"""Predictions that are read, refused or drawn."""

import io
import random
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
import torch

from residuum.advice import archives, draw_samples, read_sample
from residuum.errors import DataError, ResiduumError
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
        ({"D": [[2.0, 1.0, 0.5], [0.0, 0.0, 1.0]]}, "if these are logits, say so"),
        ({"D": [[0.5, 0.5, 0.5], [0.0, 0.0, 1.0]]}, "add up to 1, not to 1.5"),
        ({"S": [0.5, 0.5, 0.5]}, "the batches do not fit together"),
        ({"S": ["a", "b"]}, "`S`: expected numbers, got an array of <U1"),
        ({"Extra": [1.0]}, "nothing reads `Extra`"),
        ({"D": np.zeros((0, 3)), "S": np.zeros(0)}, "one or more"),
        ({"D": [0.5, 0.25, 0.25], "S": 0.5}, "one or more examples in the first dimension"),
    ],
)
def test_predictions_that_do_not_fit_are_refused_in_words(tmp_path, changed, message):
    arrays = {name: array for name, array in {**GOOD, **changed}.items() if array is not None}
    with pytest.raises(ResiduumError, match=message):
        read_sample(written(tmp_path, **arrays), TAGS)


def test_evidence_and_labels_are_read_by_their_prefix(tmp_path):
    labels = {"observed:D": [2, -100], "label:S": [True, False]}
    found = read_sample(written(tmp_path, **GOOD, **labels), TAGS)
    assert found.observed["D"].tolist() == [2, -100]
    assert found.labels["S"].tolist() == [1, 0]
    assert not found.is_observed("D")
    whole = read_sample(written(tmp_path, S=GOOD["S"], **{"observed:D": [2, 0]}), TAGS)
    assert whole.is_observed("D")
    assert set(whole.logits) == {"S"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"observed:D": [3, 0]}, "labels from 0 to 2"),
        ({"observed:D": [0.5, 0.5]}, "expected the number of a member of digit"),
        ({"observed:D": [[0, 1, 0], [1, 0, 0]]}, "if these are one-hot"),
        ({"observed:Extra": [1, 0]}, "nothing reads `Extra`"),
        ({"label:Extra": [1, 0]}, "nothing reads `Extra`"),
        ({"label:D": [0.5, 0.5]}, "expected the number of a member of digit"),
        ({"label:S": [1, 2]}, "`S`: expected labels from 0 to 1"),
        ({"label:S": [1, 0, 1]}, "batches do not fit together"),
    ],
)
def test_evidence_and_labels_that_do_not_fit_are_refused(tmp_path, changed, message):
    with pytest.raises(ResiduumError, match=message):
        read_sample(written(tmp_path, **GOOD, **changed), TAGS)


def test_quantities_are_numbers_in_every_form(tmp_path):
    knowledge = loads("predicate Adult\nquantity Age scale 2\nrule r: Age >= 18 -> Adult")
    path = written(tmp_path, Age=[30.0, 12.5], Adult=[0.5, 0.75], **{"label:Age": [np.nan, 12.0]})
    found = read_sample(path, knowledge)
    assert found.logits["Age"].tolist() == [30.0, 12.5]
    assert found.labels["Age"].isnan().tolist() == [True, False]
    bad = written(tmp_path, Age=[30.0], Adult=[0.5], **{"label:Age": [1.0, 2.0]})
    with pytest.raises(DataError, match="`label:Age`: expected as many numbers"):
        read_sample(bad, knowledge)
    for drawn in draw_samples(knowledge, examples=50):
        assert drawn.logits["Age"].shape == (50,)
        assert 1 < drawn.logits["Age"].std() < 20


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
    with pytest.raises(ResiduumError, match="`D`: expected numbers, got an array of object"):
        read_sample(path, TAGS)


# Files that lie


def npy(array, **changes):
    """Return an array as NumPy keeps it, with parts of its header changed."""
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    content = file.getvalue()
    for old, new in changes.values():
        assert old in content
        content = content.replace(old, new + b" " * (len(old) - len(new)))
    return content


def zipped(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            with warnings.catch_warnings(action="ignore"):  # that a name stands twice
                archive.writestr(name, content)
    return path


SOUND = [("D.npy", npy(GOOD["D"])), ("S.npy", npy(GOOD["S"]))]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("README", b"text")], "`README`: expected arrays by different names.*'README'"),
        ([("folder/", b"")], "the file 'folder/'"),
        ([("S.npy", npy([0.5]))], r"the file 'S\.npy'; write all arrays by one numpy.savez"),
        ([("a\x1bb.npy", npy([0.5]))], r"'a\\x1bb\.npy'"),
        ([("E.npy", b"text")], r"`E`: expected an array as numpy\.savez writes it"),
        ([("E.npy", b"")], r"`E`: expected an array as numpy\.savez writes it"),
        ([("E.npy", npy([0.5])[:-1])], r"1 numbers of 8 bytes for the shape \(1,\), found 7 bytes"),
        ([("E.npy", npy([0.5]) + b"x")], "found 9 bytes; write the file anew"),
        ([("E.npy", npy([0.5], a=(b"(1,), }    ", b"(9999,), }")))], "found 8 bytes"),
        ([("E.npy", npy([0.5], a=(b"(1,), } ", b"(-1,), }")))], r"found the shape \(-1,\)"),
        ([("E.npy", npy([], a=(b"(0,), }" + b" " * 30, b"(0," + b"9" * 29 + b"), }")))], "E|npz"),
        ([("E.npy", npy([0.5], a=(b"(1,), }", b"((1,),}")))], "`E`: expected an array as"),
        ([("E.npy", npy([0.5], a=(b"(1,), }    ", b"[[[[[[[[[[[")))], "`E`: expected an array as"),
        ([("E.npy", npy([0.5], a=(b"'<f8'", b"'<q8'")))], "`E`: expected an array as"),
        ([("E.npy", npy([0.5], a=(b"NUMPY\x01", b"NUMPY\x07")))], "`E`: expected an array as"),
        ([("E.npy", npy(["word"]))], "`E`: expected numbers, got an array of <U4"),
    ],
)  # fmt: skip
def test_a_file_of_arrays_that_is_odd_is_refused_in_words(tmp_path, members, message):
    path = zipped(tmp_path / "odd.npz", [*SOUND, *members])
    with pytest.raises(DataError, match=r"odd\.npz: (?s:.)*" + message):
        read_sample(path, TAGS)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_arrays_packed_otherwise_than_numpy_does_are_refused(tmp_path, method):
    path = zipped(tmp_path / "odd.npz", SOUND, method)
    with pytest.raises(DataError, match=rf"packed by deflate, found method {method} for 'D\.npy'"):
        read_sample(path, TAGS)


def test_arrays_behind_a_password_are_refused(tmp_path):
    path = zipped(tmp_path / "odd.npz", SOUND, zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    for start, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(start) + place] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"found a password for .D\.npy."):
        read_sample(path, TAGS)


def test_no_array_is_read_before_its_size_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_NUMBERS", 10)
    size = 2**25
    header = npy([0.5], a=(b"(1,), }         ", b"(%d,), }" % (size // 8)))[:-8]
    long_header = npy([0.5])[:6] + b"\2\0" + b"\xff\xff\xff\x7f"  # it says it has 2 GB
    for start in (header, long_header):
        path = zipped(tmp_path / "bomb.npz", [("S.npy", start + bytes(size))])
        assert path.stat().st_size < 40_000
        tracemalloc.start()
        with pytest.raises(DataError, match=r"`S`: expected (at most 10 numbers|an array as)"):
            read_sample(path, TAGS)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**22


def test_the_limit_is_that_of_all_arrays_together(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_NUMBERS", 8)
    assert read_sample(written(tmp_path, **GOOD), TAGS)
    monkeypatch.setattr(archives, "MOST_NUMBERS", 7)
    with pytest.raises(DataError, match=r"`S`: expected at most 7 numbers in all arrays together"):
        read_sample(written(tmp_path, **GOOD), TAGS)


def test_whatever_is_wrong_with_a_file_is_said_in_words(tmp_path):
    chance = random.Random(20)
    path = tmp_path / "odd.npz"
    refused = 0
    for number in range(600):
        method = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        members = [(name, bytearray(content)) for name, content in SOUND]
        if number % 2:  # an array that is damaged in a sound archive
            content = members[number % 4 // 2][1]
            content[chance.randrange(len(content))] = chance.randrange(256)
        content = bytearray(zipped(path, members, method).read_bytes())
        if not number % 2:
            content[chance.randrange(len(content))] = chance.randrange(256)
            path.write_bytes(content)
        try:
            read_sample(path, TAGS)
        except ResiduumError:
            refused += 1
    assert 300 < refused < 600


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
