"""Trains networks with one of the libraries, for the benchmark that started this process.

The first argument is the folder of the library's pages. Each line of the input is a problem, the
number of epochs, a seed and the file of its data, as JSON; each line of the output is what was
measured. The first line of the output has the versions.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

sys.path.append(str(Path(__file__).parents[1]))

from ltn_contest.problems import PROBLEMS


def measured(pages: str, name: str, epochs: int | None, seed: int, file: str) -> dict[str, Any]:
    """Train on the data of a file; return the seconds and the measures, or what went wrong."""
    problem = PROBLEMS[name]
    if epochs is not None:
        problem = replace(problem, epochs=epochs)
    page = importlib.import_module(f"ltn_contest.{pages}.{name}")
    data = torch.load(file)
    torch.manual_seed(seed)
    network = problem.network()
    start = time.process_time()
    try:
        page.train(network, problem.batches(data["train"], seed))
    except Exception as error:  # a failed run is counted, and the others go on
        return {"note": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    seconds = time.process_time() - start
    return {"seconds": seconds, "measures": problem.measured(network, data["test"])}


def main() -> None:
    torch.set_num_threads(1)
    library = "residuum" if sys.argv[1] == "with_residuum" else "LTNtorch"
    versions = f"{version(library)} with torch {torch.__version__}"
    print(json.dumps({library: versions}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(sys.argv[1], *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
