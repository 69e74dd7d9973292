"""Networks of papers that cite each other: Cora and Citeseer, as arrays in one file each."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError
from residuum.printable import printable
from residuum.study.common_settings import check_choice
from residuum.study.data_files import DataFile, find_own_file, unpack

CitationsName = Literal["cora", "citeseer"]

FOLDER: Final = "benchmarks/citation"
SOURCE: Final = "https://github.com/kimiyoung/planetoid"

DIGESTS: Final = {
    "cora": "b3b45d42b790b80bf6aa898606ebb603608b9d360f11cbb9c6ca3bc67ab01097",
    "citeseer": "52d0841aaac6cb2b0caf90ee452f7cabd3b3999a9bad9d43fb064757625cfd8b",
}
"""SHA-256 of what the files of Planetoid say, whatever the order in which arrays list it."""

MOST_WORDS: Final = 2**27
"""The most places of the table of papers and words: 512 MiB in single precision."""

PARTS: Final = ("train", "valid", "test")

_INTEGERS: Final = ("rows", "columns", "shape", "labels", "edges", *PARTS)


@dataclass(frozen=True, eq=False)
class CitationNetwork:
    """Papers with their words and categories, and who cites whom.

    `words` has a row for each paper. `categories` are numbers from 0, or −1 where none is known.
    `citations` has one column for each pair of papers of which one cites the other. `train`,
    `valid` and `test` are numbers of papers. All arrays are read-only.
    """

    words: npt.NDArray[np.float32]
    categories: npt.NDArray[np.int64]
    citations: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]
    valid: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.flags.writeable = False


def load_citations(name: CitationsName) -> CitationNetwork:
    """Return Cora or Citeseer, from `NAME.npz` in `benchmarks/citation` of RESIDUUM_DATA.

    A file with other papers, citations or parts than those of Planetoid raises DataError, because
    its figures could not be compared.
    """
    check_choice("citations", name, CitationsName)
    path = find_own_file(DataFile(f"{name}.npz", FOLDER, "", ()))
    if path is None:
        raise DataError(
            f"expected {name}.npz in the folder that RESIDUUM_DATA names or in {FOLDER} there, "
            f"found none; write the arrays of {SOURCE} into one file: `rows`, `columns` and "
            "`values` of the table of papers and words, its `shape`, `labels` (−1: none), `edges` "
            "(pairs × 2, each once), and the numbers of the papers in `train`, `valid` and `test`"
        )
    found = read_citations(path)
    if (got := digest(found)) != DIGESTS[name]:
        raise DataError(
            f"`{printable(path)}`: expected the {name} of {SOURCE}, with SHA-256 "
            f"{DIGESTS[name][:12]}… of its content, found {got[:12]}…; convert it anew"
        )
    return found


def read_citations(path: Path) -> CitationNetwork:
    """Return the network in a file; raise DataError unless its arrays fit together."""
    check = _Check(f"`{printable(path)}`")
    given = {name: check.integers(name, _array(path, name)) for name in _INTEGERS}
    values = check.numbers("values", _array(path, "values"))
    words = _words(check, given["rows"], given["columns"], values, given["shape"])
    papers, labels, edges = len(words), given["labels"], given["edges"]
    check.that(labels.shape == (papers,), "labels", f"{papers} numbers", labels.shape)
    check.within("labels", labels, papers, least=-1)
    _check_pairs(check, edges, papers)
    parts = [given[name] for name in PARTS]
    for name, part in zip(PARTS, parts, strict=True):
        check.that(part.ndim == 1 and len(part) > 0, name, "a list of papers", part.shape)
        check.within(name, part, papers)
        check.that(bool((labels[part] >= 0).all()), name, "papers with a label", "one without")
    listed = np.concatenate(parts)
    check.once("train, valid and test", "paper", listed)
    return CitationNetwork(words, labels, np.ascontiguousarray(edges.T), *parts)


def _words(
    check: _Check,
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    values: npt.NDArray[np.float32],
    shape: npt.NDArray[np.int64],
) -> npt.NDArray[np.float32]:
    """Return the table of papers and words."""
    check.that(shape.shape == (2,), "shape", "two numbers, of papers and of words", shape.shape)
    papers, width = map(int, shape)
    expected = f"at least 1 paper and 1 word, and at most {MOST_WORDS:,} places"
    is_right = papers > 0 and width > 0 and papers * width <= MOST_WORDS
    check.that(is_right, "shape", expected, f"{papers} × {width}")
    shapes = {one.shape for one in (rows, columns, values)}
    check.that(
        len(shapes) == 1 and rows.ndim == 1, "rows, columns and values", "lists of equal length",
        f"{rows.shape}, {columns.shape} and {values.shape}",
    )  # fmt: skip
    check.within("rows", rows, papers)
    check.within("columns", columns, width)
    check.once("rows and columns", "place", rows * width + columns)
    words = np.zeros((papers, width), np.float32)
    words[rows, columns] = values
    return words


def _check_pairs(check: _Check, edges: npt.NDArray[np.int64], papers: int) -> None:
    check.that(edges.ndim == 2 and edges.shape[1] == 2, "edges", "pairs × 2", edges.shape)
    check.within("edges", edges, papers)
    pairs = np.sort(edges, 1)
    is_right = bool((pairs[:, 0] != pairs[:, 1]).all())
    check.that(is_right, "edges", "pairs of two papers", "a paper with itself")
    check.once("edges", "pair", pairs[:, 0] * papers + pairs[:, 1])


def digest(network: CitationNetwork) -> str:
    """Return the SHA-256 of a network: equal for equal content, in whatever order it is listed."""
    pairs = np.sort(network.citations, 0)
    pairs = pairs[:, np.lexsort(pairs[::-1])]
    rows, columns = network.words.nonzero()
    found = hashlib.sha256()
    for array in (
        np.array(network.words.shape), rows, columns, network.words[rows, columns],
        network.categories, pairs, *map(np.sort, (network.train, network.valid, network.test)),
    ):  # fmt: skip
        found.update(array.astype("<f4" if array.dtype.kind == "f" else "<i8").tobytes() + b";")
    return found.hexdigest()


def _array(path: Path, name: str) -> npt.NDArray[Any]:
    content = unpack(path, f"{name}.npy")
    try:
        found: npt.NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, MemoryError, OverflowError) as error:
        raise DataError(
            f"`{printable(path)}`: `{name}` cannot be read ({error}); write the file anew"
        ) from None
    return found


@dataclass(frozen=True)
class _Check:
    """Raises DataError with the name of the file and of the array that is wrong."""

    where: str

    def that(self, is_right: bool, name: str, expected: str, found: object) -> None:
        if not is_right:
            raise DataError(
                f"{self.where}: `{name}`: expected {expected}, found {found}; write the file anew"
            )

    def integers(self, name: str, found: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        self.that(found.dtype.kind in "iu", name, "integers", found.dtype)
        return found.astype(np.int64)

    def numbers(self, name: str, found: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        self.that(found.dtype.kind in "fiu", name, "numbers", found.dtype)
        with np.errstate(over="ignore"):
            kept = found.astype(np.float32)
        self.that(bool(np.isfinite(kept).all()), name, "finite numbers", "NaN or infinity")
        return kept

    def within(self, name: str, found: npt.NDArray[np.int64], stop: int, least: int = 0) -> None:
        wrong = found[(found < least) | (found >= stop)]
        expected = f"numbers from {least} to {stop - 1}"
        self.that(not wrong.size, name, expected, wrong[0] if wrong.size else None)

    def once(self, name: str, what: str, found: npt.NDArray[np.int64]) -> None:
        is_right = len(np.unique(found)) == len(found)
        self.that(is_right, name, f"each {what} once", f"some {what} twice")
