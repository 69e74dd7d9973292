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


@pytest.fixture
def quick(monkeypatch):
    """Make rehearsals short."""
    from residuum.advice import rehearsing

    monkeypatch.setattr(rehearsing, "STEPS", 10)


@pytest.mark.usefixtures("quick")
def test_rules_are_rehearsed_under_the_usual_relaxations_and_exact(residuum):
    code, out, err = residuum("advise", "rules.rsd", "--json")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert [one["relaxation"] for one in content["rehearsed"]] == [
        None, "s-product", "exact", "r-product", "lukasiewicz-maxsat", "r-godel", "lukasiewicz",
        "s-godel",
    ]  # fmt: skip
    assert len(content["measured"]) == 2 * 2 * 6
    assert {one["sample"] for one in content["measured"]} == {"uniform", "confident"}
    [one, *_] = content["measured"]
    assert one["groundings"] == 2
    assert 0 < one["violated"] < 1


@pytest.mark.usefixtures("quick")
def test_predictions_of_the_user_are_measured(residuum, folder):
    np.savez(folder / "p.npz", A=[[0.9, 0.9]], B=[[0.1, 0.2]])
    words = ("advise", "rules.rsd", "--sample", "p.npz", "-r", "lukasiewicz,r-product")
    code, out, _ = residuum(*words)
    assert code == 0
    assert "first: 2 groundings in each example, violated: 100.0% of p.npz" in out
    lines = [line.split() for line in out.splitlines() if line.startswith("  lukasiewicz  ")]
    assert lines[0][3] == "100%"  # both groundings together are beyond the cap
    assert "Recommended: " in out
    assert "exact" not in [line.split()[0] for line in out.splitlines() if line.startswith("  e")]
    assert "Trap: capped (first): first: 1 of 1 examples cost 1" in out
    assert "as printed in the paper" in out
    assert json.loads(residuum(*words, "--json")[1])["measured"][0]["stuck"] == 0


@pytest.mark.usefixtures("quick")
def test_evidence_and_labels_come_with_the_predictions(residuum, folder):
    np.savez(folder / "p.npz", A=[[0.9, 0.9]] * 8, **{"observed:B": [[0, 1]] * 8,
             "label:A": [[1, -100]] * 8})  # fmt: skip
    words = ("advise", "rules.rsd", "--sample", "p.npz", "-r", "s-product")
    code, out, _ = residuum(*words, "--json")
    assert code == 0
    kinds = {one["kind"] for one in json.loads(out)["advice"]["traps"]}
    assert "observed consequent" in kinds


@pytest.mark.usefixtures("quick")
def test_an_interrupt_prints_what_is_known(residuum, monkeypatch):
    from residuum.advice import Consultation

    steps = Consultation.steps

    def interrupted(self):
        for number, step in enumerate(steps(self)):
            if number == 3:
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr(Consultation, "steps", interrupted)
    code, out, err = residuum("advise", "rules.rsd", "--json")
    assert code == 130
    assert "this is what is known so far" in err
    assert [one["relaxation"] for one in json.loads(out)["rehearsed"]] == [
        None, "s-product", "exact",
    ]  # fmt: skip


@pytest.mark.usefixtures("quick")
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
    assert "No grounding is violated" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.rsd",), "missing.rsd"),
        (("rules.rsd", "--sample", "missing.npz"), "missing.npz"),
        (("rules.rsd", "--sample", "half.npz"), "no tensor is given for `B`"),
        (("rules.rsd", "-r", "fuzzy"), "no relaxation is called"),
        (("rules.rsd", "--sample", "half.npz", "--inputs", "odds"), "expected predictions as"),
        (("empty.rsd",), "a rule or more"),
        (("related.rsd", "--sample", "half.npz"), "nothing reads `A`"),
    ],
)
def test_mistakes_end_with_a_message(residuum, folder, words, message):
    np.savez(folder / "half.npz", A=[[0.9, 0.9]])
    (folder / "empty.rsd").write_text("predicate A\n")
    (folder / "related.rsd").write_text(
        "domain person\npredicate Smokes(person)\n"
        "rule friends: forall x, y in person: Smokes(x) -> Smokes(y)\n"
    )
    code, out, err = residuum("advise", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err


@pytest.mark.usefixtures("quick")
def test_tables_of_members_come_with_the_predictions(residuum, folder):
    (folder / "related.rsd").write_text(
        "domain person\npredicate Smokes(person)\npredicate Knows(person, person)\n"
        "rule alike: forall x, y in person where Knows(x, y): Smokes(x) -> Smokes(y)\n"
    )
    np.savez(folder / "p.npz", Smokes=[0.9, 0.2, 0.8], **{"pairs:Knows": [[0, 2], [1, 1]]})
    words = ("advise", "related.rsd", "--sample", "p.npz", "-r", "s-product,exact")
    code, out, err = residuum(*words)
    assert (code, err) == (0, "")
    assert "alike: 2 groundings in each example, violated: 100.0% of p.npz" in out
    assert "`exact` is left out: it takes no rules that relate members" in " ".join(out.split())


def test_without_torch_the_extra_is_named(residuum, monkeypatch):
    for name in [one for one in sys.modules if one.startswith("residuum.advice")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [one for one in sys.modules if one.startswith("residuum.losses")]:
        monkeypatch.delitem(sys.modules, name)
    code, _, err = residuum("advise", "rules.rsd")
    assert (code, "pip install 'residuum[learn]'" in err) == (2, True)
