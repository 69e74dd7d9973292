"""Circuits that other programs compiled, loaded from their files and checked.

What is checked: each line, the sizes that the header announces, that children exist and come
without cycles, that products are decomposable. Sums are proven deterministic where that is cheap:
decisions on a variable surely, SDDs but for a tiny probability. The other sums of `.nnf` and
`.ddnnf` files are tested on random states (`determinism.py` says what that proves), and else
trusted. Whether the circuit means the formula that it was compiled from is not checked.
"""

from __future__ import annotations

import os
from pathlib import Path

from residuum.circuits.checking import check_decomposable
from residuum.circuits.circuit import Circuit
from residuum.circuits.determinism import check_deterministic
from residuum.circuits.formats.ddnnf import read_ddnnf
from residuum.circuits.formats.lines import naming, path_of, read_lines
from residuum.circuits.formats.nnf import read_nnf
from residuum.circuits.formats.sdd import read_sdd
from residuum.circuits.formats.vtrees import Vtree, read_vtree
from residuum.errors import CircuitError


def load_circuit(
    path: str | os.PathLike[str],
    *,
    vtree: str | os.PathLike[str] | None = None,
    variables: int | None = None,
) -> Circuit:
    """Return the circuit in a file: `.sdd`, `.nnf` (c2d) or `.ddnnf` (d4). It need not be smooth.

    Variable i of the file, counted from 1, is the binary variable i − 1 of the circuit. `variables`
    is how many there are, where the file does not mention all. An `.sdd` file has its vtree in
    `vtree`, or beside it in a file of the same name that ends in `.vtree`; without one, the largest
    variable of the file is the last.

    >>> import residuum as rs
    >>> circuit = rs.load_circuit("tests/circuits/data/small.nnf")
    >>> len(circuit.sizes)
    5
    """
    file = path_of(path)
    form = file.suffix.lower()
    if form not in (".sdd", ".nnf", ".ddnnf"):
        raise CircuitError(
            f"expected a name that ends in .sdd, .nnf or .ddnnf, found `{file.name}`; "
            "change the ending to that of the format"
        )
    if form == ".sdd":
        tree = _vtree_of(file, vtree)
        with naming(file):
            circuit = read_sdd(read_lines(file), tree, variables)
            check_decomposable(circuit)
            return circuit
    with naming(file):
        read = read_nnf if form == ".nnf" else read_ddnnf
        circuit = read(read_lines(file), variables)
        check_decomposable(circuit)
        check_deterministic(circuit)
        return circuit


def _vtree_of(file: Path, vtree: str | os.PathLike[str] | None) -> Vtree | None:
    beside = file.with_suffix(".vtree")
    if vtree is None and not beside.exists():
        return None
    chosen = beside if vtree is None else path_of(vtree)
    with naming(chosen):
        return read_vtree(read_lines(chosen))
