"""Write records in processes that are killed at random moments; report what became of them.

Run as a program: forking is safe there, where nothing else has started a thread.
"""

import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

import numpy as np

from residuum.results import Record, Store


def made(seed, writer):
    outcomes = np.random.default_rng([seed, writer]).random(20_000) < 0.9
    return Record("digits", 1, {"seed": seed, "writer": writer}, outcomes={"Sum": outcomes})


def write(path, writer, pipe):
    for batch in itertools.count():
        with Store(path) as store:  # opened anew for every three records
            for number in range(3 * batch, 3 * batch + 3):
                record = made(number, writer)
                store.add(record)
                os.write(pipe, f"{record.id}\n".encode())


def start(path, writer):
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        try:
            write(path, writer, writable)
        finally:
            os._exit(1)
    os.close(writable)
    return child, open(readable)


def main(folder, rounds):
    chance = random.Random(20)
    acknowledged, failed, lost, damaged = 0, 0, [], []
    for round_ in range(rounds):
        path = Path(folder) / f"{round_ // 4}.sqlite"  # each is made, and then opened again
        children = [start(path, 2 * round_ + writer) for writer in range(2)]
        names = [children[0][1].readline() for _ in range(chance.randrange(5))]
        time.sleep(chance.uniform(0, 0.02))
        for child, _ in children:
            os.kill(child, signal.SIGKILL)
        for child, pipe in children:
            failed += os.WTERMSIG(os.waitpid(child, 0)[1]) != signal.SIGKILL
            with pipe:
                names += pipe
        acknowledged += len(names)
        with Store(path) as store:
            lost += [name for name in names if name.strip() not in store]
        with contextlib.closing(sqlite3.connect(path)) as connection:
            damaged += list(connection.execute("PRAGMA integrity_check"))
    kept = [record for path in Path(folder).glob("*.sqlite") for record in Store(path)]
    wrong = sum(record != made(*record.configuration.values()) for record in kept)
    print(json.dumps([acknowledged, len(kept), failed, wrong, lost, sorted(set(damaged))]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
