"""Papers that cite each other share their category: a soft rule over the edges of a graph.

Each paper is a bag of words, a few have labels, and all are known (Cora and Citeseer). The rule is
true of 81% and 74% of the pairs. It is used twice. As a loss over all pairs it joins the labels in
training, after which the network reads words alone. For prediction, the logits of all papers move
until they agree with the rule and with what the network said as well as they can. What comes of
that can also teach the network, every twenty epochs.
"""

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, one_hot, relu

import residuum as rs
from residuum.field import CitationNetwork, Measure, Published, Task, load_citations

KNOWLEDGE = """
    domain paper                             # open: its members come with the data
    domain category = 0..{last}
    predicate Category(paper, category)
    predicate Cites(paper, paper)            # observed: no network
    rule alike: forall x, y in paper where Cites(x, y):
        forall c in category: Category(x, c) <-> Category(y, c)
"""
OF_A_PAIR = "forall c in category: First(c) <-> Second(c)"


def load(quick):
    """Return the networks of papers by name; with `quick`, one that is generated."""
    names = ("cora", "citeseer")
    return {name: generate() if quick else load_citations(name) for name in names}


def generate(papers=600, categories=4, width=80, degree=4, inside=0.8, seed=0):
    """Return papers with a few noisy words each, who mostly cite within their category."""
    draw = np.random.default_rng(seed)
    category = draw.integers(categories, size=papers)
    chances = draw.random((categories, width)) ** 4 * 0.2
    words = (draw.random((papers, width)) < chances[category]).astype(np.float32)
    alike = category[:, None] == category
    share = np.where(alike, inside * categories, (1 - inside) * categories / (categories - 1))
    pairs = np.triu(draw.random((papers, papers)) < share * degree / papers, 1)
    order = np.split(draw.permutation(papers), [5 * categories, papers // 2])
    return CitationNetwork(words, category, np.stack(pairs.nonzero()), *order)


class Network(nn.Module):
    """Categories from bags of words; with `graph`, each layer also reads from cited papers."""

    def __init__(self, words, categories, run, graph=None):
        super().__init__()
        papers, self.words = words.nonzero(as_tuple=True)
        counts = papers.bincount(minlength=len(words))
        self.starts = counts.cumsum(0) - counts
        self.shares = 1 / counts[papers]
        self.dropped, self.graph = run["dropout"], graph
        self.first = nn.EmbeddingBag(words.shape[1], run["hidden"], mode="sum")
        nn.init.xavier_uniform_(self.first.weight)
        self.bias = nn.Parameter(torch.zeros(run["hidden"]))
        self.last = nn.Linear(run["hidden"], categories)

    def forward(self):
        """Return logits, one row for each paper."""
        shares = dropout(self.shares, 0.5, self.training)
        hidden = self.first(self.words, self.starts, per_sample_weights=shares)
        hidden = relu(self.mixed(hidden) + self.bias)
        return self.mixed(self.last(dropout(hidden, self.dropped, self.training)))

    def mixed(self, rows):
        """Return rows mixed with those of neighbours, as a graph convolution does."""
        if self.graph is None:
            return rows
        (into, of), shares = self.graph
        return torch.zeros_like(rows).index_add(0, into, shares[:, None] * rows[of])


def convolution(citations, papers):
    """Return whom each paper reads from, itself included, and by which shares."""
    itself = torch.arange(papers, device=citations.device).expand(2, -1)
    index = torch.cat([citations, citations.flip(0), itself], 1)
    degree = index[0].bincount().float()
    return index, (degree[index[0]] * degree[index[1]]).rsqrt()


def rule_over(citations, categories, relaxation):
    """Return a function from the logits of all papers to the mean penalty of all pairs."""
    if relaxation == "exact":  # a pair at a time: pairs share papers, which exact rules cannot
        pair = rs.compile(OF_A_PAIR, "exact", domains={"category": categories})
        return lambda logits: pair(First=logits[citations[0]], Second=logits[citations[1]])
    rules = rs.compile(rs.loads(KNOWLEDGE.format(last=categories - 1)), relaxation)
    cites = rs.Pairs(citations)
    return lambda logits: rules.total({"Category": logits}, observed={"Cites": cites})


def apply(rule, logits, known, run):
    """Return logits that obey the rule, and stay near those given where it says nothing.

    `known` are the labelled papers with logits of their labels, which do not move.
    """
    said, moved = logits.softmax(1), logits.clone().requires_grad_()
    optimizer = torch.optim.Adam([moved], lr=0.1)
    for _ in range(run["steps"]):
        loss = cross_entropy(moved, said) + run["pull"] * rule(moved.index_put(*known))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return moved.detach().index_put(*known)


def train(data, run):
    """Train a network on labels and the rule, apply the rule to its predictions, and measure."""
    given = data[run.part]
    words, labels, citations, train, measured = (
        torch.tensor(one, device=run.device)
        for one in (given.words, given.categories, given.citations, given.train,
                    given.test if run.split == "test" else given.valid)
    )  # fmt: skip
    categories = int(labels.max()) + 1
    torch.manual_seed(run.seed)
    graph = convolution(citations, len(words)) if run["convolves"] else None
    network = Network(words, categories, run, graph).to(run.device)
    rule = rule_over(citations, categories, run["relaxation"])
    known = (train,), 20.0 * one_hot(labels[train], categories)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=run["decay"])
    taught = None
    for epoch in run.epochs():
        if run["teaches"] and epoch >= run["start"] and epoch % 20 == 0:
            with torch.no_grad():
                logits = network.eval()()
            taught = apply(rule, logits, known, run).softmax(1)
        logits = network.train()()
        loss = cross_entropy(logits[train], labels[train])
        if taught is not None:
            loss = loss + cross_entropy(logits, taught)
        if run["weight"] and epoch >= run["start"]:
            loss = loss + run["weight"] * rule(logits.index_put(*known))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.check(epoch, loss=loss.detach())
    with torch.no_grad():
        logits = network.eval()()
    applied = apply(rule, logits, known, run)
    first, second = applied.argmax(1)[citations]
    return {
        "alone": accuracy(logits, labels, measured),
        "applied": accuracy(applied, labels, measured),
        "alike": 100 * (first == second).float().mean().item(),
    }


def accuracy(logits, labels, papers):
    """Return how many of these papers get their category, in percent."""
    return 100 * (logits[papers].argmax(1) == labels[papers]).float().mean().item()


SETTINGS = {
    "relaxation": "exact", "weight": 0.1, "teaches": False, "convolves": False, "hidden": 64,
    "dropout": 0.5, "decay": 5e-4, "epochs": 200, "start": 50, "pull": 1.0, "steps": 50,
}  # fmt: skip
SOURCE = "Kipf and Welling (ICLR 2017), table 2"
TASK = Task(
    name="citations",
    title="Citation networks",
    shows="a soft rule over pairs of papers, as a loss and for prediction",
    load=load,
    train=train,
    methods={
        "labels": {"weight": 0.0},
        "s-product": {"relaxation": "s-product", "weight": 0.12},
        "r-product": {"relaxation": "r-product", "weight": 0.06},
        "lukasiewicz-maxsat": {"relaxation": "lukasiewicz-maxsat", "weight": 0.24},
        "s-godel": {"relaxation": "s-godel", "weight": 0.24},
        "exact": {"weight": 0.06},
        "s-product-as-teacher": {"relaxation": "s-product", "weight": 0.0, "teaches": True},
        "exact-as-teacher": {"weight": 0.0, "teaches": True},
        "graph-convolution": {"weight": 0.0, "convolves": True, "hidden": 16},
    },
    measures={
        "alone": Measure("the network alone"),
        "applied": Measure("with the graph in prediction"),
        "alike": Measure("citing papers alike then"),
    },
    parts={"cora": {}, "citeseer": {}},
    settings=SETTINGS,
    quick={"epochs": 60, "start": 20, "steps": 30},
    published=[
        Published(name, part, {column: figure}, SOURCE)
        for name, column, of_cora, of_citeseer in (
            ("manifold regularisation", "alone", 59.5, 60.1),
            ("iterative classification", "applied", 75.1, 69.1),
            ("Planetoid", "applied", 75.7, 64.7),
            ("GCN", "applied", 81.5, 70.3),
        )
        for part, figure in (("cora", of_cora), ("citeseer", of_citeseer))
    ],
    notes=[
        "The graph convolution reads the graph in both columns: in the second, the rule as well."
    ],
)
