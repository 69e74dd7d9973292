"""Data files of a study: where they are found, how they are downloaded and unpacked."""

from __future__ import annotations

import gzip
import io
import os
import textwrap
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from residuum.analysis.cache import cache_folder
from residuum.errors import DataError
from residuum.printable import printable


@dataclass(frozen=True)
class DataFile:
    """A file that can be downloaded from several mirrors with the same bytes.

    The address of the file is a mirror followed by `name`. `folder` is its place below the folder
    of data. `other_names` are names that a user's own copy may have, such as one without `.gz`.
    """

    name: str
    folder: str
    sha256: str
    mirrors: tuple[str, ...]
    other_names: tuple[str, ...] = ()


def find_files(wanted: Sequence[DataFile]) -> list[Path]:
    """Return the paths of files; each is searched for in two places, then downloaded.

    The first place is the folder that RESIDUUM_DATA names, directly or in `DataFile.folder` there.
    The second is the cache (RESIDUUM_CACHE), where Pooch keeps downloads and checks their SHA-256.
    A file in the user's folder is not checked here: that is the caller's task.
    """
    found = {file: find_own_file(file) for file in wanted}
    missing = [file for file, path in found.items() if path is None]
    return [path or _download(file, missing) for file, path in found.items()]


def find_own_file(file: DataFile) -> Path | None:
    """Return the path of a file in the folder that RESIDUUM_DATA names; None if it is not there."""
    own = _own_folder()
    return None if own is None else _look_for(file, own)


def _own_folder() -> Path | None:
    named = os.environ.get("RESIDUUM_DATA", "")
    if named and not os.path.isdir(named):
        raise DataError(
            f"RESIDUUM_DATA is `{named}`, but there is no such folder; "
            "name one that has the data, or unset it to download them"
        )
    return Path(named) if named else None


def _look_for(file: DataFile, folder: Path) -> Path | None:
    places = (folder, folder / file.folder)
    paths = [place / name for place in places for name in (file.name, *file.other_names)]
    return next((path for path in paths if os.path.isfile(path)), None)


def _download(file: DataFile, missing: Sequence[DataFile]) -> Path:
    kept_in = cache_folder()
    if kept_in is None:
        raise _unavailable(missing, "there is no cache folder to keep it in (RESIDUUM_CACHE)")
    try:
        import pooch
    except ImportError:
        raise _unavailable(
            missing, "Pooch is not installed; run: pip install 'residuum[study]'"
        ) from None
    failures = []
    for mirror in file.mirrors:
        try:
            path = pooch.retrieve(
                mirror + file.name,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=kept_in / "data" / file.folder,
            )
            return Path(path)
        except (OSError, ValueError) as error:  # no network or a full disk; another checksum
            failures.append(f"{mirror}: {textwrap.shorten(str(error), 200, placeholder=' …')}")
    raise _unavailable(missing, "\n".join((f"{file.name} could not be downloaded from", *failures)))


def _unavailable(missing: Sequence[DataFile], reason: str) -> DataError:
    own = os.environ.get("RESIDUUM_DATA", "")
    where = f"`{own}` (RESIDUUM_DATA) lacks" if own else "no folder is named in RESIDUUM_DATA for"
    names = ", ".join(file.name for file in missing)
    return DataError(
        f"{where} {names}, and they cannot be downloaded: put them into a folder and name it in "
        f"RESIDUUM_DATA, or make downloading possible: {reason}"
    )


LARGEST_FILE: Final = 2**26
"""The most bytes of an unpacked file that are read. The largest file of MNIST has 47 million."""

UNREADABLE: Final = (
    OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, ValueError,
    OverflowError,
)  # fmt: skip
"""The exceptions for files that are damaged, or packed in an unknown way."""

_GZIP: Final = b"\x1f\x8b"
_XZ: Final = b"\xfd7zXZ\x00"
_ZIP: Final = b"PK\x03\x04"


def unpack(path: Path, member: str | None = None) -> bytes:
    """Return the content of a file, decompressed if it is packed.

    `member` names a file in a zip archive, as in `opened`.
    """
    with opened(path, member) as source:
        content = source.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise DataError(f"`{printable(path)}`: expected at most {LARGEST_FILE:,} bytes, found more")
    return content


@contextmanager
def opened(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """Open a plain, gzip, xz or zip file for reading; its first bytes decide which of them it is.

    In a zip archive the file called `member`, in any folder, is opened; without `member`, the
    only file of the archive.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(_XZ))
            file.seek(0)
            if start == _XZ:
                yield _open_xz(file)
            elif start.startswith(_ZIP):
                with zipfile.ZipFile(file) as archive:
                    found = _find_member(archive, member, path)
                    yield open_member(archive, found, f"`{printable(path)}`")
            else:
                is_packed = start.startswith(_GZIP)
                yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_packed else file
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"`{printable(path)}` cannot be read ({error}); replace it") from None


XZ_MEMORY: Final = 2**27
"""The most bytes of memory for unpacking an xz file. The highest level needs half of them."""


def _open_xz(file: IO[bytes]) -> IO[bytes]:
    """Return the content of an xz file, of which no more than `LARGEST_FILE` + 1 bytes are read."""
    import lzma  # some builds of Python lack it

    unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    try:
        content = unpacking.decompress(file.read(LARGEST_FILE), LARGEST_FILE + 1)
    except lzma.LZMAError as error:
        raise OSError(str(error)) from None
    if len(content) <= LARGEST_FILE:
        if not unpacking.eof:
            raise EOFError("the file ends too early")
        if unpacking.unused_data:
            raise OSError("something follows the packed content")
    return io.BytesIO(content)


def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> IO[bytes]:
    """Open a file of a zip archive; raise unless it is stored plainly or by deflate.

    Python decompresses other methods without bounds: a few bytes may become gigabytes before the
    first of them can be read.
    """
    is_encrypted = member.flag_bits & 1
    if is_encrypted or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        found = "a password" if is_encrypted else f"method {member.compress_type}"
        raise DataError(
            f"{where}: expected a zip archive without a password, packed by deflate, found {found} "
            f"for {member.filename!a}; pack it anew by deflate, or not at all"
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
