"""What `residuum study digits` prints: measures of runs, tables, and verdicts on claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from residuum.cli.outputs import print_table, say
from residuum.cli.study.reports import print_report
from residuum.results import Record
from residuum.study.digits.claims import evaluate
from residuum.study.digits.data.images import ImagesName, load_images
from residuum.study.digits.data.sets import Sets
from residuum.study.digits.findings import OUTCOMES, Findings, System, of_presets, sift
from residuum.study.digits.settings import STUDY, WarmUps
from residuum.study.digits.tables import NOTES, tables
from residuum.study.table_format import MISSING, beside_broken, shown


def print_summary(records: Sequence[Record], images: ImagesName, sets: Sets) -> None:
    """Print the measures of each relaxation, and of a constant answer."""
    from residuum.study.digits.measures import constant_answers

    findings = Findings(records)
    constant = constant_answers(load_images(images), sets)
    answers = [f"{constant[name]:.1f}" if name in constant else MISSING for name in OUTCOMES]
    seeds = sorted({str(record.configuration["seed"]) for record in records}, key=int)
    for setting in findings.settings:
        systems = findings.systems(setting)
        for protocol in sorted({system.protocol for system in systems}):
            names = [system.relaxation for system in systems if system.protocol == protocol]
            rows = []
            for name in names:
                system = System(protocol, name)
                broken = findings.broken(setting, system)
                found = [
                    beside_broken(
                        shown(findings.summary(setting, system, measure)),
                        findings.median(setting, system, measure),
                        broken,
                    )
                    for measure in OUTCOMES
                ]
                rows.append([name, *found])
            say(
                f"{protocol}, {setting.images}, DIGIT {setting.digit_size:,}, PAIR "
                f"{setting.pair_size:,}: percent of test examples; "
                f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"
            )
            heads = ["relaxation", "Digit", "Sum and Product", "coherence"]
            print_table(heads, [*rows, ["one answer for all", *answers]])
    if broken_runs := findings.tell_broken():
        say(broken_runs)


def print_tables(
    records: Sequence[Record],
    epochs: int | None,
    warm_ups: WarmUps,
    others: Mapping[str, Any],
    *,
    as_json: bool,
    markdown: bool,
) -> None:
    """Print the tables of runs with the chosen settings, and the verdicts by all records.

    `others` are settings that override the chosen ones.
    """
    sound, skipped = sift(records)
    finished = [record for record in sound if record.study == STUDY]
    chosen = of_presets(finished, epochs, warm_ups, **others)
    findings = Findings(chosen.records)
    print_report(
        tables(findings),
        NOTES,
        findings.tell_broken(),
        chosen,
        evaluate(findings, sound),
        skipped,
        as_json=as_json,
        markdown=markdown,
    )
