"""Tables of chunking say what the records hold, mark what is best, and what rules change."""

import statistics

import numpy as np
import pytest

from made_up_chunk_runs import GOLD, VECTORS, run, runs
from residuum.errors import ComparisonError
from residuum.results import Ratio, holm, paired_bootstrap, paired_t_test
from residuum.study.chunking.findings import (
    Findings,
    Setting,
    System,
    measures_of,
    of_presets,
)
from residuum.study.chunking.published import published_f1
from residuum.study.chunking.tables import tables
from residuum.study.grouped_runs import RESAMPLES
from residuum.study.table_format import MISSING, to_markdown

BOTH = ("argmax", "viterbi")
HERE = Setting("conll2000", VECTORS, 0.1)
R, S = System("r-product", False), System("s-product", False)


@pytest.fixture(scope="module")
def records():
    found = []
    for constraints, gain in ((False, 0), (True, 6)):
        found += runs("r-product", 80 + gain, constraints=constraints, viterbi=5.0)
        found += runs("s-product", 80, constraints=constraints)
        found += runs("s-godel", 60, constraints=constraints)
    return found


@pytest.fixture(scope="module")
def found(records):
    """All tables, by what they begin with."""
    return {
        table.title.partition(": conll2000")[0]: table for table in tables(Findings(records), BOTH)
    }


PLAIN, OBEDIENT = "F1 of the likeliest tags", "F1 of the likeliest tags that obey the rules"
RULES, DECODING = f"{PLAIN}: with rules, less without", f"{OBEDIENT}, less {PLAIN}"


def cells_of(table):
    return {line[0]: line[1:] for line in table.lines(bold="")}


def test_there_is_a_table_for_both_decodings_for_violations_and_for_what_changes(found):
    assert list(found) == [
        PLAIN, OBEDIENT, "Transitions of the likeliest tags that break the rules",
        "Transitions that break the rules, by their probability", RULES,
        f"{OBEDIENT}: with rules, less without", DECODING,
    ]  # fmt: skip
    assert found[PLAIN].title.endswith("vectors 100d-0123456789ab, 3 seeds (the paper's table 9)")
    assert "table 9" not in found[OBEDIENT].title


def test_one_decoding_alone_has_its_own_tables(records):
    titles = [table.title for table in tables(Findings(records), ["viterbi"])]
    assert len(titles) == 4
    assert not any(title.startswith(f"{PLAIN}:") for title in titles)


def test_a_cell_has_the_mean_and_the_sample_deviation_of_all_seeds(records, found):
    values = [record.measures["f1"] for record in records[:3]]
    expected = f"{statistics.mean(values):.2f} ({statistics.stdev(values):.2f})"
    row = cells_of(found[PLAIN])["10%"]
    assert found[PLAIN].heads.index("r-product") == 3
    assert row[2] == f"{expected}*"


def test_printed_figures_stand_below_measured_ones_and_nowhere_else(found):
    lines = list(found[PLAIN].lines(bold=""))
    assert [line[0] for line in lines] == ["10%", "  printed", "10% + C", "  printed"]
    assert lines[1][1:] == ["70.29", "79.46*", "79.46*", "76.50"]
    assert lines[3][1:] == ["70.81", "79.71", "80.14*", "76.80"]
    assert [line[0] for line in found[OBEDIENT].lines(bold="")] == ["10%", "10% + C"]


@pytest.mark.parametrize(
    "others",
    [{"corpus": "sample", "embeddings": None}, {"fraction": 0.104}, {"corpus": "conll2000-x"}],
)
def test_nothing_was_printed_for_other_texts_and_shares(others):
    [table, *_] = tables(Findings(runs("r-product", 80, **others)), BOTH)
    assert not any("printed" in line[0] for line in table.lines(bold=""))


def test_all_that_was_printed_is_in_the_table():
    names = ("s-godel", "s-product", "r-product", "lukasiewicz-maxsat")
    records = [
        record
        for name in names
        for fraction in (0.1, 1.0)
        for constraints in (False, True)
        for record in [run(name, 0, 80, fraction=fraction, constraints=constraints)]
    ]
    cells = tables(Findings(records), BOTH)[0].to_json()["cells"]
    assert [(c["fraction"], c["constraints"]) for c in cells[::4]] == [
        (0.1, False), (1.0, False), (0.1, True), (1.0, True),
    ]  # fmt: skip
    for cell in cells:
        name = cell["relaxation"].removesuffix("-maxsat")
        percent = round(100 * cell["fraction"])
        assert cell["printed"] == published_f1(name, percent, constraints=cell["constraints"])
    assert len(cells) == 16


def test_a_cell_without_runs_is_empty(found):
    assert cells_of(found[PLAIN])["10%"][3] == MISSING
    assert cells_of(found[RULES])["10% + C"][3] == MISSING


def test_what_is_not_significantly_worse_than_the_best_is_marked(found):
    marks = {
        name: [cell.endswith("*") for cell in cells]
        for name, cells in cells_of(found[PLAIN]).items()
    }
    assert marks["10%"] == [False, True, True, False]
    assert marks["10% + C"] == [False, False, True, False]
    one = cells_of(tables(Findings(runs("r-product", 80)), BOTH)[0])
    assert not one["10%"][2].endswith("*")


def ratio(records, start):
    arrays = [
        np.array([record.outcomes[name] for record in records], float)
        for name in (f"{start}correct", f"{start}guessed")
    ]
    return Ratio(200 * arrays[0], arrays[1] + GOLD)


def test_f1_is_compared_by_the_bootstrap_over_seeds_and_sentences(records):
    compared = Findings(records).compare(HERE, R, S, "f1")
    expected = paired_bootstrap(
        ratio(records[:3], ""), ratio(records[3:6], ""), resamples=RESAMPLES
    )
    assert compared == expected
    decodings = Findings(records).compare_measures(HERE, R, "viterbi_f1", "f1")
    assert decodings == paired_bootstrap(
        ratio(records[:3], "viterbi_"), ratio(records[:3], ""), resamples=RESAMPLES
    )


def test_violations_are_compared_by_seeds(records):
    compared = Findings(records).compare(HERE, R, System("s-godel", True), "violations")
    values = [[record.measures["violations"] for record in records[i : i + 3]] for i in (0, 15)]
    assert compared == paired_t_test(*values)


def test_differences_have_intervals_and_are_corrected_for_all_of_their_table(records, found):
    findings = Findings(records)
    names = ("s-godel", "s-product", "r-product")
    compared = {
        name: findings.compare(HERE, System(name, True), System(name, False), "f1")
        for name in names
    }
    cells = {cell["relaxation"]: cell for cell in found[RULES].to_json()["cells"]}
    # Those without an effect are the same run after run: their p-value is 1 or not to be had.
    assert cells["r-product"]["p_value"] == pytest.approx(
        holm([one.p_value for one in compared.values()])[2]
    )
    assert cells["r-product"]["difference"] == pytest.approx(compared["r-product"].difference)
    text = cells_of(found[RULES])["10% + C"][2]
    one = compared["r-product"]
    assert text == f"{one.difference:+.2f} ({one.low:+.2f} to {one.high:+.2f})*"
    assert not cells_of(found[RULES])["10% + C"][1].endswith("*")


def test_what_obeying_the_rules_changes_is_marked(found):
    cells = cells_of(found[DECODING])
    assert [cell.endswith("*") for cell in cells["10%"]] == [False, False, True, False]


def test_rules_on_text_without_labels_have_rows_of_their_own(records):
    more = runs("r-product", 88, constraints=True, unlabelled=True)
    found = tables(Findings([*records, *more]), BOTH)
    assert [line[0] for line in found[0].lines(bold="")][4:] == ["10% + C, unlabelled"]
    assert [line[0] for line in found[4].lines(bold="")] == ["10% + C", "10% + C, unlabelled"]
    assert found[4].to_json()["cells"][-1]["unlabelled"] is True


def test_vectors_and_texts_are_not_mixed(records):
    others = [*runs("r-product", 50, embeddings=None), *runs("r-product", 40, corpus="sample")]
    titles = [table.title for table in tables(Findings([*records, *others]), BOTH)]
    assert len(titles) == len(set(titles)) == 7 + 5 + 5
    assert any("no vectors" in title for title in titles)


def test_other_settings_are_left_out_and_counted(records):
    others = [
        run("r-product", 1, 50, learning_rate=0.123), run("r-product", 2, 50, rules="all"),
        run("r-product", 3, 50, constraints=True, weight=9.0),
        run("r-product", 1, 50, epochs=7),
    ]  # fmt: skip
    chosen = of_presets([*records, *others])
    assert {record.id for record in chosen.records} == {record.id for record in records}
    assert chosen.left_out == 4
    weighted = of_presets([*records, *others], weight=9.0)
    assert others[2] in weighted.records
    assert not any(r.configuration["weight"] == 1 for r in weighted.records)
    short = of_presets([*records, *others], epochs=7)
    assert short.records == others[3:]


def test_records_with_different_settings_are_never_put_together():
    with pytest.raises(ComparisonError, match=r"r-product \+ C with the same settings"):
        Findings(
            [
                run("r-product", seed, 90, constraints=True, weight=w)
                for seed, w in ((0, 1.0), (1, 2.0))
            ]
        )


def test_markdown_has_as_many_cells_in_every_row(found):
    for table in found.values():
        rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        assert {row.count("|") for row in rows} == {6}
    assert "| **79.46** | **79.46** |" in to_markdown(found[PLAIN])


def test_measures_are_named_by_the_decoding_that_is_shown():
    record = run("r-product", 0, 80, viterbi=5.0)
    plain, obedient = (measures_of(record, decoding) for decoding in BOTH)
    assert plain == record.measures
    assert obedient["f1"] == record.measures["viterbi_f1"] > plain["f1"]
    assert obedient["argmax_f1"] == plain["f1"]
    assert obedient["argmax_violations"] == plain["violations"]
    assert obedient["soft_violations"] == plain["soft_violations"]
    assert not any(name.startswith("viterbi") for name in obedient)
