"""The paper's empirical claims on the digits study, and what records say of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from residuum.results import Record
from residuum.study.digits import ablation_rules, claim_rules
from residuum.study.digits.claim_rules import About
from residuum.study.digits.findings import Findings
from residuum.study.shared_rules import Rule, gives_the_same, outperforms
from residuum.study.verdicts import Claim, Verdict, judge_claims, read_claims

RULES: Final[Mapping[str, Rule[Findings, About]]] = {
    rule.__name__: rule
    for rule in (
        outperforms,
        claim_rules.pipeline_outperforms_joint,
        claim_rules.gains_more_with_fewer_labels,
        gives_the_same,
        claim_rules.varies_more,
        claim_rules.varies_more_with_less_data,
        claim_rules.restarts_vary_less,
        ablation_rules.is_worse_without_warm_up,
        ablation_rules.is_worst_without_warm_up,
        ablation_rules.digit_decays_unless_frozen,
        ablation_rules.warm_up_reaches_a_share,
        ablation_rules.is_as_long_as_claimed,
        ablation_rules.gains_more_over_batches,
        ablation_rules.learns_nothing,
        ablation_rules.weight_matters,
        ablation_rules.is_less_sensitive_to_weight,
        ablation_rules.converges_in_time,
    )
}


@cache
def claims() -> tuple[Claim[About], ...]:
    """Return all claims, in the order of the paper."""
    return read_claims("digits_claims.json", About)


def evaluate(findings: Findings, records: Sequence[Record]) -> list[Verdict]:
    """Return a verdict on each claim."""
    return judge_claims(claims(), RULES, findings, records)
