"""How claims of the paper are decided: each rule is a function of records and of what is claimed.

A rule says `confirmed` or `refuted` where the records show it at the 5% level, else `open`; what
it saw stands beside it in numbers. All are about MNIST with pairs as the paper says.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, Literal, NamedTuple

from residuum.results import Comparison, Record, holm, paired_t_test, welch_t_test
from residuum.study.digits.findings import Findings, Setting, System, Values
from residuum.study.digits.planning import PAPER
from residuum.study.digits.settings import STUDY

Status = Literal["confirmed", "refuted", "open"]
SIGNIFICANCE: Final = 0.05
SIZES: Final = (1_000, 5_000, 25_000)
CHANCE: Final = 20.0
"""Percent; a Digit that is right less often learnt nothing: constant answers reach 11."""


class Decision(NamedTuple):
    """What the records say, and the numbers it rests on."""

    status: Status
    evidence: str


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


class Difference(NamedTuple):
    """One comparison, positive where the claim holds, and the difference of each seed."""

    where: str
    compared: Comparison
    by_seed: Values


Rule = Callable[[Findings, Sequence[Record], About], Decision]


def outperforms(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether each of some relaxations is better than each of others, everywhere."""
    del records
    return _decided([
        _difference(
            findings, setting, measure, System(about.protocol, one), System(about.protocol, other)
        )
        for setting in about.settings
        for measure in about.measures
        for one, other in product(about.better, about.worse)
    ])  # fmt: skip


def pipeline_outperforms_joint(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a pipeline is better than joint learning, with every relaxation."""
    del records
    return _decided([
        _difference(findings, setting, measure, System("pipeline", name), System("joint", name))
        for setting in about.settings
        for measure in about.measures
        for name in PAPER["pipeline"]
    ])  # fmt: skip


def gains_more_with_fewer_labels(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation is ahead of the others by more where DIGIT is smallest."""
    del records
    gains = []
    for size in (SIZES[0], SIZES[-1]):
        setting = Setting("mnist", "paper", size, about.pair_sizes[0])
        each = [
            _difference(findings, setting, measure, System("joint", one), System("joint", other))
            for measure in about.measures
            for one, other in product(about.better, about.worse)
        ]
        gains.append(_mean_by_seed([found for found in each if found]))
    seeds = sorted(gains[0].keys() & gains[1].keys())
    if len(seeds) < 2:
        return Decision("open", "missing: two seeds of every relaxation at both sizes of DIGIT")
    few, many = ([gain[seed] for seed in seeds] for gain in gains)
    return _by_one_test(
        paired_t_test(few, many),
        f"ahead by {_mean(few):+.1f} points with {SIZES[0]:,} labels, "
        f"by {_mean(many):+.1f} with {SIZES[-1]:,}",
    )


def gives_the_same(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether two relaxations have the same figures, seed by seed."""
    del records
    (one,), (other,) = about.better, about.worse
    equal = total = 0
    for setting, measure in product(about.settings, about.measures):
        values = [
            findings.values(setting, System(about.protocol, name), measure) for name in (one, other)
        ]
        for seed in values[0].keys() & values[1].keys():
            total += 1
            equal += math.isclose(values[0][seed], values[1][seed], abs_tol=1e-9)
    if not total:
        return Decision("open", f"missing: runs of {one} and {other} with the same seeds")
    status: Status = "confirmed" if equal == total else "refuted"
    return Decision(status, f"{equal} of {total} figures are equal")


def varies_more(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether some relaxations vary more over seeds than others (an F-test, pooled)."""
    del records
    samples = [
        [
            list(findings.values(setting, System(about.protocol, name), measure).values())
            for setting in about.settings
            for measure in about.measures
            for name in names
        ]
        for names in (about.worse, about.better)
    ]
    worse, better = ", ".join(about.worse), ", ".join(about.better)
    return _by_variances(samples[0], samples[1], f"{worse} vary", better)


def varies_more_with_less_data(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether seeds vary more where DIGIT or PAIR is smallest."""
    del records
    scarce: list[list[float]] = []
    ample: list[list[float]] = []
    for setting, measure, name in product(about.settings, about.measures, PAPER["joint"]):
        values = findings.values(setting, System(about.protocol, name), measure)
        is_scarce = SIZES[0] in (setting.digit_size, setting.pair_size)
        (scarce if is_scarce else ample).append(list(values.values()))
    return _by_variances(scarce, ample, "with 1,000 labels or pairs they vary", "with more")


def is_worse_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than with it."""
    without = _alike(records, relaxation=about.relaxation, warm_up=0)
    return _ablated(
        findings, without, about, [about.relaxation], "runs of s-godel without a warm-up"
    )


def is_worst_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than every other."""
    without = _alike(records, relaxation=about.relaxation, warm_up=0)
    others = [name for name in PAPER["joint"] if name != about.relaxation]
    return _ablated(findings, without, about, others, "runs of s-godel without a warm-up")


def digit_decays_unless_frozen(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether Digit, if it is not frozen after the warm-up, gets worse on DEV."""
    del findings
    before, after = [], []
    for record in _of_joint(records, relaxation=about.relaxation, freeze=False):
        warm_up: Any = record.configuration["warm_up"]
        curve = record.curves["joint: dev/digit_accuracy"]
        later = [
            value
            for epoch, value in zip(curve.epochs, curve.values, strict=True)
            if epoch >= warm_up
        ]
        if warm_up and len(later) > 1:
            before.append(later[0])
            after.append(later[-1])
    if len(before) < 2:
        return Decision("open", "missing: runs with a warm-up, and Digit not frozen after it")
    return _by_one_test(
        paired_t_test(before, after),
        f"Digit on DEV: {_mean(before):.1f}% after the warm-up, {_mean(after):.1f}% at the end, "
        f"in {len(before)} runs",
    )


def warm_up_reaches_a_share(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a warm-up reaches 40% of what the operators come to: from 30 to 50 here."""
    del findings
    shares = []
    for record in _of_joint(records, relaxation=about.relaxation):
        share = _share_of_warm_up(record)
        if share is not None:
            shares.append(100 * share)
    if not shares:
        return Decision("open", "missing: runs that are judged where their warm-up ends")
    mean = _mean(shares)
    return Decision(
        "confirmed" if 30 <= mean <= 50 else "refuted",
        f"the warm-up reaches {mean:.0f}% of the coherence on DEV of the states chosen, from "
        f"{min(shares):.0f}% to {max(shares):.0f}% in {len(shares)} runs",
    )


def learns_nothing(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether Digit stays at chance under a relaxation."""
    del findings
    found = [
        record.measures["digit_accuracy"]
        for record in _of_joint(records, relaxation=about.relaxation, warm_up=0)
    ]
    if not found:
        return Decision("open", f"missing: runs of {about.relaxation}")
    evidence = f"Digit from {min(found):.1f}% to {max(found):.1f}% in {len(found)} runs"
    return Decision("confirmed" if max(found) <= CHANCE else "refuted", evidence)


def weight_matters(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether rules that weigh as much as labels do worse than with the weight chosen."""
    alike: dict[Setting, dict[str, Values]] = defaultdict(dict)
    for name in PAPER["joint"]:
        for setting, values in _alike(records, relaxation=name, weight=1).items():
            alike[setting][name] = values[about.measures[0]]
    differences = [
        Difference(f"{name}, {_words(setting)}", *_compared(chosen, values))
        for setting, by_name in alike.items()
        for name, values in by_name.items()
        if name != "s-godel"  # a minimum is weighted otherwise
        and (chosen := findings.values(setting, System("joint", name), about.measures[0]))
    ]
    if not differences:
        return Decision("open", "missing: runs with a weight of 1")
    return _decided(differences)


def is_less_sensitive_to_weight(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether scores on DEV depend less on the weight with some relaxations.

    Runs are compared that differ in nothing but the weight, three weights at least.
    """
    del findings
    ranges = {name: _ranges_over_weights(records, name) for name in (*about.better, *about.worse)}
    lacking = [name for name, found in ranges.items() if len(found) < 2]
    if lacking:
        return Decision(
            "open", f"missing: runs with three weights, all else equal, of {', '.join(lacking)}"
        )
    steady = [value for name in about.better for value in ranges[name]]
    touchy = [value for name in about.worse for value in ranges[name]]
    return _by_one_test(
        welch_t_test(touchy, steady),
        f"scores range over {_mean(steady):.1f} points with {', '.join(about.better)}, over "
        f"{_mean(touchy):.1f} with {', '.join(about.worse)}",
    )


def restarts_vary_less(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether seeds vary less with warm restarts, other settings being equal."""
    del findings
    found: dict[object, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in _of_joint(records):
        known = dict(record.configuration)
        schedule = known.pop("schedule")
        rest = tuple(value for name, value in known.items() if name not in ("seed", "period"))
        found[rest][schedule].append(record.measures[about.measures[0]])
    both = [group for group in found.values() if "restarts" in group and len(group) > 1]
    without = [sample for group in both for name, sample in group.items() if name != "restarts"]
    with_restarts = [group["restarts"] for group in both]
    return _by_variances(without, with_restarts, "without restarts they vary", "with them")


RULES: Final[Mapping[str, Rule]] = {
    rule.__name__: rule
    for rule in (
        outperforms, pipeline_outperforms_joint, gains_more_with_fewer_labels, gives_the_same,
        varies_more, varies_more_with_less_data, is_worse_without_warm_up,
        is_worst_without_warm_up, digit_decays_unless_frozen, warm_up_reaches_a_share,
        learns_nothing, weight_matters, is_less_sensitive_to_weight, restarts_vary_less,
    )
}  # fmt: skip


def _difference(
    findings: Findings, setting: Setting, measure: str, one: System, other: System
) -> Difference | None:
    compared = findings.compare(setting, one, other, measure)
    if compared is None:
        return None
    first, second = (findings.values(setting, system, measure) for system in (one, other))
    by_seed = {seed: first[seed] - second[seed] for seed in first.keys() & second.keys()}
    names = f"{one.relaxation} and {other.relaxation}"
    if one.relaxation == other.relaxation:
        names = one.relaxation
    return Difference(f"{measure} of {names}, {_words(setting)}", compared, by_seed)


def _decided(differences: Sequence[Difference | None]) -> Decision:
    """Decide a claim that all differences are positive.

    One that is significantly negative, corrected for their number, refutes it, and so does a mean
    over all that is. It is confirmed if none is negative and their mean is significant.
    """
    known = [found for found in differences if found is not None]
    if not known:
        return Decision("open", f"missing: all {len(differences)} comparisons")
    p_values = [found.compared.p_value for found in known]
    corrected = iter(holm([p_value for p_value in p_values if p_value is not None]))
    is_clear = [p is not None and next(corrected) <= SIGNIFICANCE for p in p_values]
    signs = [found.compared.difference for found in known]
    clear = [sign for sign, sure in zip(signs, is_clear, strict=True) if sure]
    whole = _mean_by_seed(known)
    mean = paired_t_test(list(whole.values()), [0.0] * len(whole)) if whole else None
    evidence = (
        f"positive in {sum(sign > 0 for sign in signs)} of {len(known)} comparisons, "
        f"significantly in {sum(sign > 0 for sign in clear)}, the reverse significantly in "
        f"{sum(sign < 0 for sign in clear)}; mean {_mean(signs):+.1f} points{_p(mean)}"
    )
    lowest = min(known, key=lambda found: found.compared.difference)
    if lowest.compared.difference < 0:
        evidence += f"; lowest {lowest.compared.difference:+.1f}: {lowest.where}"
    missing = len(differences) - len(known)
    if missing:
        evidence += f"; missing: {missing} of {len(differences)} comparisons"
    is_sure = mean is not None and mean.p_value is not None and mean.p_value <= SIGNIFICANCE
    if min(clear, default=0.0) < 0 or (is_sure and mean is not None and mean.difference < 0):
        return Decision("refuted", evidence)
    if is_sure and min(signs) > 0 and not missing:
        return Decision("confirmed", evidence)
    return Decision("open", evidence)


def _by_one_test(compared: Comparison, evidence: str) -> Decision:
    """Decide a claim that a difference is positive."""
    evidence += _p(compared)
    if compared.p_value is None or compared.p_value > SIGNIFICANCE:
        return Decision("open", evidence)
    return Decision("confirmed" if compared.difference > 0 else "refuted", evidence)


def _by_variances(
    first: Iterable[Sequence[float]], second: Iterable[Sequence[float]], what: str, other: str
) -> Decision:
    """Decide a claim that the first samples vary more around their means than the second."""
    from scipy.special import fdtrc

    pooled = []
    for samples in (first, second):
        usable = [sample for sample in samples if len(sample) > 1]
        freedom = sum(len(sample) - 1 for sample in usable)
        squares = sum((value - _mean(sample)) ** 2 for sample in usable for value in sample)
        pooled.append((squares / freedom if freedom else math.nan, freedom))
    (one, one_freedom), (two, two_freedom) = pooled
    if not (one_freedom and two_freedom) or not one + two > 0:
        return Decision("open", "missing: two seeds at least of both")
    evidence = f"{what} by {math.sqrt(one):.2f} points, {other} by {math.sqrt(two):.2f}"
    p_value = float(fdtrc(one_freedom, two_freedom, one / two)) if two > 0 else 0.0
    evidence += f" (p = {p_value:.2g}, one-sided)"
    if p_value <= SIGNIFICANCE:
        return Decision("confirmed", evidence)
    return Decision("refuted" if p_value >= 1 - SIGNIFICANCE else "open", evidence)


def _of_joint(records: Iterable[Record], **where: object) -> list[Record]:
    """Return measured joint runs on MNIST whose settings have these values."""
    wanted = {"images": "mnist", "pair_pool": "paper", "protocol": "joint", **where}
    return [
        record
        for record in records
        if record.study == STUDY
        and all(record.configuration[name] == value for name, value in wanted.items())
    ]


def _alike(records: Iterable[Record], **where: object) -> dict[Setting, dict[str, Values]]:
    """Return the measures by seed of runs with these values, by setting.

    Of several kinds of runs in a setting, the kind with the best score on DEV counts.
    """
    kinds: dict[Setting, dict[object, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in _of_joint(records, **where):
        known: Any = record.configuration
        setting = Setting(*(known[name] for name in Setting._fields))
        kind = tuple(value for name, value in known.items() if name != "seed")
        kinds[setting][kind].append(record)
    found = {}
    for setting, groups in kinds.items():
        best = max(groups.values(), key=lambda group: _mean([_dev_score(run) for run in group]))
        found[setting] = {
            measure: {int(str(run.configuration["seed"])): run.measures[measure] for run in best}
            for measure in best[0].measures
        }
    return found


def _ablated(
    findings: Findings,
    ablated: Mapping[Setting, Mapping[str, Values]],
    about: About,
    names: Sequence[str],
    what: str,
) -> Decision:
    """Decide whether runs that lack something are worse than those of some relaxations."""
    differences = [
        Difference(f"{measure} of {name}, {_words(setting)}", *_compared(usual, values[measure]))
        for setting, values in ablated.items()
        for measure in about.measures
        for name in names
        if (usual := findings.values(setting, System("joint", name), measure))
    ]
    return _decided(differences) if differences else Decision("open", f"missing: {what}")


def _compared(first: Values, second: Values) -> tuple[Comparison, Values]:
    seeds = sorted(first.keys() & second.keys())
    by_seed = {seed: first[seed] - second[seed] for seed in seeds}
    if len(seeds) > 1:
        ones, others = ([values[seed] for seed in seeds] for values in (first, second))
        return paired_t_test(ones, others), by_seed
    return welch_t_test(list(first.values()), list(second.values())), by_seed


def _share_of_warm_up(record: Record) -> float | None:
    """Return the coherence on DEV where the warm-up ended, over that of the state chosen."""
    end: Any = record.configuration["warm_up"]
    [chosen] = record.curves["joint: selected"].values
    curves = [record.curves[f"joint: dev/{name}_coherence"] for name in ("sum", "product")]
    epochs = list(curves[0].epochs)
    if not end or end not in epochs or chosen not in epochs:
        return None
    before, after = (
        sum(curve.values[epochs.index(int(epoch))] for curve in curves) for epoch in (end, chosen)
    )
    return before / after


def _ranges_over_weights(records: Iterable[Record], relaxation: str) -> list[float]:
    """Return the differences of the best and the worst score among runs that are else equal."""
    groups: dict[object, dict[object, float]] = defaultdict(dict)
    for record in records:
        known = dict(record.configuration)
        if (known["relaxation"], known["images"], known["protocol"]) == (
            relaxation, "mnist", "joint",
        ):  # fmt: skip
            weight = known.pop("weight")
            groups[tuple(known.values())][weight] = _dev_score(record)
    return [max(g.values()) - min(g.values()) for g in groups.values() if len(g) > 2]


def _dev_score(record: Record) -> float:
    """Return the best score on DEV; a run whose Digit was never usable has 0."""
    return max(0.0, *record.curves["joint: dev/score"].values)


def _mean_by_seed(differences: Sequence[Difference]) -> Values:
    """Return the mean of all differences for each seed that all have."""
    if not differences:
        return {}
    seeds = set.intersection(*(set(found.by_seed) for found in differences))
    return {seed: _mean([found.by_seed[seed] for found in differences]) for seed in sorted(seeds)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _p(compared: Comparison | None) -> str:
    known = compared is not None and compared.p_value is not None
    return f" (p = {compared.p_value:.2g})" if compared is not None and known else ""


def _words(setting: Setting) -> str:
    return f"DIGIT {setting.digit_size:,}, PAIR {setting.pair_size:,}"
