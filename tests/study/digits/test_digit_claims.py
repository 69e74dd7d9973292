"""Each rule confirms what made-up runs show, refutes the reverse, and leaves open what is not."""

import pytest

from made_up_runs import LAWS, SEEDS, run, runs
from residuum.study.decisions import Decision
from residuum.study.digits.claim_rules import SIZES, About
from residuum.study.digits.claims import RULES, claims, evaluate
from residuum.study.digits.findings import Findings, of_presets
from residuum.study.digits.settings import TUNING
from residuum.study.verdicts import judge_claims, told

PAIR = About(better=["r-product"], worse=["s-product"], measures=["coherence"], pair_sizes=[5000])


def decide(rule, records, about):
    return RULES[rule](Findings(of_presets(records).records), records, about)


def in_all_sizes(relaxation, accuracies, **others):
    sized = zip(SIZES, accuracies, strict=True)
    return [r for size, level in sized for r in runs(relaxation, level, digit_size=size, **others)]


def test_better_everywhere_is_confirmed_and_worse_somewhere_refuted():
    low = in_all_sizes("s-product", [60, 61, 62])
    better = decide("outperforms", [*in_all_sizes("r-product", [90, 91, 92]), *low], PAIR)
    assert better.status == "confirmed"
    assert "positive in 3 of 3" in better.evidence
    mixed = decide("outperforms", [*in_all_sizes("r-product", [90, 91, 30]), *low], PAIR)
    assert mixed.status == "refuted"
    assert "DIGIT 25,000" in mixed.evidence


def test_equal_or_missing_runs_leave_a_ranking_open():
    same = decide("outperforms", [r for n in ("r-product", "s-product")
                                  for r in in_all_sizes(n, [90, 90, 90])], PAIR)  # fmt: skip
    assert same.status == "open"
    some = decide("outperforms", [*runs("r-product", 95), *runs("s-product", 60)], PAIR)
    assert some.status == "open"
    assert "missing: 2 of 3 comparisons" in some.evidence
    assert decide("outperforms", [], PAIR).status == "open"


@pytest.mark.parametrize(("pipeline", "status"), [(95, "confirmed"), (60, "refuted")])
def test_pipelines_are_compared_with_joint_learning(pipeline, status):
    records = [
        record
        for name in ("s-godel", "r-product", "lukasiewicz-maxsat")
        for protocol, level in (("joint", 80), ("pipeline", pipeline))
        for record in in_all_sizes(name, [level] * 3, protocol=protocol)
    ]
    about = About(measures=["coherence"], pair_sizes=[5000])
    assert decide("pipeline_outperforms_joint", records, about).status == status
    assert decide("pipeline_outperforms_joint", records[:9], about).status == "open"


@pytest.mark.parametrize(("gains", "status"), [((20, 5), "confirmed"), ((5, 20), "refuted")])
def test_a_lead_with_few_labels_is_compared_with_a_lead_with_many(gains, status):
    low = in_all_sizes("s-product", [60, 60, 60])
    high = in_all_sizes("r-product", [60 + gains[0], 60, 60 + gains[1]])
    assert decide("gains_more_with_fewer_labels", [*low, *high], PAIR).status == status
    assert decide("gains_more_with_fewer_labels", low, PAIR).status == "open"


@pytest.mark.parametrize(("laws", "status"), [(50, "confirmed"), (50.001, "refuted")])
def test_relaxations_with_equal_figures_count_as_the_same(laws, status):
    about = PAIR._replace(measures=["associativity"])
    records = [*runs("r-product", 90, laws=50), *runs("s-product", 90, laws=laws)]
    assert decide("gives_the_same", records, about).status == status
    assert decide("gives_the_same", records[:3], about).status == "open"


@pytest.mark.parametrize(("gap", "status"), [(0.9, "confirmed"), (1.1, "refuted")])
def test_the_same_runs_differ_by_less_than_seeds_do(gap, status):
    about = PAIR._replace(measures=["associativity"])
    records = [
        run(relaxation, seed, 90, laws=50 + place + shift)
        for place, seed in enumerate(SEEDS)  # deviations of 1 and of more
        for relaxation, shift in (("s-product", 0), ("r-product", gap if seed == 20 else 0.0))
    ]
    found = decide("gives_the_same", records, about)
    assert found.status == status
    assert "2 of 3 figures are equal" in found.evidence


def spread(relaxation, width, **others):
    """Runs whose laws differ from seed to seed by a width."""
    return [
        run(relaxation, seed, 90, laws=50 + width * place, digit_size=size, **others)
        for size in SIZES
        for place, seed in enumerate(SEEDS)
    ]


@pytest.mark.parametrize(
    ("widths", "status"),
    [
        ((1, 9), "confirmed"),
        ((9, 1), "refuted"),
        ((2, 2), "open"),
        ((1, 2), "open"),  # clear only if each of the three laws counted as a run of its own
    ],
)
def test_deviations_over_seeds_of_two_relaxations_are_compared(widths, status):
    about = PAIR._replace(measures=LAWS)
    records = [*spread("r-product", widths[0]), *spread("s-product", widths[1])]
    assert decide("varies_more", records, about).status == status
    assert decide("varies_more", records[:3], about).status == "open"


@pytest.mark.parametrize(("widths", "status"), [((9, 1), "confirmed"), ((1, 9), "refuted")])
def test_deviations_with_few_data_are_compared_with_those_with_more(widths, status):
    records = [
        run("r-product", seed, 90, laws=50 + width * place, digit_size=size, pair_size=5000)
        for size, width in ((1000, widths[0]), (5000, widths[1]), (25_000, widths[1]))
        for place, seed in enumerate(SEEDS)
    ]
    about = About(measures=["commutativity"])
    # One size is scarce and two are ample: with so few runs only a clear ratio decides.
    assert decide("varies_more_with_less_data", records, about).status == status
    assert decide("varies_more_with_less_data", records[:3], about).status == "open"


SCORES = {"joint: dev/score": [(10, 50.0), (20, 60.0)]}
GODEL = About(relaxation="s-godel", measures=["digit_accuracy"])


def without_warm_up(accuracy, **others):
    return runs("s-godel", accuracy, warm_up=0, freeze=False, curves=SCORES, **others)


@pytest.mark.parametrize("rule", ["is_worse_without_warm_up", "is_worst_without_warm_up"])
@pytest.mark.parametrize(("ablated", "status"), [(20, "confirmed"), (99, "refuted")])
def test_runs_without_a_warm_up_decide_whether_it_is_needed(rule, ablated, status):
    names = ("s-godel", "s-product", "r-product", "lukasiewicz-maxsat")
    usual = [record for name in names for record in runs(name, 80)]
    assert decide(rule, [*usual, *without_warm_up(ablated)], GODEL).status == status
    assert decide(rule, usual, GODEL) == ("open", "missing: runs of s-godel without a warm-up")


def test_of_several_ablations_the_best_on_dev_counts():
    low = {"joint: dev/score": [(10, 5.0), (20, 6.0)]}
    worse = runs("s-godel", 20, warm_up=0, learning_rate=0.5, curves=low)
    records = [*runs("s-godel", 80), *without_warm_up(99), *worse]
    assert decide("is_worse_without_warm_up", records, GODEL).status == "refuted"


@pytest.mark.parametrize(
    ("last", "status"),
    [((40.0, 42.0, 41.0), "confirmed"), ((97.0, 98.1, 97.2), "refuted")],
)
def test_the_accuracy_of_digit_after_the_warm_up_decides_whether_it_decays(last, status):
    records = [
        run("s-godel", seed, 80, freeze=False, warm_up=10,
            curves={"joint: dev/digit_accuracy": [(5, 50.0), (10, 90.0), (220, end)]})
        for seed, end in zip(SEEDS, last, strict=True)
    ]  # fmt: skip
    assert decide("digit_decays_unless_frozen", records, GODEL).status == status
    frozen = [run("s-godel", 0, 80)]
    assert decide("digit_decays_unless_frozen", frozen, GODEL).status == "open"


@pytest.mark.parametrize(("reached", "status"), [(36.0, "confirmed"), (85.0, "refuted")])
def test_the_share_of_coherence_that_the_warm_up_reaches_is_measured(reached, status):
    curves = {
        f"joint: dev/{name}_coherence": [(10, reached), (100, 90.0), (220, 20.0)]
        for name in ("sum", "product")
    }
    records = runs("s-godel", 80, curves={**curves, "joint: selected": [(220, 100.0)]})
    found = decide("warm_up_reaches_a_share", records, GODEL)
    assert found.status == status
    assert f"{100 * reached / 90:.0f}%" in found.evidence
    assert decide("warm_up_reaches_a_share", [], GODEL).status == "open"


@pytest.mark.parametrize(("accuracy", "status"), [(10, "confirmed"), (70, "refuted")])
def test_a_measure_at_chance_confirms_that_nothing_is_learnt(accuracy, status):
    about = About(relaxation="lukasiewicz")
    assert decide("learns_nothing", runs("lukasiewicz", accuracy), about).status == status
    maxsat = runs("lukasiewicz-maxsat", accuracy)
    assert decide("learns_nothing", maxsat, about).status == "open"


@pytest.mark.parametrize(("heavy", "status"), [(30, "confirmed"), (99, "refuted")])
def test_a_weight_of_1_is_compared_with_the_chosen_weight(heavy, status):
    about = About(measures=["digit_accuracy"])
    usual = runs("r-product", 80)
    weighted = [
        run("r-product", seed, heavy - 2 * place, weight=1.0, curves=SCORES)
        for place, seed in enumerate(SEEDS)
    ]
    assert decide("weight_matters", [*usual, *weighted], about).status == status
    assert decide("weight_matters", usual, about).status == "open"


def test_a_weight_of_1_is_compared_with_runs_that_are_equal_in_all_but_weight_and_rate():
    about = About(measures=["digit_accuracy"])
    heavy = runs("r-product", 30, weight=1.0, clip=None, learning_rate=0.001)
    clipped = runs("r-product", 99)  # with the chosen settings, which clip gradients
    assert decide("weight_matters", [*heavy, *clipped], about).status == "open"
    light = [run("r-product", seed, 80 + place, clip=None) for place, seed in enumerate(SEEDS)]
    found = decide("weight_matters", [*heavy, *clipped, *light], about)
    assert found.status == "confirmed"
    assert "mean +51" in found.evidence


@pytest.mark.parametrize("seeds", [range(1001, 1011), SEEDS])
def test_a_ranking_holds_over_relaxations_with_the_same_and_with_other_seeds(seeds):
    names = [("r-product", 90), ("s-product", 80)]
    records = [
        run(name, seed, level, digit_size=size)
        for name, level in names
        for size in SIZES
        for seed in seeds
    ]
    records += in_all_sizes("s-godel", [60, 61, 62])
    about = PAIR._replace(worse=["s-product", "s-godel"])
    found = decide("outperforms", records, about)
    assert found.status == "confirmed"
    assert ("in 3 of 6 the seeds differ" in found.evidence) == (len(seeds) == 10)
    worse = about._replace(better=["s-godel"], worse=["r-product", "s-product"])
    assert decide("outperforms", records, worse).status == "refuted"


@pytest.mark.parametrize(("ranges", "status"), [((2, 30), "confirmed"), ((30, 2), "refuted")])
def test_the_range_of_scores_over_weights_decides_sensitivity(ranges, status):
    def over_weights(name, width):
        return [
            run(name, seed, 50, weight=0.1 * step, study=TUNING,
                curves={"joint: dev/score": [(10, 20.0), (20, 60 + (width + place) * step / 2)]})
            for step in (1, 2, 3)
            for place, seed in enumerate(SEEDS)
        ]  # fmt: skip

    records = [*over_weights("r-product", ranges[0]), *over_weights("s-product", ranges[1])]
    assert decide("is_less_sensitive_to_weight", records, PAIR).status == status
    two = [record for record in records if record.configuration["weight"] != 0.2]
    assert decide("is_less_sensitive_to_weight", two, PAIR).status == "open"


@pytest.mark.parametrize(
    ("widths", "status"), [((1, 9), "confirmed"), ((9, 1), "refuted"), ((2, 2), "open")]
)
def test_deviations_with_restarts_are_compared_with_those_without(widths, status):
    about = About(measures=["associativity"])
    records = [
        *spread("r-product", widths[0], schedule="restarts", period=50.0),
        *spread("r-product", widths[1]),
    ]
    assert decide("restarts_vary_less", records, about).status == status
    assert decide("restarts_vary_less", records[:9], about).status == "open"


def test_every_rule_decides_a_claim_and_every_claim_has_a_rule_or_what_is_missing():
    assert {claim.rule for claim in claims()} - {None} == set(RULES)
    assert all((claim.rule is None) == bool(claim.missing) for claim in claims())
    assert len({claim.name for claim in claims()}) == len(claims())


def test_without_records_everything_is_open():
    verdicts = evaluate(Findings([]), [])
    assert {verdict.status for verdict in verdicts} == {"open"}
    assert all("missing" in verdict.evidence for verdict in verdicts)


def test_verdicts_are_told_in_words_and_as_a_table():
    verdicts = evaluate(Findings([]), [])
    assert told(verdicts).count("open") == len(claims())
    rows = [line for line in told(verdicts, markdown=True).splitlines() if line.startswith("|")]
    assert len(rows) == len(claims()) + 2
    assert {row.count("|") for row in rows} == {6}


@pytest.mark.parametrize("status", ["confirmed", "refuted", "open", "undecidable"])
def test_only_claims_that_are_not_decided_name_the_runs_that_would_decide_them(status):
    [claim] = [one for one in claims() if one.name == "godel-needs-freezing"]
    rules = {claim.rule: lambda *_: Decision(status, "numbers")}
    [verdict] = judge_claims([claim], rules, Findings([]), [])
    assert verdict.status == status
    wanted = f"; to decide it: {claim.decided_by}" if status in ("open", "undecidable") else ""
    assert claim.decided_by
    assert verdict.evidence == f"numbers{wanted}"
