"""The paper's empirical claims on text chunking, and what records say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from residuum.results import Record
from residuum.study.chunking.claim_rules import CORPUS, RULES, About
from residuum.study.chunking.findings import Findings
from residuum.study.claims import Claim, Verdict, judge_claims, read_claims


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
