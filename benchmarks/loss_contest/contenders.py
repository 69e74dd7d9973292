"""The contenders of the benchmark: each turns a workload and a relaxation into penalties."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

from loss_contest import best, peers, plain
from loss_contest.workloads import Penalties, Workload

RESIDUUM = "residuum"
COMPILED = "residuum, torch.compile"
PLAIN_COMPILED = "plain, torch.compile"


class Contender(NamedTuple):
    """A function that makes the penalties, and a note if they differ in meaning from residuum's."""

    make: Callable[[Workload, str], Penalties]
    note: str = ""


def _compiled(penalties: Penalties) -> Penalties:
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        raise ImportError("torch.compile needs a C++ compiler")
    torch._dynamo.reset()  # otherwise it stops compiling after a few rules
    # A function, like a whole training step: a module would add its own cost to every call.
    return torch.compile(lambda inputs: penalties(inputs), dynamic=False)


CONTENDERS: Mapping[str, Contender] = {
    "best": Contender(best.reference),
    "plain": Contender(plain.reference),
    RESIDUUM: Contender(lambda workload, relaxation: workload.compile(relaxation)),
    PLAIN_COMPILED: Contender(lambda *case: _compiled(plain.reference(*case))),
    COMPILED: Contender(lambda workload, relaxation: _compiled(workload.compile(relaxation))),
    "LTNtorch": Contender(peers.ltn_loss, peers.LTN_NOTE),
    "Pylon": Contender(peers.pylon_loss, peers.PYLON_NOTE),
}
