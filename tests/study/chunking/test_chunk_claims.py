"""Each rule confirms what made-up runs show, refutes the reverse, and leaves open what is not."""

import pytest

from made_up_chunk_runs import SEEDS, VECTORS, run, runs
from residuum.study.chunking.claims import RULES, About, claims, evaluate
from residuum.study.chunking.findings import Findings, of_presets
from residuum.study.chunking.settings import TUNING
from residuum.study.common_settings import PAPER
from residuum.study.verdicts import told

SHARES = (0.1, 1.0)
PAIR = About(better=["r-product"], worse=["s-product"], embeddings=VECTORS)
ALL = About(embeddings=VECTORS)


def decide(rule, records, about):
    return RULES[rule](Findings(of_presets(records).records), records, about)


def at_both(relaxation, levels, **others):
    both = zip(SHARES, levels, strict=True)
    return [r for share, level in both for r in runs(relaxation, level, fraction=share, **others)]


def test_better_at_both_sizes_is_confirmed_and_worse_at_one_refuted():
    low = at_both("s-product", [60, 61])
    better = decide("outperforms", [*at_both("r-product", [80, 82]), *low], PAIR)
    assert better.status == "confirmed"
    assert "positive in 2 of 2" in better.evidence
    mixed = decide("outperforms", [*at_both("r-product", [80, 30]), *low], PAIR)
    assert mixed.status == "refuted"
    assert "f1 of r-product and s-product, 100%" in mixed.evidence
    assert decide("outperforms", low, PAIR).status == "open"


def test_a_ranking_with_rules_is_not_one_without():
    without = [*at_both("r-product", [80, 82]), *at_both("s-product", [60, 61])]
    about = PAIR._replace(constraints=True)
    assert decide("outperforms", without, about).status == "open"
    reverse = [
        *at_both("r-product", [50, 52], constraints=True),
        *at_both("s-product", [60, 61], constraints=True),
    ]
    assert decide("outperforms", [*without, *reverse], about).status == "refuted"
    assert decide("outperforms", [*without, *reverse], PAIR).status == "confirmed"


def test_relaxations_with_equal_figures_count_as_the_same():
    same = [*runs("r-product", 80), *runs("s-product", 80)]
    assert decide("gives_the_same", same, PAIR).status == "confirmed"  # names of equal length
    other = [*runs("r-product", 80), *runs("s-product", 70)]
    assert decide("gives_the_same", other, PAIR).status == "refuted"
    assert decide("gives_the_same", other[:3], PAIR).status == "open"


def with_and_without(gains):
    return [
        record
        for name in PAPER
        for constraints in (False, True)
        for record in at_both(
            name, [70 + constraints * gain for gain in gains], constraints=constraints
        )
    ]


@pytest.mark.parametrize(
    ("gains", "status"), [((5, 4), "confirmed"), ((5, -4), "refuted"), ((0, 0), "open")]
)
def test_rules_help_everywhere(gains, status):
    found = decide("constraints_help", with_and_without(gains), ALL)
    assert found.status == status


def test_a_relaxation_without_rules_leaves_the_claim_open():
    some = [*at_both("r-product", [70, 70]), *at_both("r-product", [80, 80], constraints=True)]
    found = decide("constraints_help", some, ALL)
    assert found.status == "open"
    assert "missing: 6 of 8" in found.evidence


@pytest.mark.parametrize(("gains", "status"), [((9, 3), "confirmed"), ((3, 9), "refuted")])
def test_rules_help_more_with_less_data(gains, status):
    rule = "constraints_help_more_with_less_data"
    records = with_and_without(gains)
    found = decide(rule, records, ALL)
    assert found.status == status
    assert "at 10%" in found.evidence
    assert decide(rule, records[:-3], ALL).status == "open"
    assert decide(rule, [], ALL).status == "open"


GODEL = ALL._replace(relaxation="s-godel")


@pytest.mark.parametrize("rule", ["is_worse_without_warm_up", "is_worst_without_warm_up"])
@pytest.mark.parametrize(("ablated", "status"), [(20, "confirmed"), (95, "refuted")])
def test_runs_without_a_warm_up_decide_whether_it_is_needed(rule, ablated, status):
    usual = [record for name in PAPER for record in runs(name, 80)]
    without = [run("s-godel", seed, ablated - place, warm_up=0) for place, seed in enumerate(SEEDS)]
    assert decide(rule, [*usual, *without], GODEL).status == status
    assert decide(rule, usual, GODEL) == ("open", "missing: runs of s-godel without a warm-up")


def test_runs_for_tuning_were_not_measured_and_are_no_ablation():
    usual = runs("s-godel", 80)
    tuned = [run("s-godel", seed, 20, warm_up=0, study=TUNING) for seed in SEEDS]
    assert RULES["is_worse_without_warm_up"](Findings(usual), tuned, GODEL).status == "open"


@pytest.mark.parametrize(("level", "status"), [(10, "confirmed"), (70, "refuted")])
def test_a_measure_at_chance_confirms_that_nothing_is_learnt(level, status):
    about = ALL._replace(relaxation="lukasiewicz")
    assert decide("learns_nothing", runs("lukasiewicz", level), about).status == status
    assert decide("learns_nothing", runs("lukasiewicz-maxsat", level), about).status == "open"


def over_weights(name, scores):
    """Runs for tuning with a score on DEV for each weight, a little higher from seed to seed."""
    return [
        run(name, seed, 50, constraints=True, weight=weight, study=TUNING,
            dev=(10.0, score + (1 + score / 100) * place))
        for weight, score in scores.items()
        for place, seed in enumerate(SEEDS)
    ]  # fmt: skip


@pytest.mark.parametrize(("ranges", "status"), [((2, 30), "confirmed"), ((30, 2), "refuted")])
def test_the_range_of_scores_over_weights_decides_sensitivity(ranges, status):
    records = [
        *over_weights("r-product", {0.1: 60, 1.0: 60 + ranges[0] / 2, 10.0: 60 + ranges[0]}),
        *over_weights("s-product", {0.1: 60, 1.0: 60 + ranges[1] / 2, 10.0: 60 + ranges[1]}),
    ]
    found = RULES["is_less_sensitive_to_weight"](Findings([]), records, PAIR)
    assert found.status == status
    two = [record for record in records if record.configuration["weight"] != 1]
    assert RULES["is_less_sensitive_to_weight"](Findings([]), two, PAIR).status == "open"


@pytest.mark.parametrize(
    ("scores", "status"),
    [
        ({0.1: 60, 1.0: 65, 10.0: 80}, "confirmed"),
        ({0.1: 60, 1.0: 80, 10.0: 65}, "refuted"),
        ({0.01: 60, 0.1: 80, 1.0: 65}, "open"),
    ],
)
def test_the_best_weight_within_bounds_is_compared_with_the_best_other_weight(scores, status):
    about = ALL._replace(relaxation="r-product", weights=[1.0001, 1e9])
    records = over_weights("r-product", scores)
    found = RULES["best_weight_is_between"](Findings([]), records, about)
    assert found.status == status
    elsewhere = about._replace(embeddings="another")
    assert RULES["best_weight_is_between"](Findings([]), records, elsewhere).status == "open"


def test_a_best_weight_has_two_bounds():
    about = ALL._replace(relaxation="r-product", weights=[0.5, 2.0])
    for best, status in ((0.1, "refuted"), (1.0, "confirmed"), (10.0, "refuted")):
        scores = {weight: 80 if weight == best else 60 for weight in (0.1, 1.0, 10.0)}
        records = over_weights("r-product", scores)
        assert RULES["best_weight_is_between"](Findings([]), records, about).status == status


def test_every_rule_decides_a_claim_and_every_claim_has_a_rule():
    assert {claim.rule for claim in claims()} == set(RULES)
    assert len({claim.name for claim in claims()}) == len(claims())


def test_without_records_everything_is_open():
    verdicts = evaluate(Findings([]), [])
    assert {verdict.status for verdict in verdicts} == {"open"}
    assert told(verdicts).count("open") == len(claims())


def test_claims_are_judged_by_the_vectors_that_most_runs_had():
    few = [*at_both("r-product", [30, 30], embeddings=None)]
    many = [record for name in PAPER for record in at_both(name, [60, 60])]
    better = [*at_both("r-product", [80, 80]), *many[:12], *many[18:]]
    [verdict] = [
        verdict
        for verdict in evaluate(Findings([*few, *better]), [])
        if verdict.claim.name == "products-alike-without-rules"
    ]
    assert verdict.claim.about.embeddings == VECTORS
    assert verdict.status == "refuted"
    assert verdict.as_dict()["about"]["embeddings"] == VECTORS
