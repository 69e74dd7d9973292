"""No test, nor a program that one starts, reads or writes the user's own cache or store."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_files_but_ones_own():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESIDUUM_CACHE", "")
        patch.setenv("RESIDUUM_STORE", "")
        yield
