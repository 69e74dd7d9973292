"""IDX, the format of the MNIST files: a magic number, the sizes of the axes, then the bytes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError
from residuum.study.unpacking import LARGEST_FILE

_UNSIGNED_BYTES: Final = 8


def decode_idx(content: bytes, axes: int, path: Path) -> npt.NDArray[np.uint8]:
    """Return the unsigned bytes of an IDX file as a read-only array of so many axes.

    >>> decode_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), 1, Path("labels"))
    array([7, 8, 9], dtype=uint8)
    """
    magic = bytes([0, 0, _UNSIGNED_BYTES, axes])
    start = len(magic) + 4 * axes
    if content[: len(magic)] != magic:
        found = content[: len(magic)].hex(" ") or "nothing"
        raise _not_idx(path, f"the file to begin with {magic.hex(' ')}", found)
    if len(content) < start:
        raise _not_idx(path, f"{axes} sizes in {start} bytes", f"{len(content)} bytes in all")
    shape = [int(size) for size in np.frombuffer(content[len(magic) : start], ">u4")]
    needed = math.prod(shape)
    sizes = " × ".join(map(str, shape))
    if math.prod(size or 1 for size in shape) > LARGEST_FILE:  # NumPy refuses it even if empty
        raise _not_idx(path, f"sizes of at most {LARGEST_FILE:,} bytes in all", sizes)
    if len(content) - start != needed:
        raise _not_idx(
            path, f"{needed:,} bytes of data ({sizes})", f"{len(content) - start:,} bytes"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _not_idx(path: Path, expected: str, found: str) -> DataError:
    return DataError(f"`{path}` is no sound IDX file: expected {expected}, found {found}")
