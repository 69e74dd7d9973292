"""Grids and their paths, against enumerations; a broken file is refused by its line."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.field.data.grids import (
    grid_cycles,
    grid_edges,
    is_path,
    load_grids,
    made_up_grids,
    read_grids,
    split_grids,
)

GOOD = "21-12-6-19-23-11-13-3,0-14,0-15-16-7-20,0-15-16-17-10\n,0-1,0\n"


def test_the_cycles_of_a_grid_are_those_of_an_enumeration():
    edges = grid_edges(3)
    expected = []
    for chosen in itertools.product((0, 1), repeat=len(edges)):
        ours = [place for place, one in enumerate(chosen) if one]
        degrees = np.bincount([node for place in ours for node in edges[place]], minlength=9)
        if ours and set(degrees) <= {0, 2} and _is_connected([edges[place] for place in ours]):
            expected.append(ours)
    assert sorted(grid_cycles(3)) == sorted(expected)
    assert len(grid_cycles(4)) == 213


def _is_connected(edges):
    reached = {edges[0][0]}
    for _ in edges:
        reached |= {node for edge in edges if reached & set(edge) for node in edge}
    return all(set(edge) <= reached for edge in edges)


def test_paths_are_told_from_other_sets_of_edges():
    edges = grid_edges(3)
    walks = {frozenset(walk) for walk in _walks(edges, 0, 8, [], {0})}
    assert len(walks) == 12  # known for a grid of 3 × 3 nodes
    for chosen in itertools.product((0, 1), repeat=len(edges)):
        ours = frozenset(edge for edge, one in zip(edges, chosen, strict=True) if one)
        assert is_path(ours, (0, 8)) == (ours in walks)


def _walks(edges, node, end, walked, visited):
    if node == end:
        yield walked
        return
    for edge in edges:
        if node in edge and not set(edge) <= visited:
            [other] = set(edge) - {node}
            if other not in visited:
                yield from _walks(edges, other, end, [*walked, edge], visited | {other})


def test_lines_are_read_as_edges_ends_and_the_first_path():
    found = read_grids(GOOD.encode(), "grids")
    assert np.flatnonzero(~found.present[0]).tolist() == [3, 6, 11, 12, 13, 19, 21, 23]
    assert found.present[1].all()
    assert np.flatnonzero(found.ends[0]).tolist() == [0, 14]
    assert np.flatnonzero(found.path[0]).tolist() == [0, 7, 15, 16, 20]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("3,0-1", "expected missing edges, two ends and a path"),
        ("3,0-1,x", "expected numbers joined by -, found `x`"),
        ("3,0-1,²", "expected numbers joined by -"),
        ("3,0-16,0", "expected different nodes from 0 to 15"),
        ("3,0,0", "expected two different ends, found 1"),
        ("24,0-1,0", "expected different edges from 0 to 23"),
        ("3-3,0-1,0", "expected different edges"),
        ("0,0-1,0", "expected a path over edges that are there"),
        ("3,0-2,0", "expected a path from 0 to 2"),
        ("3,0-1,0-8", "expected a path from 0 to 1"),
        ("3,0-1,0,5", "expected a path from 0 to 1"),
        ("3,0-1,", "expected a path from 0 to 1"),
        ("", "expected missing edges"),
    ],
)
def test_a_broken_line_is_refused_by_its_number(line, words):
    with pytest.raises(DataError, match=f"`grids`, line 2: {words}"):
        read_grids(f",0-1,0\n{line}\n".encode(), "grids")


def test_an_empty_file_is_refused():
    with pytest.raises(DataError, match="expected one line at least"):
        read_grids(b"", "grids")


def test_made_up_grids_have_shortest_paths_over_edges_that_are_there():
    grids, edges = made_up_grids(3, 30), grid_edges(3)
    for present, ends, path in zip(grids.present, grids.ends, grids.path, strict=True):
        there = [edge for edge, one in zip(edges, present, strict=True) if one]
        ours = [edge for edge, one in zip(edges, path, strict=True) if one]
        start, end = np.flatnonzero(ends)
        assert set(ours) <= set(there)
        assert is_path(ours, (start, end))
        assert len(ours) == min(map(len, _walks(there, start, end, [], {start})))


def test_parts_share_no_grid():
    parts = split_grids(made_up_grids(3, 50))
    assert [len(part.path) for part in parts] == [30, 10, 10]


def test_the_published_grids_have_their_sizes():
    if not Path(os.environ.get("RESIDUUM_DATA", ""), "benchmarks", "grid").is_dir():
        pytest.skip("no data: name their folder in RESIDUUM_DATA")
    assert [len(part.path) for part in load_grids()] == [966, 322, 322]
