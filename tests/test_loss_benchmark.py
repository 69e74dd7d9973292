"""The references of the benchmark equal residuum, and the benchmark runs."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from loss_contest import ablation, best, plain  # noqa: E402
from loss_contest.workloads import RELAXATIONS, Clauses, SumRule, Transitions  # noqa: E402
from running_benchmarks import run_benchmark  # noqa: E402

WORKLOADS = (
    SumRule(8, 10),
    SumRule(3, 20),  # more classes than one matrix product takes
    SumRule(2, 300),  # several blocks, with a shorter last one
    Transitions(3, 6),
    Clauses(5, 12, "one formula"),
    Clauses(5, 12, "a knowledge"),
    Clauses(5, 12, "a knowledge's total"),
)


def penalties_and_gradients(penalties, inputs):
    doubled = {name: x.detach().double().requires_grad_() for name, x in inputs.items()}
    found = penalties(doubled)
    # Different weights, so that a gradient of the wrong example is noticed.
    weights = torch.arange(1.0, len(found) + 1, dtype=torch.double)
    (found * weights).sum().backward()
    return found.detach(), [x.grad for x in doubled.values()]


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
@pytest.mark.parametrize("written", [plain, best], ids=["plain", "best"])
def test_references_have_the_penalties_and_gradients_of_residuum(written, workload, relaxation):
    inputs = workload.inputs("cpu")
    value, gradients = penalties_and_gradients(workload.compile(relaxation), inputs)
    its_value, its_gradients = penalties_and_gradients(
        written.reference(workload, relaxation), inputs
    )
    assert value.max() > 1e-3, "the rule must be violated, or nothing is compared"
    torch.testing.assert_close(its_value, value, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(its_gradients, gradients, rtol=1e-7, atol=1e-9)


def test_the_benchmark_runs_and_its_record_becomes_a_table(tmp_path, capsys):
    record = tmp_path / "record.json"
    run_benchmark(
        "losses.py", "--quick", "--only", "K = 12", "--relaxations", "r-product",
        "--contenders", "plain", "residuum", "LTNtorch", "--json", record,
    )  # fmt: skip
    results = {one["contender"]: one for one in json.loads(record.read_text())["results"]}
    assert results["plain"]["ms"] > 0
    assert results["plain"]["peak_mb"] > 0
    assert "ms" in results["LTNtorch"] or results["LTNtorch"]["note"].startswith("skipped: ")
    capsys.readouterr()
    run_benchmark("losses.py", "--table", record)
    printed = capsys.readouterr().out
    assert "| sum rule, K = 12, batch 2 | r-product |" in printed


def test_an_ablation_names_the_worst_case_of_each_device():
    def case(relaxation, **ms):
        return [{"workload": "w", "relaxation": relaxation, "contender": name, "ms": one}
                for name, one in ms.items()]  # fmt: skip

    slower = {f"without {name}": 2.0 for name in ablation.DEVICES}
    results = [
        *case("r-product", residuum=2.0, **slower),
        *case("s-godel", residuum=2.0, **slower | {"without minima": 5.0, "without cross": 2.2}),
        *case("s-product", residuum=2.0, **slower | {"without minima": 2.4}),
    ]
    table = ablation.markdown({"machine": {"CPU": "one"}, "clock": "a clock", "results": results})
    minima, cross, *_ = table.splitlines()[4:]
    assert "| 2.50 | w, `s-godel` | 1, 1.20 to 1.20 times | yes |" in minima
    assert "| 1.10 | w, `s-godel` | none | no |" in cross
