"""The paper's empirical claims on the digits study, and what records say of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from residuum.results import Record
from residuum.study.digits.claim_rules.catalogue import RULES
from residuum.study.digits.claim_rules.deciding import About, Decision, Status
from residuum.study.digits.findings import Findings


@dataclass(frozen=True)
class Claim:
    """What the paper says where, and the test that decides it.

    `rule` names the function that runs the test; without one no record decides it, and `missing`
    says what would.
    """

    name: str
    section: str
    claim: str
    test: str
    rule: str | None = None
    about: About = field(default_factory=About)
    missing: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim, whether it is confirmed, refuted or open, and the numbers."""

    claim: Claim
    status: Status
    evidence: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **asdict(self.claim),
            "about": self.claim.about._asdict(),
            "status": self.status,
            "evidence": self.evidence,
        }


@cache
def claims() -> tuple[Claim, ...]:
    """Return all claims, in the order of the paper."""
    text = resources.files("residuum.data").joinpath("digits_claims.json").read_text("utf-8")
    return tuple(
        Claim(**{**entry, "about": About(**entry.get("about", {}))})
        for entry in json.loads(text)["claims"]
    )


def evaluate(findings: Findings, records: Sequence[Record]) -> list[Verdict]:
    """Return a verdict on each claim: by the runs in the tables, and by others where one varies."""
    verdicts = []
    for claim in claims():
        decision = Decision("open", f"missing: {claim.missing}")
        if claim.rule is not None:
            decision = RULES[claim.rule](findings, records, claim.about)
        verdicts.append(Verdict(claim, *decision))
    return verdicts


def told(verdicts: Sequence[Verdict], *, markdown: bool = False) -> str:
    """Return the verdicts as text, or as a table in Markdown."""
    if markdown:
        rows = [
            f"| {v.claim.section} | {v.claim.claim} | {v.claim.test} | {v.status} | {v.evidence} |"
            for v in verdicts
        ]
        head = "| section | claim | test | status | evidence |\n| --- | --- | --- | --- | --- |"
        return "\n".join(["What the paper claims\n", head, *rows])
    lines = [
        f"{v.status:<9}  {v.claim.section}: {v.claim.claim}\n           {v.evidence}"
        for v in verdicts
    ]
    return "\n".join(["What the paper claims:", *lines])
