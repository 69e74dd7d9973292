"""What claims about digits are about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

from residuum.study.digits.findings import Setting, System

SIZES: Final = (1_000, 5_000, 25_000)


class About(NamedTuple):
    """What a claim is about; what it does not name is everything of the paper's."""

    protocol: str = "joint"
    better: Sequence[str] = ()
    worse: Sequence[str] = ()
    measures: Sequence[str] = ()
    pair_sizes: Sequence[int] = SIZES
    relaxation: str = ""

    @property
    def settings(self) -> list[Setting]:
        """The settings in question."""
        return [
            Setting("mnist", "paper", digit_size, pair_size)
            for pair_size, digit_size in product(self.pair_sizes, SIZES)
        ]

    @property
    def decimals(self) -> int:
        """As many as were printed."""
        return 1

    def system(self, relaxation: str) -> System:
        """Return the system that stands for a relaxation."""
        return System(self.protocol, relaxation)

    def words(self, setting: Setting) -> str:
        """Name a setting."""
        return f"DIGIT {setting.digit_size:,}, PAIR {setting.pair_size:,}"
