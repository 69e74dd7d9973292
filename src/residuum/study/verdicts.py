"""Claims of the paper about its experiments, and verdicts on them by records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic

from residuum.results import Record
from residuum.study.common_settings import read_data
from residuum.study.decisions import Decision, Status
from residuum.study.shared_rules import AboutT, FindingsT, Rule


@dataclass(frozen=True)
class Claim(Generic[AboutT]):
    """A claim of the paper, the section it stands in, and the test that decides it.

    `rule` is the name of the function that runs the test. A claim without a rule cannot be
    decided by records, and `missing` says what would be needed. `decided_by` says which runs, with
    more seeds, would decide it if the records do not.
    """

    name: str
    section: str
    claim: str
    test: str
    about: AboutT
    rule: str | None = None
    missing: str = ""
    decided_by: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim, its status (confirmed, refuted, open or undecidable), and the numbers behind it."""

    claim: Claim[Any]
    status: Status
    evidence: str

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            **asdict(self.claim),
            "about": self.claim.about._asdict(),
            "status": self.status,
            "evidence": self.evidence,
        }


def read_claims(file: str, about: Callable[..., AboutT]) -> tuple[Claim[AboutT], ...]:
    """Return the claims of a file, in the order of the paper."""
    return tuple(
        Claim(**{**entry, "about": about(**entry.get("about", {}))})
        for entry in read_data(file)["claims"]
    )


def judge_claims(
    claims: Sequence[Claim[AboutT]],
    rules: Mapping[str, Rule[FindingsT, AboutT]],
    findings: FindingsT,
    records: Sequence[Record],
) -> list[Verdict]:
    """Return a verdict on each claim: `findings` has the runs of the tables, `records` all runs."""
    verdicts = []
    for claim in claims:
        decision = Decision("open", f"missing: {claim.missing}")
        if claim.rule is not None:
            decision = rules[claim.rule](findings, records, claim.about)
        if claim.decided_by and decision.status in ("open", "undecidable"):
            more = f"{decision.evidence}; to decide it: {claim.decided_by}"
            decision = Decision(decision.status, more)
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
        f"{v.status:<11}  {v.claim.section}: {v.claim.claim}\n             {v.evidence}"
        for v in verdicts
    ]
    return "\n".join(["What the paper claims:", *lines])
