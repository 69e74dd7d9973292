"""The verbs on formulas, relaxations and rule files: output, JSON, exit codes, messages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from residuum.relaxations import PAPER, relaxation_names


def test_show_prints_every_style(residuum):
    code, out, err = residuum("show", "P & Q -> P")
    assert (code, err) == (0, "")
    assert "P ∧ Q → P" in out
    assert r"P \land Q \rightarrow P" in out
    assert out.splitlines()[-1].split() == ["tautology", "yes"]


def test_show_json_has_exactly_the_documented_keys(residuum):
    code, out, _ = residuum("show", "--json", "P -> Q")
    assert code == 0
    assert json.loads(out) == {
        "ascii": "P -> Q",
        "unicode": "P → Q",
        "latex": r"P \rightarrow Q",
        "atoms": ["P", "Q"],
        "tautology": False,
        "countermodel": {"P": True, "Q": False},
    }


def test_show_says_why_a_tautology_is_unknown(residuum):
    _, out, _ = residuum("show", "--json", "forall x in D: P(x)")
    shown = json.loads(out)
    assert shown["tautology"] is None
    assert shown["countermodel"] is None
    assert "quantified" in shown["reason"]


def test_a_dash_reads_standard_input(residuum):
    code, out, _ = residuum("show", "-", stdin="P ∨ ¬P  # a comment".encode())
    assert (code, "P | ~P" in out) == (0, True)


def test_standard_input_that_is_not_text_is_an_error(residuum):
    code, out, err = residuum("show", "-", stdin=b"P & \xff")
    assert (code, out) == (2, "")
    assert "expected UTF-8 text, got another byte at 4" in err


def test_truth_uses_the_papers_five_by_default(residuum):
    code, out, _ = residuum("truth", "--json", "P -> Q", "P=0.8", "Q=0.4")
    rows = json.loads(out)
    assert code == 0
    assert [row["relaxation"] for row in rows] == list(PAPER)
    assert {row["formula"] for row in rows} == {"P -> Q"}
    expected = [0.52, 0.5, 0.4, 0.4, 0.6]
    assert [row["value"] for row in rows] == pytest.approx(expected, abs=1e-15)


def test_truth_takes_relaxations_one_by_one_or_by_commas(residuum):
    words = ("truth", "--json", "P & Q", "P=1/2", "Q=.5")
    _, repeated, _ = residuum(*words, "-r", "r-yager(2)", "--relaxation", "s-godel")
    _, listed, _ = residuum(*words, "--relaxation", "r-yager(2),s-godel")
    assert repeated == listed
    assert [row["relaxation"] for row in json.loads(listed)] == ["r-yager(2)", "s-godel"]


def test_discontinuous_logics_are_computed_exactly(residuum):
    _, out, _ = residuum("truth", "~Q -> P", "P=0.3", "Q=0.7", "-r", "r-godel")
    assert out.split() == ["r-godel", "1"]


def test_truth_of_ground_atoms(residuum):
    code, out, _ = residuum("truth", "Digit(3) & ~Even(3)", "Digit(3)=0.9", "Even(3)=0.5")
    assert code == 0
    assert "0.45" in out


def test_truth_without_atoms_needs_no_degrees(residuum):
    code, out, _ = residuum("truth", "true -> false", "-r", "r-product", "--json")
    assert (code, json.loads(out)[0]["value"]) == (0, 0.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "P ==> Q"), "Did you mean `->`"),
        (("show", "(P"), "never closed"),
        (("truth", "P", "P=2"), "[0, 1]"),
        (("truth", "P", "P=nan"), "[0, 1]"),
        (("truth", "P", "P=1e999999999"), "[0, 1]"),
        (("truth", "P", "P=inf"), "[0, 1]"),
        (("truth", "P", "P"), "ATOM=DEGREE"),
        (("truth", "P & Q", "P=1"), "no value is given for `Q`"),
        (("truth", "Digit", "digt=1"), "Did you mean `Digit`"),
        (("truth", "P", "P=1", "-r", "r-prodct"), "Did you mean `r-product`"),
        (("truth", "P", "P=1", "-r", "r-yager"), "needs its parameter"),
        (("truth", "P", "P=1", "-r", "r-yager(-1)"), "p > 0"),
        (("truth", "P", "P=1", "-r", "r-drastic"), "Known are"),
        (("truth", "forall x in D: P(x)", "P(x)=1"), "expand"),
        (("relaxations", "fuzzy"), "no relaxation is called"),
        (("check", "no-such-file.rsd"), "No such file"),
        (("check", "."), "directory"),
        (("unknown-verb",), "No such command"),
        (("truth",), "Missing argument"),
    ],
)
def test_mistakes_end_on_stderr_with_exit_code_2(residuum, words, message):
    code, out, err = residuum(*words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_lone_surrogates_from_the_shell_do_not_crash(residuum):
    code, _, err = residuum("show", "P & \udcff")
    assert code == 2
    assert "U+DCFF" in err


def test_relaxations_lists_the_catalogue(residuum):
    code, out, _ = residuum("relaxations", "--json")
    listed = json.loads(out)
    assert code == 0
    assert [one["name"] for one in listed] == list(relaxation_names())
    assert {"kind", "structure", "expressions", "latex", "discontinuities", "source"} <= set(
        listed[0]
    )


def test_the_table_names_every_relaxation(residuum, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = residuum("relaxations")
    assert code == 0
    assert all(name in out for name in relaxation_names())


def test_a_relaxation_is_described_in_full(residuum):
    code, out, _ = residuum("relaxations", "r-yager(2)", "s-godel")
    assert code == 0
    assert "no: implies, iff" in out
    assert "name           s-godel" in out


def test_consistency_json_lists_every_pair(residuum):
    words = ("consistency", "P | ~P", "P -> (Q -> P)", "-r", "s-godel", "-r", "r-product")
    code, out, _ = residuum(*words, "--json")
    rows = json.loads(out)
    assert code == 0
    assert [(row["formula"], row["relaxation"]) for row in rows] == [
        ("P | ~P", "s-godel"),
        ("P | ~P", "r-product"),
        ("P -> Q -> P", "s-godel"),
        ("P -> Q -> P", "r-product"),
    ]
    assert [row["exact"] for row in rows] == ["3/4", "5/6", "19/24", "1"]
    keys = [
        "formula",
        "relaxation",
        "value",
        "kind",
        "exact",
        "recognised",
        "low",
        "high",
        "method",
        "seconds",
    ]
    assert list(rows[0]) == keys


def test_consistency_says_when_a_formula_is_no_tautology(residuum):
    code, out, _ = residuum("consistency", "P & P -> Q & ~Q", "--digits", "3")
    assert code == 0
    assert "not a tautology" in out
    assert " = " in out
    assert "(certified)" in out
    assert "between" in out


def test_closed_forms_are_shown_with_any_number_of_digits(residuum):
    _, out, _ = residuum("consistency", "P | P -> P", "-r", "r-product", "--digits", "50")
    assert "0.69314718055994530941723212145817656807550013436026 = log(2)" in out
    _, out, _ = residuum("consistency", "P | Q -> P & Q", "-r", "r-product", "--json")
    assert json.loads(out)[0]["exact"] == "pi^2/3 - 3"


def test_self_consistency_of_a_conjunction(residuum):
    _, out, _ = residuum("self-consistency", "P & Q", "-r", "s-product", "--json")
    assert json.loads(out)[0]["exact"] == "449/600"


def test_tautologies_marks_what_was_printed_wrong(residuum, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = residuum("tautologies")
    assert code == 0
    assert "0.897716 ≠" in out
    assert "0.897716 = (2 + log(2))/3, printed 0.88" in out
    assert "log(2)  " in out
    assert "7 figures differ" in out
    assert "DM2 as printed is not a tautology" in out
    _, out, _ = residuum("tautologies", "--json", "-r", "s-godel")
    assert len(json.loads(out)) == 22


def test_gradients_as_a_table_and_as_json(residuum):
    code, out, _ = residuum("gradients", "P -> Q", "-r", "r-godel")
    assert (code, "100.0%" in out) == (0, True)
    _, out, _ = residuum("gradients", "P & Q", "--json", "--points", "100")
    rows = json.loads(out)
    assert [row["relaxation"] for row in rows] == list(PAPER)
    assert rows[0]["points"] == 100


def test_consistency_of_a_quantified_formula_is_explained(residuum):
    code, out, err = residuum("consistency", "--json", "forall x in D: P(x)")
    assert (code, out) == (2, "")
    assert "expand" in err


GOOD = "domain d = 0..3\npredicate P(d)\nrule r: exists x in d: P(x)\n"
BAD = "domain d = 0..3\npredicate P(d)\nrule r: forall x in d: Q(x)\nrule s: forall x in e: P(9)\n"


def test_check_approves_a_file_in_order(residuum, tmp_path):
    file = tmp_path / "good.rsd"
    file.write_text(GOOD)
    code, out, _ = residuum("check", str(file))
    assert code == 0
    assert "1 domain, 0 functions, 1 predicate, 0 sets of facts, 1 rule" in out
    answer = json.loads(residuum("check", "--json", str(file))[1])
    assert (answer["ok"], answer["errors"], answer["contradictions"]) == (True, [], [])


def test_check_reports_every_problem(residuum, tmp_path):
    file = tmp_path / "bad.rsd"
    file.write_text(BAD)
    code, out, _ = residuum("check", "--json", str(file))
    answer = json.loads(out)
    assert (code, answer["ok"]) == (2, False)
    assert [(e["line"], e["column"]) for e in answer["errors"]] == [(3, 24), (4, 21), (4, 26)]
    code, out, err = residuum("check", str(file))
    assert (code, out) == (2, "")
    assert "3 problems" in err


COMMAND = Path(sys.executable).parent / "residuum"


def test_the_shell_completes_verbs_and_relaxations():
    def complete(words: str) -> list[str]:
        environment = {"_RESIDUUM_COMPLETE": "complete_bash", "COMP_WORDS": words}
        environment["COMP_CWORD"] = str(len(words.split()) - 1)
        result = subprocess.run([COMMAND], env=environment, capture_output=True, text=True)
        return result.stdout.split()

    assert complete("residuum tr") == ["truth"]
    assert complete("residuum truth P -r r-godel") == ["r-godel"]
