"""The studies that can be tuned: their settings, their data, and their measures on DEV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, final, get_type_hints

from residuum.study import common_settings as planning
from residuum.study.chunking import settings as chunking
from residuum.study.chunking.data.corpus import CorpusName
from residuum.study.digits import settings as digits

if TYPE_CHECKING:
    import torch

    from residuum.study.running import Experiment

StudyName = Literal["digits", "chunking"]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Data:
    """What runs are trained on, with and without a look at TEST, and the settings it decides."""

    tuning: Experiment[Any]
    final: Experiment[Any]
    decided: Values


class Tuned(ABC):
    """What a sweep must know of a study.

    `shared` are the settings that all runs of a sweep have in common, `own_hints` the types of
    values that a sweep file has other than settings do.
    """

    module: ClassVar[Any]
    shared: ClassVar[tuple[str, ...]] = ()
    own_hints: ClassVar[Mapping[str, Any]] = {}

    @property
    def hints(self) -> dict[str, Any]:
        """The types of settings in a sweep file, without the seed."""
        found = {**get_type_hints(self.module.Settings), **self.own_hints}
        del found["seed"]
        return found

    @property
    def required(self) -> list[str]:
        """The settings without a default, but the seed."""
        known = fields(self.module.Settings)
        return [one.name for one in known if one.default is MISSING and one.name != "seed"]

    def make(self, values: Values) -> Any:
        """Return the settings of a run, or refuse them."""
        return self.module.Settings(**values)

    @abstractmethod
    def of_length(self, run: Any, epochs: int) -> Any:
        """Return a run of so many epochs."""

    @abstractmethod
    def measures(self, values: Values) -> Sequence[str]:
        """Return the measures on DEV that runs with these settings have."""

    @abstractmethod
    def load(self, fixed: Values, device: torch.device) -> Data:
        """Load what runs are trained on."""

    @abstractmethod
    def check(self, run: Any, data: Data) -> None:
        """Refuse a run that the data do not suffice for."""


@final
class TunedDigits(Tuned):
    """The digits study. On a GPU numbers are bfloat16 unless the file says otherwise."""

    module: ClassVar[Any] = digits
    shared = ("images",)

    def of_length(self, run: Any, epochs: int) -> Any:
        """Return a run of so many epochs, a warm-up and a first stage in proportion."""
        from residuum.study.common_settings import of_length

        return of_length(run, epochs)

    def measures(self, values: Values) -> Sequence[str]:
        """Return the measures on DEV of the stages of a run."""
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
        """Draw the sets of a run."""
        data.tuning.sets_of(run)  # type: ignore[attr-defined]


@final
class TunedChunking(Tuned):
    """The chunking study. A file has the path of its word vectors, and runs have their name."""

    module: ClassVar[Any] = chunking
    shared = ("corpus", "embeddings")
    own_hints: ClassVar[Mapping[str, Any]] = {"corpus": CorpusName}

    def of_length(self, run: Any, epochs: int) -> Any:
        """Return a run of so many epochs, a warm-up in proportion."""
        return planning.of_length(run, epochs)

    def measures(self, _values: Values) -> Sequence[str]:
        """Return the measures on DEV."""
        return ("score", "f1")

    def load(self, fixed: Values, device: torch.device) -> Data:
        """Load the sentences and the vectors."""
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
        """Divide the sentences as a run does."""
        from residuum.study.chunking.data.splits import make_split

        make_split(len(data.tuning.corpus.train), run.fraction, run.seed)  # type: ignore[attr-defined]


TUNED: Final[Mapping[StudyName, Tuned]] = {"digits": TunedDigits(), "chunking": TunedChunking()}
