"""The benchmark of addition: what is compared is the same, and its figures are on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import addition  # noqa: E402

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "benchmarks/records/addition-cpu.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")


def test_the_probabilities_compared_are_those_of_the_sums():
    given = addition.problem(1, 40, "embedded")
    network = addition.lenet()
    network.load_state_dict(given["start"])
    with torch.no_grad():
        digits = network(given["images"]).softmax(-1)
    expected = []
    for (left, right), wanted in zip(given["pairs"], given["sums"], strict=True):
        expected.append(sum(
            float(digits[left, a] * digits[right, b])
            for a in range(10) for b in range(10) if a + b == wanted
        ))  # fmt: skip
    found = addition.ours({**given, "compared": 40})
    assert found["probabilities"] == pytest.approx(expected)


def test_other_probabilities_are_refused():
    one = {"probabilities": [0.25, 0.5]}
    addition.compare(one, {"probabilities": [0.250001, 0.5]})
    with pytest.raises(SystemExit, match="expected equal probabilities"):
        addition.compare(one, {"probabilities": [0.26, 0.5]})


def test_the_page_shows_the_record():
    assert len({row["seed"] for row in RECORD["results"]}) == 3
    assert {row["sums"] for row in RECORD["results"]} == {2000}
    assert addition.markdown(RECORD) in PAGE
    [ratio] = re.findall(r"\| DeepProbLog \| \S+ \| (\d+) \|", addition.markdown(RECORD))
    assert f"at an {ratio}th of DeepProbLog's time" in (ROOT / "README.md").read_text("utf-8")
    for name in ("deepproblog", "problog", "pysdd", "torch"):
        assert f"{name} {RECORD['versions'][name]}" in PAGE
    for row in RECORD["results"]:
        addition.compare(row["residuum"], row["DeepProbLog"])
