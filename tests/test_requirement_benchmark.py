"""The benchmark of requirements compares losses before it times them, and its figures are shown."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from requirement_contest.clauses import (  # noqa: E402
    defined,
    find_clauses,
    logits,
    read_clauses,
    width,
    write_small,
)
from requirement_contest.measuring import CONTENDERS, Worker, _compare  # noqa: E402
from requirement_contest.of_residuum import make  # noqa: E402
from requirement_contest.tables import markdown, ratios  # noqa: E402
from running_benchmarks import run_benchmark  # noqa: E402

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "benchmarks/records/requirements-cpu.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path):
    write_small(tmp_path / "clauses.txt")
    return tmp_path / "clauses.txt"


def degrees(clause, truth, logic):
    """Return the degree of a clause by the textbook, for a list of degrees of the labels."""
    found = 0.0
    for label, affirmed in clause:
        one = truth[label] if affirmed else 1 - truth[label]
        if logic == "godel":
            found = max(found, one)
        elif logic == "lukasiewicz":
            found = min(1.0, found + one)
        else:
            found = found + one - found * one
    return found


@pytest.mark.parametrize("logic", ["product", "lukasiewicz", "godel"])
def test_losses_are_those_of_the_definition(file, logic):
    clauses = read_clauses(file)
    given = logits(clauses, 5)
    rows = given.detach().double().sigmoid().tolist()
    expected = torch.tensor([[degrees(c, row, logic) for c in clauses] for row in rows])
    torch.testing.assert_close(defined(clauses, given, logic).float(), expected)
    plain = make("plain", file, logic)(given).detach()
    assert float(plain) == pytest.approx(1 - float(expected.mean()), rel=1e-5)
    penalties = -expected.log() if logic == "product" else 1 - expected
    ours = make("residuum", file, logic)(given).detach()
    assert float(ours) == pytest.approx(float(penalties.sum(1).mean()), rel=1e-5)


def test_the_exact_loss_is_that_of_enumeration(file):
    clauses = read_clauses(file)
    given = logits(clauses, 2)
    chances = given.detach().double().sigmoid().tolist()
    found = [0.0, 0.0]
    for state in product((0, 1), repeat=width(clauses)):
        if all(any(state[n] == yes for n, yes in clause) for clause in clauses):
            for row, chance in enumerate(chances):
                weights = (p if held else 1 - p for p, held in zip(chance, state, strict=True))
                found[row] += float(torch.tensor(list(weights), dtype=torch.double).prod())
    expected = -torch.tensor(found).log().mean()
    ours = make("residuum", file, "exact")(given).detach()
    assert float(ours) == pytest.approx(float(expected), rel=1e-4)


def test_a_line_that_is_no_clause_is_refused(tmp_path):
    (tmp_path / "clauses.txt").write_text("y_0 or not y_1\ny_0 and y_1\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="line 2: expected"):
        read_clauses(tmp_path / "clauses.txt")


def test_the_clauses_of_road_r_are_those_that_are_described():
    if find_clauses() is None:
        pytest.skip("no clauses in RESIDUUM_DATA: benchmarks/requirements")
    clauses = read_clauses(find_clauses())
    assert (len(clauses), width(clauses)) == (243, 41)


def test_a_loss_that_is_not_what_it_should_be_is_not_timed(file):
    workers = [Worker(one, None, 1.0, {"loss": 0.3}) for one in CONTENDERS[:3]]
    _compare(workers, file, "product", 4)
    assert all("wrong: 0.3, not" in worker.said["note"] for worker in workers)


def test_the_benchmark_runs_and_its_record_becomes_a_table(tmp_path):
    record = tmp_path / "record.json"
    run_benchmark("requirements.py", "--quick", "--logics", "godel", "--json", record)
    found = json.loads(record.read_text(encoding="utf-8"))
    ours, plain = found["results"]
    assert (ours["contender"], plain["contender"]) == ("residuum", "plain")
    assert ours["ms"] > 0
    assert plain["peak_mb"] > 0
    assert "| godel | 2 |" in markdown(found)


def test_the_page_of_benchmarks_shows_the_record():
    assert markdown(RECORD) in PAGE


def test_what_is_said_of_peers_is_what_was_measured():
    times, peaks = (ratios(RECORD, "LTNtorch", what) for what in ("ms", "peak_mb"))
    assert f"LTNtorch takes {min(times):.0f} to {max(times):.0f} times as long" in PAGE
    assert f"and {min(peaks):.1f} to {max(peaks):.1f} times the memory" in PAGE
    plain = ratios(RECORD, "plain", "ms")
    assert f"in plain PyTorch takes {min(plain):.1f} to {max(plain):.1f} times as long" in PAGE
    klay = ratios(RECORD, "KLay", "ms")
    assert f"KLay takes {min(klay):.1f} to {max(klay):.1f} times as long by logarithms" in PAGE
