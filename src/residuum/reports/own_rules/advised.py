"""The advice about a user's rules: the one place where the report meets `residuum.advice`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from residuum.errors import ResiduumError
from residuum.relaxations import Relaxation, default_relaxations
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
    """Yield None after each part of the work, and then the advice.

    Without a sample it is about random predictions.
    """
    is_random = sample is None
    try:
        require_torch()
        from residuum.advice import Consultation
        from residuum.advice.traps import as_lines

        usual = tuple(relaxations) == default_relaxations(())
        samples = [] if sample is None else [sample]
        asked = Consultation(knowledge, samples, relaxations, with_exact=usual)
        for _ in asked.steps():
            yield None
        found = asked.advice()
    except ResiduumError as error:
        yield Advised(None, (), is_random, missing=str(error))
        return
    reasons = (
        *found.reasons,
        *(f"Write {name} as: {form}" for name, form in found.forms.items()),
        *(f"Trap: {line}" for line in as_lines(found.traps)),
    )
    yield Advised(found.relaxation, reasons, is_random, asked.measured)


def count_parts(knowledge: Knowledge, relaxations: Sequence[Relaxation], *, is_random: bool) -> int:
    """Return about how many parts the work of `advise_steps` has."""
    try:
        require_torch()
    except ResiduumError:
        return 1
    from residuum.advice.advising import count_parts

    return count_parts(knowledge, relaxations, samples=2 if is_random else 1)


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
