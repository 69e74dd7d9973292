"""`residuum advise`: a table and a recommendation for the rules of a user."""

import json
import sys

import numpy as np
import pytest

RULES = """
domain two = 0..1
predicate A(two) independent
predicate B(two) independent
rule first: forall x in two: A(x) -> B(x)
rule second weight 0.1: A(0) | B(1)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_STORE", str(tmp_path / "usual.sqlite"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.rsd").write_text(RULES)
    return tmp_path


def test_rules_are_measured_on_random_predictions_under_the_papers_five(residuum):
    code, out, err = residuum("advise", "rules.rsd", "--json")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert len(content["measured"]) == 2 * 2 * 5
    assert {one["sample"] for one in content["measured"]} == {"uniform", "confident"}
    assert content["advice"]["relaxation"] in {one["relaxation"] for one in content["measured"]}
    [one, *_] = content["measured"]
    assert one["groundings"] == 2
    assert 0 < one["violated"] < 1


def test_predictions_of_the_user_are_measured(residuum, folder):
    np.savez(folder / "p.npz", A=[[0.9, 0.9]], B=[[0.1, 0.2]])
    words = ("advise", "rules.rsd", "--sample", "p.npz", "-r", "lukasiewicz,r-product")
    code, out, _ = residuum(*words)
    assert code == 0
    assert "first, predictions: p.npz. 2 groundings in each of 1 examples (8 bytes" in out
    assert "100.0% violated" in out
    lines = [line.split() for line in out.splitlines() if line.startswith("  lukasiewicz  ")]
    assert lines[0][2] == "100%"  # both groundings together are beyond the cap
    assert "Recommended: r-product" in out
    assert "as printed in the paper" in out
    assert json.loads(residuum(*words, "--json")[1])["measured"][0]["stuck"] == 1


def test_the_fate_of_violated_groundings_is_drawn(residuum, folder):
    np.savez(folder / "p.npz", A=[[0.9, 0.9]], B=[[0.1, 0.2]])
    words = ("advise", "rules.rsd", "--sample", "p.npz")
    assert residuum(*words, "-o", "advice.png")[0] == 0
    assert (folder / "advice.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = residuum(*words, "-o", "advice.gif")
    assert (code, "got `.gif`" in err) == (2, True)


def test_predictions_that_obey_the_rules_recommend_none(residuum, folder):
    np.savez(folder / "p.npz", A=[[0.1, 0.1]], B=[[0.9, 0.9]])
    code, out, _ = residuum("advise", "rules.rsd", "--sample", "p.npz")
    assert code == 0
    assert "Recommended: no relaxation" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.rsd",), "missing.rsd"),
        (("rules.rsd", "--sample", "missing.npz"), "missing.npz"),
        (("rules.rsd", "--sample", "half.npz"), "no tensor is given for `B`"),
        (("rules.rsd", "-r", "fuzzy"), "no relaxation is called"),
        (("rules.rsd", "--sample", "half.npz", "--inputs", "odds"), "expected predictions as"),
        (("empty.rsd",), "a rule or more"),
    ],
)
def test_mistakes_end_with_a_message(residuum, folder, words, message):
    np.savez(folder / "half.npz", A=[[0.9, 0.9]])
    (folder / "empty.rsd").write_text("predicate A\n")
    code, out, err = residuum("advise", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_without_torch_the_extra_is_named(residuum, monkeypatch):
    for name in [one for one in sys.modules if one.startswith("residuum.advice")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [one for one in sys.modules if one.startswith("residuum.losses")]:
        monkeypatch.delitem(sys.modules, name)
    code, _, err = residuum("advise", "rules.rsd")
    assert (code, "pip install 'residuum[learn]'" in err) == (2, True)
