"""Draws what rules do to predictions: tags before and after (docs/guide/exact.png)."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch

import residuum as rs

TAGS = ["B-NP", "I-NP", "B-VP", "I-VP", "O"]
WORDS = ["The", "old", "man", "saw", "a", "ship", "."]
KNOWLEDGE = rs.loads("""
    domain chunk = NP, VP
    domain tag = "B-NP", "I-NP", "B-VP", "I-VP", O
    domain position sequence
    function begin(chunk): tag = NP: "B-NP", VP: "B-VP"
    function inside(chunk): tag = NP: "I-NP", VP: "I-VP"
    predicate Tag(position, tag)
    rule starts: forall i in position, X in chunk where i = 0: ~Tag(i, inside(X))
    rule continues: forall i in position, X in chunk:
        Tag(i + 1, inside(X)) -> Tag(i, begin(X)) | Tag(i, inside(X))
""")


def outputs() -> torch.Tensor:
    """Return what an unsure network says of each word: logits, (1, words, tags)."""
    chances = [
        [0.42, 0.46, 0.02, 0.02, 0.08],
        [0.12, 0.78, 0.02, 0.04, 0.04],
        [0.10, 0.39, 0.05, 0.42, 0.04],
        [0.03, 0.05, 0.70, 0.18, 0.04],
        [0.40, 0.45, 0.05, 0.05, 0.05],
        [0.10, 0.75, 0.05, 0.05, 0.05],
        [0.03, 0.03, 0.03, 0.11, 0.80],
    ]
    return torch.tensor([chances]).log()


def draw(path: str) -> None:
    """Draw the probabilities of tags, and those given the rules, with the chosen tags."""
    rules = rs.compile(KNOWLEDGE)
    logits = outputs()
    alone, given = logits.softmax(-1)[0], rules.marginals(Tag=logits)["Tag"][0]
    likeliest, obeying = logits.argmax(-1)[0], rules.decode(Tag=logits)["Tag"][0]
    allowed = float(rules.probability(Tag=logits))
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, layout="constrained")
    panels = [
        (alone, likeliest, "the network alone: its likeliest tags break the rules"),
        (given, obeying, f"given the rules, which hold with probability {allowed:.2f}"),
    ]
    for axis, (chances, chosen, title) in zip(axes, panels, strict=True):
        shown = axis.imshow(chances.T.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.plot(range(len(WORDS)), chosen, "o", color="#b1361e", markersize=9)
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(WORDS)), WORDS)
        axis.set_yticks(range(len(TAGS)), TAGS)
    figure.colorbar(shown, ax=axes, label="probability")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "obedient_tags.png")
