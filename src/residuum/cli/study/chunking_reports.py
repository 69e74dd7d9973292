"""What `residuum study chunking` prints: measures of runs, tables, and verdicts on claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from residuum.cli.outputs import print_table, say
from residuum.cli.study.reports import print_report
from residuum.results import Record, mean_and_deviation
from residuum.study.chunking.claims import evaluate
from residuum.study.chunking.data.corpus import Corpus
from residuum.study.chunking.findings import Decoding, Findings, of_presets, sift
from residuum.study.chunking.scoring import f1_of_words
from residuum.study.chunking.settings import STUDY
from residuum.study.chunking.tables import DECIMALS, NOTES, TITLES, tables
from residuum.study.table_format import MISSING, beside_broken, shown

_SHOWN: Final[dict[Decoding, tuple[str, ...]]] = {
    "argmax": ("f1", "violations", "soft_violations"),
    "viterbi": ("viterbi_f1", "viterbi_violations", "soft_violations"),
}


def print_summary(records: Sequence[Record], corpus: Corpus, decoding: Decoding) -> None:
    """Print the measures of each relaxation, with and without rules, and of the word baseline."""
    findings = Findings(records)
    seeds = sorted({int(str(record.configuration["seed"])) for record in records})
    measures = _SHOWN[decoding]
    for setting in findings.settings:
        rows = []
        for system in findings.systems(setting):
            broken = findings.broken(setting, system)
            found = [
                beside_broken(
                    shown(findings.summary(setting, system, measure), DECIMALS),
                    findings.median(setting, system, measure),
                    broken,
                    DECIMALS,
                )
                for measure in measures
            ]
            rows.append([findings.name(system), *found])
        words = mean_and_deviation([f1_of_words(corpus, setting.fraction, seed) for seed in seeds])
        say(
            f"{setting.corpus}, {100 * setting.fraction:g}% of the sentences: "
            f"{TITLES[measures[0]]}, and transitions that break the rules, in percent; "
            f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        )
        baseline = ["each word as it mostly is", shown(words, DECIMALS), MISSING, MISSING]
        print_table(["", "F1", "break rules", "by probability"], [*rows, baseline])
    if broken_runs := findings.tell_broken():
        say(broken_runs)


def print_tables(
    records: Sequence[Record],
    decodings: Sequence[Decoding],
    *,
    epochs: int | None,
    weight: float | None,
    as_json: bool,
    markdown: bool,
) -> None:
    """Print the tables of runs with the chosen settings, and the verdicts by all records."""
    sound, skipped = sift(records)
    finished = [record for record in sound if record.study == STUDY]
    chosen = of_presets(finished, epochs=epochs, weight=weight)
    findings = Findings(chosen.records)
    print_report(
        tables(findings, decodings),
        NOTES,
        findings.tell_broken(),
        chosen,
        evaluate(findings, sound),
        skipped,
        as_json=as_json,
        markdown=markdown,
    )
