"""All rules, by the names that `digits_claims.json` has them under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from residuum.study.claim_rules import Rule, gives_the_same, outperforms
from residuum.study.digits.claim_rules import (
    after_warm_ups,
    rankings,
    training,
    variation,
    warm_ups,
)
from residuum.study.digits.claim_rules.about import About
from residuum.study.digits.findings import Findings

RULES: Final[Mapping[str, Rule[Findings, About]]] = {
    rule.__name__: rule
    for rule in (
        outperforms,
        rankings.pipeline_outperforms_joint,
        rankings.gains_more_with_fewer_labels,
        gives_the_same,
        variation.varies_more,
        variation.varies_more_with_less_data,
        variation.restarts_vary_less,
        warm_ups.is_worse_without_warm_up,
        warm_ups.is_worst_without_warm_up,
        after_warm_ups.digit_decays_unless_frozen,
        after_warm_ups.warm_up_reaches_a_share,
        warm_ups.is_as_long_as_claimed,
        after_warm_ups.gains_more_over_batches,
        training.learns_nothing,
        training.weight_matters,
        training.is_less_sensitive_to_weight,
        training.converges_in_time,
    )
}
