"""No test, nor a program that one starts, meets what is the user's or another test's."""

import gc
import os
from importlib.util import find_spec

import pytest

# One process for each core runs the tests: more threads in each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Files that only run where an optional library is installed, and that nothing else imports.
collect_ignore = []
if find_spec("triton") is None:
    collect_ignore += [
        "src/residuum/circuits/fused_layers.py",
        "src/residuum/training/convolution_kernels.py",
        "src/residuum/training/fused_convolutions.py",
    ]
if find_spec("starlette") is None or find_spec("uvicorn") is None:
    collect_ignore += ["src/residuum/explorer/app.py", "src/residuum/explorer/serving.py"]
if find_spec("lightning") is None:
    collect_ignore += ["src/residuum/integrations/lightning.py"]


def pytest_collection_finish():
    """What is there before the first test stays: no collection of garbage looks at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_files_but_ones_own():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESIDUUM_CACHE", "")
        patch.setenv("RESIDUUM_STORE", "")
        yield


@pytest.fixture(autouse=True)
def _relaxations_of_a_test_are_its_own():
    """No test meets a relaxation that another one has registered."""
    from residuum.relaxations import catalogue

    before = dict(catalogue._registered)
    yield
    catalogue._registered.clear()
    catalogue._registered.update(before)
