"""The images are the published ones, or refused."""

import gzip
import hashlib
import struct
import sys

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.study.digits.data.images import Images, load_images

# Checksums of the unpacked files, as they are commonly published.
MD5 = {
    ("train", 3): "6bbc9ace898e44ae57da46a324031adb",
    ("train", 1): "a25bea736e30d166cdddb491f175f624",
    ("test", 3): "2646ac647ad5339dbf082846283269ea",
    ("test", 1): "27ae3e4e09519cfbb04c329615203637",
}


@pytest.fixture
def mnist_folder(data_folder):
    if not (data_folder / "mnist" / "train-images-idx3-ubyte.gz").exists():
        pytest.skip("no MNIST in RESIDUUM_DATA")
    return data_folder


@pytest.mark.usefixtures("mnist_folder")
def test_mnist_is_what_was_published():
    images = load_images("mnist")
    assert images.train.shape == (60_000, 28, 28)
    assert images.test.shape == (10_000, 28, 28)
    assert (images.name, images.whitest, images.train.max()) == ("mnist", 255, 255)
    assert images.train_labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert images.test_labels[:5].tolist() == [7, 2, 1, 0, 4]
    for (part, axes), checksum in MD5.items():
        array = getattr(images, part if axes == 3 else f"{part}_labels")
        header = struct.pack(f">4B{axes}I", 0, 0, 8, axes, *array.shape)
        content = header + array.astype(np.uint8).tobytes()
        assert hashlib.md5(content, usedforsecurity=False).hexdigest() == checksum


def test_mnist_is_found_unpacked_and_under_dotted_names(mnist_folder, tmp_path, monkeypatch):
    for packed in (mnist_folder / "mnist").glob("*.gz"):
        dotted = packed.stem.replace("-idx", ".idx")
        (tmp_path / dotted).write_bytes(gzip.decompress(packed.read_bytes()))
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    assert load_images("mnist").test_labels[:5].tolist() == [7, 2, 1, 0, 4]


def _write(folder, name, array):
    header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    (folder / name).write_bytes(header + array.astype(np.uint8).tobytes())


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """A folder with four sound IDX files that are not MNIST."""
    for part in ("train", "t10k"):
        _write(tmp_path, f"{part}-images-idx3-ubyte", np.zeros((3, 28, 28)))
        _write(tmp_path, f"{part}-labels-idx1-ubyte", np.zeros(3))
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("forged")
def test_sound_files_that_are_not_mnist_are_refused_by_name():
    with pytest.raises(DataError, match="train-images-idx3-ubyte` is not the published file"):
        load_images("mnist")


def test_a_truncated_file_is_refused_with_what_was_found(forged):
    whole = (forged / "train-images-idx3-ubyte").read_bytes()
    (forged / "train-images-idx3-ubyte").write_bytes(whole[:-5])
    with pytest.raises(DataError, match=r"expected 2,352 bytes .*found 2,347"):
        load_images("mnist")


def test_every_missing_file_is_named_at_once(forged):
    (forged / "t10k-images-idx3-ubyte").unlink()
    (forged / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(
        DataError, match=r"lacks t10k-images-idx3-ubyte\.gz, t10k-labels-idx1-ubyte\.gz, and"
    ):
        load_images("mnist")


@pytest.fixture(scope="module")
def embedded() -> Images:
    return load_images("embedded")


def test_embedded_images_are_those_of_scikit_learn_each_once(embedded):
    from sklearn.datasets import load_digits

    theirs = load_digits()
    ours = np.concatenate([embedded.train, embedded.test])
    labels = np.concatenate([embedded.train_labels, embedded.test_labels])
    assert (embedded.train.shape, embedded.test.shape) == ((1440, 8, 8), (357, 8, 8))
    assert (embedded.name, embedded.whitest, ours.max()) == ("embedded", 16, 16)
    assert sorted((*image.ravel(), label) for image, label in zip(ours, labels, strict=True)) == (
        sorted(
            (*image.ravel(), label)
            for image, label in zip(theirs.images, theirs.target, strict=True)
        )
    )


EMBEDDED_TEST = "318690b7751ce2a9c16a5f2ba04769b2fd6f549e33bea8b7b0f88629736c5ed8"


def test_embedded_images_are_parted_the_same_way_every_time(embedded):
    again = load_images("embedded")
    assert np.array_equal(embedded.test, again.test)
    assert hashlib.sha256(embedded.test.tobytes()).hexdigest() == EMBEDDED_TEST


def test_each_digit_is_in_both_parts(embedded):
    assert np.bincount(embedded.train_labels).min() > 100
    assert np.bincount(embedded.test_labels).min() > 20


def test_arrays_are_typed_and_cannot_be_written_to(embedded):
    assert embedded.train.dtype == embedded.test.dtype == np.uint8
    assert embedded.train_labels.dtype == embedded.test_labels.dtype == np.int64
    for name in ("train", "train_labels", "test", "test_labels"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(embedded, name)[0] = 1


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match=r"pip install 'residuum\[study\]'"):
        load_images("embedded")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match=r"mnist or embedded, got 'minst'\. Did you mean `mnist`"):
        load_images("minst")
