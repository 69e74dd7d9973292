"""Draws the pictures of the cookbook, from what its recipes compute.

The code of a recipe is taken from its page and run; the picture shows what is found then. Run it
with `python examples/cookbook_pictures.py docs/cookbook`; it takes seconds.
"""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

RECIPES = Path(__file__).parents[1] / "docs" / "cookbook"
BLUE, RED, GREY = "#1f4e8c", "#b1361e", "#b8bcc2"
TOPICS = ((0, BLUE, "o"), (1, "#d08a1c", "s"), (2, "#3f8f5f", "^"))

Found = Mapping[str, Any]
"""The variables of a recipe after it has run."""


def run(recipe: str) -> Found:
    """Run the code of a recipe as it stands on its page."""
    text = (RECIPES / f"{recipe}.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found: dict[str, Any] = {"__name__": recipe}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, recipe, "exec"), found)
    return found


def panels(count: int, *, width: float = 7.0, height: float = 2.6) -> tuple[Figure, list[Axes]]:
    """Return a figure with axes side by side, without frames."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=9)
    return figure, axes


def heat(axis: Axes, shown: torch.Tensor, rows: list[str], columns: list[str]) -> None:
    """Draw probabilities as a matrix, with their numbers."""
    axis.imshow(shown.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, numbers in enumerate(shown.tolist()):
        for column, number in enumerate(numbers):
            ink = "white" if number > 0.5 else "black"
            axis.text(column, row, f"{number:.2f}", ha="center", va="center", color=ink, fontsize=9)
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


def frame(axis: Axes, row: int, column: int) -> None:
    """Draw a frame around a cell of a matrix."""
    axis.add_patch(
        Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, fill=False, edgecolor=RED, linewidth=2.5)
    )


def draw_hierarchy(found: Found) -> Figure:
    """Draw what the network says of each kind of picture; labels that were given have a frame."""
    figure, [axis] = panels(1)
    kinds = ["poodles", "cats", "neither"]
    outputs, kind, known = found["outputs"].detach(), found["kind"], found["known"]
    shown = torch.stack([outputs[kind == one].sigmoid().mean(0) for one in range(3)])
    heat(axis, shown, kinds, found["labels"])
    for row in range(3):
        for column in range(4):
            if (known[kind == row, column] >= 0).all():
                frame(axis, row, column)
    axis.set_title("probability of each label (framed: labels were given)", fontsize=10)
    return figure


def draw_tags(found: Found) -> Figure:
    """Draw the tags of a sentence as the network alone has them, and as the rule allows."""
    figure, axes = panels(2)
    outputs = {"Tag": found["logits"], "lengths": found["lengths"]}
    legal, tags = found["legal"], found["tags"]
    given, obeying = legal.marginals(**outputs)["Tag"][0], legal.decode(**outputs)["Tag"][0]
    alone = found["logits"][0].softmax(-1)
    for axis, shown, chosen, title in (
        (axes[0], alone, alone.argmax(-1), "the network alone"),
        (axes[1], given, obeying, "given the rule"),
    ):
        heat(axis, shown.T, tags, ["1", "2", "3", "4"])
        for word, tag in enumerate(chosen.tolist()):
            frame(axis, tag, word)
        axis.set_title(f"{title} (framed: the chosen tags)", fontsize=10)
        axis.set_xlabel("word", fontsize=9)
    axes[1].set_yticks([])
    return figure


def draw_graph(found: Found) -> Figure:
    """Draw the papers with their citations: the given topics, and those that are found."""
    figure, axes = panels(2, height=3.0)
    topic, cites = found["topic"], found["cites"]
    centres = torch.tensor([[0.0, 0.0], [3.0, 0.0], [1.5, 2.4]])
    turn = torch.arange(60) // 3 * 2 * torch.pi / 20
    places = centres[topic] + torch.stack([turn.cos(), turn.sin()], dim=1)
    edges = cites.nonzero()
    for axis, shown, title in (
        (axes[0], found["known"], "the topics that are given"),
        (axes[1], found["outputs"].argmax(1), "the topics that are found"),
    ):
        lines = LineCollection(
            places[edges].numpy(), colors="#dddfe3", linewidths=0.5, antialiaseds=False
        )
        axis.add_collection(lines)
        for label, colour, marker in ((-100, GREY, "."), *TOPICS):
            axis.scatter(
                *places[shown == label].T.numpy(), color=colour, marker=marker, s=30, zorder=2
            )
        axis.set_title(title, fontsize=10)
        axis.set_axis_off()
        axis.set_aspect("equal")
    return figure


def draw_bounds(found: Found) -> Figure:
    """Draw the prices, and what the network says of them: a number between two bounds."""
    figure, [axis] = panels(1)
    across = torch.linspace(0, 1, 100)
    with torch.no_grad():
        said = {name: one.numpy() for name, one in found["outputs"](across[:, None]).items()}
    axis.scatter(found["size"].numpy(), found["price"].numpy(), s=8, color=GREY, label="examples")
    axis.plot(across, said["Price"], color=BLUE, linewidth=2, label="Price")
    axis.fill_between(across, said["Low"], said["High"], color=BLUE, alpha=0.15, linewidth=0)
    for name, style in (("High", "--"), ("Low", ":")):
        axis.plot(across, said[name], color=BLUE, linewidth=1.2, linestyle=style, label=name)
    axis.axhline(0, color=RED, linewidth=1)
    axis.set_xlabel("size", fontsize=9)
    axis.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def pairs_of_bars(axis: Axes, left: torch.Tensor, right: torch.Tensor, names: list[str]) -> None:
    """Draw two numbers for each member."""
    across = torch.arange(len(left)).numpy()
    axis.bar(across - 0.2, left.numpy(), width=0.38, color=GREY, label="the network alone")
    axis.bar(across + 0.2, right.numpy(), width=0.38, color=BLUE, label="given the rule")
    axis.set_xticks(across.tolist(), names)
    axis.set_ylim(0, 1.2)
    axis.set_yticks([0, 0.5, 1])
    axis.legend(fontsize=9, frameon=False, loc="upper right", ncols=2)


def draw_cardinality(found: Found) -> Figure:
    """Draw the probability of each slot, alone and given that three are taken."""
    figure, [axis] = panels(1)
    scores, rule = found["scores"].detach(), found["rule"]
    best = rule.decode(Taken=scores)["Taken"].tolist()
    names = [f"{slot}\ntaken" if taken else str(slot) for slot, taken in enumerate(best)]
    pairs_of_bars(axis, scores.sigmoid(), rule.marginals(Taken=scores)["Taken"], names)
    axis.set_xlabel("slot", fontsize=9)
    axis.set_ylabel("probability", fontsize=9)
    return figure


def draw_dates(found: Found) -> Figure:
    """Draw the probability of each date; those that do not exist are crossed out."""
    figure, [axis] = panels(1)
    rule, months, days = found["rule"], found["months"], range(28, 32)
    joint = found["day"].softmax(0)[27:, None] * found["month"].softmax(0)
    heat(axis, joint.T, months, [str(day) for day in days])
    every_day = torch.eye(31)[27:].repeat_interleave(len(months), dim=0)
    obeys = rule.satisfied(Day=every_day, Month=torch.eye(len(months)).repeat(len(days), 1))
    for column, row in (~obeys.view(len(days), len(months))).nonzero().tolist():
        axis.plot([column - 0.4, column + 0.4], [row + 0.4, row - 0.4], color=RED, linewidth=1)
    best = rule.decode(found["outputs"])
    frame(axis, int(best["Month"]), int(best["Day"]) + 1 - 28)
    axis.set_title("probability of each date (framed: the likeliest that obeys)", fontsize=10)
    return figure


def draw_pseudo_labels(found: Found) -> Figure:
    """Draw the digits of the image on which the rule changes most."""
    figure, [axis] = panels(1)
    alone, given = found["outputs"].detach().softmax(-1), found["target"]
    image = int((given - alone).abs().sum(-1).argmax())
    pairs_of_bars(axis, alone[image], given[image], [str(digit) for digit in range(10)])
    parity = ("even", "odd")[int(found["remainder"][image])]
    axis.set_title(f"one image, of which it is known that its digit is {parity}", fontsize=10)
    axis.set_xlabel("digit", fontsize=9)
    axis.set_ylabel("probability", fontsize=9)
    return figure


def draw_exclusive_labels(found: Found) -> Figure:
    """Draw the labels of two pictures as the network alone has them, and given the rule."""
    figure, axes = panels(2)
    logits, rule = found["logits"], found["rule"]
    given, best = rule.marginals(Has=logits)["Has"], found["best"]
    for picture, axis in enumerate(axes):
        names = [
            f"{label}\ndecoded" if decoded else label
            for label, decoded in zip(("cat", "dog", "animal"), best[picture].tolist(), strict=True)
        ]
        pairs_of_bars(axis, logits[picture].sigmoid(), given[picture], names)
        axis.set_title(f"example {picture}", fontsize=10)
    axes[0].set_ylabel("probability", fontsize=9)
    axes[0].get_legend().remove()
    axes[1].get_legend().set(bbox_to_anchor=(1.0, -0.22))
    return figure


def draw_addition(found: Found) -> Figure:
    """Draw how images of each digit are read after training."""
    figure, [axis] = panels(1, width=4.5)
    digits, read = found["digits"], found["network"](found["images"]).detach().softmax(-1)
    names = [str(digit) for digit in range(5)]
    heat(axis, torch.stack([read[digits == one].mean(0) for one in range(5)]), names, names)
    axis.set_xlabel("the digit that is read", fontsize=9)
    axis.set_ylabel("the digit of the image", fontsize=9)
    return figure


def draw_log(found: Found) -> Figure:
    """Draw what was logged: the penalty falls, and examples come to obey."""
    figure, axes = panels(2)
    log = found["log"]
    across = [one["epoch"] for one in log]
    for axis, metric, colour in ((axes[0], "penalty", BLUE), (axes[1], "satisfied", RED)):
        axis.plot(across, [one[metric] for one in log], color=colour, linewidth=2, marker="o", ms=4)
        axis.set_title(metric, fontsize=10)
        axis.set_xlabel("epoch", fontsize=9)
        axis.set_ylim(bottom=0)
    return figure


PICTURES: dict[str, Callable[[Found], Figure]] = {
    "exclusive-labels": draw_exclusive_labels,
    "hierarchy": draw_hierarchy,
    "bio-tags": draw_tags,
    "addition": draw_addition,
    "graph": draw_graph,
    "regression-bound": draw_bounds,
    "cardinality": draw_cardinality,
    "constrained-decoding": draw_dates,
    "pseudo-labels": draw_pseudo_labels,
    "logging": draw_log,
}
"""What draws the picture of each recipe that has one."""


def main(folder: Path) -> None:
    """Draw all pictures into a folder."""
    for recipe, draw in PICTURES.items():
        draw(run(recipe)).savefig(folder / f"{recipe}.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
