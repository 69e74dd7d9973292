"""The programs in examples/ run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_picture_of_obedient_tags_is_drawn(tmp_path):
    picture = tmp_path / "tags.png"
    command = [sys.executable, EXAMPLES / "obedient_tags.py", picture]
    subprocess.run(command, check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


def run(name):
    """Return the lines that an example prints; a warning is an error."""
    command = [sys.executable, "-W", "error", EXAMPLES / name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_penalty_falls_while_the_rule_is_broken_more_often():
    _, *rows = run("satisfied_by_half.py")
    found = {row.split()[0]: [float(n) for n in re.findall(r"\d+\.\d+", row)] for row in rows}
    before, after, obeyed, obeys, _, dead = found["r-product"]
    assert after < before / 100
    assert obeys < obeyed - 5
    assert dead > 99
    assert found["s-product"][3] > obeys + 5


def test_a_lightning_module_learns_from_a_rule():
    pytest.importorskip("lightning", reason="Lightning is not installed")
    found = dict(line.split(": ") for line in run("lightning_rule.py"))
    assert float(found["next"]) > 0.95
    assert float(found["rules/satisfied"]) > 0.95
    assert found["weight of the rule in its last epoch"] == "1"


def test_a_hugging_face_trainer_learns_from_a_rule():
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    lines = [line for line in run("hugging_face_rule.py") if line.startswith("weight")]
    without, with_rule = ([float(n) for n in re.findall(r"[\d.]+(?=%)", line)] for line in lines)
    assert all(number < 80 for number in without)
    assert all(number > 95 for number in with_rule)


def test_a_regression_obeys_its_rule():
    command = [sys.executable, EXAMPLES / "regression_bound.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    alone, ruled = (
        [float(share) / 100 for share in re.findall(r"rule ([\d.]+)%", part)]
        for part in printed.split("labels and the rule")
    )
    assert alone[-1] > 0.03
    assert ruled[-1] < 0.005


def test_the_smokers_obey_the_rules_that_facts_allow():
    lines = run("smokers.py")
    first, last = (
        {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", line.split("of ")[1])}
        for line in (lines[0], lines[2])
    )
    assert last["irreflexive"] > 0.97 > first["irreflexive"]
    assert last["symmetric"] > 0.95 > first["symmetric"]
    assert any('Smokes("f") -> Cancer("f")' in line for line in lines)  # who has no cancer


def test_citations_tell_categories():
    command = [sys.executable, "-W", "error", EXAMPLES / "citations.py", "--quick"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    alone, ruled = (float(share) for share in re.findall(r"([\d.]+)% of", printed))
    assert ruled > alone + 5
