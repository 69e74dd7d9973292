"""Tasks about images of digits: 8 × 8 pixels, as scikit-learn has them."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from advice_contest.task import Examples, Task, draw_labels, first, nothing

PIXELS = 64


@cache
def _images() -> tuple[Tensor, ...]:
    """Return the images of each class."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = torch.as_tensor(loaded.data / 16, dtype=torch.float32)
    return tuple(images[torch.as_tensor(loaded.target == digit)] for digit in range(10))


def _shown(generator: torch.Generator, labels: Tensor) -> Tensor:
    """Return an image of each label, at random."""
    found = torch.empty(*labels.shape, PIXELS)
    for digit, images in enumerate(_images()):
        where = labels == digit
        chosen = torch.randint(len(images), (int(where.sum()),), generator=generator)
        found[where] = images[chosen]
    return found


def _pairs(
    generator: torch.Generator, classes: int, count: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    left, right = draw_labels(generator, classes, 2, count)
    return left, right, _shown(generator, left), _shown(generator, right)


def _sums_observed(generator: torch.Generator, count: int) -> Examples:
    left, right, left_image, right_image = _pairs(generator, 10, count)
    truth = {"Left": left, "Right": right, "Sum": left + right}
    return Examples(
        {"Left": left_image, "Right": right_image},
        truth,
        {name: nothing(one) for name, one in truth.items()},
    )


def _operators(generator: torch.Generator, count: int) -> Examples:
    left, right, left_image, right_image = _pairs(generator, 3, count)
    truth = {"Left": left, "Right": right, "Sum": (left + right) % 3}
    known = {"Left": first(20, left), "Right": first(20, right), "Sum": nothing(left)}
    both = torch.cat([left_image, right_image], -1)
    return Examples({"Left": left_image, "Right": right_image, "Sum": both}, truth, known)


def _next(generator: torch.Generator, count: int) -> Examples:
    digit = draw_labels(generator, 5, count)
    image = _shown(generator, digit)
    truth = {"Digit": digit, "Next": (digit + 1) % 5}
    known = {"Digit": first(20, digit), "Next": nothing(digit)}
    return Examples({"Digit": image, "Next": image}, truth, known)


_SUM = (
    "domain digit = 0..9\ndomain total = 0..18\n"
    "predicate Left(digit)\npredicate Right(digit)\npredicate Sum(total)\n"
)
_DIGITS = {"Left": "digit", "Right": "digit"}


def _digits_from_sums(name: str, rule: str) -> Task:
    return Task(
        name=name,
        kind="sums observed, no digit labelled",
        rules=f"{_SUM}rule sum: {rule}",
        networks={"digit": (PIXELS, 10)},
        outputs=_DIGITS,
        draw=_sums_observed,
        observed=("Sum",),
        scored=("Left", "Right"),
    )


TASKS = (
    _digits_from_sums(
        "digits from sums, ->", "forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)"
    ),
    _digits_from_sums(
        "digits from sums, exists", "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"
    ),
    Task(
        name="sums from digits",
        kind="few digits labelled, sums from the rule alone",
        rules="domain digit = 0..2\n"
        "predicate Left(digit)\npredicate Right(digit)\npredicate Sum(digit)\n"
        "rule sum: forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 3)",
        networks={"digit": (PIXELS, 3), "sum": (2 * PIXELS, 3)},
        outputs={**_DIGITS, "Sum": "sum"},
        draw=_operators,
        scored=("Sum",),
    ),
    Task(
        name="next digit",
        kind="few digits labelled, the next one from the rule alone",
        rules="domain digit = 0..4\npredicate Digit(digit)\npredicate Next(digit)\n"
        "rule next: forall d in digit: Digit(d) -> Next((d + 1) mod 5)",
        networks={"digit": (PIXELS, 5), "next": (PIXELS, 5)},
        outputs={"Digit": "digit", "Next": "next"},
        draw=_next,
        scored=("Next",),
    ),
)
