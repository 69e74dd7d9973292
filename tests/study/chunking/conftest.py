"""Taggers this small are slower on several threads, and much slower where cores are busy."""

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
