"""What the settings of all studies share: checks, chosen values by size, and what is compared."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, get_args

from residuum.errors import DataError, ResiduumError, suggest

if TYPE_CHECKING:
    from dataclasses import Field

PAPER: Final = ("s-godel", "s-product", "r-product", "lukasiewicz-maxsat")
"""The relaxations that the paper compares, in the order of its tables."""

SEEDS: Final = (0, 20, 50)
"""The seeds that every study runs by default."""


def check_choice(what: str, chosen: object, options: Any) -> None:
    """Raise DataError unless the chosen value is a member of a Literal type.

    >>> from typing import Literal
    >>> check_choice("side", "lift", Literal["left", "right"])
    Traceback (most recent call last):
    residuum.errors.DataError: side: expected left or right, got 'lift'. Did you mean `left`?
    """
    known = get_args(options)
    if chosen not in known:
        *others, last = known
        expected = f"{', '.join(others)} or {last}"
        raise DataError(
            f"{what}: expected {expected}, got {chosen!r}.{suggest(str(chosen), known)}"
        )


def check_weight(what: str, weight: float) -> None:
    """Raise unless a weight of rules is finite and not negative."""
    if not 0 <= weight < math.inf:
        raise ResiduumError(
            f"{what}: expected a number from 0 on, got {weight}; "
            "a negative weight would reward what breaks the rules"
        )


def check_clip(clip: float | None) -> None:
    """Raise unless the largest norm of gradients is None, or finite and above 0."""
    if clip is not None and not 0 < clip < math.inf:
        raise ResiduumError(
            f"clip: expected a norm above 0, got {clip}; leave it out to take gradients as they are"
        )


def check_fraction(fraction: float) -> None:
    """Raise unless a fraction of the sentences is above 0 and at most 1."""
    if not 0 < fraction <= 1:
        raise DataError(
            f"fraction: expected a share of the sentences, above 0 and up to 1, got {fraction!r}"
        )


def check_seed(seed: int) -> None:
    """Raise unless a seed fits the signed 64-bit integers that random numbers are hashed from."""
    if not 0 <= seed < 2**63:
        raise ResiduumError(f"seed: expected a whole number from 0 to 2^63 - 1, got {seed}")


ADDED: Final = {"is_added": True}
"""Metadata of a setting that is younger than some records, which do not have it."""


def is_optional(setting: Field[Any]) -> bool:
    """Return whether the configuration of a run may lack a setting; its default then counts."""
    return bool(setting.metadata.get("is_added"))


def configuration_of(settings: Any) -> dict[str, Any]:
    """Return the settings of a run as plain data.

    An `ADDED` setting at its default is left out, so that runs keep the identity that they had
    before the setting existed.
    """
    return {
        setting.name: value
        for setting in fields(settings)
        if (value := getattr(settings, setting.name)) != setting.default or not is_optional(setting)
    }


@cache
def read_data(name: str) -> dict[str, Any]:
    """Return the content of a JSON file in the package `residuum.data`."""
    text = resources.files("residuum.data").joinpath(name).read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def nearest(by_size: dict[str, Any], size: float) -> Any:
    """Return the entry whose size is nearest in proportion.

    >>> nearest({"100": "few", "10000": "many"}, 999)
    'few'
    """
    return by_size[
        min(by_size, key=lambda known: max(float(known), size) / min(float(known), size))
    ]


class Lasting(Protocol):
    """Settings of a run that lasts a number of epochs."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def epochs(self) -> int:
        """Epochs of the whole training, including the warm-up."""

    @property
    def warm_up(self) -> int:
        """Epochs of the warm-up."""

    @property
    def lengths(self) -> tuple[str, ...]:
        """Names of other settings that count epochs: of earlier stages, and of ramps."""


L = TypeVar("L", bound=Lasting)


def of_length(settings: L, epochs: int | None) -> L:
    """Return the settings for this many epochs; the warm-up and `lengths` keep their share."""
    if epochs is None:
        return settings
    share = epochs / settings.epochs
    lengths = {name: math.ceil(getattr(settings, name) * share) for name in settings.lengths}
    warm_up = min(epochs, math.ceil(settings.warm_up * share))
    return replace(settings, epochs=epochs, warm_up=warm_up, **lengths)
