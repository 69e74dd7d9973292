"""The pages in `examples/field` run, and the page of their tables is that of the records."""

import re
from pathlib import Path

import pytest
import torch

from residuum.field import (
    compare_tasks,
    find_task,
    find_tasks,
    plan,
    run_all,
    tables_of,
    tables_page,
    task_names,
)
from residuum.results import Store, read_archive

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "docs" / "studies" / "field-tables.md"
FINDINGS = ROOT / "docs" / "studies" / "field.md"
README = ROOT / "README.md"

# What makes a quick run quicker still, and the least that its first measure must reach.
QUICK = {
    "addition": ("exact", "N=2", {"epochs": "4"}, 20),
    "shortcuts": ("exact-10-named", "half", {"epochs": "1", "steps": "100"}, 60),
    "grid-paths": ("plain decoded", "ends and edges", {"epochs": "5"}, 20),
    "hierarchies": ("plain raised", "enron", {"epochs": "5", "members": "1"}, 20),
    "citations": ("labels", "cora", {"epochs": "40", "steps": "2"}, 35),
    "sudoku": ("cell-labels", "200-boards", {"boards": "30", "epochs": "5", "measured": "20"}, 60),
}


@pytest.mark.parametrize("name", QUICK)
def test_a_page_runs_and_learns(name, tmp_path):
    method, part, replaced, least = QUICK[name]
    task = find_task(name)
    runs = plan(
        task, torch.device("cpu"), methods=[method], parts=[part], is_quick=True, replaced=replaced
    )
    with Store(tmp_path / "runs.sqlite") as store:
        [record] = run_all(runs, store)
    assert all(0 <= value <= 100 for value in record.measures.values())
    assert record.measures[next(iter(task.measures))] > least


@pytest.mark.parametrize("name", task_names())
def test_a_page_needs_nothing_private(name):
    text = (ROOT / "examples" / "field" / f"{name.replace('-', '_')}.py").read_text("utf-8")
    imported = [line for line in text.splitlines() if line.strip().startswith(("import", "from"))]
    assert not [line for line in imported if "residuum." in line and "residuum.field" not in line]
    assert " rs._" not in text


@pytest.mark.parametrize("name", task_names())
def test_a_task_has_a_section_and_a_quick_run(name):
    assert name in QUICK
    assert f"../../examples/field/{name.replace('-', '_')}.py" in FINDINGS.read_text("utf-8")


def records():
    return [one for path in ROOT.glob("results/field-*.jsonl") for one in read_archive(path)]


def test_the_page_of_tables_is_that_of_the_records():
    assert TABLES.read_text("utf-8") == tables_page(find_tasks(), records()) + "\n"


def test_the_figures_of_the_findings_stand_in_the_tables():
    sections = re.split(r"^##+ ", FINDINGS.read_text("utf-8"), flags=re.MULTILINE)
    found = [one for one in sections if one.startswith("What was found")]
    figures = [figure for one in found for figure in re.findall(r"\d+\.\d", one)]
    assert figures
    shown = set(re.findall(r"\d+\.\d", TABLES.read_text("utf-8")))
    assert [one for one in figures if one not in shown] == []


@pytest.mark.parametrize("name", task_names())
def test_results_have_all_ten_seeds(name):
    task = find_task(name)
    found = tables_of(task, records())
    if not found:
        pytest.skip(f"there are no runs of {name} yet")
    assert {row.runs for table in found for row in table.rows if not row.source} == {10}


def means(task, measure):
    """The mean of a measure over seeds, by part and method; published figures are among them."""
    return {
        (table.part, row.method): row.measures[measure].mean
        for table in tables_of(find_task(task), records())
        for row in table.rows
        if measure in row.measures
    }


def test_the_findings_count_the_hierarchies_above_the_published_figures():
    area, right = means("hierarchies", "precision"), means("hierarchies", "exact")
    parts = list(find_task("hierarchies").parts)
    above = {
        method: sum(area[part, method] > area[part, "C-HMCNN"] for part in parts)
        for method in ("five plain raised", "plain raised", "max layer")
    }
    # In words on the page: nine of eleven with five networks, five and six with one.
    assert above == {"five plain raised": 9, "plain raised": 5, "max layer": 6}
    behind = {part: area[part, "plain raised"] - area[part, "layer"] for part in parts}
    assert min(behind.values()) > 0
    assert f"by {behind.pop('diatoms'):.1f} points on diatoms" in FINDINGS.read_text("utf-8")
    assert max(behind.values()) <= 1.3
    assert all(right[p, "layer"] > right[p, "plain raised"] for p in ("imclef07a", "imclef07d"))


def test_half_of_the_seeds_of_an_implication_read_half_of_the_sums():
    found = [
        (one.measures["digit"], one.measures["sum"])
        for one in read_archive(ROOT / "results/field-addition.jsonl")
        if one.configuration["method"] == "s-product-implies"
    ]
    lost = [sums for digits, sums in found if digits < 1]
    assert (len(lost), len(found)) == (5, 10)
    assert round(sum(lost) / 5) == 48
    assert min(sums for digits, sums in found if digits > 1) > 98


def test_the_findings_tell_the_mean_ranks():
    ranks = compare_tasks(find_tasks(), records())
    shown = {name: f"{ranks.rank(name):.1f}" for name in ranks.methods if ranks.rank(name)}
    first = "with mean ranks of {s-product} and {exact} among the five methods"
    rest = "follow with {r-product}, {s-godel} and {lukasiewicz-maxsat}."
    assert len(ranks.columns) == 6
    assert len(shown) == 5
    page = FINDINGS.read_text("utf-8")
    for told in (first, rest):
        assert told.format(**shown) in page


def test_the_readme_tells_the_sums_that_were_read():
    sums = means("addition", "sum")
    told = "({:.1f}% of sums with one digit each, {:.1f}% with four)"
    assert told.format(sums["N=1", "exact"], sums["N=4", "exact"]) in README.read_text("utf-8")
