"""Records that cannot be used: tables and reports skip them and say so on stderr."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

import made_up_chunk_runs
import made_up_runs
from hostile_records import without
from residuum.results import Record, Store, write_archive

HOSTILE = "\x1b[31m\x9b\r\u202e[red]"
BAD = Record(
    study="digits",
    scheme=1,
    configuration={"relaxation": "r-product", "digit_size": 1000, "weight": 0.1, "seed": 20},
    measures={"Digit": 97.5},
)


@pytest.fixture
def fill(tmp_path, monkeypatch):
    """Make a store of records, in an empty folder."""
    monkeypatch.setattr("residuum.reports.theory_sections.DRAWN_FORMULAS", ("P -> Q",))
    monkeypatch.setattr("residuum.cli.report.tautology_table", lambda *_, **__: _few_rows())
    monkeypatch.setattr("residuum.cli.report.catalogue", lambda: [None])
    monkeypatch.setenv("RESIDUUM_STORE", str(tmp_path / "usual.sqlite"))
    monkeypatch.chdir(tmp_path)

    def filled(*records):
        with Store(tmp_path / "runs.sqlite") as store:
            for record in records:
                store.add(record)
        return ("--store", "runs.sqlite")

    return filled


def _few_rows():
    from residuum.analysis import Cell, catalogue, consistency
    from residuum.relaxations import default_relaxations

    row = catalogue()[0]
    yield [
        Cell(row, one, consistency(row.formula, one), row.printed.get(one.name))
        for one in default_relaxations(())
    ]


@pytest.mark.parametrize("form", [(), ("--markdown",), ("--json",)])
def test_tables_name_a_skipped_record_as_the_documentation_does(residuum, fill, form):
    store = fill(BAD, *made_up_runs.runs("r-product", 90))
    code, out, err = residuum("study", "digits", "--table", *store, *form)
    assert code == 0
    assert err.startswith(f"residuum: 1 record of digits is skipped: {BAD.id} lacks the settings ")
    assert err.count("\n") == 1
    if "--json" in form:
        content = json.loads(out)
        assert [one["id"] for one in content["skipped"]] == [BAD.id]
        assert content["tables"][0]["cells"][0]["seeds"] == 3
    else:
        assert "3 seeds" in out


def test_options_that_choose_runs_work_on_records_without_settings(residuum, fill):
    run = made_up_chunk_runs.run("r-product", 0, 80, fraction=1.0)
    lacking = replace(run, configuration={"relaxation": "r-product"})
    store = fill(lacking, run)
    code, out, err = residuum("study", "chunking", "--table", *store)
    assert (code, "1 record of chunking is skipped: " in err) == (0, True)
    assert "F1 of the likeliest tags" in out
    for option in (
        ("--seeds", "0"), ("--fraction", "1"), ("--corpus", "conll2000"), ("--no-constraints",),
    ):  # fmt: skip
        code, out, err = residuum("study", "chunking", "--table", *store, *option)
        assert (code, err) == (0, "")
        assert "F1 of the likeliest tags" in out
    code, out, err = residuum("study", "digits", "--table", *fill(BAD), "--images", "mnist")
    assert (code, "no records of this" in err) == (2, True)


def test_the_report_names_skipped_records_on_its_page_and_on_stderr(residuum, fill, tmp_path):
    chunks = made_up_chunk_runs.runs("r-product", 80)
    lacking = [replace(one, measures=without(one.measures, "f1")) for one in chunks]
    store = fill(BAD, *made_up_runs.runs("r-product", 90), *lacking)
    code, _, err = residuum("report", *store)
    assert code == 0
    one, two = err.splitlines()
    assert one.startswith(f"residuum: 1 record of digits is skipped: {BAD.id} lacks the settings ")
    assert two.startswith("residuum: 3 records of chunking are skipped: ")
    assert two.count("lacks the measure `f1`") == 3
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count('<p class="warning">') == 2
    assert f"{BAD.id} lacks the settings" in page
    assert "3 seeds" in page
    code, out, _ = residuum("report", *store, "--json")
    assert [f"residuum: {one}" for one in json.loads(out)["warnings"]] == [one, two]


def test_control_characters_of_skipped_records_are_escaped(residuum, fill):
    known = dict(made_up_runs.run("r-product", 0, 90).configuration)
    hostile = [{**known, "relaxation": HOSTILE}, {**known, "seed": HOSTILE}]
    bad = [replace(BAD, configuration=one) for one in hostile]
    store = fill(*bad, *made_up_runs.runs("r-product", 90))
    for words in (("study", "digits", "--table"), ("report",)):
        code, out, err = residuum(*words, *store)
        assert (code, "2 records of digits are skipped" in err) == (0, True)
        assert all(one.isprintable() or one == "\n" for one in out + err)


def test_the_report_skips_damaged_records_and_names_them(residuum, fill, tmp_path):
    sound = made_up_runs.runs("r-product", 90)
    store = fill(*sound)
    with closing(sqlite3.connect("runs.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET line = 'x' || line WHERE id = ?", [sound[0].id])
    code, out, err = residuum("report", *store)
    assert (code, out) == (0, "report.html: 2 runs in 7 sections\n")
    assert err.startswith("residuum: 1 damaged record is left out: ")
    assert f"run {sound[0].id}: this is no record" in err
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"run {sound[0].id}: this is no record" in page
    assert "2 seeds" in page
    (tmp_path / "results").mkdir()
    write_archive(tmp_path / "results" / "digits.jsonl", sound)
    with (tmp_path / "results" / "digits.jsonl").open("ab") as file:
        file.write(b"<<<<<<< HEAD\n" * 5)
    code, out, err = residuum("report")
    assert (code, out) == (0, "report.html: 3 runs in 7 sections\n")
    assert err.startswith("residuum: 5 damaged records are left out: ")
    assert err.endswith("; and 2 more\n")
    code, out, err = residuum("study", "digits", "--table")
    assert code == 0
    assert "r-product" in out
    assert "digits.jsonl, line 4: " in err
    assert err.count("this record is left out") == 5
