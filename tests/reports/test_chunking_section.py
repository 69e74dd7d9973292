"""The section of the chunking study: what it shows, and what it says is missing."""

import csv
import io
import re

import pytest

from made_up_chunk_runs import VECTORS, run, runs
from reports.made_up_report import F1S, some_chunking
from residuum.reports.blocks import Picture, Table
from residuum.reports.chunking_section import chunking_section
from residuum.reports.exports import to_csv
from residuum.reports.page import render_page
from residuum.results import Record
from residuum.study.chunking.claims import claims
from residuum.study.chunking.settings import TUNING

CONLL = f"chunking-conll2000-{VECTORS}"


@pytest.fixture(scope="module")
def section():
    return chunking_section(some_chunking())


@pytest.fixture(scope="module")
def page(section):
    return render_page([section])


def page_of(records):
    return render_page([chunking_section(records)])


def test_the_papers_table_stands_beside_ours(page):
    table = page[page.index(f'id="{CONLL}-f1"') :]
    assert "the paper's table 9" in table[:300].replace("&#39;", "'")
    row = re.search(r'<th scope="row">10% \+ C</th>.*?</tr>', table, re.DOTALL)[0]
    printed = re.search(r'<th scope="row">printed</th>.*?</tr>', table[table.index(row) :], re.S)[0]
    assert re.findall(r"\d\d\.\d\d", printed) == ["70.81", "79.71", "80.14", "76.80"]


def test_files_of_tables_hold_means_and_the_printed_figures(section):
    tables = {table.name: table for table in section.all(Table)}
    rows = list(csv.DictReader(io.StringIO(to_csv(tables[f"{CONLL}-f1"]))))
    [row] = [
        row
        for row in rows
        if row["relaxation"] == "r-product"
        and (row["fraction"], row["constraints"]) == ("0.1", "False")
    ]
    values = [one.measures["f1"] for one in runs("r-product", F1S["r-product"])]
    assert float(row["mean"]) == pytest.approx(sum(values) / 3)
    assert (row["printed"], row["seeds"]) == ("79.46", "3")
    assert {
        f"{CONLL}-{name}" for name in ("f1-by-rules", "viterbi_f1-by-rules", "f1-by-decoding")
    } <= set(tables)


def test_pictures_are_of_measures_learning_and_weights(section):
    pictures = {one.name: one for one in section.all(Picture)}
    assert set(pictures) == {
        f"{CONLL}-measures", f"{CONLL}-learning", f"{CONLL}-10-weights",
        "chunking-sample-measures", "chunking-sample-learning",
    }  # fmt: skip
    learning = pictures[f"{CONLL}-learning"].figure
    assert [place.get_title() for place in learning.axes] == [
        "10% of the sentences", "", "", "100% of the sentences",
    ]  # fmt: skip
    assert learning.axes[0].lines[0].get_xydata().tolist() == [[15, 40], [30, 50]]
    f1, _, violations = pictures[f"{CONLL}-measures"].figure.axes
    assert [label.get_text() for label in f1.get_xticklabels()] == [
        "10%", "100%", "10%\n+ C", "10%\n+ C\nunlabelled",
    ]  # fmt: skip
    drawn = [float(y) for line in violations.lines for y in line.get_ydata()]
    assert any(y == pytest.approx(0.5 + 0.01 * (0 + 20 + 50) / 150) for y in drawn)


def test_cells_without_runs_or_with_few_seeds_are_named(page):
    [lacking] = re.findall(r"CoNLL-2000 these lack runs: (.*?)\.</p>", page)
    assert lacking.split("; ") == [
        "s-godel, 100%", "r-product, 100%", "lukasiewicz-maxsat, 100%",
        *(f"{name}, 100% + C" for name in F1S),
    ]  # fmt: skip
    assert "With fewer than 3 seeds so far: s-product, 100%." in page
    assert "<td>–</td>" in page


def test_a_complete_table_lacks_nothing():
    records = [
        one
        for name, level in F1S.items()
        for fraction in (0.1, 1.0)
        for constraints in (False, True)
        for one in runs(name, level, fraction=fraction, constraints=constraints)
    ]
    page = page_of(records)
    assert "lack runs" not in page
    assert "seeds so far" not in page
    assert "No relaxation was run with two weights" in page


def test_runs_of_the_sample_stand_by_themselves():
    quick = [
        run(name, 0, 70, corpus="sample", embeddings=None, fraction=1.0, constraints=constraints)
        for name in F1S
        for constraints in (False, True)
    ]
    page = page_of(quick)
    assert "sample, no vectors, 1 seed" in page
    assert "residuum study chunking --corpus sample --table" in page
    assert "--embeddings" not in page
    assert "Nothing of the paper" in page
    assert "8 finished runs, of which 8 " in page


def test_claims_are_judged_and_say_what_they_lack(page):
    assert page.count("<summary>Evidence</summary>") == len(claims())
    assert "missing: " in page


def test_without_runs_it_says_so():
    old = Record(study="chunking", scheme=0, configuration={"seed": 1})
    for records in ([], [old]):
        page = page_of(records)
        assert "No runs of this study were found" in page
        assert "residuum study chunking --quick" in page


def test_runs_of_tuning_are_only_counted():
    tried = [
        Record(study=TUNING, scheme=one.scheme, configuration=one.configuration, curves=one.curves)
        for one in runs("r-product", 80, constraints=True)
    ]
    page = page_of(tried)
    assert "0 finished runs" in page
    assert "3 runs of tuning" in page
    assert "<table" not in page


def test_runs_with_other_settings_are_counted_and_drawn_by_weight():
    records = [
        one
        for weight in (0.5, 5.0)
        for one in runs("r-product", 80, constraints=True, weight=weight, epochs=7)
    ]
    page = page_of(records)
    assert "6 finished runs, of which 0 " in page
    assert "No run has the settings that were chosen on DEV." in page
    assert f'id="{CONLL}-10-weights"' in page


def test_runs_on_an_unknown_text_are_counted_but_in_no_table():
    known = run("r-product", 0, 80)
    foreign = Record(
        study=known.study, scheme=known.scheme, measures=known.measures, outcomes=known.outcomes,
        configuration={**known.configuration, "corpus": "letters"}, curves=known.curves,
    )  # fmt: skip
    page = page_of([known, foreign])
    assert "2 finished runs, of which 1 " in page
