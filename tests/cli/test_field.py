"""`residuum field`: listed, trained, stopped, tabulated, compared, refused."""

import json
import sys

import pytest

from made_up_tasks import PAGE
from residuum.results import Store, write_archive


@pytest.fixture(autouse=True)
def page(tmp_path, monkeypatch):
    folder = tmp_path / "examples" / "field"
    folder.mkdir(parents=True)
    (folder / "made_up.py").write_text(PAGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESIDUUM_STORE", str(tmp_path / "runs.sqlite"))
    return folder / "made_up.py"


def test_tasks_are_listed(residuum):
    assert residuum("field", "--list")[1].split() == [
        "made-up",
        *["Made", "up:", "that", "pages", "are", "found"],
    ]
    [task] = json.loads(residuum("field", "--list", "--json")[1])
    assert task["name"] == "made-up"
    _, out, err = residuum("field")
    assert "made-up" in out
    assert err == "name one of these: residuum field NAME --quick\n"


def test_quick_runs_are_kept_and_not_run_again(residuum):
    code, out, err = residuum("field", "made-up", "--quick", "--json")
    assert code == 0
    assert "5 runs, 0 of them found" in err
    assert "done: large, fast, seed 1: right 12.0, wrong 7.0 (0 s)" in err
    _, large = json.loads(out)
    assert [row["method"] for row in large["rows"]] == ["slow", "fast", "wild"]
    assert [row["broken"] for row in large["rows"]] == [0, 0, 1]
    assert large["rows"][2]["measures"] == {"right": 5.0, "wrong": 99.0}
    assert "5 runs, 5 of them found" in residuum("field", "made-up", "--quick")[2]


def test_the_same_command_goes_on_after_a_stop(residuum, page, monkeypatch):
    stopping = PAGE.replace(
        "    return {", "    if run.seed == 2: raise KeyboardInterrupt\n    return {"
    )
    page.write_text(stopping)
    words = ("field", "made-up", "--method", "slow", "--part", "small", "--seeds", "1,2,3")
    code, _, err = residuum(*words)
    assert code == 130
    assert "stopped: 1 of 3 runs are kept; the same command goes on" in err
    page.write_text(PAGE)
    monkeypatch.delitem(sys.modules, "residuum_field_made_up")  # as in a new process
    code, out, err = residuum(*words)
    assert code == 0
    assert "3 runs, 1 of them found" in err
    assert "22.5" in out  # the mean of 20 + 0.5 + seed


def test_tables_are_printed_from_a_store_or_an_archive(residuum, tmp_path):
    residuum("field", "made-up", "--seeds", "1,2")
    _, out, _ = residuum("field", "made-up", "--table", "--markdown")
    assert "Made up, large (TEST)" in out
    assert "| fast | **22.5** ± 0.7 |" in out
    assert "| others | 50.0 | – | – | – | a book |" in out
    assert "2, 2 broken" in out
    with Store(tmp_path / "runs.sqlite") as store:
        records = list(store)
    (tmp_path / "results").mkdir()
    write_archive(tmp_path / "results" / "field.jsonl", records)
    (tmp_path / "runs.sqlite").unlink()
    assert residuum("field", "made-up", "--table", "--markdown")[1] == out


def test_without_runs_the_command_says_what_to_do(residuum):
    expected = "there are no runs; run: residuum field made-up\n"
    assert residuum("field", "made-up", "--table")[1] == expected
    assert "no task has runs of two methods yet" in residuum("field", "--compare")[1]
    residuum("field", "made-up", "--valid", "--seeds", "101")
    expected = expected.replace(";", " with the settings of the page; 5 others are known;")
    assert residuum("field", "made-up", "--table")[1] == expected


def test_the_tables_of_all_tasks_are_one_page(residuum):
    _, out, _ = residuum("field", "--table", "--markdown")
    assert out.startswith(
        "# The field's tasks: tables\n\nPrinted by `residuum field --table --mark"
    )
    assert ("\n\n## Made up\n\nThat pages are found: `residuum field made-up`.\n") in out
    assert "There are no runs of all seeds yet." in out
    residuum("field", "made-up", "--seeds", "1")
    _, out, _ = residuum("field", "--table", "--markdown")
    assert "\n\nAll tasks (TEST)\n\n| method | made-up large: right | mean rank |\n" in out
    assert out.index("\n## Made up\n") < out.index("\nMade up, small (TEST)\n")
    assert out.endswith("| a book |\n\n- Nobody made these figures.\n")
    assert "Made up, small" in residuum("field", "--table")[1]
    assert len(json.loads(residuum("field", "--table", "--json")[1])) == 2


def test_trials_are_printed_run_by_run(residuum):
    words = (
        "field",
        "made-up",
        "--valid",
        "--seeds",
        "101",
        "--set",
        "rate=0.25",
        "--method",
        "slow",
    )
    _, out, _ = residuum(*words)
    assert out.splitlines() == [
        "small slow, seed 101: right 121.25, wrong 7.00",
        "large slow, seed 101: right 121.25, wrong 7.00",
    ]
    found = json.loads(residuum(*words, "--json")[1])
    assert found[0]["configuration"]["rate"] == 0.25
    assert "0 of them found" in residuum("field", "made-up", "--valid", "--seeds", "101")[2]


def test_all_tasks_are_compared(residuum):
    residuum("field", "made-up", "--seeds", "1")
    _, out, _ = residuum("field", "--compare", "--markdown")
    assert "| method | made-up large: right | mean rank |" in out
    assert "| wild | 5.0, 1 of 1 broken | – |" in out
    assert json.loads(residuum("field", "--compare", "--json")[1])["tasks"] == [
        {"task": "made-up", "part": "large"}
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["maid-up"], "expected a task of `residuum field --list`, got 'maid-up'"),
        (["made-up", "--method", "quick"], "expected a method of slow, fast, wild, got 'quick'"),
        (["made-up", "--part", "huge"], "expected a part of small, large, got 'huge'"),
        (["made-up", "--seeds", "one"], "--seeds: expected whole numbers"),
        (["made-up", "--set", "rate=1"], "add --valid, or change the page"),
        (["made-up", "--valid", "--set", "rate"], "expected NAME=VALUE such as rate=0.01"),
        (["made-up", "--valid", "--set", "rat=1"], "got 'rat'"),
        (["made-up", "--table", "--method", "slow"], "--table and --compare read all records"),
        (["made-up", "--markdown"], "--markdown is a form of --table"),
        (["made-up", "--compare"], "--compare is about all tasks; leave out 'made-up'"),
        (["made-up", "--table", "--store", "none.sqlite"], "there is no store none.sqlite"),
    ],
)
def test_mistakes_are_refused_in_words(residuum, words, message):
    code, out, err = residuum("field", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
