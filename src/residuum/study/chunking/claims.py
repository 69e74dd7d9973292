"""The paper's empirical claims on text chunking, and what records say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from residuum.results import Record, paired_t_test
from residuum.study.chunking.findings import Findings, Setting, System, label
from residuum.study.chunking.settings import STUDY
from residuum.study.chunking.tables import DECIMALS
from residuum.study.common_settings import PAPER
from residuum.study.decisions import (
    Decision,
    by_gains,
    by_one_test,
    decided,
    difference,
    mean_by_seed,
    mean_of,
)
from residuum.study.grouped_runs import Values
from residuum.study.shared_rules import (
    Rule,
    alike,
    are_less_sensitive,
    are_worse,
    gives_the_same,
    outperforms,
    over_weights,
)
from residuum.study.verdicts import Claim, Verdict, judge_claims, read_claims


@cache
def claims() -> tuple[Claim[About], ...]:
    """Return all claims, in the order of the paper."""
    return read_claims("chunking_claims.json", About)


def evaluate(findings: Findings, records: Sequence[Record]) -> list[Verdict]:
    """Return a verdict on each claim, by the runs with the vectors that most of them had."""
    counts = Counter[str]()
    for setting in findings.settings:
        if setting.corpus == CORPUS:
            counts[setting.embeddings] += len(findings.systems(setting))
    embeddings = max(counts, key=lambda name: counts[name], default="")
    about = [
        replace(claim, about=claim.about._replace(embeddings=embeddings)) for claim in claims()
    ]
    return judge_claims(about, RULES, findings, records)


CORPUS: Final = "conll2000"
CHANCE: Final = 20.0
"""Percent; one tag for all words has an F1 of at most 13.4."""


class About(NamedTuple):
    """What a claim is about; what it does not name is everything of the paper's."""

    constraints: bool = False
    better: Sequence[str] = ()
    worse: Sequence[str] = ()
    measures: Sequence[str] = ("f1",)
    fractions: Sequence[float] = (0.1, 1.0)
    relaxation: str = ""
    weights: Sequence[float] = ()
    embeddings: str = ""

    @property
    def settings(self) -> list[Setting]:
        """The settings in question."""
        return [Setting(CORPUS, self.embeddings, fraction) for fraction in self.fractions]

    @property
    def decimals(self) -> int:
        """As many as were printed."""
        return DECIMALS

    def system(self, relaxation: str) -> System:
        """Return the system that stands for a relaxation."""
        return System(relaxation, self.constraints)

    def words(self, setting: Setting) -> str:
        """Name a setting."""
        return f"{100 * setting.fraction:g}%{label(self.system(''))}"


def constraints_help(findings: Findings, _records: Sequence[Record], about: About) -> Decision:
    """Decide whether learning rules, too, is better than labels alone, everywhere."""
    return decided([
        difference(
            findings, setting, measure, System(name, True), System(name, False),
            f"{measure} of {name}, {100 * setting.fraction:g}%",
        )
        for setting in about.settings
        for measure in about.measures
        for name in PAPER
    ], about.decimals)  # fmt: skip


def constraints_help_more_with_less_data(
    findings: Findings, _records: Sequence[Record], about: About
) -> Decision:
    """Decide whether rules gain more where sentences are fewest, on average."""
    gains: list[Values] = []
    for setting in (about.settings[0], about.settings[-1]):
        each = [
            difference(findings, setting, measure, System(name, True), System(name, False), "")
            for measure, name in product(about.measures, PAPER)
        ]
        known = [found for found in each if found]
        gains.append(mean_by_seed(known) if len(known) == len(each) else {})
    least, most = (f"at {100 * about.fractions[place]:g}%" for place in (0, -1))
    found = by_gains(gains[0], gains[1], (least, most), about.decimals)
    missing = f"missing: two seeds of every relaxation with and without rules, {least} and {most}"
    return found or Decision("open", missing)


def is_worse_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up has a lower F1 than with it."""
    names = [about.relaxation]
    return are_worse(findings, _without_warm_up(records, about), about, names, _NO_WARM_UP)


def is_worst_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up has a lower F1 than every other."""
    names = [name for name in PAPER if name != about.relaxation]
    return are_worse(findings, _without_warm_up(records, about), about, names, _NO_WARM_UP)


def learns_nothing(_findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether F1 stays at chance under a relaxation."""
    found = [
        record.measures["f1"]
        for record in _of(records, about, relaxation=about.relaxation, warm_up=0)
        if record.study == STUDY
    ]
    if not found:
        return Decision("open", f"missing: runs of {about.relaxation}")
    evidence = f"F1 from {min(found):.1f}% to {max(found):.1f}% in {len(found)} runs"
    return Decision("confirmed" if max(found) <= CHANCE else "refuted", evidence)


def is_less_sensitive_to_weight(
    _findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether the F1 on DEV depends less on the weight with some relaxations."""
    scores = {
        name: over_weights(_of(records, about, relaxation=name, constraints=True), _dev_score)
        for name in (*about.better, *about.worse)
    }
    return are_less_sensitive(scores, about)


def best_weight_is_between(
    _findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether the best weight between two bounds beats the best of all others, on DEV."""
    low, high = about.weights
    inside, outside = [], []
    runs = _of(records, about, relaxation=about.relaxation, constraints=True)
    for scores in over_weights(runs, _dev_score):
        is_in = {weight: low <= weight <= high for weight in scores}
        if len({*is_in.values()}) == 2:
            inside.append(max(scores[weight] for weight in scores if is_in[weight]))
            outside.append(max(scores[weight] for weight in scores if not is_in[weight]))
    if len(inside) < 2:
        return Decision(
            "open", "missing: runs with weights there and elsewhere, all else equal, of two seeds"
        )
    return by_one_test(
        paired_t_test(inside, outside),
        f"F1 on DEV {mean_of(inside):.1f}% with the best weight from {low:g} to {high:g}, "
        f"{mean_of(outside):.1f}% with the best other one",
    )


RULES: Final[Mapping[str, Rule[Findings, About]]] = {
    rule.__name__: rule
    for rule in (
        outperforms, gives_the_same, constraints_help, constraints_help_more_with_less_data,
        is_worse_without_warm_up, is_worst_without_warm_up, learns_nothing,
        is_less_sensitive_to_weight, best_weight_is_between,
    )
}  # fmt: skip

_NO_WARM_UP: Final = "runs of s-godel without a warm-up"


def _of(records: Iterable[Record], about: About, **where: object) -> list[Record]:
    """Return runs on CoNLL-2000, measured or not, whose settings have these values."""
    wanted = {"corpus": CORPUS, "embeddings": about.embeddings or None, **where}
    return [
        record
        for record in records
        if all(record.configuration[name] == value for name, value in wanted.items())
    ]


def _without_warm_up(records: Iterable[Record], about: About) -> dict[Setting, dict[str, Values]]:
    def setting_of(record: Record) -> Setting:
        known: Any = record.configuration
        return Setting(CORPUS, about.embeddings, known["fraction"])

    runs = _of(
        records, about, relaxation=about.relaxation, constraints=about.constraints, warm_up=0
    )
    return alike([run for run in runs if run.study == STUDY], setting_of, _dev_score)


def _dev_score(record: Record) -> float:
    """Return the best F1 on DEV; of a run that diverged at once 0."""
    return max(0.0, *record.curves["dev/score"].values)
