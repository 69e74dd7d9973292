"""The user's folders for cache and data, and files that are written whole or not at all.

A process that is killed while it writes leaves a file `.residuum-….tmp`. A later write in the same
folder removes it after an hour.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Literal

_VARIABLE: Final = {"cache": "XDG_CACHE_HOME", "data": "XDG_DATA_HOME"}
_USUAL: Final = {
    "cache": {"linux": ".cache", "darwin": "Library/Caches", "win32": "AppData/Local"},
    "data": {
        "linux": ".local/share",
        "darwin": "Library/Application Support",
        "win32": "AppData/Local",
    },
}


def user_folder(kind: Literal["cache", "data"]) -> Path | None:
    """Return the folder of residuum for cache or data; None if the user has no home folder."""
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else _VARIABLE[kind], "")
    if os.path.isabs(named):
        return Path(named) / "residuum"
    usual = _USUAL[kind].get(sys.platform, _USUAL[kind]["linux"])
    try:
        return Path.home() / usual / "residuum"
    except RuntimeError:
        return None


ORPHANED_AFTER: Final = 3600.0
"""Seconds without a change after which an unfinished file counts as left by a killed process."""

_UNFINISHED: Final = ".residuum-{}.tmp"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that replaces the one at `path` once it is written completely.

    If the writing fails or is interrupted, the file at `path` stays as it was.
    """
    _remove_orphans(path.parent)
    beside = path.with_name(_UNFINISHED.format(secrets.token_hex(8)))
    try:
        with beside.open("xb") as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _remove_orphans(folder: Path) -> None:
    """Remove unfinished files that killed processes left in a folder."""
    for path in folder.glob(_UNFINISHED.format("*")):
        with contextlib.suppress(OSError):  # another process may have removed it
            if time.time() - path.stat().st_mtime > ORPHANED_AFTER:
                path.unlink()
