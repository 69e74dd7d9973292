"""Images of digits with their labels: MNIST, or the small images of scikit-learn."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError
from residuum.study.common_settings import check_choice
from residuum.study.data_files import LARGEST_FILE, DataFile, find_files, unpack
from residuum.study.random_draws import permutation, stream

ImagesName = Literal["mnist", "embedded"]

_MIRRORS: Final = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images with pixels from 0 to `whitest`, and the digit that each shows.

    `train` and `test` have the shape (images, height, width). All arrays are read-only.
    """

    name: str
    train: npt.NDArray[np.uint8]
    train_labels: npt.NDArray[np.int64]
    test: npt.NDArray[np.uint8]
    test_labels: npt.NDArray[np.int64]
    whitest: int


def load_images(name: ImagesName) -> Images:
    """Return the 70,000 images of MNIST, or the 1,797 small images embedded in scikit-learn.

    MNIST consists of four IDX files, packed or not, in the folder that RESIDUUM_DATA names or in
    `mnist` there. Missing files are downloaded. A file with other bytes than the published one
    raises DataError, because its figures could not be compared.

    >>> load_images("embedded").train.shape
    (1440, 8, 8)
    """
    check_choice("images", name, ImagesName)
    return _load_mnist() if name == "mnist" else _load_embedded()


@dataclass(frozen=True)
class _Part:
    """One file of MNIST, its number of axes, and the checksum of its unpacked content."""

    file: DataFile
    axes: int
    content_sha256: str


def _part(start: str, axes: int, sha256: str, content_sha256: str) -> _Part:
    dashed, dotted = f"{start}-idx{axes}-ubyte", f"{start}.idx{axes}-ubyte"
    others = (dashed, f"{dotted}.gz", dotted)
    return _Part(DataFile(f"{dashed}.gz", "mnist", sha256, _MIRRORS, others), axes, content_sha256)


_MNIST: Final = (
    _part(
        "train-images",
        3,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    _part(
        "train-labels",
        1,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    _part(
        "t10k-images",
        3,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    _part(
        "t10k-labels",
        1,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)


def _load_mnist() -> Images:
    arrays = []
    for part, path in zip(_MNIST, find_files([part.file for part in _MNIST]), strict=True):
        content = unpack(path)
        arrays.append(decode_idx(content, part.axes, path))
        found = hashlib.sha256(content).hexdigest()
        if found != part.content_sha256:
            raise DataError(
                f"`{path}` is not the published file of MNIST: expected the SHA-256 "
                f"{part.content_sha256} of its unpacked content, found {found}; replace it"
            )
    train, train_labels, test, test_labels = arrays
    return Images("mnist", train, _labels(train_labels), test, _labels(test_labels), 255)


_EMBEDDED_TEST: Final = 357
"""Test images. Of the other 1,440 images, DEV takes a sixth, as with MNIST, and 1,200 remain."""


def _load_embedded() -> Images:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise DataError(
            "the embedded images are part of scikit-learn, which is not installed; "
            "run: pip install 'residuum[study]'"
        ) from None
    pixels, labels = load_digits(return_X_y=True)
    images = pixels.astype(np.uint8).reshape(-1, 8, 8)
    order = permutation(stream(0, "embedded"), len(images))
    test, train = np.sort(order[:_EMBEDDED_TEST]), np.sort(order[_EMBEDDED_TEST:])
    return Images(
        "embedded",
        _read_only(images[train]),
        _labels(labels[train]),
        _read_only(images[test]),
        _labels(labels[test]),
        16,
    )


def _labels(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return labels as 64-bit integers, whose sums and products do not overflow."""
    return _read_only(labels.astype(np.int64))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array


_UNSIGNED_BYTES: Final = 8


def decode_idx(content: bytes, axes: int, path: Path) -> npt.NDArray[np.uint8]:
    """Return the content of an IDX file of unsigned bytes as a read-only array.

    IDX is the format of MNIST: a magic number, the size of each axis, then the bytes.

    >>> decode_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), 1, Path("labels"))
    array([7, 8, 9], dtype=uint8)
    """
    magic = bytes([0, 0, _UNSIGNED_BYTES, axes])
    start = len(magic) + 4 * axes
    if content[: len(magic)] != magic:
        found = content[: len(magic)].hex(" ") or "nothing"
        raise _not_idx(path, f"the file to begin with {magic.hex(' ')}", found)
    if len(content) < start:
        raise _not_idx(path, f"{axes} sizes in {start} bytes", f"{len(content)} bytes in all")
    shape = [int(size) for size in np.frombuffer(content[len(magic) : start], ">u4")]
    needed = math.prod(shape)
    sizes = " × ".join(map(str, shape))
    # NumPy refuses such a shape even if one of its sizes is 0.
    if math.prod(size or 1 for size in shape) > LARGEST_FILE:
        raise _not_idx(path, f"sizes of at most {LARGEST_FILE:,} bytes in all", sizes)
    if len(content) - start != needed:
        raise _not_idx(
            path, f"{needed:,} bytes of data ({sizes})", f"{len(content) - start:,} bytes"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _not_idx(path: Path, expected: str, found: str) -> DataError:
    return DataError(
        f"`{path}` is not a valid IDX file: expected {expected}, found {found}; replace it"
    )
