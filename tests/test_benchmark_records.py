"""The figures in the documentation are those of the records."""

import json
from pathlib import Path

import pytest

import study
from loss_contest.tables import markdown

ROOT = Path(__file__).parents[1]
RECORDS = sorted((ROOT / "benchmarks" / "records").glob("losses-*.json"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_the_page_of_benchmarks_shows_the_record(record):
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert markdown(json.loads(record.read_text(encoding="utf-8"))) in page


def test_the_page_of_benchmarks_shows_how_fast_the_study_trains():
    record = json.loads((ROOT / "benchmarks/records/study-h200.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert study.markdown(record) in page
    most = record["rows"][-1]
    step = most["runs"] * most["ms_per_run_and_step"]
    assert f"A step of {most['runs']} runs takes {step:.1f} ms" in page


def test_there_are_records():
    assert RECORDS
