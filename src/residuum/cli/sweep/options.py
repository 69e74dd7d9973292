"""What the verbs of sweeps take, and how they speak of settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

SweepFile = Annotated[
    Path, typer.Argument(metavar="FILE.toml", help="A sweep file; docs/sweeps.md says what it has.")
]


def in_words(settings: Mapping[str, object]) -> str:
    """Return settings in words."""
    return ", ".join(f"{name} {_short(value)}" for name, value in settings.items()) or "all"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
