"""Networks of papers are read as they are written, and broken files are refused."""

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.field import citation_networks, load_citations
from residuum.field.citation_networks import digest, read_citations

GIVEN = {
    "rows": [0, 0, 1, 3],
    "columns": [0, 2, 1, 2],
    "values": [1.0, 1.0, 0.5, 1.0],
    "shape": [4, 3],
    "labels": [0, 1, -1, 0],
    "edges": [[0, 1], [3, 1], [2, 3]],
    "train": [0],
    "valid": [1],
    "test": [3],
}


def written(path, **changed):
    """Write an archive of arrays; what is None is left out."""
    arrays = {name: np.array(one) for name, one in {**GIVEN, **changed}.items() if one is not None}
    np.savez(path / "cora.npz", **arrays)
    return path / "cora.npz"


def test_a_network_is_read_as_it_is_written(tmp_path):
    found = read_citations(written(tmp_path))
    assert found.words.tolist() == [[1, 0, 1], [0, 0.5, 0], [0, 0, 0], [0, 0, 1]]
    assert found.categories.tolist() == [0, 1, -1, 0]
    assert found.citations.tolist() == [[0, 3, 2], [1, 1, 3]]
    assert [one.tolist() for one in (found.train, found.valid, found.test)] == [[0], [1], [3]]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"edges": None}, "one file called edges.npy"),
        ({"rows": [0, 0, 1, 4]}, "`rows`: expected numbers from 0 to 3, found 4"),
        ({"columns": [0, -1, 1, 2]}, "`columns`: expected numbers from 0 to 2, found -1"),
        ({"columns": [0, 0, 1, 2]}, "`rows and columns`: expected each place once"),
        ({"values": [1.0, 1.0, 1.0]}, "`rows, columns and values`: expected lists of equal length"),
        ({"values": [1.0, np.nan, 1.0, 1.0]}, "`values`: expected finite numbers"),
        ({"values": [1.0, 1e300, 1.0, 1.0]}, "`values`: expected finite numbers"),
        ({"values": list("abcd")}, "`values`: expected numbers"),
        ({"rows": [0.0, 0.0, 1.0, 3.0]}, "`rows`: expected integers"),
        ({"shape": [4]}, "`shape`: expected two numbers"),
        ({"shape": [0, 3]}, "`shape`: expected at least 1 paper"),
        ({"shape": [10**9, 10**9]}, "`shape`: expected at least 1 paper"),
        ({"labels": [0, 1, -1]}, "`labels`: expected 4 numbers"),
        ({"labels": [0, 1, -2, 0]}, "`labels`: expected numbers from -1 to 3, found -2"),
        ({"edges": [[0, 1, 2]]}, "`edges`: expected pairs × 2"),
        ({"edges": [[0, 4]]}, "`edges`: expected numbers from 0 to 3, found 4"),
        ({"edges": [[1, 1]]}, "`edges`: expected pairs of two papers"),
        ({"edges": [[0, 1], [1, 0]]}, "`edges`: expected each pair once"),
        ({"train": [[0]]}, "`train`: expected a list of papers"),
        ({"valid": np.zeros(0, int)}, "`valid`: expected a list of papers"),
        ({"test": [2]}, "`test`: expected papers with a label"),
        ({"test": [2**40]}, "`test`: expected numbers from 0 to 3"),
        ({"test": [0]}, "`train, valid and test`: expected each paper once"),
        ({"test": np.array([{}], object)}, "`test` cannot be read"),
    ],
)
def test_a_broken_file_is_refused_in_words(tmp_path, changed, said):
    with pytest.raises(DataError) as raised:
        read_citations(written(tmp_path, **changed))
    assert said in str(raised.value)
    assert "cora.npz" in str(raised.value)


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(DataError, match=r"cannot be read|expected one file"):
        read_citations(path)


def test_the_digest_is_of_the_content_in_whatever_order_it_is_listed(tmp_path):
    first = digest(read_citations(written(tmp_path)))
    order = [2, 0, 3, 1]
    turned = {name: [GIVEN[name][at] for at in order] for name in ("rows", "columns", "values")}
    turned["edges"] = [[3, 2], [1, 0], [1, 3]]
    assert digest(read_citations(written(tmp_path, **turned))) == first
    for changed in ({"labels": [0, 1, -1, 1]}, {"values": [1, 1, 1, 1]}, {"edges": [[0, 1]]},
                    {"shape": [4, 4]}, {"train": [1], "valid": [0]}):  # fmt: skip
        assert digest(read_citations(written(tmp_path, **changed))) != first


def test_another_network_than_the_published_one_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    with pytest.raises(DataError, match="expected the cora of"):
        load_citations("cora")
    monkeypatch.setitem(citation_networks.DIGESTS, "cora", digest(read_citations(path)))
    assert len(load_citations("cora").words) == 4


def test_a_missing_network_is_named_with_the_arrays_that_it_should_have(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"expected citeseer.npz .* found none; write the arrays"):
        load_citations("citeseer")
    with pytest.raises(DataError, match="expected cora or citeseer"):
        load_citations("pubmed")


@pytest.mark.parametrize(
    ("name", "papers", "share"), [("cora", 2708, 0.81), ("citeseer", 3327, 0.738)]
)
def test_the_published_networks_are_those_that_are_described(name, papers, share):
    try:
        found = load_citations(name)
    except DataError as error:
        pytest.skip(str(error))
    assert len(found.words) == papers
    first, second = found.categories[found.citations]
    known = (first >= 0) & (second >= 0)
    assert (first == second)[known].mean() == pytest.approx(share, abs=5e-4)
