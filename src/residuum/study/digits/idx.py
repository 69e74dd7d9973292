"""IDX, the format of the MNIST files: a magic number, the sizes of the axes, then the bytes."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import IO, Final, cast

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError

LARGEST_FILE: Final = 2**26
"""Bytes, unpacked; the largest file of MNIST has 47 million. More is refused, and not read."""

_UNSIGNED_BYTES: Final = 8
_GZIP: Final = b"\x1f\x8b"


def unpack(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is gzip, whatever its name."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
            file.seek(0)
            source = cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_packed else file
            content = source.read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"`{path}` cannot be read ({error}); fetch it anew") from None
    if len(content) > LARGEST_FILE:
        raise DataError(f"`{path}`: expected at most {LARGEST_FILE:,} bytes, found more")
    return content


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
    if len(content) - start != needed:
        sizes = " × ".join(map(str, shape))
        raise _not_idx(
            path, f"{needed:,} bytes of data ({sizes})", f"{len(content) - start:,} bytes"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _not_idx(path: Path, expected: str, found: str) -> DataError:
    return DataError(f"`{path}` is no sound IDX file: expected {expected}, found {found}")
