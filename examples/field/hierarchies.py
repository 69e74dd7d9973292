"""Hierarchies of classes: 46 to 499 labels in a tree, and one rule: a class implies its parent.

Eleven data sets, among them the functions of genes of yeast, with few examples and many rare
classes. The rule can be obeyed in three ways. As a loss it is added to cross-entropy, which makes
violations rarer. In decoding, each score is raised to the largest below it, however the network was
trained. As a layer, scores are the probabilities of the classes given that the rule holds, and what
is trained is the probability of the labels given the rule. "max layer" is the way of C-HMCNN
(Giunchiglia and Lukasiewicz, NeurIPS 2020), which trains the raised scores.

All seeds of a method train at once, each as if it were alone: their parameters are stacked. With
`members` a prediction is the mean of several such networks. With `--valid` a run is looked at every
few epochs, and tells of the best one.
"""

import functools

import numpy as np
import torch
from sklearn.metrics import average_precision_score

import residuum as rs
from residuum.field import DivergedError, Measure, Published, Task
from residuum.field.data.hierarchies import load_hierarchy, made_up_hierarchy, rows_of, scaled
from residuum.field.stacked_networks import StackedNetworks

BETWEEN_LOOKS = 4
"""Epochs between two looks at validation data."""

RULE = "forall c in class where parent(c) != c: Has(c) -> Has(parent(c))"


def load(quick):
    """Return a function of the name of a data set."""
    return functools.cache(lambda name: made_up_hierarchy(100) if quick else load_hierarchy(name))


def hierarchy_rule(tree, relaxation):
    """Return the rule of a tree of classes, with one penalty per example."""
    above = {c: c if p < 0 else p for c, p in enumerate(tree.parents)}
    return rs.compile(
        RULE,
        relaxation,
        domains={"class": len(above)},
        functions={"parent": above},
        predicates={"Has": ("class",)},
        outputs={"Has": "independent"},
        reduction="none",
    )


def shares(labels, tree, is_layer):
    """Return logits of the shares of the classes, from which training starts.

    A layer starts from the shares among the examples of the parent.
    """
    count = labels.float().sum(0)
    if not is_layer:
        return torch.logit((count + 1) / (len(labels) + 2))
    parents = torch.tensor(tree.parents, device=count.device)
    given = torch.where(parents >= 0, count[parents], len(labels))
    share = (count + 0.5) / (given + 1)
    without_children = torch.zeros_like(share)
    is_below = parents >= 0
    without_children.index_add_(0, parents[is_below], torch.log1p(-share)[is_below])
    return torch.logit(share) + without_children


@functools.cache
def levels(tree, device):
    """Return the classes of each level but the first, deepest ones first, and their parents."""
    depths = [name.count("/") for name in tree.classes]
    found = [[c for c, own in enumerate(depths) if own == d] for d in range(max(depths), 0, -1)]
    parents = torch.tensor(tree.parents)
    return [(torch.tensor(level).to(device), parents[level].to(device)) for level in found]


def raised(scores, tree):
    """Return scores in which a class has at least the score of each class below it."""
    for level, parents in levels(tree, scores.device):
        index = parents.expand(*scores.shape[:-1], -1)
        scores = scores.scatter_reduce(-1, index, scores[..., level], "amax")
    return scores


def losses(run, rule, tree, outputs, labels):
    """Return what a method minimises, the sum over all examples."""
    if run["loss"] == "layer":
        return -rule.log_likelihood({"Has": outputs}, {"Has": labels}).sum()
    if run["loss"] == "max layer":  # for a class that is there, only those below that are there too
        found = raised(outputs.where(labels, -100.0), tree)
        outputs = found.where(labels, raised(outputs, tree))
    facts = rs.facts(outputs, labels.long(), independent=True, reduction="sum")
    return facts if rule is None else facts + run["weight"] * rule(Has=outputs).sum()


def together(data, runs):
    """Train all runs of one method on one data set, and measure each."""
    run, parts = runs[0], data(runs[0].part)
    tree, members = parts.train.hierarchy, run["members"]
    read, labels = (torch.tensor(one).to(run.device) for one in scaled(parts))
    rows = [rows_of(parts, run.split, run.seed) for run in runs]
    learnt, measured = (
        torch.tensor(np.stack(one)).to(run.device) for one in zip(*rows, strict=True)
    )
    name, is_layer = run["loss"], run["loss"] == "layer"
    logic = {"none": None, "max layer": None, "layer": "exact"}.get(name, name)
    rule = None if logic is None else hierarchy_rule(tree, logic)
    seeds = [run.seed * 100 + member for run in runs for member in range(members)]
    start = torch.stack([shares(labels[rows], tree, is_layer) for rows in learnt])
    start, learnt = (one.repeat_interleave(members, 0) for one in (start, learnt))
    widths = (read.shape[1], run["units"], run["units"], labels.shape[1])
    networks = StackedNetworks(seeds, widths, bias=start, device=run.device)
    optimizer = torch.optim.Adam(networks.parameters, lr=run["rate"], weight_decay=1e-5)
    dropout, step = (run["input_dropout"], run["dropout"]), 0
    found = [[] for _ in runs]
    for epoch in run.epochs():
        for rows in networks.batches(learnt, run["batch"], epoch):
            step += 1
            outputs = networks(read[rows], step=step, dropout=dropout)
            loss = losses(run, rule, tree, outputs, labels[rows])
            optimizer.zero_grad()
            (loss / labels.shape[1] / rows.shape[1]).backward()
            optimizer.step()
        if epoch == run["epochs"] or (run.split == "valid" and epoch % BETWEEN_LOOKS == 0):
            for one, rows in enumerate(measured):
                own = slice(one * members, (one + 1) * members)
                with torch.no_grad():
                    outputs = networks(read[rows].expand(members, -1, -1), own)
                    scores = rule.marginals(Has=outputs)["Has"] if is_layer else outputs.sigmoid()
                    scores = (raised(scores, tree) if run["decode"] else scores).mean(0)
                if bool(scores.isfinite().all()):
                    found[one].append({"epoch": epoch, **measure(scores, labels[rows], tree)})
    for looks in found:  # on validation data there are several, and the best one tells the epoch
        best = max(looks, key=lambda look: look["precision"], default=None)
        yield best or DivergedError(epoch, "scores").divergence


def measure(scores, labels, tree):
    """Return the measures of the scores of one run."""
    found = scores > 0.5
    obeys = (raised(found.float(), tree) == found).all(1)
    precision = average_precision_score(labels.cpu(), scores.cpu(), average="micro")
    return {
        "precision": 100 * float(precision),
        "exact": 100 * (found == labels).all(1).float().mean().item(),
        "violations": 100 * (~obeys).float().mean().item(),
    }


RELAXED = ("s-product", "r-product", "lukasiewicz-maxsat", "s-godel", "exact")
LARGE = {"units": 1000, "rate": 0.001}
IMAGES = {"units": 1000, "rate": 0.002, "batch": 512, "input_dropout": 0.0, "epochs": 55}
PARTS = {
    "cellcycle": {"epochs": 52},
    "derisi": {"epochs": 36},
    "eisen": {"epochs": 85},
    "gasch1": {**LARGE, "epochs": 54},
    "gasch2": {"epochs": 57},
    "seq": {**LARGE, "epochs": 54},
    "spo": {"epochs": 36},
    "diatoms": {**LARGE, "epochs": 115, "input_dropout": 0.0},
    "enron": {**LARGE, "epochs": 16},
    "imclef07a": IMAGES,
    "imclef07d": IMAGES,
}
C_HMCNN = (25.5, 19.5, 30.6, 28.6, 25.8, 29.2, 21.5, 75.8, 75.6, 95.6, 92.7)

TASK = Task(
    name="hierarchies",
    title="Hierarchies of classes",
    shows="500 labels and one rule, as a loss, as a layer, and in decoding",
    load=load,
    together=together,
    parts=PARTS,
    methods={
        "plain": {"loss": "none"},
        **{name: {"loss": name} for name in RELAXED},
        "plain raised": {"loss": "none", "decode": True},
        "max layer": {"loss": "max layer", "decode": True},
        "layer": {"loss": "layer"},
        "five plain raised": {"loss": "none", "decode": True, "members": 5},
        "five layers": {"loss": "layer", "members": 5},
    },
    measures={
        "precision": Measure("AU(PRC)"),
        "exact": Measure("all classes right"),
        "violations": Measure("predictions that break the rule", 100.0, lower_is_better=True),
        "epoch": Measure("epochs", unit=""),
    },
    settings={
        "decode": False,
        "members": 1,
        "dropout": 0.7,
        "input_dropout": 0.2,
        "rate": 0.002,
        "batch": 128,
        "units": 500,
        "epochs": 45,
        "weight": 0.1,
    },
    quick={"epochs": 10, "units": 64, "members": 2},
    published=[
        Published("C-HMCNN", name, {"precision": figure}, "Giunchiglia and Lukasiewicz, 2020")
        for name, figure in zip(PARTS, C_HMCNN, strict=True)
    ],
)
