"""A worker process: it reads tasks from stdin and writes answers to stdout, one line of JSON each.

A task is a line `name bytes`, and then so many bytes of JSON. An answer begins with `+` if more
follow, and the last one with `.`, or with `!` if the worker ends after it. A process of its own can
be stopped in the middle of its work, and has a limit of memory.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import IO, Any, Final

from residuum.errors import ResiduumError
from residuum.explorer.memory import lacks_memory, limit_memory, memory_of_a_worker
from residuum.explorer.tasks import TASKS, WORKERS
from residuum.printable import printable, printable_lines

Order = tuple[str, bytes]

EXTRA: Final = {"torch": "learn"}
"""Libraries that some tasks need, and the extra that brings each of them."""


def main() -> None:
    """Answer tasks until stdin ends, which it does when the server ends in any way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which stops workers
    limit_memory(memory_of_a_worker(sum(WORKERS.values())))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no answer
    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, orders), daemon=True).start()
    while True:
        for line in answer(*orders.get()):
            answers.write(line)
            answers.flush()
            if line.startswith(b"!"):
                os._exit(1)


def _listen(source: IO[bytes], orders: queue.SimpleQueue[Order]) -> None:
    while head := source.readline():
        name, size = head.decode("ascii").split()
        orders.put((name, source.read(int(size))))
    os._exit(0)


def answer(name: str, body: bytes) -> Iterator[bytes]:
    """Yield the lines of the answer to a task. An error of any kind is an answer in words."""
    try:
        for part in _parts(name, body):
            yield _line("+", {"part": part})
        yield _line(".", {"done": True})
    except ResiduumError as error:
        yield _line(".", {"refused": str(error)})
    except ModuleNotFoundError as error:
        extra = EXTRA.get(str(error.name).split(".")[0], "all")
        yield _line(".", {"refused": f"expected {error.name}, which is not installed; run: "
                                     f"pip install 'residuum[{extra}]'"})  # fmt: skip
    except Exception as error:
        if lacks_memory(error):
            yield _OUT_OF_MEMORY
        else:  # a defect of this program: the page says so
            yield _line(".", {"refused": f"internal error: {type(error).__name__}: {error}"})


def _parts(name: str, body: bytes) -> Iterator[Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ResiduumError("expected a JSON object in UTF-8, got something else; send one")
    task = TASKS[name]
    module = import_module(f"residuum.explorer.{task.module}")
    found = getattr(module, task.function)(given)
    if isinstance(found, Iterator):
        yield from found
    else:
        yield found


def _line(mark: str, value: Any) -> bytes:
    return f"{mark}{json.dumps(_shown(value), allow_nan=False)}\n".encode()


def _shown(value: Any) -> Any:
    """Return plain data with all its text printable: text from outside may reverse a line."""
    if isinstance(value, str):
        return printable_lines(value)
    if isinstance(value, dict):
        return {printable(key): _shown(one) for key, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, list | tuple) else value


_OUT_OF_MEMORY: Final = _line("!", {"refused": (
    "expected work that needs at most "
    f"{memory_of_a_worker(sum(WORKERS.values())) / 2**30:.1f} GiB of memory, found that it needs "
    "more; make the formula, the rules or the domains smaller"
)})  # fmt: skip
"""Made beforehand, while there is memory. The worker ends, since its memory may not come back."""

if __name__ == "__main__":
    main()
