"""The contenders of the benchmark of circuits: residuum, KLay and PySDD.

KLay evaluates what PySDD compiled: by logarithms, by probabilities in single precision (`real`,
which cannot hold those below 1e-38), and by logarithms under `torch.compile`, on a GPU with the
options of KLay itself, which record CUDA graphs. There the first two ways are also recorded as CUDA
graphs without `torch.compile`, which takes a second instead of minutes. Both packages are on PyPI:
`pip install --no-deps --target FOLDER PySDD klaycircuits`, then `PYTHONPATH=FOLDER`.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from circuit_contest.workloads import Rule
from residuum.circuits.circuit import Circuit
from residuum.circuits.ground_rules import GroundRule
from residuum.circuits.propositions import Propositions
from residuum.losses.routes.exact import log_probability_of
from residuum.losses.routes.rule_circuits import RuleCircuit

Penalties = Callable[[Tensor], Tensor]
"""A function from logits, examples × outputs, to −log P of each example."""

RESIDUUM = "residuum"
KLAY = "KLay"
KLAY_REAL = "KLay, real"
KLAY_COMPILED = "KLay, torch.compile"
KLAY_GRAPH = "KLay, CUDA graph"
KLAY_REAL_GRAPH = "KLay, real, CUDA graph"
PEERS = (KLAY, KLAY_REAL, KLAY_GRAPH, KLAY_REAL_GRAPH, KLAY_COMPILED)


def is_there(package: str) -> bool:
    """Return whether a package is installed."""
    return find_spec(package) is not None


def logits(sizes: Sequence[int], batch: int, device: str) -> Tensor:
    """Return random logits, one for each sigmoid and one for each class of a softmax."""
    torch.manual_seed(0)
    width = sum(1 if size == 2 else size for size in sizes)
    return torch.randn(batch, width).to(device).requires_grad_()


def log_probabilities(given: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the log-probabilities of all values of all variables: examples × values."""
    found, start = [], 0
    for size, group in groupby(sizes):
        number = len(list(group))
        width = number if size == 2 else number * size
        part = given[:, start : start + width]
        start += width
        if size == 2:
            found.append(torch.stack([logsigmoid(-part), logsigmoid(part)], -1).flatten(1))
        else:
            found.append(part.reshape(-1, number, size).log_softmax(-1).flatten(1))
    return found[0] if len(found) == 1 else torch.cat(found, 1)


def residuum(circuit: Circuit, device: str) -> Penalties:
    """Return the loss of a circuit as rules under `exact` compute it."""
    propositions = Propositions(circuit.sizes)
    ground = GroundRule(propositions, propositions.TRUE, ())
    evaluated = RuleCircuit(ground, circuit, torch.device(device))
    return lambda given: -log_probability_of(evaluated, log_probabilities(given, circuit.sizes))


def klay(file: Path, way: str, given: Tensor) -> Penalties:
    """Return the loss of an SDD in a file as KLay computes it, for logits such as those given."""
    from klay import Circuit as Klay

    circuit = Klay()
    circuit.add_sdd_from_file(str(file), [], [])
    is_real = way in (KLAY_REAL, KLAY_REAL_GRAPH)
    is_on_gpu = given.is_cuda
    module: Any = circuit.to_torch_module(
        semiring="real" if is_real else "log", compile=way == KLAY_COMPILED and is_on_gpu
    ).to(given.device)
    if way == KLAY_COMPILED and not is_on_gpu:  # without the options of KLay, which are for a GPU
        module = torch.compile(module)
    if way in (KLAY_GRAPH, KLAY_REAL_GRAPH):
        module = _recorded(module, given)
    if is_real:
        return lambda given: -module(given.sigmoid(), (-given).sigmoid())[:, 0].log()
    return lambda given: -module(logsigmoid(given), logsigmoid(-given))[:, 0]


def _recorded(module: Any, given: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a module of KLay whose layers are CUDA graphs, forward and backward.

    Its inputs are laid out here: KLay copies two constants from the CPU, which no graph allows.
    """
    units = torch.tensor([[module.zero], [module.one]], device=given.device).float()
    units = units.expand(2, len(given))

    def laid_out(true: Tensor, false: Tensor) -> Tensor:
        return torch.cat([units, torch.stack([true, false], -1).flatten(-2).mT])

    like = laid_out(torch.rand_like(given).neg_(), torch.rand_like(given).neg_()).detach()
    layers = torch.cuda.make_graphed_callables(module.layers, (like.requires_grad_(),))
    return lambda true, false: layers(laid_out(true, false)).mT


def write_sdd(rule: Rule, file: Path) -> None:
    """Write the SDD of a rule that is a count or clauses, compiled by PySDD."""
    from pysdd.sdd import SddManager

    if rule.count:
        _count(SddManager(var_count=rule.count[0]), *rule.count).save(bytes(file))
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        clauses = Path(folder) / "clauses.cnf"
        clauses.write_text("\n".join(_dimacs(rule)))
        _, found = SddManager.from_cnf_file(bytes(clauses))
        found.save(bytes(file))


def _count(manager: Any, number: int, allowed: range) -> Any:
    """Return an SDD of a count, variable by variable: `held[k]` says that k hold so far."""
    held = [manager.true()]
    for variable in range(1, number + 1):
        one = manager.literal(variable)
        stay = [before & ~one for before in held] + [manager.false()]
        move = [manager.false()] + [before & one for before in held]
        held = [first | second for first, second in zip(stay, move, strict=True)][: allowed.stop]
    found = manager.false()
    for number_held in allowed:
        found = found | held[number_held]
    return found


def _dimacs(rule: Rule) -> Iterator[str]:
    yield f"p cnf {len(rule.sizes)} {len(rule.clauses)}"
    for clause in rule.clauses:
        yield " ".join(map(str, (*clause, 0)))
