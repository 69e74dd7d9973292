"""Tables say what the records hold, mark what is best, and mix no settings."""

import statistics

import numpy as np
import pytest

from made_up_runs import PAIRS, SEEDS, run, runs
from residuum.errors import ComparisonError
from residuum.results import paired_bootstrap, paired_t_test, welch_t_test
from residuum.study.digits.data.images import load_images
from residuum.study.digits.data.sets import draw_pair_test, make_sets
from residuum.study.digits.findings import Findings, Setting, System, of_presets
from residuum.study.digits.tables import tables
from residuum.study.grouped_runs import RESAMPLES
from residuum.study.table_format import MISSING, to_markdown

HERE = Setting("mnist", "paper", 1000, 5000)
R, S = System("joint", "r-product"), System("joint", "s-product")


@pytest.fixture(scope="module")
def records():
    return [*runs("r-product", 96), *runs("s-product", 95.9), *runs("s-godel", 60)]


@pytest.fixture(scope="module")
def found(records):
    return {table.measure: table for table in tables(Findings(records))}


def test_pairs_of_test_images_are_known_without_the_images():
    images = load_images("embedded")
    sets = make_sets(images, 20, 30)
    np.testing.assert_array_equal(sets.pair_test, draw_pair_test(len(images.test)))


def test_a_cell_has_the_mean_and_the_sample_deviation_of_all_seeds(records, found):
    values = [record.measures["digit_accuracy"] for record in records[:3]]
    cell = found["digit_accuracy"].rows["r-product"][0]
    assert cell.summary.mean == pytest.approx(statistics.mean(values))
    assert cell.summary.deviation == pytest.approx(statistics.stdev(values))
    assert cell.summary.count == 3


def test_printed_figures_stand_below_measured_ones(found):
    cell = found["digit_accuracy"].rows["r-product"][0]
    assert (cell.printed.mean, cell.printed.std, cell.printed.bold) == (96.3, 0.1, True)
    # What the paper calls Łukasiewicz is its MAX-SAT form.
    cell = found["coherence"].rows["lukasiewicz-maxsat"][2]
    assert (cell.printed.mean, cell.printed.std) == (82.6, 0.2)
    lines = list(found["coherence"].lines(bold=""))
    assert [line[0] for line in lines[:2]] == ["s-godel", "  printed"]
    assert lines[5] == ["  printed", "89.1 (0.3)*", "91.5 (0.4)*", "92.1 (0.1)*", "", ""]


def test_a_cell_without_runs_is_empty(found):
    lines = {line[0]: line for line in found["associativity"].lines(bold="")}
    assert lines["lukasiewicz-maxsat"][1:] == [MISSING] * 5
    assert lines["r-product"][2:] == [MISSING, MISSING, "3", MISSING]


def test_what_is_not_significantly_worse_than_the_best_is_marked(found):
    column = {name: row[0].is_best for name, row in found["digit_accuracy"].rows.items()}
    assert column == {
        "s-godel": False,
        "s-product": True,
        "r-product": True,
        "lukasiewicz-maxsat": False,
    }


def test_one_system_alone_is_not_the_best():
    [table, *_] = tables(Findings(runs("r-product", 90)))
    assert not table.rows["r-product"][0].is_best


def test_pairs_are_compared_by_the_bootstrap_over_seeds_and_images(records):
    found = Findings(records).compare(HERE, R, S, "coherence")
    arrays = [
        np.array([
            50.0 * record.outcomes["sum_coherence"] + 50.0 * record.outcomes["product_coherence"]
            for record in part
        ])
        for part in (records[:3], records[3:6])
    ]  # fmt: skip
    assert found == paired_bootstrap(*arrays, PAIRS, resamples=RESAMPLES)


def test_laws_are_compared_by_seeds(records):
    found = Findings(records).compare(HERE, R, S, "associativity")
    values = [[record.measures["associativity"] for record in records[i : i + 3]] for i in (0, 3)]
    assert found == paired_t_test(*values)


def test_of_two_common_seeds_and_more_only_these_are_compared():
    different = [*runs("r-product", 90), *(run("s-product", seed, 80) for seed in (0, 20))]
    both = [r for r in different if r.configuration["seed"] in (0, 20)]
    others = [run("s-product", 1, 99), run("r-product", 2, 9)]
    for measure in ("digit_accuracy", "associativity"):
        found = Findings([*different, *others]).compare(HERE, R, S, measure)
        assert found == Findings(both).compare(HERE, R, S, measure)


FRESH = tuple(range(1001, 1011))


def apart(measure):
    """Compare ten seeds of one relaxation with three others of another."""
    records = [*(run("r-product", seed, 90) for seed in FRESH), *runs("s-product", 80)]
    return Findings(records).compare(HERE, R, S, measure), records


def test_relaxations_with_different_seeds_are_compared_without_pairing():
    found, records = apart("digit_accuracy")
    arrays = [100.0 * np.array([record.outcomes["digit"] for record in part])
              for part in (records[:10], records[10:])]  # fmt: skip
    assert found.difference == pytest.approx(arrays[0].mean() - arrays[1].mean())
    # Images are drawn for both at once, seeds for each: the variances of three means add up.
    gap = arrays[0].mean(axis=0) - arrays[1].mean(axis=0)
    error = gap.var() / len(gap)
    error += sum(array.mean(axis=1).var(ddof=1) / len(array) for array in arrays)
    reach = found.high - found.difference
    assert reach / 1.96 == pytest.approx(np.sqrt(error), rel=0.1)


def test_laws_of_relaxations_with_different_seeds_are_compared_by_welchs_test():
    found, records = apart("associativity")
    values = [[r.measures["associativity"] for r in part] for part in (records[:10], records[10:])]
    assert found == welch_t_test(*values)


def test_a_common_seed_alone_pairs_nothing():
    one = [run("r-product", 0, 90)]
    found = Findings([*one, *runs("s-product", 80)]).compare(HERE, R, S, "digit_accuracy")
    three = Findings(runs("s-product", 80)).summary(HERE, S, "digit_accuracy").mean
    assert found.difference == pytest.approx(one[0].measures["digit_accuracy"] - three)
    assert Findings(one).compare(HERE, R, S, "digit_accuracy") is None


def test_the_best_is_marked_among_relaxations_with_different_seeds():
    records = [
        *(run(name, seed, level) for name, level in (("r-product", 96), ("s-product", 95.9))
          for seed in FRESH),
        *runs("s-godel", 60),
    ]  # fmt: skip
    table = tables(Findings(records))[0]
    marks = {name: row[0].is_best for name, row in table.rows.items() if row[0].summary}
    assert marks == {"s-godel": False, "s-product": True, "r-product": True}
    assert [line[-2:] for line in table.lines("") if "printed" not in line[0]] == [
        ["3", MISSING], ["10", "0 of 10"], ["10", "0 of 10"], [MISSING, MISSING],
    ]  # fmt: skip


def test_a_system_with_other_seeds_disturbs_no_comparison():
    others = [run("s-godel", 0, 70), run("s-godel", 1, 70)]
    both = [*runs("r-product", 90), *runs("s-product", 80)]
    found = Findings([*both, *others]).compare(HERE, R, S, "coherence")
    assert found == Findings(both).compare(HERE, R, S, "coherence")


def test_other_settings_are_left_out_and_counted(records):
    others = [run("r-product", 1, 50, learning_rate=0.123), run("r-product", 2, 50, weight=9.0)]
    chosen = of_presets([*records, *others])
    assert {record.id for record in chosen.records} == {record.id for record in records}
    assert chosen.left_out == 2


def test_precisions_are_not_mixed(records):
    others = [run("r-product", seed, 50, precision="float32") for seed in (0, 1)]
    chosen = of_presets([*others, *records])
    assert chosen.left_out == 2
    assert {record.configuration["precision"] for record in chosen.records} == {"bfloat16"}


def test_records_with_different_settings_are_never_put_together():
    with pytest.raises(ComparisonError, match="the same settings"):
        Findings([run("r-product", 0, 90), run("r-product", 1, 90, learning_rate=0.5)])


def test_pools_of_pairs_have_tables_of_their_own(records):
    found = tables(Findings([*records, *runs("r-product", 50, pair_pool="original")]))
    titles = [table.title for table in found]
    assert len(titles) == len(set(titles)) == 12
    assert "the authors' pool" in titles[-1]
    assert "the authors' pool" not in titles[0]


def test_pipelines_have_three_rows_and_their_own_figures():
    found = tables(Findings(runs("r-product", 90, protocol="pipeline")))
    table = next(table for table in found if table.measure == "operator_accuracy")
    assert list(table.rows) == ["s-godel", "r-product", "lukasiewicz-maxsat"]
    assert table.rows["r-product"][1].printed.mean == 92.2
    assert "table 7" in table.title


def test_a_pipeline_of_r_product_stands_for_s_product_unless_that_was_run():
    def names(*relaxations):
        found = [r for name in relaxations for r in runs(name, 90, protocol="pipeline")]
        lines = tables(Findings(found))[0].lines(bold="")
        return [line[0] for line in lines if "product" in line[0]]

    assert names("r-product") == ["r-product, s-product"]
    assert names("r-product", "s-product") == ["r-product", "s-product"]


def test_a_title_says_how_many_seeds_there_are(found):
    assert found["digit_accuracy"].title == (
        "Accuracy of Digit: joint, mnist, PAIR 5,000, 3 seeds (the paper's table 3)"
    )
    some = [run("r-product", 0, 90), *runs("s-product", 90)]
    assert "1–3 seeds" in tables(Findings(some))[0].title


def test_markdown_has_as_many_cells_in_every_row(found):
    text = to_markdown(found["coherence"])
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 10
    assert {row.count("|") for row in rows} == {7}
    assert "**89.1** (0.3)" in text


def test_plain_data_have_one_object_for_each_cell_that_was_run(found):
    cells = found["digit_accuracy"].to_json()["cells"]
    assert [cell["relaxation"] for cell in cells] == ["s-godel", "s-product", "r-product"]
    assert {cell["seeds"] for cell in cells} == {len(SEEDS)}
