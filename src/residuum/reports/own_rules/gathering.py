"""All facts that the page about a user's rules is made from, gathered step by step."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from residuum.checks import RuleCheck, check_steps
from residuum.relaxations import Relaxation, default_relaxations
from residuum.reports.own_rules.advised import Advised, advise_steps, count_parts, read_own_sample
from residuum.reports.own_rules.obeying import Decoded, decode_worst
from residuum.reports.own_rules.sample_facts import (
    RuleOnSample,
    facts_of_sample,
    sequence_lengths_in,
)
from residuum.reports.own_rules.statements import Statement, statements_of
from residuum.reports.own_rules.training_log import TrainingLog, read_log
from residuum.syntax import Knowledge

DEGREES_UNDER: Final = "s-product"
"""The relaxation whose degrees are shown if none of those compared is recommended."""


@dataclass(frozen=True)
class Asked:
    """What a user asks to be reported: files, and the relaxations that are compared.

    `form` is that of the predictions in the sample: probs, log_probs or logits.
    """

    rules: Path
    sample: Path | None
    form: str
    log: Path | None
    relaxations: Sequence[Relaxation]

    @property
    def report_command(self) -> str:
        """The command line that makes the page."""
        log = [] if self.log is None else ["--run", str(self.log)]
        return shlex.join(
            ["residuum", "report", "--rules", str(self.rules), *self._sample, *log, *self._chosen]
        )

    @property
    def advise_command(self) -> str:
        """The command line that prints the advice."""
        return shlex.join(["residuum", "advise", str(self.rules), *self._sample, *self._chosen])

    @property
    def check_command(self) -> str:
        """The command line that checks the rules."""
        return shlex.join(["residuum", "check", str(self.rules)])

    @property
    def _sample(self) -> list[str]:
        if self.sample is None:
            return []
        return ["--sample", str(self.sample), *(["--inputs", self.form] * (self.form != "probs"))]

    @property
    def _chosen(self) -> list[str]:
        usual = self.relaxations == default_relaxations(())
        return [] if usual else ["-r", ",".join(one.name for one in self.relaxations)]


@dataclass(frozen=True)
class OwnRules:
    """The facts about a user's rules.

    `on_sample` is empty without a sample. `why_not_decoded` says why `decoded` is empty.
    """

    asked: Asked
    knowledge: Knowledge
    statements: Sequence[Statement]
    checked: RuleCheck
    advised: Advised
    log: TrainingLog | None
    on_sample: Sequence[RuleOnSample] = ()
    decoded: Sequence[Decoded] = ()
    why_not_decoded: str = ""

    @property
    def broken(self) -> list[RuleOnSample]:
        """The rules that an example of the sample breaks, those that most examples break first."""
        found = [one for one in self.on_sample if one.worst]
        return sorted(found, key=lambda one: (-one.broken, -one.broken_groundings))


def count_steps(knowledge: Knowledge, asked: Asked) -> int:
    """Return about how many steps `gather` has."""
    of_sample = len(knowledge.rules) + 1 if asked.sample else 0
    of_advice = count_parts(knowledge, asked.relaxations, is_random=asked.sample is None)
    return len(knowledge.rules) + of_advice + 1 + of_sample


def gather(knowledge: Knowledge, asked: Asked) -> Iterator[OwnRules | None]:
    """Yield None after each step, and then the facts. Files are read first, and refused then."""
    log = None if asked.log is None else read_log(asked.log, list(knowledge.rules))
    sample = None if asked.sample is None else read_own_sample(asked.sample, knowledge, asked.form)
    checked: RuleCheck | None = None
    for checked in check_steps(knowledge):
        if checked is None:
            yield None
    advised: Advised | None = None
    for advised in advise_steps(knowledge, sample, asked.relaxations):
        if advised is None:
            yield None
    assert checked is not None
    assert advised is not None
    lengths = {} if sample is None else sequence_lengths_in(knowledge, sample)
    facts = OwnRules(asked, knowledge, statements_of(knowledge, lengths), checked, advised, log)
    if sample is not None:
        names = [one.name for one in asked.relaxations]
        under = advised.relaxation if advised.relaxation in names else DEGREES_UNDER
        on_sample = []
        for rule in knowledge.rules:
            on_sample.append(facts_of_sample(knowledge, rule, sample, names, under))
            yield None
        decoded, why_not = decode_worst(knowledge, sample)
        yield None
        facts = replace(facts, on_sample=on_sample, decoded=decoded, why_not_decoded=why_not)
    yield facts


def as_data(facts: OwnRules) -> dict[str, Any]:
    """Return the facts as plain data, for programs."""
    advised, log, checked = facts.advised, facts.log, facts.checked
    return {
        "rules": [asdict(one) for one in facts.statements],
        "check": {
            "consistent": checked.is_consistent,
            "contradictions": [asdict(one) for one in checked.contradictions],
            "entailed": [asdict(one) for one in checked.entailed],
            "not_checked": dict(checked.unchecked),
        },
        "sample": [asdict(one) for one in facts.on_sample],
        "decoded": [asdict(one) for one in facts.decoded],
        "advice": {
            "relaxation": advised.relaxation,
            "reasons": list(advised.reasons),
            "on_random_predictions": advised.is_random,
            "missing": advised.missing,
        },
        "log": None if log is None else _log_as_data(log),
    }


def _log_as_data(log: TrainingLog) -> dict[str, Any]:
    curves: dict[str, dict[str, Mapping[str, Any]]] = {}
    for (rule, metric), curve in log.curves.items():
        ends = log.ends(rule, metric)
        curves.setdefault(rule, {})[metric] = {
            "points": len(curve),
            "first": None if ends is None else ends[0],
            "last": None if ends is None else ends[1],
        }
    return {
        "axis": log.axis,
        "lines": log.lines,
        "curves": curves,
        "damage": log.damage,
        "unused": list(log.unused),
    }
