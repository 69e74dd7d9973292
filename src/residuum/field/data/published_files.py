"""Published files: found in the user's folder or downloaded, and held to their SHA-256."""

from __future__ import annotations

import hashlib

from residuum.errors import DataError
from residuum.printable import printable
from residuum.study.data_files import DataFile, find_files, unpack


def read_published(file: DataFile) -> bytes:
    """Return the unpacked content of a published file; raises DataError if it is another one.

    `file.sha256` is that of the unpacked content, so that a copy may be packed or not.
    """
    [path] = find_files([file])
    content = unpack(path)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise DataError(
            f"`{printable(path)}`: expected the published {file.name}, whose SHA-256 is "
            f"{file.sha256[:12]}…, found {found[:12]}…; replace it"
        )
    return content


def broken(source: object, number: int, expected: str, found: str) -> DataError:
    """Return the error for a line of a file that has a wrong form."""
    return DataError(
        f"`{printable(source)}`, line {number}: expected {expected}, found {found}; correct it"
    )
