"""Worker processes as the server sees them: started when needed, kept warm, stopped when late."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Final

from residuum.explorer.limits import MOST_WAITING
from residuum.explorer.tasks import TASKS, WORKERS, Task

LONGEST_LINE: Final = 64_000_000
"""The most bytes of one part of an answer."""

COMMAND: Final = (sys.executable, "-P", "-m", "residuum.explorer.worker")
"""How a worker is started. With -P no module is imported from the working directory."""


def refusal(message: str) -> bytes:
    """Return a line that says why there is no answer."""
    return json.dumps({"refused": message}).encode() + b"\n"


class Workers:
    """The workers of all kinds."""

    def __init__(self) -> None:
        self._pools = {kind: _Pool(most) for kind, most in WORKERS.items()}

    def answer(self, name: str, body: bytes) -> AsyncIterator[bytes]:
        """Return the lines that answer a task. If the caller stops early, so does the work."""
        task = TASKS[name]
        return self._pools[task.kind].answer(name, task, body)

    async def warm_up(self, name: str, body: bytes) -> None:
        """Start a worker before it is needed: do a task, and drop the answer."""
        async for _ in self.answer(name, body):
            pass

    def stop(self) -> None:
        """Stop all workers at once."""
        for pool in self._pools.values():
            pool.stop()


class _Pool:
    """Workers of one kind, at most so many at a time."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)
        self._waiting = 0
        self._idle: list[asyncio.subprocess.Process] = []
        self._busy: set[asyncio.subprocess.Process] = set()

    async def answer(self, name: str, task: Task, body: bytes) -> AsyncIterator[bytes]:
        if self._waiting >= MOST_WAITING:
            yield refusal("expected fewer requests at the same time; try again in a moment")
            return
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            async for line in self._work(name, task, body):
                yield line
        finally:
            self._free.release()

    async def _work(self, name: str, task: Task, body: bytes) -> AsyncIterator[bytes]:
        worker = self._idle.pop() if self._idle else await _start()
        self._busy.add(worker)
        mark = b"+"
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(f"{name} {len(body)}\n".encode() + body)
            deadline = time.monotonic() + task.seconds
            while mark == b"+":
                left = max(0.0, deadline - time.monotonic())
                line = await asyncio.wait_for(worker.stdout.readline(), left)
                mark = line[:1]
                yield line[1:] or refusal(
                    "expected an answer, found that the worker ended, perhaps for lack of "
                    "memory; ask for less"
                )
        except TimeoutError:
            yield refusal(
                f"expected an answer within {task.seconds:g} seconds, found none; ask for less"
            )
        finally:
            self._busy.discard(worker)
            if mark == b".":
                self._idle.append(worker)
            else:
                _kill(worker)

    def stop(self) -> None:
        for worker in (*self._idle, *self._busy):
            _kill(worker)
        self._idle.clear()


async def _start() -> asyncio.subprocess.Process:
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        *COMMAND, stdin=pipe, stdout=pipe, stderr=nowhere, limit=LONGEST_LINE, env=_environment()
    )


def _environment() -> dict[str, str]:
    """Return the variables of a worker: one thread each, unless the user says otherwise.

    Tensors are small here: threads that wait for each other gain nothing, and take many times as
    long where the processor is busy.
    """
    return {"OMP_NUM_THREADS": "1", **os.environ}


def _kill(worker: asyncio.subprocess.Process) -> None:
    if worker.returncode is None:
        worker.kill()
