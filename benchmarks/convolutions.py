"""Checks and times the fused convolutions on a GPU: `python benchmarks/convolutions.py`.

Every kernel is first compared with float64, with new memory filled with NaN. Then several launches
of each kernel are tried, and the fastest are timed for the network of the digits study. One step of
one run has 192 images of 28×28, and for each of two operators 64 images of 28×56, through 1 → 32
and 32 → 64 channels. Times are medians over replays of a CUDA graph. They include everything that a
layer does, such as rearranging weights and summing parts. `--quick` checks and times only the
layers of the network, with the default launches and the most runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from residuum.training import fused_convolutions as fused
from residuum.training.fused_convolutions import Launch, Launches
from residuum.training.layers import conv_relu_pool

MATRIX_RATE, MEMORY_RATE = 790e12, 4.3e12
"""Measured rates of an H200: bfloat16 operations and bytes per second."""

LARGEST_ERROR = 2**-8
"""The largest relative error of results and gradients in bfloat16."""

GROUPS = ((192, 28, 28, 1), (64, 28, 56, 2))
"""Images of one run in a step, their height and width, and the number of networks with them."""

RUNS = (1, 12, 36)

CANDIDATES = {
    "forward_of_images": (Launch(64, 7, 4), Launch(128, 4, 4), Launch(128, 4, 8)),
    "weight_gradient_of_images": (Launch(64, 28, 4), Launch(64, 64, 4), Launch(128, 32, 8)),
    "forward": (Launch(64, 7, 4), Launch(64, 8, 4), Launch(128, 4, 8)),
    "data_gradient": (Launch(64, 4, 4), Launch(64, 14, 4)),
    "weight_gradient": (Launch(32, 28, 8), Launch(32, 42, 8), Launch(32, 32, 4), Launch(64, 16, 8)),
}
"""Launches that are tried in addition to the default."""


@dataclass(frozen=True)
class Layer:
    """A layer of the network, and the number and size of its images."""

    images: int
    height: int
    width: int
    channels: int
    outputs: int

    def draw(self, runs: int) -> list[Tensor]:
        """Return random x, weight, bias and upstream gradient. Weights are exact in bfloat16."""
        here = {"device": "cuda", "dtype": torch.bfloat16}
        pooled = (runs, self.images, self.height // 2, self.width // 2, self.outputs)
        x = torch.randn(runs, self.images, self.height, self.width, self.channels, **here)
        weight = torch.randn(runs, 3, 3, self.channels, self.outputs, **here)
        weight = (weight / (9 * self.channels) ** 0.5).float()
        bias = (0.3 * torch.randn(runs, self.outputs, **here)).float()
        return [x, weight, bias, torch.randn(pooled, **here)]

    @property
    def operations(self) -> int:
        """The number of operations of one convolution of one run."""
        return 18 * self.images * self.height * self.width * self.channels * self.outputs

    @property
    def numbers(self) -> tuple[int, int]:
        """The number of entries of x and of the result, for one run."""
        area = self.images * self.height * self.width
        return area * self.channels, area // 4 * self.outputs

    def floor(self) -> float:
        """Return the least seconds that any kernel needs for one run."""
        x, out = self.numbers
        read_and_written = 2 * x + 3 * out  # bfloat16, and a byte for each code
        return max(self.operations / MATRIX_RATE, read_and_written / MEMORY_RATE)


def layers(images: int, height: int, width: int) -> dict[str, Layer]:
    return {
        "1": Layer(images, height, width, 1, 32),
        "2": Layer(images, height // 2, width // 2, 32, 64),
    }


def relative_error(found: Tensor, wanted: Tensor) -> float:
    return float((found.double() - wanted).norm() / wanted.norm())


def check(layer: Layer) -> dict[str, float]:
    """Return the errors of the result and of the gradients of the public function."""
    *inputs, gradient = layer.draw(2)
    exact = [t.double().requires_grad_() for t in inputs]
    wanted = conv_relu_pool(*exact)
    wanted_gradients = torch.autograd.grad(wanted, exact, gradient.double())
    own = [t.clone().requires_grad_(i > 0 or layer.channels > 1) for i, t in enumerate(inputs)]
    torch.use_deterministic_algorithms(True, warn_only=True)  # new memory is filled with NaN
    try:
        found = conv_relu_pool(*own)
        needed = [t for t in own if t.requires_grad]
        gradients = torch.autograd.grad(found, needed, gradient)
    finally:
        torch.use_deterministic_algorithms(False)
    if type(found.grad_fn).__name__ != "FusedConvolutionBackward":
        sys.exit(f"{layer} did not go through the fused kernels")
    errors = {"result": relative_error(found.detach(), wanted.detach())}
    for name, one, other in zip(
        ("x", "weight", "bias")[-len(needed) :],
        gradients,
        wanted_gradients[-len(needed) :],
        strict=True,
    ):
        errors[name] = relative_error(one, other)
    return errors


def check_all(quick: bool) -> bool:
    fine = True
    network = (*layers(13, 28, 28).values(), *layers(5, 28, 56).values())
    others = (Layer(3, 6, 10, 16, 16), Layer(3, 6, 10, 64, 128), Layer(1, 2, 2, 1, 16))
    for layer in network if quick else network + others:
        try:
            errors = check(layer)
        except Exception as problem:
            print(f"BAD {layer}: {type(problem).__name__}: {str(problem)[:300]}")
            fine = False
            continue
        good = all(error <= LARGEST_ERROR for error in errors.values())  # false for NaN
        fine = fine and good
        shown = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
        print(f"{'ok ' if good else 'BAD'} {layer}: {shown}")
    return fine


def seconds(action: Callable[[], object]) -> float:
    """Return the median time of one action, from replays of a CUDA graph of several."""
    action()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    action()
    torch.cuda.synchronize()
    several = max(1, min(20, round(2e-3 / (time.perf_counter() - begin))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(several):
            action()
    graph.replay()
    times = []
    for _ in range(9):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / several)
    return median(times)


def actions(layer: Layer, runs: int) -> dict[str, Callable[[Launches], object]]:
    """Return a function of the launches for each kernel of a layer."""
    x, weight, bias, gradient = layer.draw(runs)
    _, codes = fused.forward(x, weight, bias)
    if layer.channels == 1:
        return {
            "forward_of_images": lambda way: fused.forward(x, weight, bias, way),
            "weight_gradient_of_images": lambda way: fused.weight_gradient(x, gradient, codes, way),
        }
    return {
        "forward": lambda way: fused.forward(x, weight, bias, way),
        "data_gradient": lambda way: fused.data_gradient(gradient, codes, weight, way),
        "weight_gradient": lambda way: fused.weight_gradient(x, gradient, codes, way),
    }


def tune(deadline: float) -> Launches:
    """Return the fastest launches for the most runs, among those tried before the deadline."""
    best = fused.DEFAULT
    for layer in layers(*GROUPS[0][:3]).values():
        for kernel, act in actions(layer, RUNS[-1]).items():
            ranking = []
            for launch in (getattr(fused.DEFAULT, kernel), *CANDIDATES[kernel]):
                if time.perf_counter() > deadline:
                    print(f"  {kernel}: no time left to try {launch}")
                    continue
                try:
                    taken = seconds(partial(act, replace(best, **{kernel: launch})))
                except Exception as problem:  # for instance too much shared memory
                    print(f"  {kernel}: {launch}: {str(problem)[:100]}")
                    continue
                ranking.append((taken, launch))
                print(f"  {kernel:26} {taken / RUNS[-1] * 1e3:8.5f} ms per run  {launch}")
            if ranking:
                best = replace(best, **{kernel: min(ranking, key=lambda pair: pair[0])[1]})
    return best


def measure(runs: int, best: Launches) -> list[dict[str, object]]:
    """Return one row for each kernel of each layer and group, in milliseconds per run."""
    rows: list[dict[str, object]] = []
    for images, height, width, networks in GROUPS:
        for name, layer in layers(images, height, width).items():
            for kernel, act in actions(layer, runs).items():
                taken, floor = seconds(partial(act, best)) / runs, layer.floor()
                rows.append(
                    {
                        "runs": runs,
                        "images": f"{networks} × {images} {height}×{width}",
                        "layer": name,
                        "kernel": kernel,
                        "ms": networks * taken * 1e3,
                        "TFLOP/s": layer.operations / taken / 1e12,
                        "floor": networks * floor * 1e3,
                    }
                )
    return rows


def plain_time(runs: int) -> float:
    """Return the milliseconds per run of the plain path, forward and backward."""
    total = 0.0
    for images, height, width, networks in GROUPS:
        for layer in layers(images, height, width).values():
            x, weight, bias, gradient = (t.float() for t in layer.draw(runs))
            needed = [x, weight, bias] if layer.channels > 1 else [weight, bias]
            for tensor in needed:
                tensor.requires_grad_()

            def step(x=x, weight=weight, bias=bias, gradient=gradient, needed=needed):
                return torch.autograd.grad(conv_relu_pool(x, weight, bias), needed, gradient)

            total += networks * seconds(step)
    return total / runs * 1e3


def show(rows: list[dict[str, object]]) -> None:
    print(f"{'runs':>4} {'images':16} {'kernel':26} {'ms/run':>8} {'TFLOP/s':>8} {'floor':>8} gap")
    for row in rows:
        print(
            f"{row['runs']:4} {row['images']:16} {row['kernel']:26} {row['ms']:8.5f} "
            f"{row['TFLOP/s']:8.1f} {row['floor']:8.5f} {row['ms'] / row['floor']:.1f}×"
        )
    total, floor = (sum(row[name] for row in rows) for name in ("ms", "floor"))
    print(
        f"     all, forth and back: {total:.5f} ms per run, {total / floor:.1f}× floor", flush=True
    )


def main() -> None:
    begin = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the defaults, for the most runs")
    parser.add_argument("--json", help="keep the rows and the launches in this file")
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    fine = check_all(options.quick)
    print(f"checks took {time.perf_counter() - begin:.0f} s", flush=True)
    best = fused.DEFAULT if options.quick else tune(begin + 120)
    print(f"{best}\n")
    rows = []
    for runs in RUNS[-1:] if options.quick else RUNS:
        measured = measure(runs, best)
        show(measured)
        rows += measured
    if options.json:
        Path(options.json).write_text(json.dumps({"rows": rows, "launches": asdict(best)}))
    if not options.quick:
        print(f"  12 by the plain path in float32: {plain_time(12):.5f} ms per run")
    print(f"checks {'passed' if fine else 'FAILED'}; {time.perf_counter() - begin:.0f} s in all")
    sys.exit(not fine)


if __name__ == "__main__":
    main()
