"""`residuum show` with files, and the other verbs with files of clauses."""

from __future__ import annotations

import json

import pytest

CLAUSES = "p cnf 3 2\n1 -2 0 3\n-1 0\n"
RULES = "predicate P\npredicate Q\nrule first: P -> Q\nrule second weight 2: P | Q\n"


@pytest.mark.parametrize(
    ("name", "text", "rules"),
    [
        (
            "rules.cnf",
            CLAUSES,
            {"line_2": "Label(1) | ~Label(2)", "line_2_2": "Label(3) | ~Label(1)"},
        ),
        ("rules.rsd", RULES, {"first": "P -> Q", "second": "P | Q"}),
        ("rules.txt", "a or not b\n", {"line_1": 'Label("a") | ~Label("b")'}),
    ],
)
def test_show_prints_every_rule_of_a_file(residuum, tmp_path, name, text, rules):
    file = tmp_path / name
    file.write_text(text)
    code, out, err = residuum("show", "--json", str(file))
    assert (code, json.loads(out)["rules"], err) == (0, rules, "")
    code, out, _ = residuum("show", str(file))
    assert (code, [line.split(maxsplit=1) for line in out.splitlines()]) == (
        0,
        [[name, formula] for name, formula in rules.items()],
    )


def test_show_of_a_file_without_rules_says_so(residuum, tmp_path):
    (tmp_path / "empty.rsd").write_text("predicate P")
    assert residuum("show", str(tmp_path / "empty.rsd"))[:2] == (0, "no rules\n")


def test_a_formula_is_read_as_a_formula_even_beside_a_file_of_its_name(
    residuum, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "P").write_text("rule r: true")
    (tmp_path / 'P("a').mkdir()
    for formula in ("P", 'P("a.b")', "P" + " & P" * 5_000):
        code, out, _ = residuum("show", "--json", formula)
        assert (code, json.loads(out)["ascii"]) == (0, formula)


def test_a_missing_or_wrong_file_is_named(residuum, tmp_path):
    code, out, err = residuum("show", str(tmp_path / "none.cnf"))
    assert (code, out) == (2, "")
    assert "none.cnf: No such file" in err
    (tmp_path / "wrong.cnf").write_text("p cnf 1 1\n1 2 0\n")
    code, _, err = residuum("show", str(tmp_path / "wrong.cnf"))
    assert code == 2
    assert "line 2, column 3: expected a variable from 1 to 1, got 2" in err
