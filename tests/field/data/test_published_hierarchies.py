"""Published hierarchies are found, held to their digests, and scaled without a look at the test."""

import hashlib
import lzma

import numpy as np
import pytest

from residuum.errors import DataError, ResiduumError
from residuum.field.data import hierarchies
from residuum.field.data.arff import Examples
from residuum.field.data.hierarchies import (
    HierarchicalData,
    load_hierarchy,
    made_up_hierarchy,
    rows_of,
)
from residuum.field.data.published_files import read_published
from residuum.study.data_files import DataFile

TEXT = b"@attribute a numeric\n@attribute class hierarchical 1,1/2\n@data\n3,1/2\n?,1\n"


def test_an_unknown_name_is_refused():
    with pytest.raises(ResiduumError, match=r"got 'enrom'.* `enron`"):
        load_hierarchy("enrom")


def test_a_published_file_may_be_packed_and_must_be_the_one(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    file = DataFile("a.arff", "", hashlib.sha256(TEXT).hexdigest(), (), ("a.arff.xz",))
    (tmp_path / "a.arff.xz").write_bytes(lzma.compress(TEXT))
    assert read_published(file) == TEXT
    (tmp_path / "a.arff.xz").write_bytes(lzma.compress(TEXT + b"1,1\n"))
    with pytest.raises(DataError, match=r"expected the published a\.arff, whose SHA-256 is"):
        read_published(file)


def test_there_is_a_digest_for_each_file():
    digests = hierarchies._digests()
    assert len(digests) == 7 * 3 + 4 * 2
    assert all(len(digest) == 64 for digest in digests.values())


def test_features_are_scaled_by_what_is_known_before_the_test():
    tree = made_up_hierarchy(1).train.hierarchy

    def part(*values):
        features = np.array([[value, 5.0] for value in values])
        return Examples(features, np.zeros((len(values), 1), dtype=bool), tree)

    data = HierarchicalData(part(0.0, np.nan), part(4.0), part(10.0, np.nan))
    features, labels = hierarchies.scaled(data)
    assert features.tolist() == [[-1, 0], [0, 0], [1, 0], [4, 0], [0, 0]]
    assert len(labels) == 5


def test_made_up_labels_obey_the_tree():
    data = made_up_hierarchy(50)
    tree = data.train.hierarchy
    assert len(tree.classes) == 3 + 9 + 18
    for child, parent in enumerate(tree.parents):
        if parent >= 0:
            assert tree.classes[child].rpartition("/")[0] == tree.classes[parent]
            assert not (data.test.labels[:, child] & ~data.test.labels[:, parent]).any()
    assert data.train.labels.any(1).all()


def test_settings_are_chosen_without_the_test():
    data = made_up_hierarchy(50)
    learnt, measured = rows_of(data, "valid", 1)
    assert (learnt.tolist(), measured.tolist()) == ([*range(50)], [*range(50, 100)])
    learnt, measured = rows_of(data, "test", 1)
    assert (learnt.tolist(), measured.tolist()) == ([*range(100)], [*range(100, 150)])


def test_a_fifth_is_held_out_by_seed_where_there_is_no_part_for_validation():
    data = made_up_hierarchy(50)._replace(valid=None)
    found = [rows_of(data, "valid", seed) for seed in (101, 102, 101)]
    for learnt, measured in found:
        assert len(measured) == 10
        assert sorted([*learnt, *measured]) == list(range(50))
    assert found[0][1].tolist() == found[2][1].tolist()
    assert set(found[0][1]) != set(found[1][1])
