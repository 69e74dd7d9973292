"""The benchmark of circuits measures the rules that it names, and its figures are those shown."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from circuit_contest.contenders import (  # noqa: E402
    KLAY,
    KLAY_COMPILED,
    KLAY_GRAPH,
    KLAY_REAL,
    KLAY_REAL_GRAPH,
    RESIDUUM,
    log_probabilities,
    logits,
    residuum,
)
from circuit_contest.measuring import compiled  # noqa: E402
from circuit_contest.tables import markdown  # noqa: E402
from circuit_contest.workloads import rules  # noqa: E402
from running_benchmarks import run_benchmark  # noqa: E402

ROOT = Path(__file__).parents[1]
RECORDS = {
    device: json.loads((ROOT / f"benchmarks/records/circuits-{device}.json").read_text("utf-8"))
    for device in ("cpu", "h200")
}
RECORD = RECORDS["cpu"]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({*rules(), "243 clauses of ROAD-R"}))
def test_rules_have_as_many_models_as_is_known(name):
    if name not in rules():
        pytest.skip("no clauses in RESIDUUM_DATA: benchmarks/requirements")
    circuit, seconds = compiled(name)  # raises if the number of models is wrong
    assert circuit.sizes == rules()[name].sizes
    assert seconds > 0


def test_the_sum_rule_is_the_sum_over_all_digits():
    circuit, _ = compiled("sum of two two-digit numbers")
    given = logits(circuit.sizes, 2, "cpu")
    found = residuum(circuit, "cpu")(given)
    chances = log_probabilities(given, circuit.sizes).detach().double().exp()
    digits, total = chances[:, :40].reshape(2, 4, 10), chances[:, 40:]
    expected = sum(
        digits[:, 0, a] * digits[:, 1, b] * digits[:, 2, c] * digits[:, 3, d]
        * total[:, 10 * (a + c) + b + d]
        for a, b, c, d in product(range(10), repeat=4)
    )  # fmt: skip
    torch.testing.assert_close(found.detach(), -expected.log().float())


def test_the_benchmark_runs_and_its_record_becomes_a_table(tmp_path):
    record = tmp_path / "record.json"
    run_benchmark("circuits.py", "--quick", "--only", "one of 100", "--json", record)
    hundred, _ = json.loads(record.read_text(encoding="utf-8"))["results"]
    assert hundred["name"] == "exactly one of 100"
    assert hundred["ms"][RESIDUUM] > 0
    assert "| exactly one of 100 | 3 |" in markdown(json.loads(record.read_text(encoding="utf-8")))


@pytest.mark.parametrize("device", RECORDS)
def test_the_page_of_benchmarks_shows_the_record(device):
    assert markdown(RECORDS[device]) in PAGE


def _ratios(peers, device="cpu", kind="file"):
    """Return how many times as long as residuum the fastest peer takes, for each circuit."""
    ratios = []
    for one in RECORDS[device]["results"]:
        times = [one["ms"][peer] for peer in peers if peer in one["ms"]]
        if one["kind"] == kind:
            ratios.append(min(times) / one["ms"][RESIDUUM])
    return ratios


def _least(peers, device="cpu"):
    return min(_ratios(peers, device))


def test_what_is_said_of_klay_is_what_was_measured():
    assert f"at least {_least([KLAY, KLAY_COMPILED]):.1f} times as long by logarithms" in PAGE
    assert f"at least {_least([KLAY, KLAY_COMPILED, KLAY_REAL]):.1f} times as long in" in PAGE


def test_what_is_said_of_klay_on_a_gpu_is_what_was_measured():
    by_logarithms, real = (KLAY, KLAY_GRAPH), (KLAY_REAL, KLAY_REAL_GRAPH)
    least = _least(by_logarithms, "h200"), _least((*by_logarithms, *real), "h200")
    assert f"at least {least[0]:.1f} times as long there by logarithms" in PAGE
    assert f"{least[1]:.1f} times as long in its fastest way" in PAGE
    counts = _ratios((*by_logarithms, *real), "h200", "rule")
    assert f"three counts it takes {min(counts):.2f} to {max(counts):.2f} times as long" in PAGE
    slowest = max(one["ms"][RESIDUUM] for one in RECORDS["h200"]["results"])
    assert f"at most {slowest:.1f} ms" in PAGE


def test_what_is_said_of_counts_is_what_was_measured():
    small = [one for one in RECORD["results"] if one["batch"] == 64 and "pysdd_s" in one]
    counts = [one["ms"] for one in small if one["name"].startswith(("exactly", "at most"))]
    faster = sum(times[KLAY_REAL] < times[RESIDUUM] for times in counts)
    assert f"KLay's `real` is faster in {faster} of {len(counts)} counts" in PAGE


def test_what_is_said_of_memory_is_what_was_measured():
    ratios = [one["ms"][RESIDUUM] / one["floor_ms"]
              for one in RECORD["results"] if one["batch"] == 4_096]  # fmt: skip
    assert f"takes {min(ratios):.1f} to {max(ratios):.1f} times as long" in PAGE
