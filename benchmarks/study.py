"""Times the training of the digits study, in run-epochs per second: `python benchmarks/study.py`.

Several runs are trained together. A run-epoch is one epoch of joint training of one run: 5,000
pairs in batches of 64. A step of a run is 448 images forward and backward, about 11.4 billion
operations. `--json` prints a record, and `--table RECORD` prints a record as a table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import Images
from residuum.study.digits.data.sets import make_sets
from residuum.study.digits.settings import Settings
from residuum.study.digits.task import JointTask
from residuum.training.loop import Training

RELAXATIONS = ("r-product", "s-product", "lukasiewicz-maxsat", "s-godel")
OPERATIONS_PER_STEP = 11.4e9
PAIRS, BATCH = 5_000, 64
PEAK = 790e12  # bfloat16 operations per second of an H200, measured


def noise() -> Images:
    """Return random images in the sizes of MNIST: their content does not change the speed."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (70_000, 28, 28), dtype=np.uint8)
    labels = random.integers(0, 10, 70_000)
    return Images("mnist", pixels[:60_000], labels[:60_000], pixels[60_000:], labels[60_000:], 255)


def measure(images: Images, runs: int, precision: str, device: torch.device, epochs: int) -> float:
    plain = Settings(
        images="mnist", relaxation="r-product", digit_size=1_000, pair_size=PAIRS, seed=0,
        epochs=epochs, batch=BATCH, learning_rate=0.005, weight=0.05, judge_every=10**6,
        precision=precision,
    )  # fmt: skip
    stack = [replace(plain, relaxation=RELAXATIONS[run % 4], seed=run) for run in range(runs)]
    stack.sort(key=lambda run: run.relaxation)
    sets = make_sets(images, 1_000, PAIRS)
    tensors = ImageTensors(images, getattr(torch, precision), device)
    task = JointTask(stack, [sets] * runs, tensors)
    training = Training(task, "sgd", epochs=epochs, judge_every=10**6)
    times: list[float] = []

    def watch(*_: object) -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter())

    training.run(watch)
    return runs * (len(times) - 1) / (times[-1] - times[0])


def markdown(record: Mapping[str, Any]) -> str:
    """Return the rates of a record as a table."""
    lines = [
        "| runs together | run-epochs/s | ms per run and step | of an H200's matrix rate |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for row in record["rows"]:
        rate, milliseconds = row["run_epochs_per_second"], row["ms_per_run_and_step"]
        share = OPERATIONS_PER_STEP / (milliseconds / 1e3) / PEAK
        lines.append(f"| {row['runs']} | {rate:.1f} | {milliseconds:.3f} | {share:.1%} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--table", type=Path, metavar="RECORD")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 4, 12, 36, 90])
    parser.add_argument("--precision", default=None)
    chosen = parser.parse_args()
    if chosen.table:
        print(markdown(json.loads(chosen.table.read_text("utf-8"))))
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    precision = chosen.precision or ("bfloat16" if device.type == "cuda" else "float32")
    images = noise()
    rows = []
    for runs in chosen.runs:
        rate = measure(images, runs, precision, device, chosen.epochs)
        steps = rate * -(-PAIRS // BATCH)
        rows.append(
            {"runs": runs, "run_epochs_per_second": rate, "ms_per_run_and_step": 1e3 / steps}
        )
        if not chosen.json:
            share = steps * OPERATIONS_PER_STEP / PEAK
            speed = f"{rate:7.2f} run-epochs/s, {1e3 / steps:7.3f} ms per run and step"
            print(f"{runs:3} runs: {speed}, {share:.1%} of an H200's matrix rate", flush=True)
    if chosen.json:
        json.dump({"device": str(device), "precision": precision, "rows": rows}, sys.stdout)


if __name__ == "__main__":
    main()
