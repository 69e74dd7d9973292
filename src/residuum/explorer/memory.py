"""How much memory a worker may take, and how one that reaches the limit is recognised.

The limit is set by the system on the data of a process, and not on its addresses, of which PyTorch
reserves many more than it uses. It holds on Linux only; other systems do not keep to it.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from residuum.explorer.limits import LEAST_MEMORY, MOST_MEMORY

IN_LIBRARIES: Final = ("DefaultCPUAllocator", "std::bad_alloc")
"""What a RuntimeError of PyTorch says when memory is refused."""


def memory_of_a_worker(workers: int) -> int:
    """Return the most bytes of a worker, such that all of them fit into the machine together."""
    if sys.platform != "linux":
        return MOST_MEMORY
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(LEAST_MEMORY, min(MOST_MEMORY, machine // workers))


def limit_memory(most: int) -> None:
    """Let the system refuse this process more than so many bytes of data."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def lacks_memory(error: Exception) -> bool:
    """Whether an error says that there is no memory left."""
    if isinstance(error, RuntimeError):
        return any(words in str(error) for words in IN_LIBRARIES)
    return isinstance(error, MemoryError)
