"""The studies that can be tuned, and what a sweep must know of them: the one place to add one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, final, get_type_hints

from residuum.results import Record
from residuum.study import common_settings as planning
from residuum.study.chunking import settings as chunking
from residuum.study.chunking.data.corpus import CorpusName
from residuum.study.digits import settings as digits

if TYPE_CHECKING:
    import torch

    from residuum.study.running import Experiment

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Data:
    """The data of a sweep as two experiments, and the settings that the data or the device decide.

    `tuning` never measures on TEST. `final` does, for the winners.
    """

    tuning: Experiment[Any]
    final: Experiment[Any]
    decided: Values


class Tuned(ABC):
    """What a sweep must know of a study.

    `module` has the `Settings` of a run, and the names STUDY and TUNING of its records. `shared`
    are the settings that all runs of a sweep have in common. `own_hints` are the types of settings
    that have another type in a sweep file than in a run. `paths` are settings that are paths
    relative to the sweep file. `test_measures` are printed for the winners.
    """

    module: ClassVar[Any]
    shared: ClassVar[tuple[str, ...]] = ()
    own_hints: ClassVar[Mapping[str, Any]] = {}
    paths: ClassVar[frozenset[str]] = frozenset()
    test_measures: ClassVar[tuple[str, ...]]

    @property
    def hints(self) -> dict[str, Any]:
        """The type of each setting in a sweep file, but the seed."""
        found = {**get_type_hints(self.module.Settings), **self.own_hints}
        del found["seed"]
        return found

    @property
    def required(self) -> list[str]:
        """The names of settings without a default, but the seed."""
        known = fields(self.module.Settings)
        return [one.name for one in known if one.default is MISSING and one.name != "seed"]

    def make(self, values: Values) -> Any:
        """Return the settings of a run; raise ResiduumError if they are impossible."""
        return self.module.Settings(**values)

    @abstractmethod
    def of_length(self, run: Any, epochs: int) -> Any:
        """Return the same run with another number of epochs."""

    @abstractmethod
    def measures(self, values: Values) -> Sequence[str]:
        """Return the measures on DEV that runs with these settings have."""

    @abstractmethod
    def load(self, fixed: Values, device: torch.device) -> Data:
        """Load the data of the study."""

    @abstractmethod
    def check(self, run: Any, data: Data) -> None:
        """Raise ResiduumError if the data are too few for a run."""


@final
class TunedDigits(Tuned):
    """The digits study. On a GPU runs use bfloat16 unless the sweep file says otherwise."""

    module: ClassVar[Any] = digits
    shared = ("images",)
    test_measures = ("digit_accuracy", "operator_accuracy", "coherence")

    def of_length(self, run: Any, epochs: int) -> Any:
        """Return the run with another number of epochs; its warm-up and first stage scale along."""
        from residuum.study.common_settings import of_length

        return of_length(run, epochs)

    def measures(self, values: Values) -> Sequence[str]:
        """Return the measures on DEV, which depend on the protocol."""
        if values.get("protocol") == "pipeline":
            return ("score", "digit_accuracy", values.get("selection", "coherence"))
        return ("score", "digit_accuracy", "sum_coherence", "product_coherence")

    def load(self, fixed: Values, device: torch.device) -> Data:
        """Load the images."""
        from residuum.study.digits.data.images import load_images
        from residuum.study.digits.experiment import Digits

        images = load_images(fixed["images"])
        usual = "bfloat16" if device.type == "cuda" else "float32"
        decided = {"precision": fixed.get("precision", usual)}
        return Data(
            Digits(device, digits.TUNING, images=images), Digits(device, images=images), decided
        )

    def check(self, run: Any, data: Data) -> None:
        """Draw the sets of a run, which raises if there are too few images."""
        data.tuning.sets_of(run)  # type: ignore[attr-defined]


@final
class TunedChunking(Tuned):
    """The chunking study. A sweep file has the path of word vectors, and a run their name."""

    module: ClassVar[Any] = chunking
    shared = ("corpus", "embeddings")
    test_measures = ("f1", "viterbi_f1", "violations")
    own_hints: ClassVar[Mapping[str, Any]] = {"corpus": CorpusName}
    paths = frozenset({"embeddings"})

    def of_length(self, run: Any, epochs: int) -> Any:
        """Return the run with another number of epochs; its warm-up scales along."""
        return planning.of_length(run, epochs)

    def measures(self, _values: Values) -> Sequence[str]:
        """Return the measures on DEV."""
        return ("score", "f1")

    def load(self, fixed: Values, device: torch.device) -> Data:
        """Load the sentences and the word vectors."""
        from residuum.study.chunking.data.corpus import load_corpus
        from residuum.study.chunking.data.vectors import read_vectors
        from residuum.study.chunking.data.vocabulary import make_lexicon
        from residuum.study.chunking.experiment import Chunking

        corpus = load_corpus(fixed["corpus"])
        path = fixed.get("embeddings")
        vectors = path and read_vectors(Path(path), make_lexicon(corpus).words)
        return Data(
            Chunking(corpus, vectors, device, chunking.TUNING),
            Chunking(corpus, vectors, device),
            {"corpus": corpus.name, "embeddings": vectors and vectors.name},
        )

    def check(self, run: Any, data: Data) -> None:
        """Split the sentences as a run does, which raises if there are too few."""
        from residuum.study.chunking.data.splits import make_split

        make_split(len(data.tuning.corpus.train), run.fraction, run.seed)  # type: ignore[attr-defined]


TUNED: Final[Mapping[str, Tuned]] = {"digits": TunedDigits(), "chunking": TunedChunking()}
"""The studies that can be tuned, by name. To make a study tunable, add an entry here."""


def dev_value(record: Record, measure: str) -> float:
    """Return a measure on DEV of the state that a run selected; 0 if it selected none.

    A run that diverged has selected none. For a run of several stages this is the mean over the
    stages that have the measure.
    """
    if record.diverged:
        return 0.0
    found = []
    for name, curve in record.curves.items():
        stage, measured, tail = name.rpartition(f"dev/{measure}")
        if not measured or tail:
            continue
        [selected] = record.curves[f"{stage}selected"].values
        is_usable = selected in curve.epochs
        found.append(curve.values[curve.epochs.index(int(selected))] if is_usable else 0.0)
    return sum(found) / len(found)
