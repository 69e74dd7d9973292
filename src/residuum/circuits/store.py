"""Circuits kept on disk, so that a rule is compiled once: plain arrays, one file for each circuit.

The caller names a circuit by a digest of all it depends on. The files lie in `circuits` in the
folder that RESIDUUM_CACHE names, or in the user's cache folder; no files are kept if the variable
is empty. A checksum covers the digest and the arrays, and the arrays are checked when they are
read: a file that was damaged, cut off or moved counts as absent, and is replaced. Nothing is
pickled, so that a file cannot run code; one who may write into the folder can still forge a
circuit. Files need no lock: each is written beside its place and then moved there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from residuum.analysis.cache import cache_folder
from residuum.circuits.checking import check_structure
from residuum.circuits.circuit import Circuit
from residuum.errors import CircuitError, shown
from residuum.files import replacing

LARGEST_FILE: Final = 2**28
"""The most bytes of a circuit that is kept."""

LARGEST_CACHE: Final = 2**30
"""The most bytes of all circuits that are kept. Those not used for longest go first."""

_FORMAT: Final = b"residuum circuit 1\n"  # raise the number when the arrays change
_CHECKSUM: Final = 32
_NUMBERS: Final = np.dtype("<i4")
_KINDS: Final = np.dtype("<i1")
_DIGEST: Final = re.compile(r"[0-9a-f]{32,128}")


def read_circuit(digest: str) -> Circuit | None:
    """Return the circuit that is kept under a digest, or None if there is none that is valid."""
    path = _path(digest)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        circuit = _unpacked(content[_CHECKSUM:], content[:_CHECKSUM], digest)
        os.utime(path)  # used now
    except (OSError, CircuitError):
        return None
    return circuit


def write_circuit(digest: str, circuit: Circuit) -> None:
    """Keep a circuit under a digest. If it cannot be written, or is too large, do nothing."""
    path = _path(digest)
    if path is None or circuit.offsets[-1] > np.iinfo(_NUMBERS).max:
        return
    body = _packed(circuit)
    if len(body) + _CHECKSUM > LARGEST_FILE:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(_checksum(digest, body) + body)
        _remove_oldest(path.parent)


def _path(digest: str) -> Path | None:
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise CircuitError(
            f"expected a digest of 32 to 128 hexadecimal digits, found {shown(digest)}; "
            "use hashlib's hexdigest"
        )
    folder = cache_folder()
    return None if folder is None else folder / "circuits" / f"{digest}.circuit"


def _checksum(digest: str, body: bytes) -> bytes:
    return hashlib.sha256(digest.encode("ascii") + b"\n" + body).digest()


def _packed(circuit: Circuit) -> bytes:
    lengths = [len(circuit.sizes), len(circuit), len(circuit.children)]
    arrays = [lengths, circuit.sizes, circuit.leaves, circuit.starts, circuit.children]
    numbers = [np.asarray(array).astype(_NUMBERS).tobytes() for array in arrays]
    return _FORMAT + b"".join(numbers) + circuit.kinds.astype(_KINDS).tobytes()


def _unpacked(body: bytes, checksum: bytes, digest: str) -> Circuit:
    if checksum != _checksum(digest, body) or not body.startswith(_FORMAT):
        raise CircuitError("expected a circuit that this program wrote, found another file")
    rest = _Bytes(body[len(_FORMAT) :])
    variables, nodes, edges = rest.take(_NUMBERS, 3).tolist()
    sizes = rest.take(_NUMBERS, variables).tolist()
    leaves, starts, children = (
        rest.take(_NUMBERS, length).astype(np.int64) for length in (nodes, nodes + 1, edges)
    )
    kinds = rest.take(_KINDS, nodes).astype(np.int8)
    circuit = Circuit(tuple(sizes), kinds, leaves, starts, children)
    check_structure(circuit)
    return circuit


class _Bytes:
    """The bytes of arrays, taken one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def take(self, kind: np.dtype[np.signedinteger], length: int) -> NDArray[np.signedinteger]:
        """Return the next array; raise CircuitError if there are fewer bytes."""
        last = self._place + length * kind.itemsize
        if length < 0 or last > len(self._content):
            raise CircuitError("expected the arrays of a circuit, found fewer bytes")
        part = self._content[self._place : last]
        self._place = last
        return np.frombuffer(part, dtype=kind)


def _remove_oldest(folder: Path) -> None:
    """Remove the circuits that were not used for longest, until the others fit the cache."""
    found = []
    for path in folder.glob("*.circuit"):
        with contextlib.suppress(OSError):  # another process may have removed it
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    excess = sum(size for _, size, _ in found) - LARGEST_CACHE
    for _, size, path in sorted(found):
        if excess <= 0:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        excess -= size
