"""The advice about a user's rules: the one place where the report meets `residuum.advice`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from residuum.errors import ResiduumError
from residuum.relaxations import Relaxation
from residuum.reports.advice_figures import draw_advice
from residuum.syntax import Knowledge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from residuum.advice import Measured, Sample


@dataclass(frozen=True)
class Advised:
    """The recommended relaxation, or None, its reasons, and what it was measured on.

    `missing` says why there is no advice; it is empty if there is some.
    """

    relaxation: str | None
    reasons: Sequence[str]
    is_random: bool
    measured: Sequence[Measured] = ()
    missing: str = ""


def read_own_sample(path: Path, knowledge: Knowledge, form: str) -> Sample:
    """Return the predictions in a file. ResiduumError says what is missing or wrong."""
    require_torch()
    from residuum.advice import read_sample

    return read_sample(path, knowledge, form)  # type: ignore[arg-type]


def advise_steps(
    knowledge: Knowledge,
    sample: Sample | None,
    relaxations: Sequence[Relaxation],
) -> Iterator[Advised | None]:
    """Yield None after each rule, and then the advice, on random predictions without a sample."""
    is_random = sample is None
    measured: list[Measured] = []
    try:
        require_torch()
        from residuum.advice import draw_samples, measure, recommend

        samples = draw_samples(knowledge) if sample is None else [sample]
        for rule in knowledge.rules:
            yield None
            for one in samples:
                measured += measure(knowledge, rule, one, relaxations)
        found = recommend(measured, studies=())
    except ResiduumError as error:
        yield Advised(None, (), is_random, missing=str(error))
        return
    yield Advised(found.relaxation, found.reasons, is_random, measured)


def draw_advised(advised: Advised) -> Figure | None:
    """Draw what becomes of violated groundings; return None if none is violated."""
    if all(one.mended is None for one in advised.measured):
        return None
    return draw_advice(advised.measured)


def require_torch() -> None:
    """Raise ResiduumError if PyTorch is missing, which advice and samples need."""
    try:
        import residuum.advice  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ResiduumError(
            "expected PyTorch to measure rules on predictions, and it is not installed; run: "
            "pip install 'residuum[learn]'"
        ) from None
