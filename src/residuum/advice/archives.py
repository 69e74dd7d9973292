"""Arrays in .npz files: named, checked before they are read, and never unpickled."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import numpy as np
import torch
from numpy.lib.format import (
    MAGIC_PREFIX,
    read_array,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
)
from torch import Tensor

from residuum.errors import DataError
from residuum.losses.degrees.logits import FORMS
from residuum.printable import printable
from residuum.study.data_files import UNREADABLE, open_member

LENGTHS: Final = "lengths"
"""The array that holds the lengths of padded sequences."""

OBSERVED: Final = "observed:"
LABEL: Final = "label:"
"""What the names of arrays begin with that hold evidence, and labels that networks learn from."""

PAIRS: Final = "pairs:"
"""What the names of arrays begin with that list the members between which a relation holds."""

MOST_NUMBERS: Final = 2**25
"""The most numbers in all arrays of a file together: 268 MB in double precision."""

LARGEST_HEADER: Final = 2**14
"""The bytes that are read to learn the shape of an array; NumPy accepts headers up to 10,000."""


def read_arrays(path: Path, form: str, content: bytes | None = None) -> dict[str, Tensor]:
    """Return the arrays in an .npz file, or in `content`, whose predictions have a form.

    DataError says what is wrong with the file, or that there is no such form.
    """
    if form not in FORMS:
        raise DataError(
            f"expected predictions as one of {', '.join(FORMS)}, got {form!r}; name the "
            "form that the file has"
        )
    return _arrays(path, content)


def with_prefix(arrays: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Take the arrays whose names begin with a prefix out of others."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _arrays(path: Path, content: bytes | None) -> dict[str, Tensor]:
    expected = f"{printable(path)}: expected an .npz file of named arrays, as numpy.savez writes it"
    try:
        with path.open("rb") if content is None else io.BytesIO(content) as file:
            if file.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX:
                raise DataError(f"{expected}, got a single array; save it by a name")
            with ZipFile(file) as archive:
                return _read_members(archive, printable(path))
    except DataError:
        raise
    except UNREADABLE as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{expected}: {reason}") from None


def _read_members(archive: ZipFile, source: str) -> dict[str, Tensor]:
    """Return the arrays of an archive. Sizes are checked before anything is decompressed."""
    found: dict[str, Tensor] = {}
    room = MOST_NUMBERS
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        where = f"{source}: `{printable(name)}`"
        if name == member.filename or name in found or not name.isprintable():
            raise DataError(
                f"{where}: expected arrays by different names, each in a file that ends in .npy, "
                f"found the file {member.filename!a}; write all arrays by one numpy.savez"
            )
        with open_member(archive, member, where) as opened:
            shape, dtype, start = _read_header(opened.read(LARGEST_HEADER), where)
        are_labels = name.startswith((OBSERVED, LABEL, PAIRS))
        if dtype.kind not in ("iu" if name == LENGTHS else "fiub" if are_labels else "fiu"):
            raise DataError(
                f"{where}: expected numbers, got an array of {dtype}; convert it before it is saved"
            )
        count = math.prod(shape)
        if count > room:
            raise DataError(
                f"{where}: expected at most {MOST_NUMBERS:,} numbers in all arrays together, found "
                f"the shape {shape}; give fewer examples"
            )
        if member.file_size != start + count * dtype.itemsize:
            raise DataError(
                f"{where}: expected {count:,} numbers of {dtype.itemsize} bytes for the shape "
                f"{shape}, found {member.file_size - start:,} bytes; write the file anew"
            )
        with open_member(archive, member, where) as opened:
            array = read_array(opened, allow_pickle=False)
        room -= count
        is_whole = dtype.kind in "iub" and (name == LENGTHS or are_labels)
        found[name] = torch.from_numpy(np.array(array, np.int64 if is_whole else np.float64))
    return found


def _read_header(content: bytes, where: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return the shape of an array, its type, and the offset of its first number."""
    file = io.BytesIO(content)
    try:
        read = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}[read_magic(file)]
        shape, _, dtype = read(file)
    except Exception as error:  # NumPy evaluates the text of the header, which may raise anything
        raise DataError(
            f"{where}: expected an array as numpy.savez writes it, found something else "
            f"({type(error).__name__}); write the file anew"
        ) from None
    if any(size < 0 for size in shape):
        raise DataError(
            f"{where}: expected sizes of 0 or more, found the shape {shape}; write the file anew"
        )
    return shape, dtype, file.tell()
