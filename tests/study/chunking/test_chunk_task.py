"""Losses are those of loops; runs are the same alone and together; rules are learnt."""

import math
from dataclasses import replace

import pytest
import torch

from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.results.records import run_id
from residuum.study.chunking.data.corpus import load_corpus
from residuum.study.chunking.experiment import train_and_measure
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.settings import SCHEME, STUDY, Settings
from residuum.study.chunking.task import ChunkingTask, Reading, penalties
from residuum.training.loop import Training

CPU = torch.device("cpu")
CORPUS = load_corpus("sample")
PLAIN = Settings(
    corpus="sample", relaxation="r-product", constraints=True, seed=0, hidden=16, epochs=3,
    batch=16, learning_rate=0.01,
)  # fmt: skip

# The penalty of B -> ~I by the degrees b and i, and the conjunction.
IMPLICATIONS = {
    "r-product": lambda b, i: max(0.0, math.log(b) - math.log1p(-i)),
    "s-product": lambda b, i: -math.log1p(-b * i),
    "lukasiewicz-maxsat": lambda b, i: max(0.0, b + i - 1),
    "s-godel": lambda b, i: min(b, i),
}
FACTS = {
    "r-product": lambda p: -math.log(p),
    "s-product": lambda p: -math.log(p),
    "lukasiewicz-maxsat": lambda p: 1 - p,
    "s-godel": lambda p: 1 - p,
}


@pytest.mark.parametrize("relaxation", IMPLICATIONS)
@pytest.mark.parametrize(("rules", "weight"), [("paper", 0.0), ("paper", 0.5), ("all", 3.0)])
def test_losses_are_those_that_loops_over_words_and_rules_give(relaxation, rules, weight):
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([4, 2, 1])
    logits = 4 * torch.randn(3, 4, 23, generator=generator, dtype=torch.float64)
    tags = torch.randint(23, (3, 4), generator=generator)
    tags[torch.arange(4) >= lengths[:, None]] = -100
    imply, state = IMPLICATIONS[relaxation], FACTS[relaxation]
    parts = {"labels": [], "rules": []}
    for sentence, gold, length in zip(logits.softmax(-1), tags, lengths.tolist(), strict=True):
        for place in range(length):
            now = dict(zip(tag_names(), sentence[place].tolist(), strict=True))
            parts["labels"].append(state(now[tag_names()[gold[place]]]))
            if place == 0 and rules == "all":
                inside = [chance for name, chance in now.items() if name.startswith("I-")]
                parts["rules"] += [state(1 - chance) for chance in inside]
            if place + 1 == length:
                continue
            then = dict(zip(tag_names(), sentence[place + 1].tolist(), strict=True))
            for before, chance in now.items():
                for after, other in then.items():
                    is_other = after.startswith("I-") and before[2:] != after[2:]
                    if is_other and (before != "O" or rules == "all"):
                        parts["rules"].append(imply(chance, other))
    join = max if relaxation == "s-godel" else sum
    share = 1 if relaxation == "s-godel" else 3
    labels, learnt = join(parts["labels"]), weight * join(parts["rules"])
    expected = join((labels, learnt)) / share
    # Beside a run of another kind and one of the same kind with another weight.
    others = [Reading("s-product", "paper", 2.0), Reading(relaxation, rules, 7 * weight)]
    readings = [Reading(relaxation, rules, weight), *others]
    stacked = (torch.stack([tensor] * 3) for tensor in (logits, tags, lengths))
    found, *_, heavy = penalties(readings, *stacked)
    assert float(found["labels"]) == pytest.approx(labels / share)
    assert float(found["total"]) == pytest.approx(expected)
    assert float(heavy["total"]) == pytest.approx(join((labels, 7 * learnt)) / share)


def test_rules_are_grounded_in_sentences_without_labels_too():
    generator = torch.Generator().manual_seed(1)
    logits = 4 * torch.randn(1, 3, 4, 23, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([[4, 3, 2]])
    tags = torch.randint(23, (1, 1, 4), generator=generator)
    reading = [Reading("s-product", "paper", 2.0)]
    (both,) = penalties(reading, logits, tags, lengths)
    (alone,) = penalties(reading, logits[:, :1], tags, lengths[:, :1])
    _, *unlabelled = (
        penalties(reading, logits[:, one : one + 1], tags, lengths[:, one : one + 1])[0]
        for one in range(3)
    )
    assert both["labels"] == pytest.approx(float(alone["labels"]))
    for rule in ("begin_then_inside", "inside_then_inside"):
        parts = [alone[rule], *(found[rule] for found in unlabelled)]
        assert float(both[rule]) == pytest.approx(float(sum(parts)))


def _training(runs):
    task = ChunkingTask(runs, CORPUS, None, CPU)
    task.taggers.double()  # Adam makes much of the smallest differences
    return Training(task, "adam", epochs=3, judge_every=1, clip=[5.0] * len(runs))


def test_a_run_is_the_same_alone_in_a_stack_and_again():
    runs = [
        replace(PLAIN, relaxation="s-godel", warm_up=1, warm_up_weight=0.0),
        replace(PLAIN, seed=20, constraints=False, learning_rate=0.02),
        replace(PLAIN, relaxation="lukasiewicz-maxsat", rules="all", weight=0.1),
        replace(PLAIN, cell="lstm", relaxation="s-product", seed=20),
    ]
    together = _training(runs)
    together.run()
    for place, run in enumerate(runs):
        alone = _training([run])
        alone.run()
        for ours, theirs in zip(together.state, alone.state, strict=True):
            torch.testing.assert_close(ours[place], theirs[0], rtol=0, atol=1e-9)
        expected, found = alone.curves[0].losses, together.curves[place].losses
        assert found.keys() == expected.keys()
        assert found["total"] == pytest.approx(expected["total"])
    again = _training(runs)
    again.run()
    assert all(
        torch.equal(one, other) for one, other in zip(again.state, together.state, strict=True)
    )


@pytest.fixture(scope="module")
def records():
    """Three runs of twelve epochs, which take some seconds."""
    # Under r-product a rule costs nothing until both of its tags are likely.
    plain = replace(PLAIN, relaxation="s-product", epochs=12, batch=8, hidden=40)
    runs = [plain, replace(plain, constraints=False), replace(plain, weight=10.0)]
    return dict(
        zip(("rules", "none", "heavy"), train_and_measure(runs, CORPUS, device=CPU), strict=True)
    )


def test_a_tagger_learns_chunks(records):
    # Words tagged as they mostly are in the training sentences have an F1 of 57, of NP 62.
    assert records["none"].measures["f1"] > 60
    assert records["none"].measures["f1/NP"] > 70


def test_rules_that_weigh_much_are_broken_less(records):
    soft = {name: record.measures["soft_violations"] for name, record in records.items()}
    assert soft["heavy"] < soft["rules"] < soft["none"]


def test_the_state_with_the_best_f1_on_dev_is_kept(records):
    for record in records.values():
        curve = record.curves["dev/f1"]
        best = curve.epochs[curve.values.index(max(curve.values))]
        assert record.curves["selected"].values == (best,)


def test_counts_by_sentence_add_up_to_the_f1(records, tmp_path):
    for record in records.values():
        correct, guessed, gold = (
            int(record.outcomes[name].sum()) for name in ("correct", "guessed", "gold")
        )
        assert record.measures["f1"] == pytest.approx(200 * correct / (guessed + gold))
        assert len(record.outcomes["gold"]) == len(CORPUS.test)
    with Store(tmp_path / "runs.sqlite") as store:
        for record in records.values():
            assert store.add(record)
        found = list(store.records("chunking", constraints=False))
        assert [record.id for record in found] == [
            run_id(STUDY, Settings(**found[0].configuration).configuration, SCHEME)
        ]


def test_runs_that_differ_in_what_they_do_not_use_are_the_same():
    without = replace(PLAIN, constraints=False)
    assert without == replace(without, weight=7.0) == replace(without, warm_up_weight=0.1)
    assert replace(PLAIN, relaxation="s-yager(2.0)") == replace(PLAIN, relaxation="s-yager(2)")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"relaxation": "r-prodcut"}, "r-product"),
        ({"cell": "rnn"}, "cell: expected lstm or gru, got 'rnn'"),
        ({"rules": "some"}, "rules: expected paper or all"),
        ({"hidden": 7}, "hidden: expected an even number"),
        ({"layers": 0}, "layers: expected at least 1, got 0"),
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"warm_up": 4}, "warm_up: expected at most the 3 epochs, got 4"),
        ({"weight": -1.0}, "weight.*from 0 on, got -1.0"),
        ({"learning_rate": -1.0}, "learning rate"),
    ],
)
def test_invalid_settings_are_refused(change, words):
    with pytest.raises(ResiduumError, match=words):
        replace(PLAIN, **change)


def test_runs_of_other_shapes_and_of_other_data_are_refused():
    with pytest.raises(ResiduumError, match="expected runs with equal `stack`"):
        train_and_measure([PLAIN, replace(PLAIN, hidden=18)], CORPUS, device=CPU)
    with pytest.raises(ResiduumError, match="the corpus conll2000 and the vectors None"):
        train_and_measure([replace(PLAIN, corpus="conll2000")], CORPUS, device=CPU)
