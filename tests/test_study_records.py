"""The tables of the documentation are those of the records."""

import os
import subprocess
import sys
from pathlib import Path

from residuum.results.archive import read_archive
from residuum.study.digits.published import published

ROOT = Path(__file__).parents[1]


def test_the_page_of_tables_is_what_the_records_say(tmp_path):
    page = (ROOT / "docs" / "digits-tables.md").read_text("utf-8")
    printed = subprocess.run(
        [sys.executable, "-m", "residuum", "study", "digits", "--table", "--markdown"],
        cwd=ROOT,
        env={**os.environ, "RESIDUUM_STORE": str(tmp_path / "none.sqlite")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert page.split("\n\n", 2)[2] == printed, (
        "run `residuum study digits --table --markdown` and put what it prints on the page"
    )


def test_the_figures_of_the_readme_are_those_of_the_records():
    runs = [
        record
        for record in read_archive(ROOT / "results" / "digits.jsonl")
        if record.configuration["digit_size"] == 1000
        and record.configuration["pair_size"] == 5000
        and record.configuration["pair_pool"] == "paper"
    ]
    sentence = []
    for name, relaxation in (("R-Product", "r-product"), ("S-Product", "s-product")):
        ours = [
            run.measures["operator_accuracy"]
            for run in runs
            if run.configuration["relaxation"] == relaxation
        ]
        printed = published("joint", "operator_accuracy", relaxation, 1000, 5000)
        sentence.append((name, f"to {sum(ours) / len(ours):.1f}% ({printed.mean:.1f}%"))
    readme = (ROOT / "README.md").read_text("utf-8")
    for name, figures in sentence:
        found = readme.index(
            f"{name} learns" if name == "R-Product" else name, readme.index("5,000")
        )
        assert readme.index(figures, found) - found < 80
