"""Where the user's files lie, and how one is written so that nobody sees half of it."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
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


def shown(path: str | Path) -> str:
    r"""Return a path as it can stand in a message: escaped if it holds what cannot be printed.

    >>> shown("runs.sqlite"), shown("two\nlines")
    ('runs.sqlite', "'two\\nlines'")
    """
    text = str(path)
    return text if text.isprintable() else ascii(text)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes this place when it is whole, whatever interrupts the writing."""
    beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
