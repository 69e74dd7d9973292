"""`residuum check`: what the rules of a file say together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from residuum.checks import checking

CONTRADICTORY = """
domain d = 0..3
function f(d): d
predicate P(d)
predicate Q
rule every: forall x in d: P(x)
rule yes: Q
rule no: ~Q
rule either: Q | P(0)
rule unknown: forall x in d: P(f(x))
rule always: true
"""
UNKNOWN = (
    "expected values of function `f`, got none; pass functions={'f': ...} with a mapping or a "
    "Python function"
)
REDUNDANT = """
domain image
domain d = 0..3
predicate P(image, d)
rule a: forall i in image: P(i, 0) | P(i, 1)
rule b: forall i in image: ~P(i, 2)
rule c: forall i in image, x in d where x > 1: ~P(i, x)
"""
SEQUENCES = """
domain tag = B, I
domain position sequence
predicate Tag(position, tag)
rule some: exists i in position: Tag(i, I)
rule first: forall x in tag: ~Tag(0, I)
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="rules.rsd"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_contradictions_are_errors_and_the_rest_is_still_said(residuum, file):
    path = file(CONTRADICTORY)
    code, out, err = residuum("check", path)
    assert code == 2
    assert err.splitlines() == [
        f"residuum: {path}: rules contradict each other",
        "no prediction obeys the rule every. Change it.",
        "no prediction obeys the rules yes and no together. Change one of them.",
    ]
    assert out.splitlines() == [
        "rule always holds for every prediction",
        f"not checked: unknown: {UNKNOWN}",
    ]


def test_json_has_it_all(residuum, file):
    code, out, err = residuum("check", "--json", file(CONTRADICTORY))
    answer = json.loads(out)
    assert (code, err, answer["ok"], answer["errors"]) == (2, "", False, [])
    assert answer["contradictions"] == [
        {"rules": rules, "lengths": [], "at_every_length": True, "minimal": True}
        for rules in (["every"], ["yes", "no"])
    ]
    assert answer["entailed"] == [{"rule": "always", "by": [], "minimal": True}]
    assert [one["rule"] for one in answer["not_checked"]] == ["unknown"]
    assert (answer["lengths"], answer["open_domains"]) == ([], [])


def test_rules_that_follow_from_others_are_only_said(residuum, file):
    path = file(REDUNDANT)
    code, out, err = residuum("check", path)
    assert (code, err) == (0, "")
    contents = "2 domains, 0 functions, 1 predicate, 0 sets of facts, 3 rules"
    assert out.splitlines() == [
        f"{path}: no mistakes found in {contents}",
        "rule a follows from c",
        "rule b follows from c",
        "rule c follows from a",
        "contradictions and redundant rules: checked with one member of image",
    ]


def test_a_contradiction_of_short_sequences_is_only_said(residuum, file):
    code, out, err = residuum("check", file(SEQUENCES))
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        "no prediction for sequences of length 1 obeys the rules some and first together",
        "contradictions and redundant rules: checked with sequences of length 1 to 4",
    ]
    answer = json.loads(residuum("check", "--json", file(SEQUENCES))[1])
    assert answer["ok"]
    assert answer["contradictions"][0]["lengths"] == [1]
    assert answer["lengths"] == [1, 2, 3, 4]


def test_clauses_are_checked_and_long_lists_are_cut(residuum, file):
    chain = "\n".join(f"x{k + 1} or not x{k}" for k in range(40))
    copies = "\n".join(f"x{k + 1} or not x{k}" for k in range(40) for _ in range(3))
    code, out, _ = residuum("check", file(f"{chain}\nx40 or not x0\n{copies}\n", "rules.txt"))
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 102
    assert lines[1] == "rule line_1 follows from line_42"
    assert lines[-1] == "… and 61 more rules follow from others; --json lists them"
    code, out, _ = residuum("check", file(f"{chain}\nx40 or not x0\n", "rules.txt"))
    assert out.splitlines()[1:] == [
        "rule line_41 follows from "
        + "".join(f"line_{k}, " for k in range(1, 13))
        + "… (40 in all)"
    ]
    code, _, err = residuum("check", file("p cnf 1 2\n1 0 -1 0\n", "rules.cnf"))
    assert code == 2
    assert "the rules line_2 and line_2_2 together" in err


def test_what_takes_too_long_is_said(residuum, file, monkeypatch):
    monkeypatch.setattr(checking, "MOST_STEPS", 3)
    code, out, err = residuum("check", file(REDUNDANT))
    assert (code, err) == (0, "")
    assert "not checked: a, b and c: whether it follows from others: the solver gave up" in out


def test_a_file_without_rules_is_in_order(residuum, file):
    code, out, _ = residuum("check", file("predicate P"))
    assert (code, len(out.splitlines())) == (0, 1)


UNENDING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from residuum.checks import checking, rule_solver
from residuum.cli import main
checking.MOST_STEPS = 10**12
solve = rule_solver.solve_limited
def solve_and_say(solver, literals):
    print("solving", flush=True)
    return solve(solver, literals)
rule_solver.solve_limited = solve_and_say
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_stops_the_solver(file):
    holes = range(15)
    somewhere = [" or ".join(f"p{k}h{h}" for h in holes) for k in range(16)]
    apart = [f"not p{k}h{h} or not p{j}h{h}" for h in holes for k in range(16) for j in range(k)]
    path = file("\n".join(somewhere + apart), "rules.txt")
    words = [sys.executable, "-c", UNENDING, "check", path]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "solving\n"
        time.sleep(0.3)  # the solver has begun
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (130, False)
