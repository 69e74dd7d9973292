"""Data sets whose classes form a tree: the eleven that C-HMCNN was tried on, and a made-up one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from residuum.errors import ResiduumError, suggest
from residuum.field.data.arff import Booleans, Examples, Hierarchy, read_arff
from residuum.field.data.published_files import read_published
from residuum.study.data_files import DataFile

Integers: TypeAlias = NDArray[np.int64]

_ADDRESS: Final = (
    "https://raw.githubusercontent.com/EGiunchiglia/C-HMCNN/"
    "e887855ab4b3b8f22e4fafc80a0a33c1d1ac0041/HMC_data/"
)

_FUN: Final = ("cellcycle", "derisi", "eisen", "gasch1", "gasch2", "seq", "spo")
_OTHERS: Final = {
    "diatoms": ("Diatoms_train", "Diatoms_test"),
    "enron": ("Enron_corr_trainvalid", "Enron_corr_test"),
    "imclef07a": ("ImCLEF07A_Train", "ImCLEF07A_Test"),
    "imclef07d": ("ImCLEF07D_Train", "ImCLEF07D_Test"),
}

HIERARCHIES: Final = (*_FUN, *_OTHERS)
"""The names of the data sets. FUN sets are about the functions of genes of yeast."""


class HierarchicalData(NamedTuple):
    """A data set. `valid` is None if the authors of the data set kept no part for validation."""

    train: Examples
    valid: Examples | None
    test: Examples


def load_hierarchy(name: str) -> HierarchicalData:
    """Return a data set of `HIERARCHIES`, from RESIDUUM_DATA or from the address of C-HMCNN."""
    if name not in HIERARCHIES:
        raise ResiduumError(
            f"expected one of {', '.join(HIERARCHIES)}, got {name!r}.{suggest(name, HIERARCHIES)}"
        )
    if name in _OTHERS:
        train, test = (_read(f"others/{stem}.arff") for stem in _OTHERS[name])
        return HierarchicalData(train, None, test)
    stem = f"datasets_FUN/{name}_FUN/{name}_FUN"
    return HierarchicalData(*(_read(f"{stem}.{part}.arff") for part in ("train", "valid", "test")))


def scaled(data: HierarchicalData) -> tuple[NDArray[np.float32], Booleans]:
    """Return the features and labels of all parts, one after the other.

    Features have mean 0 and deviation 1 in what is known before the test. Missing ones are 0.
    """
    known = [part for part in (data.train, data.valid) if part is not None]
    seen = np.concatenate([part.features for part in known])
    mean, deviation = np.nanmean(seen, 0), np.nanstd(seen, 0)
    deviation[deviation == 0] = 1.0
    parts = [*known, data.test]
    features = (np.concatenate([part.features for part in parts]) - mean) / deviation
    labels = np.concatenate([part.labels for part in parts])
    return np.nan_to_num(features, nan=0.0).astype(np.float32), labels


def rows_of(
    data: HierarchicalData, split: Literal["valid", "test"], seed: int
) -> tuple[Integers, Integers]:
    """Return the rows of `scaled` features that a run learns from, and those it is measured on.

    Before TEST it learns from all others. On validation data, it learns from the part for training.
    If there is no part for validation, a fifth is held out, another one for each seed.
    """
    total = len(data.train.labels) + (0 if data.valid is None else len(data.valid.labels))
    if split == "test":
        return np.arange(total), np.arange(total, total + len(data.test.labels))
    if data.valid is not None:
        return np.arange(len(data.train.labels)), np.arange(len(data.train.labels), total)
    order = np.random.default_rng(seed).permutation(total)
    return order[total // 5 :], order[: total // 5]


def _read(place: str) -> Examples:
    folder, _, name = place.rpartition("/")
    address = (f"{_ADDRESS}{folder}/",)
    file = DataFile(name, "benchmarks/hmc", _digests()[place], address, (f"{name}.xz",))
    return read_arff(read_published(file), name)


def _digests() -> dict[str, str]:
    """Return the SHA-256 of each file, by its place at the address."""
    listed = resources.files("residuum.data").joinpath("hierarchies.sha256").read_text("utf-8")
    return {place: digest for digest, place in map(str.split, listed.splitlines())}


def made_up_hierarchy(number: int = 300, seed: int = 0) -> HierarchicalData:
    """Return made-up examples: `number` for each part, and a tree of 3 classes, with 3 below each
    and 2 below these.

    A class is a place in space near that of its parent. An example has one class or two.
    """
    tree = _made_up_tree((3, 3, 2))
    drawn = np.random.default_rng(seed)
    places = np.zeros((len(tree.classes), 12))
    above = np.zeros((len(tree.classes), len(tree.classes)), dtype=np.bool_)
    for one, parent in enumerate(tree.parents):
        nearness = 0.5 ** tree.classes[one].count("/")
        places[one] = places[parent] * (parent >= 0) + nearness * drawn.normal(size=12)
        above[one] = above[parent] & (parent >= 0)
        above[one, one] = True
    parts = []
    for _ in range(3):
        chosen = drawn.integers(len(places), size=(2, number))
        features = places[chosen].mean(0) + 0.5 * drawn.normal(size=(number, 12))
        parts.append(Examples(features, np.asarray(above[chosen].any(0)), tree))
    return HierarchicalData(*parts)


def _made_up_tree(branches: Sequence[int]) -> Hierarchy:
    levels: list[list[str]] = [[""]]
    for number in branches:
        levels.append([f"{one}/{k}".strip("/") for one in levels[-1] for k in range(number)])
    classes = tuple(name for level in levels[1:] for name in level)
    places = {name: place for place, name in enumerate(classes)}
    return Hierarchy(classes, tuple(places.get(name.rpartition("/")[0], -1) for name in classes))
