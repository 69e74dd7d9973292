"""All tables of the chunking study that records allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from residuum.study.chunking.differences import by_decoding, by_rules
from residuum.study.chunking.figures import make_figures
from residuum.study.chunking.findings import F1, Decoding, Findings
from residuum.study.chunking.table_rows import Row, Texts
from residuum.study.planning import PAPER
from residuum.study.tables import MISSING, Table

NOTES: Final = (
    "Means in percent, with deviations over seeds (divided by n − 1), above what was printed; "
    "+ C: with rules, unlabelled: rules also on sentences without labels. Bold or *: not "
    "significantly worse than the best relaxation of the row (p > 0.05) by the bootstrap over "
    "seeds and test sentences. Differences are in points, with intervals of 95% by the same "
    "bootstrap; bold or *: not 0 (p ≤ 0.05). All is corrected by Holm for all comparisons of its "
    "table. Tags that obey the rules break none. The printed figures are of one seed, of vectors "
    "of 300 dimensions and of rules that related a word to itself; bold there means best. "
    f"{MISSING}: not run."
)


def tables(findings: Findings, decodings: Sequence[Decoding]) -> list[Table]:
    """Return the tables of all that was run; where a relaxation of the paper was not, is a gap."""
    found: list[Table] = []
    for texts in sorted({(one.corpus, one.embeddings) for one in findings.settings}):
        found += tables_of(findings, Texts(*texts), decodings)
    return found


def tables_of(findings: Findings, texts: Texts, decodings: Sequence[Decoding]) -> Iterator[Table]:
    """Yield the tables of one text with one set of vectors."""
    run = {
        (Row(setting.fraction, system.constraints, system.unlabelled), system.relaxation)
        for setting in findings.settings
        if (setting.corpus, setting.embeddings) == (texts.corpus, texts.embeddings)
        for system in findings.systems(setting)
    }
    rows = sorted({row for row, _ in run}, key=lambda row: (row[1:], row.fraction))
    names = (*PAPER, *sorted({name for _, name in run} - {*PAPER}))
    measures = [F1[decoding] for decoding in decodings]
    for measure in (*measures, "violations", "soft_violations"):
        yield make_figures(findings, texts, measure, rows, names)
    if any(row.constraints for row in rows):
        for measure in measures:
            yield by_rules(findings, texts, measure, rows, names)
    if len(decodings) > 1:
        yield by_decoding(findings, texts, rows, names)
