"""No test, nor a program that one starts, reads or writes the user's own cache."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_cache_but_ones_own():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESIDUUM_CACHE", "")
        yield
