"""No test, nor a program that one starts, reads or writes the user's own cache or store."""

from importlib.util import find_spec

import pytest

if find_spec("triton") is None:  # only a GPU needs these, and nothing else imports them
    collect_ignore = [
        "src/residuum/training/convolution_kernels.py",
        "src/residuum/training/fused_convolutions.py",
    ]


@pytest.fixture(scope="session", autouse=True)
def _no_files_but_ones_own():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESIDUUM_CACHE", "")
        patch.setenv("RESIDUUM_STORE", "")
        yield
