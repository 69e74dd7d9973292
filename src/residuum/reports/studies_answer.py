"""The answer to the question of the studies, which relaxation learns best, from their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Final

from residuum.results import Comparison, Record, holm
from residuum.study.chunking import findings as chunking
from residuum.study.chunking import settings as chunking_settings
from residuum.study.chunking.claims import CORPUS
from residuum.study.decisions import SIGNIFICANCE
from residuum.study.digits import findings as digits
from residuum.study.digits import settings as digits_settings

PROTOCOL: Final = "joint"
"""The protocol of the digits study that the answer is about: labels and rules in one loss."""

IMAGES: Final = "mnist", "paper"
"""The images and the pool of pairs that the answer is about, if there are runs on them."""


def answer_of_studies(records: Iterable[Record]) -> str:
    """Return which relaxation learns best, by the runs with the settings that were chosen on DEV.

    Runs with fewer than two relaxations in the same setting say nothing.
    """
    listed = list(records)
    sentences = [*_digits(listed), *_chunking(listed)]
    if not sentences:
        return (
            "Which relaxation learns best is open: no finished runs of two relaxations were found. "
            "`residuum study digits --quick` makes some in minutes."
        )
    return " ".join(sentences)


def _digits(records: Sequence[Record]) -> Iterator[str]:
    finished, _ = digits.sift(
        one
        for one in records
        if (one.study, one.scheme) == (digits_settings.STUDY, digits_settings.SCHEME)
    )
    found = digits.Findings(digits.of_presets(finished).records)
    scores: dict[digits.Setting, dict[str, float]] = {}
    for setting in found.settings:
        for system in found.systems(setting):
            summary = found.summary(setting, system, "operator_accuracy")
            if system.protocol == PROTOCOL and summary is not None:
                scores.setdefault(setting, {})[system.relaxation] = summary.mean
    compared = {place: own for place, own in scores.items() if len(own) > 1}
    usual = {place: own for place, own in compared.items() if _is_usual(place)}
    if compared:
        yield _first_of(usual or compared)


def _is_usual(place: digits.Setting) -> bool:
    return (place.images, place.pair_pool) == IMAGES


def _first_of(scores: dict[digits.Setting, dict[str, float]]) -> str:
    """Say which relaxation is first in most settings, and how far ahead of the next one."""
    wins = Counter(max(own, key=own.__getitem__) for own in scores.values())
    best, won = wins.most_common(1)[0]
    means = {}
    for name in sorted({name for own in scores.values() for name in own} - {best}):
        pairs = [(own[best], own[name]) for own in scores.values() if {best, name} <= own.keys()]
        if pairs:
            means[name] = fmean(first for first, _ in pairs), fmean(other for _, other in pairs)
    second = min(means, key=lambda name: means[name][0] - means[name][1])
    images = " and ".join(sorted({place.images for place in scores}))
    sizes = f"{won} of {len(scores)} sizes" if len(scores) > 1 else "the one size"
    return (
        f"{best} learns best from rules alone: for images of digits ({images}) it learns sums and "
        f"products best in {sizes} of the data, with {means[second][0]:.1f}% right in the mean "
        f"where the next, {second}, has {means[second][1]:.1f}%."
    )


def _chunking(records: Sequence[Record]) -> Iterator[str]:
    finished, _ = chunking.sift(
        one
        for one in records
        if (one.study, one.scheme) == (chunking_settings.STUDY, chunking_settings.SCHEME)
    )
    found = chunking.Findings(chunking.of_presets(finished).records)
    learnt: list[Comparison | None] = []
    obeyed: list[Comparison | None] = []
    on_corpus = [one for one in found.settings if one.corpus == CORPUS]
    for setting in on_corpus or found.settings:
        for system in found.systems(setting):
            without = system._replace(constraints=False, unlabelled=False)
            if system.constraints and not system.unlabelled:
                learnt.append(found.compare(setting, system, without, "f1"))
            elif not system.constraints:
                obeyed.append(found.compare_measures(setting, system, "viterbi_f1", "f1"))
    told = [
        f"{how} {_range_of(known)}"
        for how, gains in (
            ("rules in the loss change F1 by", learnt),
            ("rules that are only obeyed in decoding, by", obeyed),
        )
        if (known := [one for one in gains if one is not None])
    ]
    if any(learnt):
        yield f"In text chunking, depending on the relaxation, {'; '.join(told)}."


def _range_of(gains: Sequence[Comparison]) -> str:
    """Return the range of differences, and how many are significant."""
    points = [one.difference for one in gains]
    corrected = holm([1.0 if one.p_value is None else one.p_value for one in gains])
    clear = sum(p_value <= SIGNIFICANCE for p_value in corrected)
    return (
        f"{_signed(min(points))} to {_signed(max(points))} points, "
        f"significantly in {clear} of {len(gains)} cases"
    )


def _signed(points: float) -> str:
    return f"{points:+.1f}".replace("-", "−")
