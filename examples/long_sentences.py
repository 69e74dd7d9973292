"""Long sentences outweigh short ones, and what `over="mean"` does about it.

A rule about neighbours has a grounding at each position. Their penalties are added up, so that a
sentence of fifty words costs ten times as much as one of five, and pulls as much harder. Here tags
go round (when, who, what, when, …) but for one step in ten, the labels are right, and the weight of
the rule suits short sentences. In long ones the rule drowns the labels, under `r-product`. With
`over="mean"` the penalty of a sentence is the mean over its positions, and one weight suits both.
Run it with `python examples/long_sentences.py`.
"""

import torch

import residuum as rs

TAGS = ["when", "who", "what"]


def next_tag(over):
    """Compile the rule that tags go round, with an aggregator over positions."""
    return rs.compile(
        "forall i in position, t in tag: Tag(i, t) -> Tag(i + 1, after(t))",
        "r-product",
        domains={"position": "sequence", "tag": TAGS},
        predicates={"Tag": ("position", "tag")},
        functions={"after": {"when": "who", "who": "what", "what": "when"}},
        over=over,
        weight=0.2,
    )


def sentences(length, words=3000):
    """Return made-up sentences of one length: vectors of their words, and their tags."""
    goes_on = torch.rand(words // length, length) < 0.9
    tags = goes_on.long().cumsum(1) % len(TAGS)
    return 2 * torch.eye(3, 8)[tags] + torch.randn(*tags.shape, 8), tags


def trained(over, length, seed=0):
    """Train a tagger on sentences of one length; return the share of new words that are right."""
    torch.manual_seed(seed)
    words, tags = sentences(length)
    network = torch.nn.Linear(8, len(TAGS))
    rule = next_tag(over)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(60):
        logits = network(words)
        loss = rs.facts(logits.flatten(0, 1), tags.flatten()) + rule(Tag=logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    words, tags = sentences(length)
    return (network(words).argmax(-1) == tags).float().mean().item()


def main():
    """Print what a sentence costs and what is learnt, for two lengths."""
    print("over         words  penalty of unsure tags  right tags")
    for over in ("conjunction", "mean"):
        for length in (5, 50):
            unsure = torch.tensor([1.0, 0.5, 0.0]).expand(length, 3)
            penalty = next_tag(over)(Tag=unsure).item()
            print(f"{over:<11}  {length:>5}  {penalty:>22.2f}  {trained(over, length):>10.0%}")


if __name__ == "__main__":
    main()
