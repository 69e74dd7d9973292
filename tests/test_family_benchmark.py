"""The contest of families: its fits by hand, its tasks, and tables held to the record."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import nullcontext
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import families  # noqa: E402
import residuum as rs  # noqa: E402
from family_contest import contest, training  # noqa: E402
from family_contest.contest import (  # noqa: E402
    CHANCE,
    FRESH,
    JUDGING,
    LEADERS,
    PARAMETERS,
    PRODUCTS,
    RATES,
    SCALED,
    SIZES,
    TUNING,
    WEIGHTS,
    contenders,
    jobs,
)  # fmt: skip
from family_contest.fits import Case, held_out, predict, rank_correlation, ridge  # noqa: E402
from family_contest.pictures import stations  # noqa: E402
from family_contest.predictors import NAMES, alignment, label_likeness, predictors  # noqa: E402
from family_contest.tables import (  # noqa: E402
    SETS,
    accuracies,
    best_of,
    cases,
    kind_of,
    leads,
    markdown,
)
from family_contest.training import Reached, Run, Size, train  # noqa: E402
from residuum.results import holm, paired_t_test  # noqa: E402
from residuum.study.digits.measures import operations  # noqa: E402

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

    def made_up(_name, runs, _size, *, is_tuning, optimiser="adam"):
        assert optimiser == "adam"
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


def test_confirmation_and_epsilon_are_trained_and_put_into_the_record(tmp_path, monkeypatch):
    """Fresh seeds have the settings of the record; another ε has the grid, seeds and DEV."""
    asked = []

    def made_up(name, runs, size, *, is_tuning, optimiser="adam"):
        asked.append((name, size.name, runs, is_tuning, optimiser))
        return [Reached(90, 50) for _ in runs]

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["families.py", *map(str, words)])
        families.main()

    pool = SimpleNamespace(imap_unordered=map)
    here = SimpleNamespace(Pool=lambda *_: nullcontext(pool))
    record, lines = tmp_path / "record.json", tmp_path / "lines.jsonl"
    record.write_text(json.dumps(RECORD), encoding="utf-8")
    monkeypatch.setattr(contest, "train", made_up)
    monkeypatch.setattr(families, "RECORD", record)
    monkeypatch.setattr(families, "markdown", lambda _: "")
    monkeypatch.setattr(families.multiprocessing, "get_context", lambda _: here)
    for _ in range(2):  # the second time nothing is lacking
        run("--confirm", lines, "--only", "product")
    assert [one[:2] for one in asked] == [(name, s.name) for name in PRODUCTS for s in SIZES]
    for name, size, runs, *how in asked:
        chosen = result_of(size, name)
        assert runs == [Run(seed, chosen["rate"], chosen["weight"]) for seed in FRESH]
        assert how == [False, "adam"]
    run("--epsilon", tmp_path / "others.jsonl", "--only", "hamacher")
    assert [one[3:] for one in asked[4:]] == [(True, "fine-adam")] * 2
    assert asked[4][2] == [Run(s, rate, w) for rate in RATES for w in WEIGHTS for s in TUNING]
    for path in (lines, tmp_path / "others.jsonl"):
        run("--results", path)
    found = json.loads(record.read_text(encoding="utf-8"))
    assert {part: len(rows) for part, rows in found.items()} == {
        **{part: len(rows) for part, rows in RECORD.items()}, "confirmation": 4, "epsilon": 2,
    }  # fmt: skip
    assert found["results"] == RECORD["results"]
    assert found["epsilon"][0]["tried"][0] == {"rate": 0.003, "weight": 1e-7, "dev": 50}


def test_fine_adam_does_not_feel_the_size_of_a_gradient():
    """The first step of Adam is g / (|g| + ε), times the rate."""
    for kind, wanted in ((training.FineAdam, 1), (training.Adam, 0.5)):
        parameter = torch.zeros(1, 1)
        kind([parameter]).step([torch.full((1, 1), 1e-8)], [torch.ones(1)])
        assert float(parameter) == pytest.approx(-wanted, rel=1e-4)


def test_every_family_of_the_catalogue_is_there_with_both_implications():
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


# What the page says, computed from the record. Pairs have the value with few examples first.

FEW, MANY = (size.name for size in SIZES)
NEAR = (
    "hamacher(2)", "hamacher(10)", "frank(10)", "frank(1000)", "aczel-alsina(0.5)",
)  # fmt: skip


@cache
def text():
    return PAGE.read_text(encoding="utf-8")


@cache
def runs(size):
    return accuracies(RECORD, size)


@cache
def mean(size, name):
    return fmean(runs(size)[name])


def means(name):
    return [mean(size, name) for size in (FEW, MANY)]


def lead(one, other):
    """The points that one is above another, at both sizes."""
    return [a - b for a, b in zip(means(one), means(other), strict=True)]


@cache
def ranking(size):
    return sorted(runs(size), key=lambda name: -mean(size, name))


def result_of(size, name):
    [found] = [one for one in RECORD["results"] if (one["size"], one["relaxation"]) == (size, name)]
    return found


def on_dev(size, name, weights=WEIGHTS):
    """The best score on DEV of some weights."""
    return max(one["dev"] for one in result_of(size, name)["tried"] if one["weight"] in weights)


@cache
def corrected(size):
    """The p-values of all pairs of a size, each in both orders, as the table corrects them."""
    pairs = list(combinations(runs(size), 2))
    tests = [paired_t_test(runs(size)[one], runs(size)[other]) for one, other in pairs]
    known = dict(zip(pairs, holm([one.p_value for one in tests]), strict=True))
    return known | {(other, one): p for (one, other), p in known.items()}


def tnorm_of(name):
    """The degrees of A & B on a grid inside the unit square, beside those of the product."""
    inside = np.linspace(0.05, 0.95, 19)
    a, b = np.meshgrid(inside, inside)
    return np.asarray(rs.truth("A & B", {"A": a, "B": b}, name), float), a * b


def is_nilpotent(name):
    return bool((tnorm_of(name)[0] <= 0).any())


def test_the_best_of_eight_seeds_is_not_significantly_above_both_products():
    page = text()
    best = {size: ranking(size)[0] for size in (FEW, MANY)}
    assert [*best.values()] == ["r-frank(1000)", "r-hamacher(10)"]
    reached = [f"{mean(size, name):.1f}%" for size, name in best.items()]
    assert "`r-frank(1000)` is best with few ({}) and `r-hamacher(10)` with many ({})".format(
        *reached
    ) in page  # fmt: skip
    for name in {*runs(FEW)} - {*PRODUCTS}:
        assert not all(
            mean(size, name) > mean(size, product) and corrected(size)[name, product] <= 0.05
            for size in (FEW, MANY)
            for product in PRODUCTS
        )
    for size in (FEW, MANY):
        tied = {name for name in runs(size) if corrected(size).get((best[size], name), 1) > 0.05}
        assert tied == {*best_of(RECORD, size)}
        assert "r-product" in tied
    ties = [len(best_of(RECORD, size)) for size in (FEW, MANY)]
    assert f"{ties[0]} and {ties[1]} of the {len(runs(FEW))} are not significantly worse" in page
    count = len(runs(FEW))
    assert f"all {count * (count - 1) // 2:,} pairs" in page


def test_fresh_seeds_show_three_leaders_above_both_products():
    page, known = text(), leads(RECORD)
    assert {*LEADERS} == {*ranking(MANY)[:4]}
    assert not {*FRESH} & {*TUNING, *JUDGING}
    assert f"with {len(FRESH)} fresh seeds" in page
    assert f"({FRESH[0]} to {FRESH[-1]})" in page
    for one in RECORD["confirmation"]:
        chosen = result_of(one["size"], one["relaxation"])
        assert (one["rate"], one["weight"]) == (chosen["rate"], chosen["weight"])
        assert one["seeds"] == [FRESH[0], FRESH[-1]]
        assert len(one["operators"]) == len(FRESH)
    above = {
        name: {other: [known[name, size, other][0] for size in (FEW, MANY)] for other in PRODUCTS}
        for name in LEADERS
    }
    largest = {name: max(p for key, (_, p) in known.items() if key[0] == name) for name in LEADERS}
    *three, fourth = LEADERS
    assert min(lead for lead, _ in known.values()) > 0
    assert max(largest[name] for name in three) <= 0.05 < largest[fourth]
    assert [key for key, (_, p) in known.items() if p > 0.05] == [(fourth, MANY, "r-product")]
    assert (
        "above `r-product` are `r-frank(1000)` by {:.1f} and {:.1f} points, `r-hamacher(10)` by "
        "{:.1f} and {:.1f}, and `s-hamacher(10)` by {:.1f} and {:.1f}".format(
            *above["r-frank(1000)"]["r-product"],
            *above["r-hamacher(10)"]["r-product"],
            *above["s-hamacher(10)"]["r-product"],
        )
    ) in page
    others = [lead for name in three for lead in above[name]["s-product"]]
    assert f"above `s-product` all three by {min(others):.1f} to {max(others):.1f}" in page
    assert f"(p below 0.004, corrected for all {len(known)} comparisons)" in page
    assert max(largest[name] for name in three) < 0.004
    assert (
        f"`{fourth}` is not significantly above `r-product` with many (p = {largest[fourth]:.2f})"
    ) in page
    ends = [above[name]["r-product"] for name in ("r-frank(1000)", "r-hamacher(10)")]
    assert all(1.9 <= lead < 3 for both in ends for lead in both)
    assert "the lead is two to three points" in page


def fine(size, name):
    """The best score on DEV by weight, where no step feels Adam's ε."""
    [found] = [one for one in RECORD["epsilon"] if (one["size"], one["relaxation"]) == (size, name)]
    return {w: max(one["dev"] for one in found["tried"] if one["weight"] == w) for w in WEIGHTS}


def test_small_weights_help_through_epsilon():
    page = text()
    assert len(RECORD["epsilon"]) == len(SCALED) * len(SIZES)
    assert {one["epsilon"] for one in RECORD["epsilon"]} == {1e-14}
    spread = 0
    for name in SCALED:
        for size in (FEW, MANY):
            small = [fine(size, name)[weight] for weight in WEIGHTS if weight <= 0.001]
            spread = max(spread, max(small) - min(small))
    assert f"weights from 10⁻⁷ to 0.001 differ by {spread:.1f} points at most" in page
    best = {
        name: [
            value
            for size in (FEW, MANY)
            for value in (on_dev(size, name), max(fine(size, name).values()))
        ]
        for name in SCALED
    }
    for name in SCALED:
        assert "`{}` {:.1f} → {:.1f} and {:.1f} → {:.1f}".format(name, *best[name]) in page
    few, many = (
        max(fine(size, "r-hamacher(10)").values()) - max(fine(size, "r-product").values())
        for size in (FEW, MANY)
    )
    assert many < 0 < few
    assert (
        f"`r-hamacher(10)` is {few:.1f} points above `r-product` with few and {-many:.1f} below "
        "it with many"
    ) in page


def test_what_advice_and_its_guide_say():
    assert "`residuum advise` rehearses no family member unless you name one**" in text()
    chosen = {
        result_of(size, name)["weight"] for size in (FEW, MANY) for name in ranking(size)[:10]
    }
    assert chosen == {1e-6, 1e-5}
    assert "the ten best here have 10⁻⁶ or 10⁻⁵" in text()
    from residuum.advice import rehearsing

    assert f"smallest weight that `residuum advise` tries is {min(rehearsing.WEIGHTS)}" in text()


def test_the_best_are_strict_and_below_the_product():
    names = [f"{kind}-{tnorm}" for kind in "sr" for tnorm in NEAR]
    kinds = {}
    for one in contenders()[:-1]:
        degrees, product = tnorm_of(one.name)
        below = (degrees <= product + 1e-9).all() and (degrees < product - 1e-9).any()
        kinds[one.name] = bool(below) and not is_nilpotent(one.name)
    assert sorted(names) == sorted(name for name, is_near in kinds.items() if is_near)
    reached = [fmean(mean(size, name) for name in names) for size in (FEW, MANY)]
    assert "Their ten relaxations reach {:.1f}% and {:.1f}% in the mean".format(*reached) in text()
    for size in (FEW, MANY):
        best = {*ranking(size)[:10]}
        assert len(best & {*names}) == 9
        assert best - {*names} == {"r-product"}


def peaks(family):
    """The parameter and the relaxation of the best, for S and R at both sizes."""
    return {
        (kind, size): max(stations(family, kind), key=lambda one: mean(size, one[1]))
        for kind in "sr"
        for size in (FEW, MANY)
    }


def test_where_families_are_best():
    at_product = [
        peak for family in ("schweizer-sklar", "sugeno-weber") for peak in peaks(family).items()
    ]
    others = [one for one in at_product if one[1][1][2:] != "product"]
    assert len(at_product) == 8
    assert [(key, name) for key, (_, name) in others] == [(("s", FEW), "s-hamacher(0)")]
    gap = lead("s-hamacher(0)", "s-product")[0]
    assert f"`s-hamacher(0)` is {gap:.1f} points above it in the eighth" in text()
    assert {value for value, _ in peaks("hamacher").values()} == {"10"}
    assert {value for value, _ in peaks("frank").values()} == {"10", "1000"}
    found = {key: value for key, (value, _) in peaks("aczel-alsina").items()}
    assert found == {("s", FEW): "1/2", ("s", MANY): "1/2", ("r", FEW): "1/2", ("r", MANY): "1"}
    assert 0 < mean(MANY, "r-product") - mean(MANY, "r-aczel-alsina(0.5)") < 0.1
    assert PARAMETERS["hamacher"][-1] == "10"
    assert PARAMETERS["aczel-alsina"][0] == "1/2"
    for family in ("yager", "dombi"):
        assert all(not name.endswith("product") for _, name in stations(family, "r"))
        for (_, size), (_, name) in peaks(family).items():
            assert mean(size, name) < mean(size, "r-product")


def test_nilpotent_tnorms_learn_less():
    page = text()
    names = [one.name for one in contenders()[:-1] if is_nilpotent(one.name)]
    best = [max(names, key=lambda name: mean(size, name)) for size in (FEW, MANY)]
    assert best == ["lukasiewicz-maxsat", "r-sugeno-weber(10)"]
    reached = [mean(size, name) for size, name in zip((FEW, MANY), best, strict=True)]
    gaps = [
        mean(size, "r-product") - value for size, value in zip((FEW, MANY), reached, strict=True)
    ]
    assert f"`{best[0]}` with few ({reached[0]:.1f}%) and `{best[1]}` with many " in page
    assert f"({reached[1]:.1f}%), {gaps[0]:.1f} and {gaps[1]:.1f} points below `r-product`" in page
    limits = ("lukasiewicz-maxsat", "lukasiewicz")
    assert [corrected(size)[limits] <= 0.05 for size in (FEW, MANY)] == [True, False]
    assert (
        "it is {:.1f} points better with few, significantly, and {:.1f} with many, not "
        "significantly".format(*lead(*limits))
    ) in page


def test_one_answer_for_all_and_what_learns_hardly_anything():
    page = text()
    for size in SIZES:
        pairs = torch.tensor(training.sets_of(size.digit_size, size.pair_size).pair_test)
        gold = operations(*training.embedded().test_labels[pairs].T)
        share = fmean(float(values.bincount().max() / len(values)) for values in gold.values())
        assert f"One answer for all pairs reaches {100 * share:.1f}%" in page
        assert f"{len(training.embedded().test_labels)} images, {len(pairs):,} pairs" in page
    dead = {one["relaxation"]: one.get("dead") for one in RECORD["predictors"]}
    assert dead["s-drastic"] == 1
    assert "`s-drastic` has {:.1f}% and {:.1f}%".format(*means("s-drastic")) in page
    name = "r-schweizer-sklar(2)"
    assert "`{}`, with {:.1f}% and {:.1f}%,".format(name, *means(name)) in page
    assert f"has none at {dead[name]:.0%} of them" in page
    assert f"`s-yager(2)`, with {mean(MANY, 's-yager(2)'):.1f}% in the case of many" in page
    assert dead["s-yager(2)"] == 0
    worst = [
        value for name in ("s-godel", "r-godel", "s-nilpotent-minimum") for value in means(name)
    ]
    assert f"{min(worst):.1f} to {max(worst):.1f}% are learnt" in page


def test_s_beside_r():
    page = text()
    pairs = [
        (name, f"r{name[1:]}")
        for name in runs(FEW)
        if kind_of(name) == "s" and f"r{name[1:]}" in runs(FEW)
    ]
    gaps = {size: {s[2:]: mean(size, r) - mean(size, s) for s, r in pairs} for size in (FEW, MANY)}
    ahead = [sum(gap > 0 for gap in gaps[size].values()) for size in (FEW, MANY)]
    between = [fmean(gaps[size].values()) for size in (FEW, MANY)]
    assert (
        f"Of the {len(pairs)} t-norms that have both, R is ahead for {ahead[0]} with few and for "
        f"{ahead[1]} with many, and the mean differences are {between[0]:.1f} and {between[1]:.1f}"
    ) in page
    significant = {}
    for size in (FEW, MANY):
        tests = [paired_t_test(runs(size)[r], runs(size)[s]) for s, r in pairs]
        judged = zip(pairs, tests, holm([one.p_value for one in tests]), strict=True)
        significant[size] = {(s[2:], one.difference > 0) for (s, _), one, p in judged if p <= 0.05}
    both = significant[FEW] & significant[MANY]
    assert {name for name, is_r in both if is_r} == {
        "product", "dombi(0.5)", "sugeno-weber(10)", "yager(0.5)", "yager(2)", "yager(4)",
    }  # fmt: skip
    assert {name for name, is_r in both if not is_r} == {
        "hamacher(0)", "dombi(2)", "aczel-alsina(2)", "aczel-alsina(4)",
        "schweizer-sklar(-2)", "schweizer-sklar(2)",
    }  # fmt: skip
    assert "by {:.1f} and {:.1f} points, as in".format(*lead("r-product", "s-product")) in page
    larger = [
        s[2:] for s, _ in pairs
        if (tnorm_of(s)[0] >= tnorm_of(s)[1] - 1e-9).all() and s not in ("s-product", "s-godel")
    ]  # fmt: skip
    assert len(larger) == 8
    assert [sum(gaps[size][name] < 0 for name in larger) for size in (FEW, MANY)] == [7, 7]
    assert "S is ahead for seven of eight, at both sizes" in page


def test_where_exact_stands():
    page, seeds = text(), [runs(size)["exact"] for size in (FEW, MANY)]
    places = [ranking(size).index("exact") + 1 for size in (FEW, MANY)]
    assert (
        "{:.1f}% and {:.1f}%: places {} and {} of {}".format(
            *means("exact"), *places, len(runs(FEW))
        )
    ) in page
    for size, own in zip((FEW, MANY), seeds, strict=True):
        assert stdev(own) == max(stdev(values) for values in runs(size).values())
        assert "exact" in best_of(RECORD, size)
    ends = [end for own in seeds for end in (min(own), max(own))]
    assert (
        "from {:.1f} to {:.1f} with few and from {:.1f} to {:.1f} with many".format(*ends) in page
    )
    logits = {
        atom: torch.linspace(-3, 3, 5) * sign for atom, sign in zip("ABC", (1, 2, -1), strict=True)
    }
    costs = [rs.compile("A & B -> C", name)(**logits) for name in ("exact", "s-product")]
    torch.testing.assert_close(*costs)


def test_what_weights_do():
    page = text()
    known = [on_dev(size, "s-product", [w]) for w in (1e-6, 0.001) for size in (FEW, MANY)]
    assert (
        "`s-product` learns {:.1f}% with few and {:.1f}% with many at a weight of 10⁻⁶, and "
        "{:.1f}% and {:.1f}% at 0.001".format(*known)
    ) in page
    large = [weight for weight in WEIGHTS if weight >= 0.001]
    gaps = [
        on_dev(MANY, "r-product", some) - on_dev(MANY, "s-product", some)
        for some in (large, WEIGHTS)
    ]
    assert "{:.1f} points ahead of `s-product` on DEV with many, among all weights {:.1f}".format(
        *gaps
    ) in page  # fmt: skip
    [head] = [line for line in page.splitlines() if line.startswith("| weight |")]
    assert head == "| weight | " + " | ".join(f"{weight:g}" for weight in WEIGHTS) + " |"
    rows = page.split(head)[1].split("\n\n")[0].strip().splitlines()[1:]
    assert len(rows) == 11
    for row in rows:
        name = row.split("`")[1]
        shown = [f"{on_dev(MANY, name, [weight]):.1f}" for weight in WEIGHTS]
        assert row == " | ".join([f"| `{name}`", *shown]) + " |"


def test_digit_hardly_heeds_the_rules():
    page, cells = text(), RECORD["results"]
    small = [one for one in cells if one["weight"] <= 0.001]
    assert f"In {len(small)} of {len(cells)} cells the chosen weight is at most 0.001" in page
    ends = []
    for size in (FEW, MANY):
        right = [fmean(one["digit"]) for one in small if one["size"] == size]
        ends += [min(right), max(right)]
    assert ("{:.1f} to {:.1f}% with few and {:.1f} to {:.1f}% with many".format(*ends)) in page
    alike = Counter((one["size"], one["rate"], *one["digit"]) for one in small)
    most = [
        max(count for key, count in alike.items() if key[:2] == (size, 0.01))
        for size in (FEW, MANY)
    ]
    assert f"in {sum(most)} of these cells `Digit` has the same accuracy" in page
    large = [one for one in cells if one["weight"] > 0.001 and one["size"] == FEW]
    assert {one["weight"] for one in large} == {0.3, 1}
    right = [fmean(one["digit"]) for one in large]
    assert f"`Digit` has {min(right):.1f} to {max(right):.1f}% with few" in page


def correlation(size, name, best=None):
    """The rank correlation of a predictor with the accuracy, over the best so many or all."""
    known = sorted(cases(RECORD, size, [name]), key=lambda one: -one.reached)[:best]
    return rank_correlation([one.predictors[0] for one in known], [one.reached for one in known])


def signed(values):
    return " and ".join(f"{value:+.2f}".replace("-", "−") for value in values)


def test_what_predicts_learning():
    page = text()
    found = {name: [correlation(size, name) for size in (FEW, MANY)] for name in NAMES}
    for place in (0, 1):
        order = sorted(NAMES, key=lambda name: -abs(found[name][place]))
        assert order[:2] == ["label_likeness", "near_0"]
    likeness = [f"{value:+.2f}" for value in found["label_likeness"]]
    assert "{} with few and {} with many; the next best".format(*likeness) in page
    assert f"the gradient near falsehood, has {signed(found['near_0'])}." in page
    among = [correlation(size, "label_likeness", best=10) for size in (FEW, MANY)]
    assert (
        "among the ten best it is {} with few and {} with many".format(
            *signed(among).split(" and ")
        )
    ) in page
    assert f"**Consistency predicts nothing:** {signed(found['consistency'])}." in page
    assert f"Self-consistency has {signed(found['self_consistency'])}; all R-logics have 1" in page
    known = {one["relaxation"]: one for one in RECORD["predictors"]}
    assert all(one["self_consistency"] == 1 for name, one in known.items() if kind_of(name) == "r")
    assert f"With {len(cases(RECORD, FEW, NAMES))} relaxations" in page


def test_the_sizes_of_rank_correlations_that_are_significant():
    from scipy.stats import t

    for count, said in ((52, "0.27"), (26, "0.39")):
        quantile = t.ppf(0.975, count - 2)
        assert f"{quantile / (count - 2 + quantile**2) ** 0.5:.2f}" == said
        assert f"correlation below {said}" in text() or f"below about {said}" in text()
    kinds = Counter(kind_of(one.name) for one in cases(RECORD, FEW, NAMES))
    assert kinds["r"] + kinds[""] == 26
    assert kinds["s"] + kinds[""] == 28


def test_how_well_unseen_families_are_predicted():
    page = text()
    whole, truth = (
        [held_out(cases(RECORD, size, SETS[words])) for size in (FEW, MANY)]
        for words in ("all", "all of the truth function")
    )
    assert f"a correlation of {signed([one.rank for one in whole])} and explains" in page
    assert (
        "{:.0%} and {:.0%} of the variance, where".format(*[one.explained for one in whole]) in page
    )
    assert "{:.0%} and {:.0%} are left".format(*[one.explained for one in truth]) in page
    for size, found in zip((FEW, MANY), whole, strict=True):
        known = cases(RECORD, size, SETS["all"])
        assert known[int(np.argmax(found.predicted))].name == "r-product"
        guesses = {one.name: guess for one, guess in zip(known, found.predicted, strict=True)}
        assert sum(guesses[name] < mean(size, name) for name in ranking(size)[:10]) == 9
    gaps = [mean(size, ranking(size)[0]) - mean(size, "r-product") for size in (FEW, MANY)]
    assert "`r-product`, which is {:.1f} and {:.1f} points below the best".format(*gaps) in page
    regrets = {"likeness": [], "random": []}
    for size in (FEW, MANY):
        known = cases(RECORD, size, ["label_likeness"])
        groups = [
            [one for one in known if one.family == name] for name in {one.family for one in known}
        ]
        groups = [group for group in groups if len(group) > 1]
        tops = [max(one.reached for one in group) for group in groups]
        likest = [max(group, key=lambda one: one.predictors[0]).reached for group in groups]
        regrets["likeness"].append(fmean(tops) - fmean(likest))
        usual = [fmean(one.reached for one in group) for group in groups]
        regrets["random"].append(fmean(tops) - fmean(usual))
    assert {f"{one.regret:.1f}" for one in whole} == {"1.6"}
    assert "its choice is 1.6 points below the best member, at both sizes" in page
    assert (
        "highest `label_likeness` {:.1f} and {:.1f}; a member at random {:.1f} and {:.1f}; the fit "
        "without predictors of the loss {:.1f} and {:.1f}.".format(
            *regrets["likeness"], *regrets["random"], *[one.regret for one in truth]
        )
    ) in page


def test_the_mean_of_the_other_families_ranks_them_backwards():
    found = []
    for size in (FEW, MANY):
        known = cases(RECORD, size, ["consistency"])
        guesses = [
            fmean(other.reached for other in known if other.family != one.family) for one in known
        ]
        found.append(rank_correlation(guesses, [one.reached for one in known]))
    assert f"by itself has {signed(found)}." in text()


def test_which_choices_lie_at_an_end_of_the_grid():
    page, cells = text(), RECORD["results"]
    ends = [one for one in cells if one["weight"] in (WEIGHTS[0], WEIGHTS[-1])]
    assert {one["weight"] for one in ends} == {WEIGHTS[0]}
    assert f"In {len(ends)} of {len(cells)} cells the chosen weight is at an end" in page
    assert {(one["relaxation"], one["size"]) for one in ends} == {
        ("s-aczel-alsina(4)", FEW), ("s-aczel-alsina(4)", MANY), ("s-dombi(2)", FEW),
        ("s-drastic", FEW), ("s-schweizer-sklar(-2)", FEW),
    }  # fmt: skip
    assert len(RATES) == 2
    assert f"0.01 was taken in {sum(one['rate'] == 0.01 for one in cells)} cells" in page
    for size in (FEW, MANY):
        assert {result_of(size, name)["rate"] for name in ranking(size)[:10]} == {0.01}
    assert not any(value is None for one in cells for value in one["operators"])  # none diverged


def test_with_a_fine_epsilon_the_smaller_rate_is_best_in_five_of_six_cells():
    best = [max(one["tried"], key=lambda tried: tried["dev"]) for one in RECORD["epsilon"]]
    assert [one["rate"] for one in best].count(min(contest.RATES)) == 5
    assert len(best) == 6
    assert "0.003, is best in five of six cells" in text()
