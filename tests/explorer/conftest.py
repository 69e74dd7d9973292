"""A running explorer for the tests of this folder."""

import os

import pytest

from explorer.running import Explorer


@pytest.fixture(scope="session")
def explorer():
    pytest.importorskip("starlette", reason="Starlette is not installed")
    pytest.importorskip("uvicorn", reason="Uvicorn is not installed")
    if not os.path.isdir("/proc"):
        pytest.skip("there is no /proc, in which workers are found")
    running = Explorer()
    yield running
    running.stop()
