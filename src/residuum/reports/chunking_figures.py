"""Pictures of the chunking study: F1 and violations against the weight of the rules."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from residuum.reports.colours import SERIES, Look, looks
from residuum.reports.figures import INK, caption, house_style, new_figure, settle, short
from residuum.results import Record, mean_and_deviation
from residuum.study.broken_runs import value_of
from residuum.study.chunking.findings import of_presets
from residuum.study.shared_rules import but_weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Weighed(NamedTuple):
    """Runs of one relaxation that differ in nothing but the weight of the rules and the seed.

    `without` learnt no rules. `labelled` learnt them on the labelled sentences, and `everywhere`
    also on unlabelled ones; both are by weight.
    """

    without: Sequence[Record]
    labelled: Mapping[float, Sequence[Record]]
    everywhere: Mapping[float, Sequence[Record]]

    @property
    def weights(self) -> set[float]:
        """All weights that were run."""
        return {*self.labelled, *self.everywhere}

    @property
    def runs(self) -> list[Record]:
        """All runs, with rules and without."""
        return list(chain(self.without, *self.labelled.values(), *self.everywhere.values()))


def weigh(records: Iterable[Record]) -> dict[str, Weighed]:
    """Return for each relaxation the runs that differ only in the weight, or in having rules.

    Runs with several other settings form several groups. The group with the settings of the study
    is taken, else the one with the most weights, then the one with the most runs. A relaxation
    whose groups all have fewer than two weights is left out.
    """
    by_name: defaultdict[str, defaultdict[object, list[Record]]]
    by_name = defaultdict(lambda: defaultdict(list))
    for record in records:
        name = str(record.configuration["relaxation"])
        by_name[name][_other_settings(record)].append(record)
    found: dict[str, Weighed] = {}
    for name, groups in by_name.items():
        weighed = [_by_weight(group) for group in groups.values()]
        if varying := [one for one in weighed if len(one.weights) > 1]:
            found[name] = max(varying, key=_rank)
    return {name: found[name] for name in looks(found) if name in found}


def _rank(weighed: Weighed) -> tuple[bool, int, int]:
    runs = weighed.runs
    return bool(of_presets(runs).records), len(weighed.weights), len(runs)


def _other_settings(record: Record) -> object:
    """Return the settings that runs of one group share, without those of an absent warm-up."""
    known = but_weight(record)
    dropped = {"seed", "constraints", "unlabelled"}
    if not known["warm_up"]:
        dropped |= {name for name in known if name.startswith("warm_up_")}
    return tuple((name, value) for name, value in known.items() if name not in dropped)


def _by_weight(records: Iterable[Record]) -> Weighed:
    without: list[Record] = []
    labelled: dict[float, list[Record]] = {}
    everywhere: dict[float, list[Record]] = {}
    for record in sorted(records, key=lambda one: float(str(one.configuration["weight"]))):
        known: Any = record.configuration
        if not known["constraints"]:
            without.append(record)
        elif known["weight"] > 0:  # the axis is logarithmic
            by_weight = everywhere if known["unlabelled"] else labelled
            by_weight.setdefault(known["weight"], []).append(record)
    return Weighed(without, labelled, everywhere)


class Stroke(NamedTuple):
    """How a line is drawn, by the sentences on which the rules were learnt, and its label."""

    line: Literal["-", "--"]
    marker: Literal["full", "none"]
    words: str


LABELLED: Final = Stroke("-", "full", "rules on the sentences with labels")
EVERYWHERE: Final = Stroke("--", "none", "rules on sentences without labels, too")
GREY: Final = SERIES[-1]
"""The colour of Viterbi decoding, which no relaxation of the paper has."""


def draw_chunking_weights(found: Mapping[str, Weighed]) -> Figure:
    """Draw F1 and violations against the weight of the rules, a column for each relaxation."""
    looked = looks(found)
    weights = sorted(set[float]().union(*(one.weights for one in found.values())))
    with house_style():
        figure = new_figure(max(2.0 * len(found) + 0.7, 5.6), 4.3)
        lowest: Axes | None = None
        for number, (name, weighed) in enumerate(found.items(), 1):
            upper = figure.add_subplot(2, len(found), number)
            lower = figure.add_subplot(2, len(found), len(found) + number, sharey=lowest)
            lowest = lower
            for place in (upper, lower):
                _set_axis(place, weights)
            _draw_measure(upper, weighed, "viterbi_f1", looked[name]._replace(colour=GREY))
            _draw_measure(upper, weighed, "f1", looked[name])
            _draw_measure(lower, weighed, "violations", looked[name])
            upper.tick_params(labelbottom=False)
            upper.set_title(short(name))
            lower.set_xlabel("weight of the rules, λ")
            lower.set_ylim(bottom=0)
        figure.axes[0].set_ylabel("F1 on TEST, %")
        figure.axes[1].set_ylabel("transitions that\nbreak the rules, %")
        _name_strokes(figure, found)
        caption(
            figure,
            "Mean over seeds, and one deviation around it. Each F1 has an axis of its own. "
            "Tags that obey the rules break none.",
        )
        return settle(figure)


def _draw_measure(place: Axes, weighed: Weighed, measure: str, look: Look) -> None:
    def summary(runs: Iterable[Record]) -> tuple[float, float]:
        found = mean_and_deviation([value_of(run, measure) for run in runs])
        return found.mean, found.deviation or 0.0

    points: list[tuple[float, Sequence[Record], Stroke]] = []
    if weighed.without:
        points.append((place.get_xticks()[0], weighed.without, LABELLED))
    for by_weight, stroke in ((weighed.labelled, LABELLED), (weighed.everywhere, EVERYWHERE)):
        if len(by_weight) == 1:
            points += [(weight, runs, stroke) for weight, runs in by_weight.items()]
        elif by_weight:
            means, deviations = np.transpose([summary(runs) for runs in by_weight.values()])
            weights = list(by_weight)
            place.plot(weights, means, color=look.colour, linestyle=stroke.line, linewidth=1.2,
                       marker=look.marker, markersize=4, fillstyle=stroke.marker)  # fmt: skip
            place.fill_between(weights, means - deviations, means + deviations,
                               color=look.colour, alpha=0.15, linewidth=0)  # fmt: skip
    for weight, runs, stroke in points:
        mean, deviation = summary(runs)
        place.errorbar(weight, mean, yerr=deviation, color=look.colour, marker=look.marker,
                       fillstyle=stroke.marker, markersize=4, capsize=2, linewidth=1)  # fmt: skip


def _set_axis(place: Axes, weights: Sequence[float]) -> None:
    """Make the axis of weights logarithmic. Its first tick is the place of runs without rules.

    At most three weights are labelled, because there is no room for more.
    """
    from matplotlib.ticker import NullLocator

    without = weights[0] / 10
    named = weights[:: math.ceil(len(weights) / 3)]
    place.set_xscale("log")
    place.set_xlim(without / 2.5, weights[-1] * 2.5)
    place.set_xticks([without, *named], ["no\nrules", *map(_power, named)])
    place.xaxis.set_minor_locator(NullLocator())
    place.axvline(without * 10**0.5, color=INK, linewidth=0.5, linestyle=":", alpha=0.6)
    place.grid(linewidth=0.3, color=INK, alpha=0.3)


def _power(weight: float) -> str:
    """Return 0.01 and smaller powers of ten as 10⁻², other numbers as they are."""
    mantissa, power = f"{weight:e}".split("e")
    if float(mantissa) != 1 or int(power) > -2:
        return f"{weight:g}"
    return "10" + str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _name_strokes(figure: Figure, found: Mapping[str, Weighed]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, linewidth=1.2, label=words)
        for colour, words in (
            (INK, "in colour: likeliest tags"),
            (GREY, "grey: likeliest tags that obey the rules (Viterbi)"),
        )
    ]
    if any(one.everywhere for one in found.values()):
        handles += [
            Line2D([], [], color=INK, linewidth=1.2, linestyle=stroke.line, label=stroke.words,
                   marker="o", markersize=4, fillstyle=stroke.marker)
            for stroke in (LABELLED, EVERYWHERE)
        ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
