"""Data sets whose classes form a tree: the eleven that C-HMCNN was tried on, and a made-up one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from residuum.errors import ResiduumError, suggest
from residuum.field.data.arff import Examples, Hierarchy, read_arff
from residuum.field.data.published_files import read_published
from residuum.study.data_files import DataFile

_ADDRESS: Final = (
    "https://raw.githubusercontent.com/EGiunchiglia/C-HMCNN/"
    "e887855ab4b3b8f22e4fafc80a0a33c1d1ac0041/HMC_data/"
)

_DIGESTS: Final = {
    "datasets_FUN/cellcycle_FUN/cellcycle_FUN.train.arff": "4c97ccf6f15b49392b3bda7fec1f601ed921746ef0b78d6fcd4c85a0424dfd66",
    "datasets_FUN/cellcycle_FUN/cellcycle_FUN.valid.arff": "8914f37522a484ce1790625e4993d89eed73ce4f6d667711c691a389e3a4f982",
    "datasets_FUN/cellcycle_FUN/cellcycle_FUN.test.arff": "2dd7798e23375743b2e31e0236d9a6cb7a73351a777efe381946105417fd1299",
    "datasets_FUN/derisi_FUN/derisi_FUN.train.arff": "b690141953247c3e78a6a65840ae6bcdbff5630c34ab7cef04b703f8844ab847",
    "datasets_FUN/derisi_FUN/derisi_FUN.valid.arff": "7e68397a67cb574c28789fb64ecbd6e431a6fdeaa7ee64e0bd1cd6b4e855c424",
    "datasets_FUN/derisi_FUN/derisi_FUN.test.arff": "8507f5c56bedb86b737632972e22385859aa9f6cd2788c899eb0f5bb0bae9ba0",
    "datasets_FUN/eisen_FUN/eisen_FUN.train.arff": "6c92516517f6bb041ae1058fc948444bc3117e0c3b394743d33765122da89fbb",
    "datasets_FUN/eisen_FUN/eisen_FUN.valid.arff": "f60f30c2806818ea840bb65fe8758a0da6cd257c0827b43661f77fab5ccaf091",
    "datasets_FUN/eisen_FUN/eisen_FUN.test.arff": "bb55674c313f9916f5b3ee675d6bc0e7463216f927035de28a539187cdc31dc1",
    "datasets_FUN/gasch1_FUN/gasch1_FUN.train.arff": "bc4615eb1cc93e5db3c757410f81dffce3eb3e39fd98924de4b78f568c344618",
    "datasets_FUN/gasch1_FUN/gasch1_FUN.valid.arff": "07b42428dca0b88731f35d7461a23502410eb648aee12b770fa82d90eb31337d",
    "datasets_FUN/gasch1_FUN/gasch1_FUN.test.arff": "cab4d135b93adea14c65364d38d302fd3d09b287fc0cba1d58acc2b2f63307b7",
    "datasets_FUN/gasch2_FUN/gasch2_FUN.train.arff": "2a793028d1b3e4b686612f88be26a175933e56ed03616a611d1912d586ef4fc4",
    "datasets_FUN/gasch2_FUN/gasch2_FUN.valid.arff": "ad1afe188bc646606d6565bb1ff0427fa3a17cf99f5ba3f09ddfab2616dded9d",
    "datasets_FUN/gasch2_FUN/gasch2_FUN.test.arff": "4a0a993d2a03fb391f49a4d282622f55b00ca59d9b2aded242ee5c69f3cedee7",
    "datasets_FUN/seq_FUN/seq_FUN.train.arff": "619ada644b8c3e5c7d2aef0a56bf24797e4c844954ec5bc75f7b984521ba475c",
    "datasets_FUN/seq_FUN/seq_FUN.valid.arff": "564effba89ad5c3a7d3992e841cf9d9165648b075815113ec31b5c16e91cd4bd",
    "datasets_FUN/seq_FUN/seq_FUN.test.arff": "1336093a2b6712000f04db55cd36bc3fc0d799a0551f173f5b47a04191c29dd9",
    "datasets_FUN/spo_FUN/spo_FUN.train.arff": "8049c3a620b8fcbbbe3f195ccca7dafb36372fce418d9bfe49d6ffadd4bcf6ca",
    "datasets_FUN/spo_FUN/spo_FUN.valid.arff": "5ab7eaab567b80144299761abec833aa1a4a1115a347819362d06a149b43b0cf",
    "datasets_FUN/spo_FUN/spo_FUN.test.arff": "18a9be63b28d636e767b5886121dee5ddc8ae5a61a05098408d1b8991419f284",
    "others/Diatoms_train.arff": "19baf9a53db0d3e636481c3b80d0f6532ddb9586f829e22c9cb326effc917e36",
    "others/Diatoms_test.arff": "04c4ae6e90297e3da1771615f0ac2a535a0ea5bd4c0625d43052b5130e2f6a09",
    "others/Enron_corr_trainvalid.arff": "8265622b84c9ebe6603b64ad5ce82d78ed8709bd66793b80f14f0018d5ef51bf",
    "others/Enron_corr_test.arff": "1ae0864a6574b14a5e1b9d614d38ae66ede8c0a253774161dfdf42ebe6d49d11",
    "others/ImCLEF07A_Train.arff": "fe240039db5272579924897bcac6c0c38b6cb117277aa49281a2ec936b01e7c9",
    "others/ImCLEF07A_Test.arff": "e95c33e0bc8a23be9b093bc34268404c47f304739bd73eceda58f8cbc42a90fb",
    "others/ImCLEF07D_Train.arff": "ca6eaafd72bfdf4c78d8cee708d589e3139da206ae07e9ff9b74e67fe4900a09",
    "others/ImCLEF07D_Test.arff": "404870af634965a267609e1139a844bf984ad886ced7a928826a85475ba4e595",
}
"""The files of the data sets at C-HMCNN's address, with the SHA-256 of each."""

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


def _read(place: str) -> Examples:
    folder, _, name = place.rpartition("/")
    address = (f"{_ADDRESS}{folder}/",)
    file = DataFile(name, "benchmarks/hmc", _DIGESTS[place], address, (f"{name}.xz",))
    return read_arff(read_published(file), name)


def made_up_hierarchy(number: int = 300, seed: int = 0) -> HierarchicalData:
    """Return three times `number` examples of a tree with 3 classes, 3 below each, and 2 below these.

    A class is a place in space near that of its parent. An example has one class or two.
    """
    tree = _made_up_tree((3, 3, 2))
    drawn = np.random.default_rng(seed)
    places = np.zeros((len(tree.classes), 12))
    above = np.zeros((len(tree.classes), len(tree.classes)), dtype=bool)
    for one, parent in enumerate(tree.parents):
        nearness = 0.5 ** tree.classes[one].count("/")
        places[one] = places[parent] * (parent >= 0) + nearness * drawn.normal(size=12)
        above[one] = above[parent] & (parent >= 0)
        above[one, one] = True
    parts = []
    for _ in range(3):
        chosen = drawn.integers(len(places), size=(2, number))
        features = places[chosen].mean(0) + 0.5 * drawn.normal(size=(number, 12))
        parts.append(Examples(features, above[chosen].any(0), tree))
    return HierarchicalData(*parts)


def _made_up_tree(branches: Sequence[int]) -> Hierarchy:
    levels: list[list[str]] = [[""]]
    for number in branches:
        levels.append([f"{one}/{k}".strip("/") for one in levels[-1] for k in range(number)])
    classes = tuple(name for level in levels[1:] for name in level)
    places = {name: place for place, name in enumerate(classes)}
    return Hierarchy(classes, tuple(places.get(name.rpartition("/")[0], -1) for name in classes))
