"""Where the user's files lie, and how one is written so that nobody sees half of it.

A process that is killed while it writes leaves a file `.residuum-….tmp` behind; the next one that
writes in the same folder removes it.
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
    """Return residuum's part of the user's folder of this kind; None for a user without a home."""
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else _VARIABLE[kind], "")
    if os.path.isabs(named):
        return Path(named) / "residuum"
    usual = _USUAL[kind].get(sys.platform, _USUAL[kind]["linux"])
    try:
        return Path.home() / usual / "residuum"
    except RuntimeError:
        return None


ORPHANED_AFTER: Final = 3600.0
"""Seconds after its last change that an unfinished file counts as left behind."""

_UNFINISHED: Final = ".residuum-{}.tmp"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes this place when it is whole, whatever interrupts the writing."""
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
    """Remove what killed processes have left half written in a folder."""
    for path in folder.glob(_UNFINISHED.format("*")):
        with contextlib.suppress(OSError):  # another process may be faster
            if time.time() - path.stat().st_mtime > ORPHANED_AFTER:
                path.unlink()
