"""The paper's empirical claims on the digits study, and what records say of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from residuum.results import Record
from residuum.study.claims import Claim, Verdict, judge_claims, read_claims
from residuum.study.digits.claim_rules.about import About
from residuum.study.digits.claim_rules.catalogue import RULES
from residuum.study.digits.findings import Findings


@cache
def claims() -> tuple[Claim[About], ...]:
    """Return all claims, in the order of the paper."""
    return read_claims("digits_claims.json", About)


def evaluate(findings: Findings, records: Sequence[Record]) -> list[Verdict]:
    """Return a verdict on each claim."""
    return judge_claims(claims(), RULES, findings, records)
