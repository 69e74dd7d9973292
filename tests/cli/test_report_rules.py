"""`residuum report --rules`: the page about a user's rules, and what is refused."""

import json
import os
import sys
from pathlib import Path

import pytest

from reports.own_rules.made_up_rules import write_files


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ("--rules", "rules.rsd", "--sample", "p.npz", "--run", "log.jsonl", "-r", "r-product")


def test_a_page_is_written_and_the_same_facts_are_printed(residuum, folder):
    code, out, err = residuum("report", *ALL, "-o", "own.html", "--json")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert content["file"] == "own.html"
    page = (folder / "own.html").read_text("utf-8")
    assert "<h1>The rules of rules.rsd</h1>" in page
    assert "residuum report --rules rules.rsd --sample p.npz --run log.jsonl -r r-product" in page
    assert [one["name"] for one in content["rules"]] == ["copy", "red", "never"]
    shares = {one["rule"]: one["broken"] for one in content["sample"]}
    assert shares["copy"] == 0.5
    assert content["check"]["consistent"] is True
    assert content["log"]["curves"]["red"]["satisfied"] == {"points": 5, "first": 0.0, "last": 0.4}
    assert content["log"]["unused"] == ["loss"]
    assert content["advice"]["on_random_predictions"] is False
    assert {one["name"] for one in content["sections"]} > {"answer", "broken", "curves"}


def test_tables_and_pictures_are_files_too(residuum):
    code, out, _ = residuum("report", *ALL, "--files", "made")
    assert code == 0
    assert out.startswith("report.html: 3 rules in 8 sections\nmade: ")
    assert {"shares.csv", "worst.tex", "metrics.png", "ends.csv"} <= set(os.listdir("made"))
    assert "copy,40.0,1.2,,0.6" in Path("made/ends.csv").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sample", "p.npz"), "expected --rules FILE.rsd"),
        (("--run", "log.jsonl"), "expected --rules FILE.rsd"),
        (("-r", "r-product"), "expected --rules FILE.rsd"),
        (("--rules", "rules.rsd", "--store", "s.sqlite"), "--store or --rules"),
        (("--rules", "rules.rsd", "--run", "rules.rsd"), "expected metrics of rules"),
        (("--rules", "rules.rsd", "--sample", "log.jsonl"), "expected an .npz file"),
        (("--rules", "rules.rsd", "--sample", "p.npz", "--inputs", "odds"), "one of logits"),
        (("--rules", "missing.rsd"), "missing.rsd"),
        (("--rules", "rules.rsd", "-o", "missing/own.html"), "there is no folder"),
    ],
)
def test_mistakes_leave_a_message_and_no_page(residuum, words, message):
    before = sorted(os.listdir())
    code, out, err = residuum("report", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert sorted(os.listdir()) == before


def test_damaged_logs_warn_on_the_page_and_on_stderr(residuum, folder):
    with Path("log.jsonl").open("a") as log:
        log.write('{"step": 99, "copy/pen')
    code, _, err = residuum("report", *ALL)
    assert code == 0
    assert "Left out of log.jsonl: 1 × line that is no JSON object" in err
    assert "1 × line that is no JSON object" in (folder / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("without_torch")
def test_without_torch_rules_and_curves_are_shown(residuum, folder):
    code, _, err = residuum("report", "--rules", "rules.rsd", "--run", "log.jsonl")
    assert (code, err) == (0, "")
    page = (folder / "report.html").read_text("utf-8")
    assert "pip install &#39;residuum[learn]&#39;" in page
    assert 'id="metrics"' in page
    code, _, err = residuum("report", *ALL)
    assert (code, "pip install 'residuum[learn]'" in " ".join(err.split())) == (2, True)


@pytest.fixture
def without_torch(monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("residuum.advice", "residuum.losses")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
