"""The paper's empirical claims on the digits study, and what records say of each.

The claims are in `residuum/data/digits_claims.json`. Each names the rule that decides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from residuum.results import Record
from residuum.study import shared_rules
from residuum.study.digits import ablation_rules, claim_rules
from residuum.study.digits.claim_rules import About
from residuum.study.digits.findings import Findings
from residuum.study.verdicts import Claim, Verdict, judge_claims, read_claims

RULES: Final[Mapping[str, shared_rules.Rule[Findings, About]]] = {
    rule.__name__: rule
    for rule in (
        shared_rules.outperforms,
        shared_rules.gives_the_same,
        shared_rules.is_worse_without_warm_up,
        shared_rules.is_worst_without_warm_up,
        shared_rules.learns_nothing,
        shared_rules.is_less_sensitive_to_weight,
        claim_rules.pipeline_outperforms_joint,
        claim_rules.gains_more_with_fewer_labels,
        claim_rules.varies_more,
        claim_rules.varies_more_with_less_data,
        ablation_rules.restarts_vary_less,
        ablation_rules.is_as_long_as_claimed,
        ablation_rules.digit_decays_unless_frozen,
        ablation_rules.warm_up_reaches_a_share,
        ablation_rules.gains_more_over_batches,
        ablation_rules.weight_matters,
        ablation_rules.converges_in_time,
    )
}
"""All rules, by the names that the claims have for them."""


@cache
def claims() -> tuple[Claim[About], ...]:
    """Return all claims, in the order of the paper."""
    return read_claims("digits_claims.json", About)


def evaluate(findings: Findings, records: Sequence[Record]) -> list[Verdict]:
    """Return a verdict on each claim."""
    return judge_claims(claims(), RULES, findings, records)
