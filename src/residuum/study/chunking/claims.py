"""The paper's empirical claims on text chunking, the rules that decide them, and the verdicts.

The claims are in `residuum/data/chunking_claims.json`. Each names the rule that decides it. All
claims are about CoNLL-2000, with the word vectors that most runs in the tables have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from residuum.results import Record, paired_t_test
from residuum.study import shared_rules
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
    mean_of,
    mean_samples,
)
from residuum.study.grouped_runs import Values
from residuum.study.verdicts import Claim, Verdict, judge_claims, read_claims

CORPUS: Final = "conll2000"
"""The corpus that the claims are about."""


class About(NamedTuple):
    """What a claim is about; a field that a claim leaves out means all that the paper has.

    `embeddings` is not part of a claim: `evaluate` fills it in.
    """

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
        """The settings with these fractions of the sentences."""
        return [Setting(CORPUS, self.embeddings, fraction) for fraction in self.fractions]

    @property
    def decimals(self) -> int:
        """Decimals of a percentage, as many as the paper prints."""
        return DECIMALS

    @property
    def main_measure(self) -> tuple[str, str]:
        """The F1 of the likeliest tags, in words and in records."""
        return "F1", "f1"

    def system(self, relaxation: str) -> System:
        """Return the system with a relaxation, with or without rules as the claim says."""
        return System(relaxation, self.constraints)

    def words(self, setting: Setting) -> str:
        """Return a setting in words."""
        return f"{100 * setting.fraction:g}%{label(self.system(''))}"

    def setting_of(self, record: Record) -> Setting:
        """Return the setting of a run."""
        known: Any = record.configuration
        return Setting(CORPUS, self.embeddings, known["fraction"])

    def dev_score(self, record: Record) -> float:
        """Return the best F1 of a run on DEV; 0 if the run diverged."""
        return 0.0 if record.diverged else max(0.0, *record.curves["dev/score"].values)

    def without_warm_up(self, records: Iterable[Record]) -> list[Record]:
        """Return the measured runs of `relaxation` that have no warm-up."""
        runs = self._runs(records, relaxation=self.relaxation, warm_up=0)
        return [run for run in runs if run.study == STUDY]

    def is_comparable(self, record: Record) -> bool:
        """Return whether a run has rules, or has none, as the claim says."""
        return record.configuration["constraints"] == self.constraints

    def with_rules(self, records: Iterable[Record], relaxation: str) -> list[Record]:
        """Return the runs of a relaxation that learnt rules, measured or not."""
        return self._runs(records, relaxation=relaxation, constraints=True)

    def _runs(self, records: Iterable[Record], **where: object) -> list[Record]:
        wanted = {"corpus": CORPUS, "embeddings": self.embeddings or None, **where}
        return [
            record
            for record in records
            if all(record.configuration[name] == value for name, value in wanted.items())
        ]


def constraints_help(findings: Findings, _records: Sequence[Record], about: About) -> Decision:
    """Decide whether labels and rules are better than labels alone, in every setting."""
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
    """Decide whether rules gain more on average where sentences are fewest."""
    gains: list[list[Values]] = []
    for setting in (about.settings[0], about.settings[-1]):
        each = [
            difference(findings, setting, measure, System(name, True), System(name, False), "")
            for measure, name in product(about.measures, PAPER)
        ]
        known = [found for found in each if found]
        gains.append(mean_samples(known) if len(known) == len(each) else [])
    least, most = (f"at {100 * about.fractions[place]:g}%" for place in (0, -1))
    found = by_gains(gains[0], gains[1], (least, most), about.decimals)
    missing = f"missing: two seeds of every relaxation with and without rules, {least} and {most}"
    return found or Decision("open", missing)


def best_weight_is_between(
    _findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether the best weight between two bounds beats the best other weight, on DEV."""
    low, high = about.weights
    inside, outside = [], []
    runs = about.with_rules(records, about.relaxation)
    for scores in shared_rules.over_weights(runs, about.dev_score):
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
        [dict(enumerate(one - other for one, other in zip(inside, outside, strict=True)))],
        "searches for a weight",
    )


RULES: Final[Mapping[str, shared_rules.Rule[Findings, About]]] = {
    rule.__name__: rule
    for rule in (
        shared_rules.outperforms,
        shared_rules.gives_the_same,
        shared_rules.is_worse_without_warm_up,
        shared_rules.is_worst_without_warm_up,
        shared_rules.learns_nothing,
        shared_rules.is_less_sensitive_to_weight,
        constraints_help,
        constraints_help_more_with_less_data,
        best_weight_is_between,
    )
}
"""All rules, by the names that the claims have for them."""


@cache
def claims() -> tuple[Claim[About], ...]:
    """Return all claims, in the order of the paper."""
    return read_claims("chunking_claims.json", About)


def evaluate(findings: Findings, records: Sequence[Record]) -> list[Verdict]:
    """Return a verdict on each claim, by the runs with the word vectors that most runs have."""
    counts = Counter[str]()
    for setting in findings.settings:
        if setting.corpus == CORPUS:
            counts[setting.embeddings] += len(findings.systems(setting))
    embeddings = max(counts, key=lambda name: counts[name], default="")
    about = [
        replace(claim, about=claim.about._replace(embeddings=embeddings)) for claim in claims()
    ]
    return judge_claims(about, RULES, findings, records)
