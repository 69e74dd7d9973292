"""Outputs of networks with the examples side by side, as rows of sides, and the way back to logits.

Softmaxes are over dimension 1. Nothing cancels where one saturates: one less the likeliest class is
the sum of the others, and slopes are taken relative to that of the likeliest class, which then has
the one that is left over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.likeliest import at_likeliest, likeliest, one_less, sum_of_others
from residuum.losses.softmaxes import Side

Read = Callable[[Callable[[Side], Tensor]], Tensor]
"""Makes rows of the pieces that are read, from a function that gives a side of all entries."""

AddUp = Callable[[Tensor], Tensor]
"""Adds up slopes of rows by entries."""


class Outputs(Protocol):
    """What stacked logits are: `saved` is what `back` takes, beside slopes of the rows."""

    @property
    def saved(self) -> tuple[Tensor, ...]:
        """The tensors that slopes are made of."""
        ...

    def rows(self, read: Read) -> Tensor:
        """Return the sides that are read."""
        ...

    @staticmethod
    def back(slope: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        """Return the slopes of the logits from those of the rows, which are used up.

        Those of falsities are given as what the truth does to them.
        """
        ...


class Softmaxes:
    """Softmaxes of which truths and falsities are read; `top` is where the likeliest class is."""

    def __init__(self, logits: Tensor) -> None:
        self._truths = torch.softmax(logits, 1)
        _, self._top = likeliest(self._truths)
        self._falsities: Tensor | None = None

    @property
    def saved(self) -> tuple[Tensor, ...]:
        return self._truths, self._top

    def rows(self, read: Read) -> Tensor:
        return read(self.side)

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        if side == "true":
            return self._truths
        if self._falsities is None:
            self._falsities = one_less(self._truths, self._top)
        return self._falsities

    @staticmethod
    def back(slope: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        truths, top = saved
        own = add_up(slope)
        own -= at_likeliest(own, top)  # what all classes share is no slope, for they add up to 1
        return torch._softmax_backward_data(own, truths, 1, own.dtype)


@final
class OddsOfSoftmaxes(Softmaxes):
    """Softmaxes of which logarithms of either side are read, none of them far from the others."""

    def rows(self, read: Read) -> Tensor:
        odds = torch.div(self._truths, self.side("false")).log_()
        self._rows = functional.logsigmoid(read(lambda side: odds if side == "log_true" else -odds))
        return self._rows

    @property
    def saved(self) -> tuple[Tensor, ...]:
        return self._rows, self._truths, self._top

    @staticmethod
    def back(slope: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        rows, truths, top = saved
        return Softmaxes.back(slope.div_(torch.exp(rows)), add_up, truths, top)


@final
class LogSoftmaxes:
    """Softmaxes of which logarithms of truths are read, however far from one another."""

    def __init__(self, logits: Tensor) -> None:
        largest, self._top = likeliest(logits)
        gap = logits - largest
        self._odds = torch.exp(gap)  # to the likeliest
        self._log_truths = gap.sub_(torch.log1p(sum_of_others(self._odds, self._top)))

    @property
    def saved(self) -> tuple[Tensor, ...]:
        return self._log_truths, self._odds, self._top

    def rows(self, read: Read) -> Tensor:
        return read(lambda _: self._log_truths)

    @staticmethod
    def back(slope: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        log_truths, odds, top = saved
        own = add_up(slope)
        # Slopes in the ratio of the truths come to none: none are left for the likeliest.
        own.addcmul_(odds, at_likeliest(own, top), value=-1)
        return torch._log_softmax_backward_data(own, log_truths, 1, own.dtype)


@final
class Sigmoids:
    """One sigmoid for each logit, of which truths and falsities are read."""

    def __init__(self, logits: Tensor) -> None:
        self.saved: tuple[Tensor, ...] = (torch.sigmoid(logits), torch.sigmoid(-logits))

    def rows(self, read: Read) -> Tensor:
        return read(self.side)

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        truths, falsities = self.saved
        return truths if side == "true" else falsities

    @staticmethod
    def back(slope: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        truths, falsities = saved
        return add_up(slope).mul_(truths).mul_(falsities)


@final
class LogSigmoids:
    """One sigmoid for each logit, of which logarithms of either side are read."""

    def __init__(self, logits: Tensor) -> None:
        self._logits = logits
        self.saved: tuple[Tensor, ...] = ()

    def rows(self, read: Read) -> Tensor:
        odds = self._logits
        rows = functional.logsigmoid(read(lambda side: odds if side == "log_true" else -odds))
        self.saved = (rows,)
        return rows

    @staticmethod
    def back(slope: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        [rows] = saved
        return add_up(slope.mul_(torch.expm1(rows).neg_()))
