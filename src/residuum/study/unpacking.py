"""Files as they come: plain, gzip or zip, told apart by what is in them, whatever their names."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from residuum.errors import DataError
from residuum.printable import printable

LARGEST_FILE: Final = 2**26
"""Bytes, unpacked; the largest file of MNIST has 47 million. More is refused, and not read."""

UNREADABLE: Final = (
    OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, ValueError,
    OverflowError,
)  # fmt: skip
"""What is raised for files that are damaged, or packed in a way unknown here."""

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"


def unpack(path: Path, member: str | None = None) -> bytes:
    """Return the content of a file, decompressed if it is packed; see `opened` for members."""
    with opened(path, member) as source:
        content = source.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise DataError(f"`{printable(path)}`: expected at most {LARGEST_FILE:,} bytes, found more")
    return content


@contextmanager
def opened(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file to be read, decompressed on the way if it is packed.

    Of a zip archive it is the file called `member`, in whatever folder, or the only one it has.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(_ZIP))
            file.seek(0)
            if start == _ZIP:
                with zipfile.ZipFile(file) as archive:
                    found = _find_member(archive, member, path)
                    yield open_member(archive, found, f"`{printable(path)}`")
            else:
                is_packed = start.startswith(_GZIP)
                yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_packed else file
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"`{printable(path)}` cannot be read ({error}); fetch it anew") from None


def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> IO[bytes]:
    """Open a file of a zip archive.

    Only plain and deflated files are read. Python decompresses others without bounds: a few bytes
    may become gigabytes before the first of them can be looked at.
    """
    is_encrypted = member.flag_bits & 1
    if is_encrypted or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        found = "a password" if is_encrypted else f"method {member.compress_type}"
        raise DataError(
            f"{where}: expected a zip archive without a password, packed by deflate, found {found} "
            f"for {member.filename!a}; pack it anew, or not at all"
        )
    return archive.open(member)


def _find_member(archive: zipfile.ZipFile, wanted: str | None, path: Path) -> zipfile.ZipInfo:
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    found = [
        entry for entry in files if wanted is None or PurePosixPath(entry.filename).name == wanted
    ]
    if len(found) != 1:
        expected = "one file" if wanted is None else f"one file called {wanted}"
        names = ", ".join(printable(entry.filename) for entry in (found or files)[:5]) or "none"
        raise DataError(
            f"`{printable(path)}`: expected {expected} in this archive, found {len(found)} "
            f"({names}); unpack the one that is meant"
        )
    return found[0]
