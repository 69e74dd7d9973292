"""The recurrent taggers of the study, for a stack of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, final

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from residuum.study.chunking.batches import Batch
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.settings import Cell
from residuum.study.chunking.vocabulary import CHARACTERS, END, UNKNOWN
from residuum.training.randomness import dropped_out, purpose, starting_values

CHARACTER_UNITS: Final = 30
ENCODING: Final = 100
"""Units of what is made of the characters of a word."""

WINDOW: Final = 3
"""Characters that a filter sees at a time."""

WORD_UNITS: Final = 100
"""Units of a word where there are no vectors to start from."""

DROPOUT: Final = 0.5
_GATES: Final = {"lstm": 4, "gru": 3}


@final
class Taggers(nn.Module):
    """One tagger for each run, their parameters stacked; runs are evaluated one by one.

    Words, by vectors that are learnt on, and the largest response of filters to their characters
    go through a bidirectional LSTM or GRU, with dropout before and after, to a logit for each
    tag. All begins uniform within one over the root of the fan-in, as PyTorch has it, and
    depends on the seed alone.
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
        device: torch.device | str = "cpu",
    ) -> None:
        """`known` says which words each run knows, (runs, words); `vectors` has NaN for none."""
        super().__init__()
        self.cell: Cell = cell
        self._units = hidden // 2
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
        for direction in ("forward", "backward"):
            for name, size in (("input", width + ENCODING), ("state", self._units)):
                self._add(f"{direction}_{name}", (gates, size), self._units)
        self._add("output", (len(tag_names()), hidden), hidden)

    def _start(self, name: str, shape: Sequence[int], bound: float) -> Tensor:
        return starting_values(self.seeds, f"tagger: {name}", shape, bound).float()

    def _add(self, name: str, shape: Sequence[int], fan_in: int) -> None:
        """Add a weight and its bias."""
        for part, size in (("weight", shape), ("bias", shape[:1])):
            start = self._start(f"{name} {part}", size, fan_in**-0.5)
            self.register_parameter(f"{name}_{part}", nn.Parameter(start))

    @property
    def runs(self) -> int:
        """How many runs are stacked."""
        return len(self.words)

    def forward(self, run: int, batch: Batch, moment: int | None = None) -> Tensor:
        """Return the logits of one run: (sentences, positions, tags); padding has any value.

        With a `moment`, the number of a step of training, units are dropped out.
        """
        words = batch.words.where(self.known[run][batch.words], UNKNOWN)
        encoded = self._encoding(run, batch.spellings)[batch.forms]
        x = torch.cat([self.words[run][words], encoded], -1)
        packed = pack_padded_sequence(x, batch.lengths, batch_first=True)
        data = self._dropped_out("before", run, packed.data, moment)
        data = self._recurrent(run, data, packed.batch_sizes)
        data = self._dropped_out("after", run, data, moment)
        data = functional.linear(data, self.output_weight[run], self.output_bias[run])
        logits, _ = pad_packed_sequence(packed_like(packed, data), batch_first=True)
        return logits

    def _encoding(self, run: int, spellings: Tensor) -> Tensor:
        """Return what is made of the characters of words: (words, ENCODING)."""
        is_over = (spellings == END).unsqueeze(1)
        # Beyond its end a word is as if it were the longest: filters see zeros there.
        x = self.characters[run][spellings].mT.masked_fill(is_over, 0.0)
        weight, bias = self.filters_weight[run], self.filters_bias[run]
        responses = functional.conv1d(x, weight, bias, padding=WINDOW // 2)
        return responses.masked_fill(is_over, -torch.inf).amax(-1)

    def _recurrent(self, run: int, data: Tensor, sizes: Tensor) -> Tensor:
        weights = [
            getattr(self, f"{direction}_{name}_{part}")[run]
            for direction in ("forward", "backward")
            for part in ("weight", "bias")
            for name in ("input", "state")
        ]
        zero = data.new_zeros(2, int(sizes[0]), self._units)
        if self.cell == "lstm":
            return torch.lstm(data, sizes, (zero, zero), weights, True, 1, 0.0, False, True)[0]
        return torch.gru(data, sizes, zero, weights, True, 1, 0.0, False, True)[0]

    def _dropped_out(self, name: str, run: int, x: Tensor, moment: int | None) -> Tensor:
        if moment is None:
            return x
        key = purpose(f"tagger: dropout {name}")
        return dropped_out(x, DROPOUT, self.seeds[run], key, moment)


def packed_like(other: PackedSequence, data: Tensor) -> PackedSequence:
    """Return data packed as another sequence is."""
    return PackedSequence(data, other.batch_sizes, other.sorted_indices, other.unsorted_indices)
