"""Paths in grids: the edges of a shortest path, predicted by a network that cannot draw a path.

A 4 × 4 grid lacks some edges; a network reads which ones are left and two nodes, and says of each
edge whether it belongs to a shortest path between them. Nearly all edges right is no path yet: the
rule says what a path is. Each end has one of its edges, every other node two or none, and no cycle
is closed. Relaxations learn from the former alone, which costs less.

A rule can be obeyed in three ways. As a loss it is added to cross-entropy, under a relaxation or as
the exact probability of a path. As a layer, the network only proposes: what is trained is the
probability of the right path among all paths. In decoding, the most probable path is predicted,
however the network was trained. In the part "ends" a rule is told of the two ends only, as in the
published experiments; in "ends and edges" also that edges which are not there belong to no path.
"""

import functools
import itertools

import torch
from torch import nn

import residuum as rs
from residuum.field import Measure, Published, Run, Task
from residuum.field.data.grids import (
    Grids,
    grid_cycles,
    grid_edges,
    load_grids,
    made_up_grids,
    split_grids,
)

ENDS = "(exactly 2 n in node: End(n))"
DEGREES = """
    (forall n in node: End(n) -> exactly 1 s in side where has(n, s) = 1: Path(edge(n, s)))
    & (forall n in node: ~End(n) -> (at most 0 s in side where has(n, s) = 1: Path(edge(n, s)))
                                   | exactly 2 s in side where has(n, s) = 1: Path(edge(n, s)))
"""
NO_CYCLE = "(forall c in cycle: exists e in edge where on(c, e) = 1: ~Path(e))"


@functools.cache
def path_rule(size, relaxation, names_cycles):
    """Return the rule of paths in a square grid, with or without its part about cycles."""
    edges, cycles = grid_edges(size), grid_cycles(size)
    meeting = [[e for e, edge in enumerate(edges) if node in edge] for node in range(size**2)]
    places = [(node, side) for node in range(size**2) for side in range(4)]
    return rs.compile(
        f"{ENDS} & {DEGREES} & {NO_CYCLE}" if names_cycles else DEGREES,
        relaxation,
        domains={"node": size**2, "edge": len(edges), "side": 4, "cycle": len(cycles)},
        functions={
            "has": {(n, s): int(s < len(meeting[n])) for n, s in places},
            "edge": {(n, s): (meeting[n] + [0, 0])[s] for n, s in places},
            "on": {
                (c, e): int(e in cycles[c]) for c in range(len(cycles)) for e in range(len(edges))
            },
        },
        predicates={"Path": ("edge",), "End": ("node",)},
        outputs={"Path": "independent", "End": "independent"},
    )


def load(quick):
    """Return grids for training, for validation and for testing."""
    return split_grids(made_up_grids(3, 500)) if quick else load_grids()


def known(grids: Grids, run: Run):
    """Return what a rule is told of grids: the ends, and perhaps which edges are not there."""
    ends, present = torch.tensor(grids.ends), torch.tensor(grids.present)
    path = torch.full_like(present, -100, dtype=torch.long)
    if run["edges_known"]:
        path[~present] = 0
    return {"End": ends.long().to(run.device), "Path": path.to(run.device)}


def inputs_and_labels(grids: Grids, run: Run):
    """Return what the network reads, edges and ends, and the path that it should find."""
    read = torch.cat([torch.tensor(grids.present), torch.tensor(grids.ends)], 1)
    return read.float().to(run.device), torch.tensor(grids.path).long().to(run.device)


def penalty(run: Run, rule, outputs, labels, told):
    """Return what a method minimises, for a batch of examples."""
    facts = rs.facts(outputs, labels, independent=True)
    if run["loss"] == "layer":  # −log P(path | rule, what is known), per edge
        paths = torch.where(told["Path"] == 0, -100, labels)
        count = (paths >= 0).sum() / len(paths)
        likelihood = rs.facts(outputs, paths, independent=True) * count
        return (likelihood - rule(Path=outputs, observed=told)) / labels.shape[1]
    return facts if rule is None else facts + run["weight"] * rule(Path=outputs, observed=told)


def train(data, run: Run):
    """Train a network with one method, and measure it."""
    torch.manual_seed(run.seed)
    grids = data[0]
    size = round(grids.ends.shape[1] ** 0.5)
    paths = path_rule(size, "exact", True)
    logics = {"none": None, "layer": paths, "exact": paths}
    name = run["loss"]
    rule = logics[name] if name in logics else path_rule(size, name, False)
    read, labels = inputs_and_labels(grids, run)
    told = known(grids, run)
    widths = [read.shape[1], *[run["units"]] * run["layers"], labels.shape[1]]
    layers = [nn.Linear(*both) for both in itertools.pairwise(widths)]
    between = nn.Sigmoid() if run["sigmoid"] else nn.ReLU()
    network = nn.Sequential(*[part for layer in layers for part in (layer, between)][:-1])
    network.to(run.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=run["rate"])
    for epoch in run.epochs():
        for batch in torch.randperm(len(read)).to(run.device).split(run["batch"]):
            told_here = {predicate: one[batch] for predicate, one in told.items()}
            loss = penalty(run, rule, network(read[batch]), labels[batch], told_here)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        run.check(epoch, loss=loss.item())
    return measure(data[1 if run.split == "valid" else 2], run, network, paths)


@torch.no_grad()
def measure(grids: Grids, run: Run, network, paths):
    """Return how many paths and edges are right, and how many predictions are paths at all."""
    read, labels = inputs_and_labels(grids, run)
    outputs, told = network(read), known(grids, run)
    found = (outputs > 0).long()
    if run["decode"]:
        found = paths.decode(Path=outputs, observed=told)["Path"]
    is_path = paths.satisfied({}, observed={"Path": found, "End": told["End"]})
    is_there = (found <= read[:, : found.shape[1]]).all(1)
    right = {
        "exact": (found == labels).all(1),
        "edges": found == labels,
        "path": is_path,
        "there": is_path & is_there,
    }
    return {name: 100 * one.float().mean().item() for name, one in right.items()}


RELAXED = ("s-product", "r-product", "lukasiewicz-maxsat", "s-godel")
SOURCE = "read at second hand: Ahmed et al., NeurIPS 2022"

TASK = Task(
    name="grid-paths",
    title="Paths in grids",
    shows="a constraint as a loss, as a layer, and in decoding",
    load=load,
    train=train,
    parts={"ends": {"edges_known": False}, "ends and edges": {"edges_known": True}},
    methods={
        "plain": {"loss": "none"},
        **{name: {"loss": name} for name in (*RELAXED, "exact")},
        "plain decoded": {"loss": "none", "decode": True},
        "exact decoded": {"loss": "exact", "decode": True},
        "layer": {"loss": "layer", "decode": True},
    },
    measures={
        "exact": Measure("all edges right"),
        "edges": Measure("edges right", chance=50.0),
        "path": Measure("a path"),
        "there": Measure("a path over edges that are there"),
    },
    settings={
        "decode": False,
        "layers": 5,
        "units": 50,
        "sigmoid": True,
        "rate": 0.01,
        "batch": 128,
        "epochs": 200,
        "weight": 0.1,
    },
    quick={"epochs": 40, "layers": 2},
    notes=["R-Product and R-Gödel are as S-Product and S-Gödel here: the ends are known."],
    published=[
        Published("MLP + semantic loss", "ends", {"exact": 28.5}, SOURCE),
        Published("semantic probabilistic layer", "ends", {"exact": 37.6}, SOURCE),
    ],
)
