"""Tasks about several things together: sequences, graphs, choices, numbers, bags, relations."""

from __future__ import annotations

import torch

from advice_contest.task import Examples, Task, clouds, draw_labels, first, nothing

# Text chunking in small: chunks of two kinds, seen through noise.

LENGTH = 12
TAGS = ("BX", "IX", "BY", "IY", "O")


def _tagging(generator: torch.Generator, count: int) -> Examples:
    tags = torch.full((count, LENGTH), 4)
    chance = torch.rand(count, LENGTH, generator=generator)
    kind = draw_labels(generator, 2, count, LENGTH)
    for place in range(LENGTH):
        before = tags[:, place - 1] if place else torch.full((count,), 4)
        start = torch.where(chance[:, place] < 0.5, 2 * kind[:, place], 4)
        goes_on = (before < 4) & (chance[:, place] > 0.4)
        tags[:, place] = torch.where(goes_on, before - before % 2 + 1, start)
    words = clouds(generator, tags, len(TAGS), 6, 1.0)
    before = torch.cat([torch.zeros_like(words[:, :1]), words[:, :-1]], 1)
    return Examples({"Tag": torch.cat([before, words], -1)}, {"Tag": tags}, {"Tag": first(5, tags)})


# Pages of a web: most links are between pages of one topic.

PAGES, TOPICS = 5, 3


def _graph(generator: torch.Generator, count: int) -> Examples:
    topic = draw_labels(generator, TOPICS, count, PAGES)
    alike = topic.unsqueeze(1) == topic.unsqueeze(2)
    chance = torch.rand(count, PAGES, PAGES, generator=generator)
    links = (chance < torch.where(alike, 0.7, 0.09)).long()
    links[:, torch.arange(PAGES), torch.arange(PAGES)] = 0
    truth = {"Topic": topic, "Link": links}
    known = {"Topic": first(4, topic), "Link": nothing(links)}
    return Examples({"Topic": clouds(generator, topic, TOPICS, 6, 1.4)}, truth, known)


# Two of six are chosen: those with the highest value.


def _choice(generator: torch.Generator, count: int) -> Examples:
    features = torch.randn(count, 6, 4, generator=generator)
    value = features @ torch.randn(4, generator=generator)
    chosen = torch.zeros(count, 6, dtype=torch.long).scatter_(1, value.topk(2, 1).indices, 1)
    return Examples({"Chosen": features.flatten(1)}, {"Chosen": chosen},
                    {"Chosen": first(30, chosen)})  # fmt: skip


# Prices of houses: a house with more rooms costs more.


def _prices(generator: torch.Generator, count: int) -> Examples:
    features = torch.randn(count, 5, 8, generator=generator)
    price = features @ torch.randn(8, generator=generator) / 8**0.5
    noise = 0.2 * torch.randn(price.shape, generator=generator)
    rooms = torch.floor(2 * (price + noise))
    truth = {"Price": price, "Rooms": rooms}
    return Examples({"Price": features}, truth, {"Price": first(2, price), "Rooms": nothing(rooms)})


# Bags: whether a bag has a positive member is observed.


def _bags(generator: torch.Generator, count: int) -> Examples:
    positive = (torch.rand(count, 5, generator=generator) < 0.15).long()
    truth = {"Positive": positive, "Bag": positive.amax(1)}
    known = {"Positive": first(3, positive), "Bag": nothing(truth["Bag"])}
    return Examples({"Positive": clouds(generator, positive, 2, 8, 1.4)}, truth, known)


# Which of five mentions are the same is symmetric and transitive.


def _mentions(generator: torch.Generator, count: int) -> Examples:
    entity = draw_labels(generator, 3, count, 5)
    features = clouds(generator, entity, 3, 4, 0.7)
    left, right = (features.unsqueeze(axis).expand(count, 5, 5, 4) for axis in (2, 1))
    noise = 0.5 * torch.randn(count, 5, 5, 8, generator=generator)
    same = (entity.unsqueeze(1) == entity.unsqueeze(2)).long()
    return Examples({"Same": torch.cat([left, right], -1) + noise}, {"Same": same},
                    {"Same": first(5, same)})  # fmt: skip


def _quantity(name: str, scale: str) -> str:
    return f"quantity {name}(house) scale {scale}\n"


TASKS = (
    Task(
        name="tagging",
        kind="sequences, few of them labelled",
        rules="domain position sequence\ndomain chunk = X, Y\ndomain tag = BX, IX, BY, IY, O\n"
        "function begin(chunk): tag = X: BX, Y: BY\nfunction inside(chunk): tag = X: IX, Y: IY\n"
        "predicate Tag(position, tag)\n"
        "rule begins: forall i in position, c in chunk:\n"
        "    Tag(i + 1, inside(c)) -> Tag(i, begin(c)) | Tag(i, inside(c))\n",
        networks={"tag": (12, 5)},
        outputs={"Tag": "tag"},
        draw=_tagging,
        scored=("Tag",),
    ),
    Task(
        name="linked pages",
        kind="a relation is observed, and one link in five is between topics",
        rules="domain page = 0..4\ndomain topic = 0..2\n"
        "predicate Topic(page, topic)\npredicate Link(page, page) independent\n"
        "rule alike: forall x, y in page, t in topic where x != y:\n"
        "    Link(x, y) & Topic(x, t) -> Topic(y, t)\n",
        networks={"topic": (6, TOPICS)},
        outputs={"Topic": "topic"},
        draw=_graph,
        observed=("Link",),
        scored=("Topic",),
        examples=60,
    ),
    Task(
        name="two of six",
        kind="a count",
        rules="domain item = 0..5\npredicate Chosen(item) independent\n"
        "rule two: exactly 2 x in item: Chosen(x)\n",
        networks={"chosen": (24, 6)},
        outputs={"Chosen": "chosen"},
        draw=_choice,
        scored=("Chosen",),
        measure="f1",
    ),
    Task(
        name="prices in order",
        kind="numbers that are compared",
        rules="domain house = 0..4\n" + _quantity("Rooms", "0") + _quantity("Price", "0.2")
        + "rule order: forall h, g in house: Rooms(h) < Rooms(g) -> Price(h) <= Price(g)\n",
        networks={"price": (8, 1)},
        outputs={"Price": "price"},
        draw=_prices,
        scored=("Price",),
        measure="r2",
    ),
    Task(
        name="bags",
        kind="whether one of five is positive is observed",
        rules="domain member = 0..4\npredicate Positive(member) independent\npredicate Bag\n"
        "rule some: Bag -> exists x in member: Positive(x)\n"
        "rule none: forall x in member: Positive(x) -> Bag\n",
        networks={"positive": (8, 1)},
        outputs={"Positive": "positive"},
        draw=_bags,
        observed=("Bag",),
        scored=("Positive",),
        measure="f1",
        is_held_out=True,
    ),
    Task(
        name="same mention",
        kind="a relation that is symmetric and transitive",
        rules="domain mention = 0..4\npredicate Same(mention, mention) independent\n"
        "rule back: forall x, y in mention: Same(x, y) -> Same(y, x)\n"
        "rule on: forall x, y, z in mention: Same(x, y) & Same(y, z) -> Same(x, z)\n",
        networks={"same": (8, 1)},
        outputs={"Same": "same"},
        draw=_mentions,
        scored=("Same",),
        measure="f1",
        examples=40,
        is_held_out=True,
    ),
)  # fmt: skip
