"""Times MNIST addition beside DeepProbLog: `make bench-addition`.

Both train the same LeNet from the same first values on the same sums of two digits, with Adam, and
only the sums are given. The penalty of both is −log of the probability of the sum: before anything
is timed, these probabilities are compared. DeepProbLog has an environment of its own
(`benchmarks/peers/make_environment.sh`). `--json FILE` writes a record; `--table FILE` prints one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import torch
from rich.progress import track
from torch import Tensor, nn

import residuum as rs
from losses import machine
from residuum.field import load_images

CHILD: Final = Path(__file__).parent / "peers" / "addition_in_deepproblog.py"
SEEDS: Final = (1, 2, 3)
COMPARED: Final = 8
CLOSE: Final = 1e-5
RULE: Final = "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"


def lenet() -> nn.Sequential:
    """Return the network of both: ten logits of an image."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def problem(seed: int, count: int, images: str) -> dict[str, Any]:
    """Return what both are given: pairs of images with their sums, and the first values."""
    torch.manual_seed(seed)
    data = load_images(images)
    train, test = (torch.tensor(part)[:, None].float() for part in (data.train, data.test))
    mean, deviation = train.mean(), train.std()
    train, test = (nn.functional.interpolate((x - mean) / deviation, 28) for x in (train, test))
    chosen = torch.randperm(len(train))[: 2 * count]
    return {
        "seed": seed, "rate": 1e-3, "batch": 32, "epochs": 1, "compared": COMPARED,
        "images": train[chosen], "pairs": torch.arange(2 * count).reshape(count, 2),
        "sums": torch.tensor(data.train_labels)[chosen].reshape(count, 2).sum(1),
        "test": test, "labels": torch.tensor(data.test_labels), "start": lenet().state_dict(),
    }  # fmt: skip


def ours(given: Mapping[str, Any]) -> dict[str, Any]:
    """Train with residuum, and return the time and the accuracy of digits on TEST."""
    network = lenet()
    network.load_state_dict(given["start"])
    rule = rs.compile(
        RULE, "exact", domains={"digit": 10, "sum": 19}, predicates={"Sum": ("sum",)},
        reduction="none",
    )  # fmt: skip
    images, pairs, sums = given["images"], given["pairs"], given["sums"]

    def penalties(chosen: Tensor) -> Tensor:
        shown = images[pairs[chosen]]
        logits = network(shown.flatten(0, 1)).unflatten(0, shown.shape[:2])
        return rule(Left=logits[:, 0], Right=logits[:, 1], observed={"Sum": sums[chosen]})

    with torch.no_grad():
        first = torch.exp(-penalties(torch.arange(given["compared"])))
    optimizer = torch.optim.Adam(network.parameters(), lr=given["rate"])
    torch.manual_seed(given["seed"])
    started = time.process_time()
    for _ in range(given["epochs"]):
        for chosen in torch.randperm(len(sums)).split(given["batch"]):
            optimizer.zero_grad()
            penalties(chosen).mean().backward()
            optimizer.step()
    seconds = time.process_time() - started
    with torch.no_grad():
        read = network(given["test"]).argmax(1)
    digit = 100 * float((read == given["labels"]).float().mean())
    return {"probabilities": first.tolist(), "seconds": seconds, "digit": digit}


def theirs(given: Mapping[str, Any], python: Path) -> dict[str, Any]:
    """Train with DeepProbLog in its own environment, and return the same."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "given.pt"
        torch.save(dict(given), file)
        told = subprocess.run(
            [python, CHILD, file], capture_output=True, text=True, check=False, timeout=3600
        )
    if told.returncode:
        raise SystemExit(f"DeepProbLog stopped with an error:\n{told.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raise if both do not give the same probabilities to the first sums."""
    pairs = list(zip(one["probabilities"], other["probabilities"], strict=True))
    if any(abs(p - q) > CLOSE for p, q in pairs):
        raise SystemExit(f"expected equal probabilities of the first sums, got {pairs}")


def markdown(record: Mapping[str, Any]) -> str:
    """Return a record as a table."""
    rows = record["results"]
    times = {
        name: 1e3 * fmean(row[name]["seconds"] / row["sums"] for row in rows)
        for name in ("residuum", "DeepProbLog")
    }
    lines = [
        "| | CPU ms for a sum | times residuum's | digits right |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, spent in times.items():
        digits = fmean(row[name]["digit"] for row in rows)
        ratio = f"{spent / times['residuum']:.0f}"
        lines.append(f"| {name} | {spent:.2f} | {ratio} | {digits:.1f}% |")
    return "\n".join(lines)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--peers", type=Path, help="Python of the environment of other packages")
    asked.add_argument("--sums", type=int, default=2_000, help="sums to train on")
    asked.add_argument("--images", choices=("mnist", "embedded"), default="mnist")
    asked.add_argument("--json", type=Path, help="where to write the record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    if given.table:
        print(markdown(json.loads(given.table.read_text(encoding="utf-8"))))
        return
    if given.peers is None:
        raise SystemExit("expected --peers PYTHON; `make bench-addition` makes that environment")
    torch.set_num_threads(1)
    record: dict[str, Any] = {"machine": machine("cpu"), "versions": {}, "results": []}
    for seed in track(SEEDS, "training"):
        known = problem(seed, given.sums, given.images)
        one, other = ours(known), theirs(known, given.peers)
        compare(one, other)
        record["versions"] = other.pop("versions")
        record["results"].append(
            {"seed": seed, "sums": given.sums, "residuum": one, "DeepProbLog": other}
        )
    if given.json:
        text = json.dumps(record, indent=1, ensure_ascii=False)
        given.json.write_text(text + "\n", encoding="utf-8")
    print(markdown(record))


if __name__ == "__main__":
    main()
