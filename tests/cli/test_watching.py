"""The progress display of a training, and how an interrupt stops it."""

import io
import math
import signal
import sys
from dataclasses import replace

import pytest

from made_up_chunk_runs import run as tagger_run
from made_up_runs import run
from residuum.cli.interrupts import holding_interrupts
from residuum.cli.study.chunking import WORDS as WORDS_OF_CHUNKING
from residuum.cli.study.digits import WORDS
from residuum.cli.study.watching import _Clock
from residuum.cli.study.watching import watching as any_watching
from residuum.results import Divergence
from residuum.study.chunking.settings import plan as plan_of_taggers
from residuum.study.digits.settings import plan
from residuum.study.running import Stage
from residuum.training.loop import Curves

RUNS = plan("embedded", ["joint"], ["r-product", "s-product"], [20], [40], [0, 1], epochs=2)
CURVES = [
    Curves({"labels": [loss], "total": [9.0]}, [1], {"digit_accuracy": [accuracy], "score": [1.0]})
    for loss, accuracy in ((4.0, 90.0), (6.0, 92.0), (20.0, 50.0), (40.0, 52.0))
]


@pytest.fixture
def interrupts():
    """Ctrl-C as Python has it, whatever the runner of the tests taught it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def watching(runs):
    return any_watching(runs, WORDS)


def tell(watch, curves=CURVES):
    watch.stack_starts(RUNS)
    watch.epoch_is_over(Stage(RUNS, "joint", 2), 1, curves)


def test_lines_say_the_mean_of_each_relaxation(capfd):
    with watching(RUNS) as watch:
        tell(watch)
        watch.run_is_over(run("r-product", 0, 90))
    seen = capfd.readouterr().err
    assert "joint: epoch 1 of 2, 0 of 4 runs done" in seen
    assert "r-product: loss of labels 5; on DEV digit accuracy 91.0%" in seen
    assert "s-product: loss of labels 30; on DEV digit accuracy 51.0%" in seen
    assert "done: r-product, joint, DIGIT 1,000, PAIR 5,000, seed 0: Digit 90" in seen


def test_a_run_without_rules_shows_no_losses_of_rules(capfd):
    runs = plan_of_taggers("sample", ["r-product"], [1.0], [False, True], [0])
    curves = [
        Curves({"labels": [4.0], "total": [4.0]}, [1], {"f1": [50.0], "score": [50.0]}),
        Curves(
            {"labels": [6.0], "start": [2.0], "later": [math.nan], "total": [8.0]},
            [1],
            {"f1": [60.0], "score": [60.0]},
        ),
    ]
    with any_watching(runs, WORDS_OF_CHUNKING) as watch:
        watch.stack_starts(runs)
        watch.epoch_is_over(Stage(runs, "Tag", 30), 1, curves)
        watch.run_is_over(tagger_run("r-product", 0, 90, constraints=True))
    seen = capfd.readouterr().err
    assert "2 runs together: sample, 100% of the sentences, no vectors" in seen
    assert "r-product: loss of labels 4; on DEV f1 50.0%" in seen
    assert "r-product + C: loss of labels 6, start 2; on DEV f1 60.0%" in seen
    assert "done: r-product + C, 10%, seed 0: F1 8" in seen


def test_a_loss_that_has_diverged_is_shown(capfd):
    curves = [replace(one, losses={name: [math.nan] for name in one.losses}) for one in CURVES]
    with watching(RUNS) as watch:
        watch.stack_starts(RUNS)
        watch.epoch_is_over(Stage(RUNS, "joint", 2), 1, curves)
    assert "r-product: loss of labels nan; on DEV" in capfd.readouterr().err


LOST = Curves({"labels": [math.nan], "total": [math.nan]}, diverged=Divergence(1, ["loss/total"]))


def test_runs_that_diverged_are_named_once_and_left_out_of_means(capfd):
    lost = run("s-product", 1, 90)
    lost = replace(lost, measures={}, outcomes={}, diverged=LOST.diverged)
    later = [Curves({"labels": [4.0, 3.0]}, [1, 2], {"score": [1.0, 2.0]}), LOST, LOST, Curves()]
    with watching(RUNS) as watch:
        watch.stack_starts(RUNS)
        watch.epoch_is_over(Stage(RUNS, "joint", 2), 1, [LOST, CURVES[1], LOST, LOST])
        watch.epoch_is_over(Stage(RUNS, "joint", 2), 2, later)
        watch.run_is_over(lost)
    seen = capfd.readouterr().err
    assert seen.count("r-product, seed 0 diverged in epoch 1: loss/total not finite") == 1
    assert seen.count("s-product, seed 1 diverged in epoch 1: loss/total not finite") == 1
    assert "  r-product (1 of 2 diverged): loss of labels 6; on DEV digit accuracy 92.0%" in seen
    assert "  s-product (2 of 2 diverged)\n" in seen
    assert "PAIR 5,000, seed 1: diverged in epoch 1: loss/total not finite" in seen


def test_stages_before_one_count_as_done(monkeypatch, capfd):
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    settings = plan("embedded", ["pipeline"], ["r-product"], [20], [40], [0], epochs=4)
    [one_run] = [replace(one, digit_epochs=2) for one in settings]
    with watching([one_run]) as watch:
        watch.stack_starts([one_run])
        now += 8
        watch.epoch_is_over(Stage([one_run], "Sum", 4), 1, CURVES[:1])
    # 120 of 2 · 20 + 2 · 4 · 2 · 40 images are gone, and the 80 of this epoch took 8 seconds.
    assert "Sum: epoch 1 of 4, 0 of 1 run done, 56 s left" in capfd.readouterr().err


def test_a_terminal_shows_a_row_for_runs_that_diverged(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with watching(RUNS) as watch:
        tell(watch, [LOST, LOST, *CURVES[2:]])
    seen = terminal.getvalue()
    assert "r-product (2 of 2 diverged)" in seen
    assert "51.0%" in seen


def test_a_terminal_shows_a_table_that_is_gone_at_the_end(monkeypatch, capfd):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with watching(RUNS) as watch:
        tell(watch)
    seen = terminal.getvalue()
    assert "joint: epoch 1 of 2" in seen
    assert "DEV: digit" in seen
    assert "91.0%" in seen
    assert "\x1b[2K" in seen[seen.rindex("91.0%") :]  # erased
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("stop", ["epoch_is_over", "stack_starts"])
def test_an_interrupt_stops_a_training_between_epochs_and_between_stacks(capfd, stop):
    words = (Stage(RUNS, "joint", 2), 1, CURVES) if stop == "epoch_is_over" else (RUNS,)
    with watching(RUNS) as watch:
        watch.stack_starts(RUNS)
        signal.raise_signal(signal.SIGINT)  # in the middle of an epoch: nothing happens yet
        assert "finishing the epoch under way" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            getattr(watch, stop)(*words)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interrupts")
def test_a_second_interrupt_stops_at_once():
    announced = []
    with holding_interrupts(lambda: announced.append(1)) as held:
        assert not held()
        signal.raise_signal(signal.SIGINT)
        assert held()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert announced == [1]


def test_time_left_is_by_what_was_done_here(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    clock = _Clock(1000)
    now += 5
    # 510 of 1,000 are done, 500 of them in an earlier training; the rest is 49 times these 5 s.
    assert clock.time_left(510, 10) == pytest.approx(245)
    now += 5
    assert clock.time_left(520, 10) == pytest.approx(240)
