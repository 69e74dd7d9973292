"""The tables of the documentation are those of the records."""

import os
import subprocess
import sys
from pathlib import Path

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
