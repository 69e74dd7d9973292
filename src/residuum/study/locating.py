"""Where the files of a study are: in a folder of the user's, or downloaded, checked and kept."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from residuum.analysis.cache import cache_folder
from residuum.errors import DataError


@dataclass(frozen=True)
class DataFile:
    """A file as its mirrors offer it, all with the same bytes.

    `mirrors` are the addresses to put `name` after, `folder` is where the file is kept below the
    data, and `other_names` are those it may go by in a folder of the user's, say without `.gz`.
    """

    name: str
    folder: str
    sha256: str
    mirrors: tuple[str, ...]
    other_names: tuple[str, ...] = ()


def find_files(wanted: Sequence[DataFile]) -> list[Path]:
    """Return where the files are, each from the first of these places that has it.

    They are looked for in the folder that RESIDUUM_DATA names, directly or in their own folder
    there; then in residuum's part of the user's cache (RESIDUUM_CACHE), where Pooch puts what it
    downloads. What is found in the user's folder is for the caller to check.
    """
    found = {file: find_own_file(file) for file in wanted}
    missing = [file for file, path in found.items() if path is None]
    return [path or _download(file, missing) for file, path in found.items()]


def find_own_file(file: DataFile) -> Path | None:
    """Return where a file is in the folder that RESIDUUM_DATA names; None if it is not there."""
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
        raise _not_to_be_had(missing, "there is no cache folder to keep it in (RESIDUUM_CACHE)")
    try:
        import pooch
    except ImportError:
        raise _not_to_be_had(
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
        except (OSError, ValueError) as error:  # no network, a full disk; other bytes than known
            failures.append(f"{mirror}: {textwrap.shorten(str(error), 200, placeholder=' …')}")
    raise _not_to_be_had(missing, "\n".join((f"{file.name} could not be had from", *failures)))


def _not_to_be_had(missing: Sequence[DataFile], reason: str) -> DataError:
    own = os.environ.get("RESIDUUM_DATA", "")
    where = f"`{own}` (RESIDUUM_DATA) lacks" if own else "no folder is named in RESIDUUM_DATA for"
    names = ", ".join(file.name for file in missing)
    return DataError(
        f"{where} {names}, and they cannot be downloaded: put them into a folder and name it in "
        f"RESIDUUM_DATA, or make downloading possible: {reason}"
    )
