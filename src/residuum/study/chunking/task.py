"""The task of the chunking study: taggers learn from labels and from rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple, final

import torch
from torch import Tensor

import residuum as rs
from residuum.losses.aggregation import conjoined
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.knowledge import CompiledKnowledge
from residuum.relaxations.tnorms import Archimedean
from residuum.study.chunking.data.batches import Sentences, bucketed, make_batch, sampled
from residuum.study.chunking.data.corpus import Corpus, Sentence
from residuum.study.chunking.data.splits import Split, make_split
from residuum.study.chunking.data.vectors import WordVectors
from residuum.study.chunking.data.vocabulary import known_words, make_lexicon, share_unknown
from residuum.study.chunking.knowledge import RulesName, chunking_knowledge
from residuum.study.chunking.measures import count_chunks
from residuum.study.chunking.networks import Taggers, tag
from residuum.study.chunking.settings import Settings
from residuum.training.rates import Rates, rates_of


@final
class ChunkingTask:
    """A stack of taggers that learn the tags of their sentences, judged by F1 on DEV.

    Runs with the same seed have the same training and DEV sentences: they share a reader.
    """

    def __init__(
        self,
        runs: Sequence[Settings],
        corpus: Corpus,
        vectors: WordVectors | None,
        device: torch.device,
    ) -> None:
        first = runs[0]
        self._runs = list(runs)
        self.corpus = corpus
        self.lexicon = make_lexicon(corpus)
        self._device = device
        self._seeds = list(dict.fromkeys(run.seed for run in runs))
        self._readers = torch.tensor([self._seeds.index(run.seed) for run in runs], device=device)
        self._readers_here = self._readers.cpu()
        splits = [make_split(len(corpus.train), first.fraction, seed) for seed in self._seeds]
        read = ("train", "unlabelled") if first.unlabelled else ("train",)
        self._read, self._dev = (
            [Sentences(self.lexicon, self._chosen(split, *names)) for split in splits]
            for names in (read, ("dev",))
        )
        self._labelled = len(splits[0].train)
        known = [
            torch.tensor(known_words(self.lexicon, self._chosen(split, "train"), vectors))
            for split in splits
        ]
        self.taggers = Taggers(
            [run.seed for run in runs],
            torch.stack(known)[self._readers_here],
            None if vectors is None else _table(vectors, self.lexicon.words),
            cell=first.cell,
            hidden=first.hidden,
            layers=first.layers,
            device=device,
        )
        self.networks = {"Tag": self.taggers}
        self.steps = -(-self._labelled // first.batch)
        self._parts = [_parts(run) for run in runs]
        self._epoch = self._taken = 0
        self._steps_now: list[tuple[Tensor, ...]] = []

    def _chosen(self, split: Split, *names: str) -> list[Sentence]:
        return [self.corpus.train[place] for name in names for place in getattr(split, name)]

    def unknown_words(self, run: int, sentences: Sequence[Sentence]) -> float:
        """Return the percentage of words in sentences that a run does not know."""
        return share_unknown(self.lexicon, self.taggers.known[run].cpu().numpy(), sentences)

    def begin(self, epoch: int) -> None:
        """Order the sentences of an epoch; return None, because shapes differ between steps."""
        self._epoch, self._taken = epoch, 0
        orders = map(self._order, self._read, self._seeds)
        self._steps_now = list(zip(*orders, strict=True))

    def _order(self, part: Sentences, seed: int) -> list[Tensor]:
        """Return the indices of a reader's sentences for each step, labelled sentences first.

        With `unlabelled`, each labelled sentence is joined by one without labels.
        """
        batch = self._runs[0].batch
        order = bucketed(part.lengths[: self._labelled], batch, seed, self._epoch)
        if not self._runs[0].unlabelled:
            return order
        some = sampled(self._labelled, len(part) - self._labelled, seed, self._epoch)
        some = some + self._labelled
        others = bucketed(part.lengths[some], batch, seed, self._epoch)
        return [torch.cat([ones, some[twos]]) for ones, twos in zip(order, others, strict=True)]

    def losses(self, _step: Tensor) -> Mapping[str, Tensor]:
        """Return the parts of the loss of a step, one number per run each.

        A part that a run does not have, or whose weight is 0 in this epoch, is NaN.
        """
        # Steps are counted here, because reading the tensor would wait for the device.
        number, self._taken = self._taken, self._taken + 1
        moment = self._epoch * self.steps + number
        batch = make_batch(self._read, self._steps_now[number], self._device)
        logits = self.taggers(batch, self._readers, moment)
        labelled = batch.tags.shape[1] // (2 if self._runs[0].unlabelled else 1)
        readings = [
            Reading(
                run.relaxation_at(self._epoch),
                run.rules,
                run.weight_at(self._epoch) if run.constraints else 0.0,
            )
            for run in self._runs
        ]
        tags, lengths = batch.tags[:, :labelled], batch.lengths
        found = penalties(readings, logits, tags[self._readers_here], lengths[self._readers_here])
        missing = torch.tensor(torch.nan, device=self._device)
        names = dict.fromkeys(name for parts in self._parts for name in parts)
        return {name: torch.stack([parts.get(name, missing) for parts in found]) for name in names}

    def parts(self, run: int) -> Sequence[str]:
        """Return the names of the parts of a run's loss: labels, its own rules, and the total."""
        return self._parts[run]

    def rates(self, epoch: int) -> Mapping[str, Rates]:
        """Return the learning rates of an epoch."""
        return {"Tag": rates_of(self._runs, epoch, self.steps)}

    def judge(self) -> Mapping[str, Tensor]:
        """Return the F1 of the likeliest tags on DEV, in percent."""
        sums = torch.zeros(3, len(self._runs), dtype=torch.float64)
        for found in tag(self.taggers, self._dev, self._readers):
            counted = count_chunks(found.gold, found.likeliest, found.lengths)
            sums += torch.stack(counted[:3]).sum((2, 3)).cpu()
        correct, guessed, gold = sums
        f1 = 200 * correct / (guessed + gold).clamp(min=1)
        return {"f1": f1, "score": f1}


def _parts(run: Settings) -> tuple[str, ...]:
    rules = chunking_knowledge(run.rules).rules if run.constraints else ()
    return ("labels", *rules, "total")


def _table(vectors: WordVectors, words: Mapping[str, int]) -> Tensor:
    """Return the vectors by the numbers of words; a word without a vector has NaN."""
    table = torch.full((len(words) + 1, vectors.dimension), torch.nan)
    for word, vector in zip(vectors.words, torch.tensor(vectors.numbers), strict=True):
        if word in words:
            table[words[word]] = vector
    return table


class Reading(NamedTuple):
    """The relaxation, the rules and their weight in a run; a weight of 0 skips the rules."""

    relaxation: str
    rules: RulesName
    weight: float

    @property
    def kind(self) -> tuple[str, RulesName | None]:
        """The relaxation and the rules, which runs must share to be evaluated together."""
        return self.relaxation, self.rules if self.weight else None


def penalties(
    readings: Sequence[Reading], logits: Tensor, tags: Tensor, lengths: Tensor
) -> list[Mapping[str, Tensor]]:
    """Return the parts of the loss of each run, and their weighted conjunction as `total`.

    Logits have the shape (runs, sentences, positions, tags). Labels and each rule are conjoined
    over the batch. With a generator the conjunction is a sum of penalties, divided by the number
    of labelled sentences, since a generator may be scaled freely. Without a generator it is the
    largest penalty. Neighbouring runs with the same `kind` are evaluated together.
    """
    neighbours = [(kind, list(runs)) for kind, runs in groupby(readings, lambda run: run.kind)]
    sizes = [len(runs) for _, runs in neighbours]
    parts = zip(*(torch.split(tensor, sizes) for tensor in (logits, tags, lengths)), strict=True)
    found: list[Mapping[str, Tensor]] = []
    for ((relaxation, rules), runs), part in zip(neighbours, parts, strict=True):
        weights = logits.new_tensor([run.weight for run in runs])
        together = _evaluated(relaxation, rules, weights, *part)
        found += [
            dict(zip(together, values, strict=True))
            for values in zip(*(values.unbind() for values in together.values()), strict=True)
        ]
    return found


def _evaluated(
    relaxation: str,
    rules: RulesName | None,
    weights: Tensor,
    logits: Tensor,
    tags: Tensor,
    lengths: Tensor,
) -> dict[str, Tensor]:
    logic = find_logic(relaxation)
    labelled = tags.shape[1]
    stated = rs.facts(logits[:, :labelled], tags, relaxation, reduction="none")
    parts = {"labels": conjoined(stated.flatten(1), logic)}
    weighted = [parts["labels"]]
    if rules is not None:
        for name, penalty in _compiled(rules, relaxation)(Tag=logits, lengths=lengths).items():
            parts[name] = conjoined(penalty, logic)
            weighted.append(weights * parts[name])
    parts["total"] = conjoined(torch.stack(weighted, -1), logic)
    scale = labelled if isinstance(logic.tnorm, Archimedean) else 1
    return {name: part / scale for name, part in parts.items()}


@cache
def _compiled(rules: RulesName, relaxation: str) -> CompiledKnowledge:
    return rs.compile(chunking_knowledge(rules), relaxation, reduction="none")
