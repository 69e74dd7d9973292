"""Data for the studies, where this machine has them; no test downloads any."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def data_folder(monkeypatch) -> Path:
    """The user's folder of data, or one that lies beside the repository."""
    folder = Path(os.environ.get("RESIDUUM_DATA") or BESIDE)
    if not folder.is_dir():
        pytest.skip("no data: name their folder in RESIDUUM_DATA")
    monkeypatch.setenv("RESIDUUM_DATA", str(folder))
    return folder
