"""The benchmark beside LTN trains with residuum, and its figures and pages are those shown."""

from __future__ import annotations

import importlib
import json
import math
import re
import statistics
from dataclasses import replace
from itertools import chain, product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from ltn_contest.data import DRAWN, NO_LABEL  # noqa: E402
from ltn_contest.problems import PROBLEMS, People, Problem, beliefs, clusters  # noqa: E402
from ltn_contest.tables import LTN, RESIDUUM, lines_of, markdown, slower, values  # noqa: E402

ROOT = Path(__file__).parents[1]
CONTEST = ROOT / "benchmarks" / "ltn_contest"
RECORD = json.loads((ROOT / "benchmarks/records/ltn-cpu.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "guide" / "ltn.md").read_text(encoding="utf-8")


def drawn(name):
    """Return the data of a problem; instead of MNIST a few images that nobody drew."""
    if name != "addition":
        return DRAWN[name](0)
    images = torch.rand(2, 40, 1, 28, 28)
    part = images[0], images[1], torch.randint(19, (40,))
    return {"train": part, "test": part}


@pytest.mark.parametrize("name", PROBLEMS)
def test_residuum_trains_on_each_problem(name):
    torch.manual_seed(0)
    problem, data = replace(PROBLEMS[name], epochs=2), drawn(name)
    network = problem.network()
    before = [one.clone() for one in network.parameters()]
    page = importlib.import_module(f"ltn_contest.{RESIDUUM}.{name}")
    page.train(network, problem.batches(data["train"], 0))
    changed = [not one.equal(old) for one, old in zip(network.parameters(), before, strict=True)]
    assert all(changed)
    measures = problem.measured(network, data["test"])
    assert all(math.isfinite(value) for value in measures.values())


def test_binary_classification_is_learnt():
    torch.manual_seed(1)
    problem, data = replace(PROBLEMS["binary"], epochs=400), drawn("binary")
    network = problem.network()
    page = importlib.import_module(f"ltn_contest.{RESIDUUM}.binary")
    page.train(network, problem.batches(data["train"], 1))
    _, labels = data["test"]
    assert problem.measured(network, data["test"])["accuracy"] > 1 - labels.float().mean()


def test_every_example_is_in_one_batch_of_an_epoch():
    problem = Problem("", torch.nn.Identity, 2, lambda *_: {}, batch=4)
    rows = torch.arange(10)
    seen = {0: [], 1: []}
    for epoch, (first, second) in problem.batches((rows, 2 * rows), seed=3):
        assert second.equal(2 * first)
        seen[epoch] += first.tolist()
    assert [sorted(one) for one in seen.values()] == [list(range(10))] * 2
    assert seen[0] != seen[1]


def test_clusters_may_have_any_names():
    points = torch.tensor([[9.0, 0.0, 0.0, 0.0], [0.0, 9.0, 0.0, 0.0], [0.0, 9.0, 0.0, 0.0]])
    far = torch.tensor([[0.0, 2.0, 2.0], [2.0, 0.0, 0.1], [2.0, 0.1, 0.0]])
    known = points, far, torch.tensor([3, 0, 0])
    assert set(clusters(torch.nn.Identity(), known).values()) == {1.0}
    split = clusters(torch.nn.Identity(), (points, far, torch.tensor([3, 0, 1])))
    assert split["points in the right cluster"] == pytest.approx(2 / 3)
    merged = clusters(torch.nn.Identity(), (points[[1, 1, 2]], *known[1:]))
    assert merged["pairs that obey"] == pytest.approx(5 / 9)  # the four distant pairs are together


def test_beliefs_are_measured_as_nested_loops_do():
    torch.manual_seed(0)
    people, known = People(), DRAWN["smokers"](0)["train"]
    everybody = range(14)
    with torch.no_grad():
        people.vectors.mul_(20)  # so that some are believed to smoke and others not
        smokes, cancer = (
            [bool(network(people.vectors[x]) > 0) for x in everybody]
            for network in (people.smokes, people.cancer)
        )
        friends = [
            [bool(people.friends(torch.cat([people.vectors[x], people.vectors[y]])) > 0)
             for y in everybody] for x in everybody
        ]  # fmt: skip
        found = beliefs(people, known)
    pairs = list(product(everybody, everybody))
    rules = [
        [not friends[x][x] for x in everybody],
        [friends[y][x] or not friends[x][y] for x, y in pairs],
        [any(friends[x]) for x in everybody],
        [smokes[y] or not (friends[x][y] and smokes[x]) for x, y in pairs],
        [cancer[x] or not smokes[x] for x in everybody],
        [not cancer[x] or smokes[x] for x in everybody],
    ]
    shares = [sum(one) / len(one) for one in rules]
    assert 0 < sum(smokes) < 14
    assert found["groundings that hold"] == pytest.approx(sum(shares) / 6, abs=1e-6)
    labels = [one.flatten().tolist() for one in known]
    said = [smokes, cancer, [one for row in friends for one in row]]
    facts = [
        (one, label)
        for group, given in zip(said, labels, strict=True)
        for one, label in zip(group, given, strict=True)
        if label >= 0
    ]
    kept = sum(one == (label == 1) for one, label in facts) / len(facts)
    assert found["facts that are kept"] == pytest.approx(kept, abs=1e-6)


def test_facts_about_people_are_as_many_as_in_the_tutorial():
    smokes, cancer, friends = DRAWN["smokers"](0)["train"]
    found = [(int((one == 1).sum()), int((one == 0).sum())) for one in (smokes, cancer, friends)]
    assert found == [(6, 8), (2, 6), (12, 8 * 7 // 2 + 6 * 5 // 2 - 12)]
    assert (friends.tril() == NO_LABEL).sum() == 14 + 14 * 13 // 2


def test_lines_of_code_are_counted(tmp_path):
    page = tmp_path / "page.py"
    page.write_text('''"""A page,
of two lines."""

import os


def f(
    x,  # a comment
):
    """Return it."""
    # another comment
    from sys import path

    rule = """
        A -> B
    """
    return rule, path, x
''')
    assert lines_of(page) == 7


def test_a_run_fails_by_its_first_measure_or_by_an_error():
    problem = Problem("", torch.nn.Identity, 1, lambda *_: {}, least=0.8)
    assert problem.has_failed({"measures": {"accuracy": 0.7, "other": 1.0}})
    assert problem.has_failed({"measures": {"accuracy": math.nan}})
    assert problem.has_failed({"note": "ValueError"})
    assert not problem.has_failed({"measures": {"accuracy": 0.8, "other": 0.0}})


def test_the_page_shows_the_record():
    assert markdown(RECORD) in PAGE
    assert [one["name"] for one in RECORD["problems"]] == list(PROBLEMS)


def test_lines_in_the_record_are_those_of_the_pages():
    for one in RECORD["problems"]:
        for pages, lines in one["lines"].items():
            assert lines == lines_of(CONTEST / pages / f"{one['name']}.py")


def test_the_code_on_the_page_is_that_of_the_benchmark():
    def flat(text):
        return "\n".join(line.strip() for line in text.splitlines())

    files = chain((CONTEST / RESIDUUM).glob("*.py"), (CONTEST / LTN).glob("*.py"))
    pages = [flat(file.read_text(encoding="utf-8")) for file in files]
    blocks = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 14
    for block in blocks:
        assert any(flat(block) in page for page in pages), block


def test_what_is_said_of_the_table_is_what_was_measured():
    problems = RECORD["problems"]
    lines = [sum(one["lines"][pages] for one in problems) for pages in (RESIDUUM, LTN)]
    assert f"{lines[0]} lines in all, LTN's {lines[1]}" in PAGE
    assert all(one["lines"][RESIDUUM] < one["lines"][LTN] for one in problems)
    times = {one["title"]: slower(one) for one in problems}
    mean = statistics.geometric_mean(times.values())
    assert f"LTN takes {mean:.1f} times as long in the geometric mean" in PAGE
    faster = [title for title, ratio in times.items() if ratio < 1]
    assert f"LTN is faster in {len(faster)} of {len(problems)} ({'; '.join(faster)})" in PAGE
    failed = [sum(one["failed"][pages] for one in problems) for pages in (RESIDUUM, LTN)]
    runs = len(problems) * len(RECORD["seeds"])
    assert f"Of {runs} runs {failed[0]} failed with residuum and {failed[1]} with LTN" in PAGE


def test_the_ranges_of_both_libraries_overlap():
    for one in RECORD["problems"]:
        for measure in one["runs"][0]["measures"]:
            ours, theirs = (values(one, library, measure) for library in (RESIDUUM, LTN))
            assert max(min(ours), min(theirs)) <= min(max(ours), max(theirs))


def test_both_libraries_merge_clusters():
    [one] = [one for one in RECORD["problems"] if one["name"] == "clustering"]
    for library in (RESIDUUM, LTN):
        assert min(values(one, library, "points in the right cluster")) < 0.9
