"""Papers that cite each other are often about the same thing: a rule over the edges of a graph.

The graph is generated: 10,000 papers with 100,000 citations, most of them inside a category. A
network reads noisy words of each paper, and learns its category from the labels of one paper in
fifty. `--quick` takes a fifth of the papers and citations.
"""

import sys
import time

import torch
from torch import nn

import residuum as rs

PAPERS, CITATIONS = (2_000, 20_000) if "--quick" in sys.argv else (10_000, 100_000)
CATEGORIES, WORDS, INSIDE = 5, 100, 0.8

knowledge = rs.loads(f"""
    domain paper
    domain category = 0..{CATEGORIES - 1}
    predicate Category(paper, category)
    predicate Cites(paper, paper)
    facts labels: Category
    rule alike: forall x, y in paper where Cites(x, y):
        forall c in category: Category(x, c) <-> Category(y, c)
""")


def generate() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the words of papers, their categories, and who cites whom, (2, citations)."""
    category = torch.randint(CATEGORIES, (PAPERS,))
    topics = torch.randn(CATEGORIES, WORDS)
    words = 0.25 * topics[category] + torch.randn(PAPERS, WORDS)
    by_category = category.argsort()
    counts = category.bincount(minlength=CATEGORIES)
    first = counts.cumsum(0) - counts
    citing = torch.randint(PAPERS, (CITATIONS,))
    own = category[citing]
    colleague = by_category[first[own] + (torch.rand(CITATIONS) * counts[own]).long()]
    anyone = torch.randint(PAPERS, (CITATIONS,))
    cited = torch.where(torch.rand(CITATIONS) < INSIDE, colleague, anyone)
    return words, category, torch.stack([citing, cited])


def train(weight: float) -> None:
    """Train a network on labels and the rule, and print how many papers it gets right."""
    torch.manual_seed(1)
    words, category, citations = generate()
    labelled = torch.arange(PAPERS // 50)
    network = nn.Sequential(nn.Linear(WORDS, 64), nn.ReLU(), nn.Linear(64, CATEGORIES))
    theory = rs.Theory(
        knowledge, relaxation="s-product", weights={"alike": weight}, Category=network
    )
    facts = {"labels": (words[labelled], category[labelled])}
    cites = rs.Pairs(citations)
    optimizer = torch.optim.Adam(theory.parameters(), lr=0.01, weight_decay=1e-3)
    started = time.perf_counter()
    for _ in range(60):
        given = {"paper": words, "observed": {"Cites": cites}} if weight else {}
        loss = theory(facts, **given).total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = network(words).argmax(1) == category
    others = right[len(labelled) :].float().mean().item()
    print(f"weight {weight:g}: {others:.1%} of the other papers are right, "
          f"{time.perf_counter() - started:.0f} seconds")  # fmt: skip


print(f"{PAPERS:,} papers, {CITATIONS:,} citations")
for weight in (0.0, 0.02):
    train(weight)
