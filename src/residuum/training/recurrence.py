"""Recurrent layers (LSTM and GRU) of a stack of runs.

Libraries have fast recurrences for one network at a time. Here each position needs one matrix
product for all runs and directions, so that many small networks take as long as one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def lstm(gates: Tensor, weight: Tensor) -> Tensor:
    """Return the outputs of long short-term memories: (networks, positions, examples, units).

    `gates` holds the contribution of inputs and biases to the gates, (…, 4 units), in the order
    of PyTorch: input, forget, cell, output. `weight` (networks, units, 4 units) maps the state.
    """
    found: Tensor = _Lstm.apply(gates, weight)  # type: ignore[no-untyped-call]
    return found


def gru(gates: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the outputs of gated recurrent units: (networks, positions, examples, units).

    `gates` holds the contribution of inputs and biases to the gates, (…, 3 units), in the order
    of PyTorch: reset, update, new. `weight` (networks, units, 3 units) and `bias` (networks,
    3 units) map the state; the reset gate scales their part of the new gate.
    """
    units = weight.shape[1]
    networks, _, examples, _ = gates.shape
    state = gates.new_zeros(networks, examples, units)
    bias, outputs = bias.unsqueeze(1), []
    for given in gates.unbind(1):
        added = torch.baddbmm(bias, state, weight)
        reset, update = torch.sigmoid(given[..., : 2 * units] + added[..., : 2 * units]).chunk(
            2, -1
        )
        new = torch.tanh(given[..., 2 * units :] + reset * added[..., 2 * units :])
        state = new + update * (state - new)
        outputs.append(state)
    return torch.stack(outputs, 1)


class _Lstm(torch.autograd.Function):
    """The LSTM with its gradient; whatever needs no recurrence is computed outside the loops."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor) -> Tensor:
        networks, positions, examples, width = gates.shape
        units = width // 4
        opened = torch.empty_like(gates)
        cells = gates.new_empty(networks, positions, examples, units)
        outputs = torch.empty_like(cells)
        state = cell = gates.new_zeros(networks, examples, units)
        for place in range(positions):
            now = opened[:, place]
            torch.baddbmm(gates[:, place], state, weight, out=now)
            now[..., : 2 * units].sigmoid_()
            now[..., 2 * units : 3 * units].tanh_()
            now[..., 3 * units :].sigmoid_()
            let_in, kept, new, let_out = now.chunk(4, -1)
            cell = torch.mul(let_in, new, out=cells[:, place]).addcmul_(kept, cell)
            state = torch.mul(let_out, cell.tanh(), out=outputs[:, place])
        ctx.save_for_backward(opened, cells, outputs, weight)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        opened, cells, outputs, weight = ctx.saved_tensors
        (of_outputs,) = gradients
        positions, units = outputs.shape[1], outputs.shape[3]
        four = (*outputs.shape[:3], 4, units)
        let_in, kept, new, let_out = opened.chunk(4, -1)
        seen = cells.tanh()
        # The derivative of the cell by each gate, and of the output by the last gate.
        rates = torch.cat(
            [
                new * let_in * (1 - let_in),
                _before(cells) * kept * (1 - kept),
                let_in * (1 - new.square()),
                seen * let_out * (1 - let_out),
            ],
            -1,
        ).reshape(four)
        through = let_out * (1 - seen.square())
        found = torch.empty_like(rates)
        of_cell = torch.zeros_like(cells[:, 0])
        back = weight.mT.contiguous()
        for place in reversed(range(positions)):
            of_state = of_outputs[:, place]
            if place + 1 < positions:
                of_state = torch.baddbmm(of_state, found[:, place + 1].flatten(-2), back)
                of_cell = of_cell.mul_(kept[:, place + 1])
            of_cell = of_cell.addcmul_(of_state, through[:, place])
            now, rate = found[:, place], rates[:, place]
            torch.mul(rate[..., :3, :], of_cell.unsqueeze(-2), out=now[..., :3, :])
            torch.mul(rate[..., 3, :], of_state, out=now[..., 3, :])
        of_gates = found.flatten(-2)
        return of_gates, _before(outputs).flatten(1, 2).mT @ of_gates.flatten(1, 2)


def _before(x: Tensor) -> Tensor:
    """Return x shifted by one position, with 0 at the first."""
    return torch.nn.functional.pad(x[:, :-1], (0, 0, 0, 0, 1, 0))
