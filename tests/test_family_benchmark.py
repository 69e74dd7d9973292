"""The contest of families: its fits by hand, its tasks, and tables held to the record."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from family_contest import contest, training  # noqa: E402
from family_contest.contest import CHANCE, JUDGING, SIZES, TUNING, contenders, jobs  # noqa: E402
from family_contest.fits import Case, held_out, predict, rank_correlation, ridge  # noqa: E402
from family_contest.pictures import stations  # noqa: E402
from family_contest.predictors import NAMES, alignment, label_likeness, predictors  # noqa: E402
from family_contest.tables import markdown  # noqa: E402
from family_contest.training import Reached, Run, Size, train  # noqa: E402

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "benchmarks/records/families.json").read_text(encoding="utf-8"))
PAGE = ROOT / "docs/studies/families.md"
TINY = Size("tiny", digit_size=20, pair_size=70, epochs=2)


def test_a_ridge_of_two_points_is_the_one_worked_out_by_hand():
    """Centred x is −1 and 1, y is −2 and 2: the weight is 4 / (2 + strength)."""
    rows, wanted = np.array([[3.0], [5.0]]), np.array([1.0, 5.0])
    for strength, slope in ((0.0, 2.0), (2.0, 1.0), (6.0, 0.5)):
        weights, intercept = ridge(rows, wanted, strength)
        assert weights.tolist() == [pytest.approx(slope)]
        assert intercept == pytest.approx(3 - 4 * slope)  # the mean stays the mean


def test_a_prediction_is_standardised_by_what_was_seen():
    """Seen are x = 1 and 3, so mean 2 and deviation 1: ±1 as above, with a strength of 5."""
    seen = [Case("a", "f", [1.0, 7.0], 10.0), Case("b", "f", [3.0, 7.0], 20.0)]
    slope = 10 / (2 + 5)
    expected = [15 + slope * (x - 2) for x in (2.0, 5.0)]
    unseen = [Case("c", "g", [x, 7.0], 0.0) for x in (2.0, 5.0)]
    assert predict(seen, unseen) == pytest.approx(expected)


def test_a_family_is_predicted_without_itself():
    """Two families of two: each is predicted by the slope of the other."""
    known = [
        Case("a", "f", [1.0], 10.0), Case("b", "f", [3.0], 20.0),
        Case("c", "g", [1.0], 40.0), Case("d", "g", [3.0], 30.0),
    ]  # fmt: skip
    found = held_out(known)
    slope = 10 / 7
    expected = [35 + slope, 35 - slope, 15 - slope, 15 + slope]
    assert found.predicted == pytest.approx(expected)
    gaps = [abs(a - b) for a, b in zip(expected, (10, 20, 40, 30), strict=True)]
    assert found.error == pytest.approx(sum(gaps) / 4)
    squares = sum(gap**2 for gap in gaps)
    assert found.explained == pytest.approx(1 - squares / (25**2 + 15**2 + 25**2 + 15**2))
    assert found.regret == 10  # the worse one is chosen in both families


def test_ranks_share_their_mean_where_values_are_equal():
    assert rank_correlation([1, 1, 2], [5, 5, 9]) == 1
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0


def test_stacked_runs_learn_as_they_would_by_themselves():
    runs = [Run(3, 0.01, 0.1), Run(4, 0.003, 1.0)]
    together = train("s-product", runs, TINY, is_tuning=True)
    alone = [train("s-product", [run], TINY, is_tuning=True)[0] for run in runs]
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other)


def test_the_loss_is_that_of_labels_and_of_weighted_rules_by_loops():
    runs = [Run(5, 0.01, 0.5), Run(6, 0.01, 2.0)]
    task = training.RulesTask("r-product", runs, TINY, is_tuning=True)
    task.begin(0)
    losses = task.losses(torch.tensor(1))  # the second batch has six pairs
    images, labels = training.embedded().train, training.embedded().train_labels
    order = task._pairs_now[:, 64:70], task._digits_now[:, 64:128]
    for run, weight in enumerate((0.5, 2.0)):

        def shown(name, picture, run=run):
            layers = dict(task.networks[name].named_parameters())
            hidden = picture.flatten() @ layers["hidden_weight"][run] + layers["hidden_bias"][run]
            out = hidden.relu() @ layers["output_weight"][run] + layers["output_bias"][run]
            return out.log_softmax(-1).squeeze(0)

        stated = [-shown("Digit", images[d])[labels[d]] for d in order[1][run]]
        penalties = []
        for left, right in order[0][run]:
            a, b = shown("Digit", images[left]), shown("Digit", images[right])
            both = torch.cat([images[left], images[right]], -1)
            total, product = shown("Sum", both), shown("Product", both)
            penalties.append(sum(
                (a[i] + b[j] - goal).relu()
                for i in range(10) for j in range(10)
                for goal in (total[(i + j) % 10], product[i * j % 10])
            ))  # fmt: skip
        rules = sum(penalties) / len(penalties)
        wanted = {"labels": sum(stated) / len(stated), "rules": rules}
        wanted["total"] = wanted["labels"] + weight * rules
        for name, value in wanted.items():
            torch.testing.assert_close(losses[name][run], value)


def test_tuning_is_judged_on_dev_and_judging_on_test():
    run = [Run(1, 0.01, 0.1)]
    dev = training.RulesTask("r-product", run, TINY, is_tuning=True)
    test = training.RulesTask("r-product", run, TINY, is_tuning=False)
    images, sets = training.embedded(), training.sets_of(20, 70)
    digit = dev.networks["Digit"]
    for task, shown, labels in (
        (dev, images.train[list(sets.dev)], images.train_labels[list(sets.dev)]),
        (test, images.test, images.test_labels),
    ):
        right = [int(digit(one[None, None]).argmax()) == int(k) for one, k in zip(shown, labels)]  # noqa: B905
        assert float(task.judge()["digit"]) == pytest.approx(100 * sum(right) / len(right))
    assert not {*TUNING} & {*JUDGING}


def test_the_best_cell_on_dev_is_measured_on_other_seeds(monkeypatch):
    asked = []

    def made_up(_name, runs, _size, *, is_tuning):
        asked.append((is_tuning, [run.seed for run in runs]))
        good = [run.rate == 0.003 and run.weight == contest.WEIGHTS[1] for run in runs]
        return [
            None if run.seed == TUNING[0] and not is_good else Reached(90, 60 if is_good else 50)
            for run, is_good in zip(runs, good, strict=True)
        ]

    monkeypatch.setattr(contest, "train", made_up)
    found = contest.result(("r-product", SIZES[0]))
    assert (found["rate"], found["weight"]) == (0.003, contest.WEIGHTS[1])
    assert found["operators"] == [60] * len(JUDGING)
    assert asked[1] == (False, list(JUDGING))
    assert {one["dev"] for one in found["tried"]} == {60, (CHANCE + 50) / 2}


def test_every_family_of_the_catalogue_is_there_with_both_implications():
    import residuum as rs

    families = {one.family for one in contenders()}
    for name in rs.relaxation_names():
        assert (
            name.split("(")[0].removeprefix("s-").removeprefix("r-").removesuffix("-maxsat")
            in families
        )
    assert len({one.name for one in contenders()}) == len(contenders())
    assert len(jobs()) == 2 * len(contenders())


def test_families_pass_through_basic_logics():
    names = [name for _, name in stations("schweizer-sklar", "r")]
    assert names[0] == "r-godel"
    assert names[names.index("r-product") + 1] == "r-schweizer-sklar(0.5)"
    assert "lukasiewicz" in names
    assert [value for value, _ in stations("frank", "s")] == ["1/10", "1", "10", "1000", "inf"]


def test_predictors_are_those_worked_out_by_hand():
    """R-Product pulls as a label does wherever it pulls; drastic never does."""
    assert label_likeness("r-product") == pytest.approx(0, abs=1e-6)
    assert label_likeness("s-drastic") == -3
    assert alignment("r-product", 0.9) == pytest.approx(1, abs=1e-3)
    found = predictors("lukasiewicz")
    assert found.keys() == NAMES.keys()
    assert found["self_consistency"] == 1
    assert found["raising"] == 0.5  # 1 − x + y: both sides alike
    assert predictors("exact").keys() < NAMES.keys()


def test_the_predictors_of_all_contenders_are_in_the_record():
    assert [one["relaxation"] for one in RECORD["predictors"]] == [one.name for one in contenders()]


def test_the_page_comes_with_the_results_and_shows_all_tables_of_the_record():
    assert PAGE.exists() == bool(RECORD["results"])
    if RECORD["results"]:
        page = PAGE.read_text(encoding="utf-8")
        missing = [table for table in markdown(RECORD).split("\n\n") if table not in page]
        assert not missing, "run `make bench-families` and put the tables it prints on the page"
        found = {(one["relaxation"], one["size"]) for one in RECORD["results"]}
        assert found == {(name, size.name) for name, size in jobs()}
