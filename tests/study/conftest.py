"""Data for the studies, where this machine has them; no test downloads any."""

import os
from pathlib import Path

import pytest
import torch

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def data_folder(monkeypatch) -> Path:
    """The user's folder of data, or one that lies beside the repository."""
    folder = Path(os.environ.get("RESIDUUM_DATA") or BESIDE)
    if not folder.is_dir():
        pytest.skip("no data: name their folder in RESIDUUM_DATA")
    monkeypatch.setenv("RESIDUUM_DATA", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Networks this small are slower on several threads, and much slower where cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
