"""Records of the chunking study: which ones count, and how their runs are grouped and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from residuum.errors import ResiduumError
from residuum.results import Ratio, Record
from residuum.results.records import canonical
from residuum.study import skipped_records as sifting
from residuum.study.chunking.settings import SCHEME, STUDY, Settings, preset
from residuum.study.common_settings import of_length
from residuum.study.grouped_runs import Chosen, GroupedRuns
from residuum.study.grouped_runs import Outcomes as GroupedOutcomes
from residuum.study.skipped_records import MeasuredOn, Sifted

Decoding = Literal["argmax", "viterbi"]

F1: Final[Mapping[Decoding, str]] = {"argmax": "f1", "viterbi": "viterbi_f1"}
"""The F1 in records for each decoding; other measures have the same prefix."""

_MEASURES: Final = (*F1.values(), "violations", "soft_violations")
_OUTCOMES: Final = ("gold", "guessed", "correct", "viterbi_guessed", "viterbi_correct")
_OF_BOTH: Final = ("soft_violations", "unknown_words")


class Setting(NamedTuple):
    """A setting in which systems are compared: the corpus, the vectors, the fraction in use."""

    corpus: str
    embeddings: str
    fraction: float


class System(NamedTuple):
    """A system that is compared with others: a relaxation, with or without rules."""

    relaxation: str
    constraints: bool
    unlabelled: bool = False


def sift(records: Iterable[Record]) -> Sifted:
    """Separate the records that tables and claims can use from the others."""
    return sifting.separate_usable(records, fault_of, _tested_on)


def fault_of(record: Record) -> str:
    """Say what keeps a record from being a run of the study; empty if nothing does."""
    fault = sifting.fault_of_settings(record, Settings, SCHEME)
    if not fault and record.configuration["embeddings"] == "":  # without vectors it is None
        fault = "has word vectors without a name as the setting `embeddings`"
    if record.diverged:
        return fault
    fault = fault or sifting.fault_of_scores(record, ["dev/score"])
    if not fault and record.study == STUDY:
        fault = sifting.fault_of_measures(record, _MEASURES) or _fault_of_outcomes(record)
    return fault


def _fault_of_outcomes(record: Record) -> str:
    if fault := sifting.fault_of_outcomes(record, _OUTCOMES):
        return fault
    lengths = {len(record.outcomes[name]) for name in _OUTCOMES}
    if len(lengths) > 1 or min(lengths) < 2:
        return "has outcomes of different numbers of sentences, or of less than two"
    if not record.outcomes["gold"].any():
        return "has outcomes of sentences without a chunk"
    return ""


def _tested_on(record: Record) -> MeasuredOn | None:
    if record.study != STUDY or record.diverged:
        return None
    return MeasuredOn(str(record.configuration["corpus"]), len(record.outcomes["gold"]))


def of_presets(
    records: Iterable[Record], *, epochs: int | None = None, weight: float | None = None
) -> Chosen:
    """Choose the runs whose settings are those of `preset`, but for `epochs` and `weight`."""
    listed = list(records)
    others = {} if weight is None else {"weight": weight}
    chosen = [record for record in listed if _has_preset(record, epochs, others)]
    return Chosen(chosen, len(listed) - len(chosen))


def _has_preset(record: Record, epochs: int | None, others: Mapping[str, Any]) -> bool:
    if fault_of(record):
        return False
    known: Any = record.configuration
    names = (
        "corpus", "embeddings", "relaxation", "fraction", "constraints", "unlabelled", "seed",
    )  # fmt: skip
    try:
        expected = of_length(preset(**{name: known[name] for name in names}, **others), epochs)
    except ResiduumError:  # no settings were chosen for this corpus
        return False
    return bool(known == canonical(expected.configuration, "settings"))


def measures_of(record: Record, decoding: Decoding) -> dict[str, float]:
    """Return measures with plain names for one decoding.

    Measures of the other decoding have its name as a prefix.
    """
    if decoding == "argmax":
        return dict(record.measures)
    found = {}
    for name, value in record.measures.items():
        is_other = name not in _OF_BOTH and not name.startswith("viterbi_")
        found[f"argmax_{name}" if is_other else name.removeprefix("viterbi_")] = value
    return found


@final
class Findings(GroupedRuns[Setting, System]):
    """Runs of the chunking study. The bootstrap resamples test sentences."""

    def place(self, record: Record) -> tuple[Setting, System]:
        """Return the setting and the system of a run."""
        known: Any = record.configuration
        setting = Setting(known["corpus"], known["embeddings"] or "", known["fraction"])
        return setting, System(*(known[name] for name in System._fields))

    def name(self, system: System) -> str:
        """Return the relaxation, and in short what was learnt beside the labels."""
        return f"{system.relaxation}{label(system)}"

    def kind(self, measure: str) -> str | None:
        """Return `sentence` for an F1; None for other measures, known only by seed."""
        return "sentence" if measure in F1.values() else None

    @property
    def main_measure(self) -> str:
        """The F1 of the likeliest tags."""
        return F1["argmax"]

    def outcomes(self, kind: str, runs: Sequence[Record], like: Record) -> GroupedOutcomes:  # noqa: ARG002
        """Return F1 as ratios in percent: twice the correct chunks over guessed plus gold ones.

        A run that diverged found no chunk.
        """
        gold = like.outcomes["gold"]
        nothing = {"gold": gold}

        def counts(name: str) -> npt.NDArray[np.float64]:
            found = [
                run.outcomes[name] if run.diverged is None else nothing.get(name, 0 * gold)
                for run in runs
            ]
            return np.array(found, np.float64)

        return {
            measure: Ratio(
                200 * counts(f"{start}correct"), counts(f"{start}guessed") + counts("gold")
            )
            for measure, start in (("f1", ""), ("viterbi_f1", "viterbi_"))
        }


def label(system: System) -> str:
    """Return ` + C` for rules, as in the paper, and `, unlabelled` for unlabelled sentences."""
    return f"{' + C' if system.constraints else ''}{', unlabelled' if system.unlabelled else ''}"
