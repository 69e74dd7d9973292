"""The page of grid paths: its rule against enumerated paths, its layer, and a small run."""

import itertools
import sys

import numpy as np
import pytest
import torch

from residuum.field import find_task, plan, run_all
from residuum.results import Store

TASK = find_task("grid-paths")
PAGE = sys.modules["residuum_field_grid_paths"]
CPU = torch.device("cpu")


def _paths(size):
    """Return the edges and the ends of all paths, found by walking on from each node."""
    edges, found = PAGE.grid_edges(size), []

    def walk(start, node, walked, visited):
        if start < node:
            found.append((walked, {start, node}))
        for place, edge in enumerate(edges):
            other = sum(edge) - node
            if node in edge and other not in visited:
                walk(start, other, walked | {place}, visited | {other})

    for node in range(size * size):
        walk(node, node, frozenset(), {node})
    return found


def _marked(chosen, length):
    found = torch.zeros(len(chosen), length, dtype=torch.long)
    for row, places in zip(found, chosen, strict=True):
        row[list(places)] = 1
    return found


def test_the_rule_says_what_a_path_is_in_a_grid_of_9_nodes():
    paths = _paths(3)
    rule = PAGE.path_rule(3, "exact", True)
    assert rule.count() == len(paths) == 322
    every = torch.tensor(list(itertools.product((0, 1), repeat=12)))
    walks = {(walked, *sorted(ends)) for walked, ends in paths}
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in every]
    for ends in [(0, 1), (0, 8), (2, 4), (3, 5)]:
        told = _marked([ends], 9).expand(len(every), -1)
        found = rule.satisfied({}, observed={"Path": every, "End": told})
        assert found.tolist() == [(chosen, *ends) in walks for chosen in sets]


def test_paths_of_16_nodes_obey_and_no_longer_if_an_edge_is_changed():
    paths = _paths(4)
    rule = PAGE.path_rule(4, "s-product", True)
    assert len(paths) == 14_248  # as many as its authors' circuit has models
    paths = paths[::97]
    found, ends = _marked([one for one, _ in paths], 24), _marked([two for _, two in paths], 16)
    assert rule.satisfied({}, observed={"Path": found, "End": ends}).all()
    flipped = found.clone()
    places = torch.arange(len(paths))
    flipped[places, places % 24] ^= 1
    assert not rule.satisfied({}, observed={"Path": flipped, "End": ends}).any()


@pytest.mark.parametrize("part", ["ends", "ends and edges"])
def test_the_layer_is_trained_by_the_share_of_the_right_path_among_all(part):
    grids = PAGE.made_up_grids(3, 6)
    [run] = plan(TASK, CPU, methods=["layer"], parts=[part], seeds=[1], is_quick=True)
    _, labels = PAGE.inputs_and_labels(grids, run)
    told = PAGE.known(grids, run)
    outputs = torch.randn(6, 12, generator=torch.Generator().manual_seed(1))
    found = PAGE.penalty(run, PAGE.path_rule(3, "exact", True), outputs, labels, told)
    every = _marked([walked for walked, _ in _paths(3)], 12)
    ends = _marked([two for _, two in _paths(3)], 9)
    expected = []
    for row, label, end, there in zip(outputs, labels, told["End"], grids.present, strict=True):
        possible = (ends == end).all(1)
        if part == "ends and edges":
            possible &= (every <= torch.tensor(there)).all(1)
        scores = every[possible].double() @ row.double()
        expected.append(scores.logsumexp(0) - label.double() @ row.double())
    assert float(found) == pytest.approx(float(torch.stack(expected).mean()) / 12, abs=1e-5)


def test_a_small_run_of_each_method_measures_in_percent_and_decoding_gives_paths(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        runs = plan(TASK, CPU, parts=["ends"], is_quick=True, replaced={"epochs": 1})
        records = run_all(runs, store)
    for run, record in zip(runs, records, strict=True):
        assert set(record.measures) == set(TASK.measures)
        assert all(0 <= value <= 100 for value in record.measures.values())
        if run["decode"]:
            assert record.measures["path"] == 100
