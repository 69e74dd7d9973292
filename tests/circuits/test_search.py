"""The search finds what an enumeration of all states finds."""

import itertools
import math
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch
from ground_formulas import models, random_case, stated

from residuum.circuits import search
from residuum.circuits.propositions import Propositions
from residuum.circuits.search import RESOLUTION, Searcher
from residuum.errors import CircuitError


def searcher_of(seed, **limits):
    sizes, formula = random_case(seed, **limits)
    of = Propositions(sizes)
    return Searcher(of, stated(formula, of)), sizes, models(formula, sizes)


def value_of(state, weights, sizes):
    starts = itertools.accumulate(sizes, initial=0)
    return math.fsum(weights[start + value] for start, value in zip(starts, state, strict=False))


def random_weights(draw, sizes, style):
    """Return logarithms of probabilities: spread, often equal, or with excluded values."""
    count = sum(sizes)
    if style == "spread":
        return [-draw.expovariate(0.3) for _ in range(count)]
    if style == "equal":
        return [-float(draw.randint(0, 2)) for _ in range(count)]
    return [-math.inf if draw.random() < 0.25 else -draw.expovariate(1.0) for _ in range(count)]


@pytest.mark.parametrize("style", ["spread", "equal", "excluded"])
@pytest.mark.parametrize("seed", range(100))
def test_the_most_probable_state_is_the_best_of_all(seed, style):
    searcher, sizes, allowed = searcher_of(seed, binary=8, categorical=5)
    draw = random.Random(seed)
    rows = [random_weights(draw, sizes, style) for _ in range(3)]
    weights = torch.tensor(rows, dtype=torch.float64)
    best = [max((value_of(s, row, sizes) for s in allowed), default=-math.inf) for row in rows]
    assert searcher.is_possible(weights == -math.inf).tolist() == [b > -math.inf for b in best]
    found = searcher.most_probable(weights)
    assert found.shape == (3, len(sizes))
    for state, row, expected in zip(found.tolist(), rows, best, strict=True):
        if expected > -math.inf:
            assert tuple(state) in allowed
            assert value_of(state, row, sizes) >= expected - len(sizes) * RESOLUTION


def test_only_a_formula_without_models_is_constant():
    constants = {}
    for seed in range(200):
        searcher, _, allowed = searcher_of(seed, binary=4, categorical=3)
        assert (searcher.constant is False) == (not allowed)
        constants[searcher.constant] = True
    assert len(constants) == 2


def test_of_equally_probable_states_it_is_always_the_same():
    of = Propositions([3] * 6)
    root = of.count_of(0b1100, [of.literal(one, 0b100) for one in range(6)])
    again = [Searcher(of, root).most_probable(torch.zeros(2, 18)).tolist() for _ in range(3)]
    assert again[0][0] == again[0][1]
    assert again[0] == again[1] == again[2]


def test_differences_above_the_resolution_decide():
    of = Propositions([2] * 2)
    root = of.count_of(0b10, [of.literal(one, 0b10) for one in range(2)])
    better = 3 * RESOLUTION
    weights = torch.tensor([[0.0, 0, 0, better], [0.0, better, 0, 0]], dtype=torch.float64)
    assert Searcher(of, root).most_probable(weights).tolist() == [[0, 1], [1, 0]]


def test_weights_of_any_size_are_searched():
    of = Propositions([2, 4])
    root = of.any_of([of.literal(0, 0b10), of.literal(1, 0b0100)])
    weights = torch.tensor([[0.0, -1e30, -1e29, 0.0, -1e28, -1e-30]], dtype=torch.float64)
    assert Searcher(of, root).most_probable(weights).tolist() == [[0, 2]]


def test_no_examples_and_no_variables_are_no_problem():
    of = Propositions([2, 3])
    searcher = Searcher(of, of.literal(1, 0b011))
    assert searcher.most_probable(torch.zeros(0, 5)).shape == (0, 2)
    assert searcher.is_possible(torch.zeros(0, 5, dtype=torch.bool)).shape == (0,)


# A pigeonhole problem keeps a SAT solver busy for ever: more pigeons than holes.
HARD = """
import signal, torch
signal.signal(signal.SIGINT, signal.default_int_handler)
from residuum.circuits.propositions import Propositions
from residuum.circuits.search import Searcher
of = Propositions([13] * 14)
holes = range(13)
root = of.all_of(of.count_of(0b11, [of.literal(p, 1 << h) for p in range(14)]) for h in holes)
searcher = Searcher(of, root)
"""


def pigeons():
    scope = {}
    exec(HARD.replace("signal.signal(signal.SIGINT, signal.default_int_handler)", ""), scope)
    return scope["searcher"]


@pytest.mark.parametrize("method", ["is_possible", "most_probable"])
def test_a_search_that_takes_too_long_is_refused_in_words(monkeypatch, method):
    monkeypatch.setattr(search, "MOST_SECONDS", 0.5)
    searcher = pigeons()
    given = torch.zeros(1, 13 * 14, dtype=torch.bool if method == "is_possible" else torch.float64)
    started = time.monotonic()
    with pytest.raises(CircuitError, match=r"at most 0\.5 seconds.*; pass what is known"):
        getattr(searcher, method)(given)
    assert time.monotonic() - started < 30


def test_a_search_of_many_small_steps_is_refused_in_words_too(monkeypatch):
    monkeypatch.setattr(search, "MOST_SECONDS", 1.0)
    lines = range(9)
    of = Propositions([9] * 81)
    cells = [[9 * r + c for c in lines] for r in lines]  # a Latin square, with random weights
    columns = list(zip(*cells, strict=True))
    root = of.all_of(
        of.count_of(0b11, [of.literal(cell, 1 << value) for cell in line])
        for line in (*cells, *columns)
        for value in lines
    )
    torch.manual_seed(0)
    started = time.monotonic()
    with pytest.raises(CircuitError, match="at most 1 seconds"):
        Searcher(of, root).most_probable(torch.randn(1, 729).log_softmax(-1))
    assert time.monotonic() - started < 30


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "asked", ["is_possible(torch.zeros(1, 182).bool())", "most_probable(torch.randn(1, 182))"]
)
def test_ctrl_c_ends_a_search(asked):
    code = f"{HARD}\nprint('searching', flush=True)\nsearcher.{asked}"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        assert process.stdout.readline() == "searching\n"
        time.sleep(1.0)
        assert process.poll() is None, "the search was not hard"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert "KeyboardInterrupt" in err.splitlines()[-1]
