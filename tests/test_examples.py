"""The programs in examples/ run."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_picture_of_obedient_tags_is_drawn(tmp_path):
    picture = tmp_path / "tags.png"
    command = [sys.executable, EXAMPLES / "obedient_tags.py", picture]
    subprocess.run(command, check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_regression_obeys_its_rule():
    command = [sys.executable, EXAMPLES / "regression_bound.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    alone, ruled = (
        [float(share) / 100 for share in re.findall(r"rule ([\d.]+)%", part)]
        for part in printed.split("labels and the rule")
    )
    assert alone[-1] > 0.03
    assert ruled[-1] < 0.005
