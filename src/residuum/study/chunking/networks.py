"""The recurrent taggers of the chunking study, for a stack of runs, and their predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from residuum.study.chunking.data.batches import Batch, Sentences, all_batches
from residuum.study.chunking.data.corpus import LONGEST_SENTENCE
from residuum.study.chunking.data.vocabulary import CHARACTERS, END, UNKNOWN
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.settings import Cell
from residuum.training.randomness import hashed, kept, purpose, starting_values
from residuum.training.recurrence import gru, lstm

CHARACTER_UNITS: Final = 30
ENCODING: Final = 100
"""Units of the encoding of a word's characters."""

WINDOW: Final = 3
"""The width of a filter over characters."""

WORD_UNITS: Final = 100
"""Units of a word embedding if there are no word vectors."""

DROPOUT: Final = 0.5
_GATES: Final = {"lstm": 4, "gru": 3}


@final
class Taggers(nn.Module):
    """One tagger for each run, with stacked parameters, evaluated together.

    A word is represented by a trainable embedding and by a max-pooled convolution over its
    characters. Layers of a bidirectional LSTM or GRU, with dropout before and after each, lead to
    a logit for each tag. Parameters start uniformly within one over the root of the fan-in, as in
    PyTorch, and depend only on the seed of the run.
    """

    seeds: Tensor
    known: Tensor
    filters_weight: Tensor
    filters_bias: Tensor
    output_weight: Tensor
    output_bias: Tensor

    def __init__(
        self,
        seeds: Sequence[int],
        known: Tensor,
        vectors: Tensor | None,
        *,
        cell: Cell,
        hidden: int,
        layers: int = 1,
        device: torch.device | str = "cpu",
    ) -> None:
        """`known` is a mask (runs, words); a word without a vector has NaN in `vectors`."""
        super().__init__()
        self.cell: Cell = cell
        self._units = hidden // 2
        self._layers = [_suffix(number) for number in range(1, layers + 1)]
        self.register_buffer("seeds", torch.tensor(list(seeds), device=device), persistent=False)
        self.register_buffer("known", known.to(device), persistent=False)
        width = WORD_UNITS if vectors is None else vectors.shape[1]
        words = self._start("words", (known.shape[1], width), math.sqrt(3 / width))
        if vectors is not None:
            given = vectors.to(device, words.dtype)
            words = torch.where(given.isnan(), words, given)
        self.words = nn.Parameter(words)
        letters = (CHARACTERS, CHARACTER_UNITS)
        self.characters = nn.Parameter(
            self._start("characters", letters, math.sqrt(3 / CHARACTER_UNITS))
        )
        filters = (ENCODING, CHARACTER_UNITS, WINDOW)
        self._add("filters", filters, CHARACTER_UNITS * WINDOW)
        gates = _GATES[cell] * self._units
        widths = [width + ENCODING, *[hidden] * (layers - 1)]
        for layer, below in zip(self._layers, widths, strict=True):
            for direction in ("forward", "backward"):
                for name, size in (("input", below), ("state", self._units)):
                    self._add(f"{direction}_{name}{layer}", (gates, size), self._units)
        self._add("output", (len(tag_names()), hidden), hidden)

    def _start(self, name: str, shape: Sequence[int], bound: float) -> Tensor:
        return starting_values(self.seeds, f"tagger: {name}", shape, bound).float()

    def _add(self, name: str, shape: Sequence[int], fan_in: int) -> None:
        """Add a weight and its bias as parameters."""
        for part, size in (("weight", shape), ("bias", shape[:1])):
            start = self._start(f"{name} {part}", size, fan_in**-0.5)
            self.register_parameter(f"{name}_{part}", nn.Parameter(start))

    @property
    def runs(self) -> int:
        """The number of stacked runs."""
        return len(self.words)

    def forward(self, batch: Batch, readers: Tensor, moment: int | None = None) -> Tensor:
        """Return logits (runs, sentences, positions, tags); those of padding are arbitrary.

        `readers` is the index of each run's reader in the batch. `moment` is the number of the
        training step, on which dropout depends; without it there is no dropout.
        """
        # Positions come before sentences, so that one position is a contiguous slice for each run.
        words = batch.words[readers].mT
        words = words.where(self.known[self._each(3), words], UNKNOWN)
        encoded = self._encoding(batch.spellings[readers])[self._each(3), batch.forms[readers].mT]
        x = torch.cat([_looked_up(self.words, words), encoded], -1)
        x = self._dropped_out("before", x, moment)
        turned = _turned(batch.lengths[readers.cpu()], x.shape[1]).to(x.device)
        for layer in self._layers:
            x = self._recurrent(layer, torch.cat([x, _gathered(x, turned)]))
            forward, backward = torch.split(x, self.runs)
            x = torch.cat([forward, _gathered(backward, turned)], -1)
            x = self._dropped_out(f"after{layer}", x, moment)
        return _linear(x, self.output_weight, self.output_bias).transpose(1, 2)

    def _each(self, dimensions: int) -> Tensor:
        """Return the indices of the runs, shaped to broadcast over this many dimensions."""
        numbers = torch.arange(self.runs, device=self.seeds.device)
        return numbers.reshape(-1, *(1,) * (dimensions - 1))

    def _encoding(self, spellings: Tensor) -> Tensor:
        """Return the encodings of words by their characters: (runs, words, ENCODING)."""
        is_over = (spellings == END).unsqueeze(-1)
        # Filters see zeros beyond the end of a word, so that its padding has no influence.
        x = _looked_up(self.characters, spellings.long()).masked_fill(is_over, 0.0)
        beside = WINDOW // 2
        windows = functional.pad(x, (0, 0, beside, beside)).unfold(2, WINDOW, 1).flatten(3)
        responses = _linear(windows, self.filters_weight.flatten(2), self.filters_bias)
        return responses.masked_fill(is_over, -torch.inf).amax(2)

    def _recurrent(self, layer: str, x: Tensor) -> Tensor:
        """Return the outputs of both directions, concatenated along the runs."""
        ways = ("forward", "backward")
        given, given_bias, added, added_bias = (
            torch.cat([getattr(self, f"{way}_{name}{layer}_{part}") for way in ways])
            for name in ("input", "state")
            for part in ("weight", "bias")
        )
        if self.cell == "lstm":
            return lstm(_linear(x, given, given_bias + added_bias), added.mT)
        return gru(_linear(x, given, given_bias), added.mT, added_bias)

    def _dropped_out(self, name: str, x: Tensor, moment: int | None) -> Tensor:
        """Apply dropout to x (runs, positions, sentences, units)."""
        if moment is None:
            return x
        positions, sentences = (torch.arange(size, device=x.device) for size in x.shape[1:3])
        # Dropout of a sentence must not depend on the length of the others in the batch.
        places = positions.unsqueeze(-1) + sentences * LONGEST_SENTENCE
        seeds = self.seeds.reshape(-1, 1, 1)
        keys = hashed(seeds, purpose(f"tagger: dropout {name}"), moment, places)
        return x * kept(1 - DROPOUT, keys, x.shape[-1]).to(x.dtype) / (1 - DROPOUT)


def _suffix(layer: int) -> str:
    """Return the suffix of a layer's parameter names: empty for the first layer."""
    return "" if layer == 1 else f"_{layer}"


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply each run's linear layer to the last dimension of x."""
    found = torch.baddbmm(bias.unsqueeze(1), x.flatten(1, -2), weight.mT)
    return found.reshape(*x.shape[:-1], -1)


def _looked_up(tables: Tensor, numbers: Tensor) -> Tensor:
    """Return the rows of each run's embedding table at its numbers."""
    runs, size, _ = tables.shape
    firsts = size * torch.arange(runs, device=numbers.device)
    places = numbers + firsts.reshape(-1, *(1,) * (numbers.dim() - 1))
    return functional.embedding(places, tables.flatten(0, 1))


def _turned(lengths: Tensor, positions: int) -> Tensor:
    """Return the position to read at each step of the backward direction: (runs, positions, …)."""
    places = torch.arange(positions)[:, None]
    lengths = lengths.unsqueeze(1)
    return torch.where(places < lengths, lengths - 1 - places, places)


def _gathered(x: Tensor, places: Tensor) -> Tensor:
    """Return x (runs, positions, sentences, units) with its positions reordered."""
    return x.gather(1, places.unsqueeze(-1).expand(x.shape))


TOGETHER: Final = 256
"""Sentences that each run tags at once."""


class Tagged(NamedTuple):
    """Logits (runs, sentences, positions, tags), with gold tags, lengths and indices by run."""

    logits: Tensor
    gold: Tensor
    lengths: Tensor
    places: Tensor

    @property
    def likeliest(self) -> Tensor:
        """The likeliest tag of each word."""
        return self.logits.argmax(-1)


@torch.no_grad()
def tag(taggers: Taggers, parts: Sequence[Sentences], readers: Tensor) -> Iterator[Tagged]:
    """Yield the logits of all runs for the sentences of their readers, batch by batch."""
    device = taggers.seeds.device
    of_run = readers.cpu()
    for batch in all_batches(parts, TOGETHER, device):
        yield Tagged(
            taggers(batch, readers),
            batch.tags[of_run].to(device),
            batch.lengths[of_run].to(device),
            batch.places[of_run],
        )
