from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from specimens import OWN_CUBIC, OWN_FALSITY, OWN_ODDS

from residuum.errors import InvalidGeneratorError, InvalidNameError, UnknownRelaxationError
from residuum.relaxations import (
    FLOATS,
    Degree,
    Generated,
    register,
    relaxation,
    relaxation_names,
    truth,
)
from residuum.relaxations.drastic import Drastic


@pytest.fixture(autouse=True)
def own_names_only_here(monkeypatch):
    monkeypatch.setattr("residuum.relaxations.catalogue._registered", {})


def falsity(on, penalty):
    return Degree(on, false=penalty)


def test_a_registered_relaxation_works_on_every_carrier():
    register("plain", OWN_FALSITY)
    assert truth("P & Q", {"P": 0.75, "Q": 0.5}, "s-plain") == 0.25
    third = Fraction(1, 3)
    assert truth("P -> Q", {"P": 2 * third, "Q": third}, "r-plain") == Fraction(2, 3)
    found = truth("P | Q", {"P": np.array([0.25, 0.75]), "Q": 0.5}, "s-plain")
    np.testing.assert_array_equal(found, [0.75, 1.0])


def test_a_registered_relaxation_is_in_the_catalogue():
    register("my-odds", OWN_ODDS)
    assert {"s-my-odds", "r-my-odds"} <= set(relaxation_names())
    assert relaxation("r-my-odds").structure == "strict"
    assert relaxation(" s-my-odds ").source == "registered by the user"
    with pytest.raises(UnknownRelaxationError, match="Did you mean `r-my-odds`"):
        relaxation("r-my-ods")


def test_registering_again_replaces():
    register("mine", OWN_CUBIC)
    register("mine", OWN_FALSITY)
    assert relaxation("s-mine").tnorm == OWN_FALSITY


@pytest.mark.parametrize(
    "name", ["product", "godel", "lukasiewicz", "lukasiewicz-maxsat", "yager", "drastic"]
)
def test_names_of_the_catalogue_are_refused(name):
    with pytest.raises(UnknownRelaxationError, match="choose another name"):
        register(name, OWN_FALSITY)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "my norm",
        "f(2)",
        "a--b",
        "-a",
        "a\n",
    ],
)
def test_names_that_could_not_be_written_are_refused(name):
    with pytest.raises(InvalidNameError):
        register(name, OWN_FALSITY)


def test_every_listed_name_can_be_used():
    register("abrupt", Drastic())
    for name in relaxation_names():
        assert relaxation(name).name


@pytest.mark.parametrize(
    ("generator", "inverse", "at_zero", "reason"),
    [
        (lambda x: x.false + 1, falsity, 2, r"got g\(1\) = 1"),
        (lambda x: x.false, falsity, 2, r"at_zero = 2, got g\(0\) = 1"),
        (lambda x: x.false, falsity, math.inf, r"at_zero = inf, got g\(0\) = 1"),
        (lambda x: x.false * x.true * 4 + (x.true == 0), falsity, 1, "decreases strictly"),
        (lambda x: -x.false, falsity, -1, "decreases strictly"),
        (lambda x: x.false * x.false, falsity, 1, "inverse that undoes"),
        (lambda x: x.false + (x.true - x.true) * math.inf, falsity, 1, r"g\(1\) = 0"),
        (lambda x: x.false if x.true in (0, 1) else 2.0, falsity, 1, "floats and on arrays"),
    ],
)  # fmt: skip
def test_what_is_no_generator_is_refused_with_the_reason(generator, inverse, at_zero, reason):
    with pytest.raises(InvalidGeneratorError, match=reason):
        Generated(generator, inverse, at_zero)


@pytest.mark.parametrize(
    ("generator", "inverse", "at_zero"),
    [
        (lambda x: -math.log(x.true), lambda on, g: Degree(on, log_true=-g), math.inf),
        (lambda x: x.false, lambda _, g: 1 - g, 1),
        (lambda _: None, falsity, 1),
    ],
    ids=["raises", "inverse without a degree", "no number"],
)  # fmt: skip
def test_a_generator_that_fails_is_refused_as_one(generator, inverse, at_zero):
    with pytest.raises(InvalidGeneratorError):
        Generated(generator, inverse, at_zero)


def test_an_inverse_that_misses_one_is_refused():
    with pytest.raises(InvalidGeneratorError):
        Generated(lambda x: x.false, lambda on, g: Degree(on, false=g + 1e-12), at_zero=1)


def test_a_generated_t_norm_derives_all_connectives():
    register("cubic-own", OWN_CUBIC)
    x, y = 0.9, 0.6
    conjunction = 1 - (0.1**3 + 0.4**3) ** (1 / 3)
    residuum = 1 - (0.4**3 - 0.1**3) ** (1 / 3)
    degrees = {"P": x, "Q": y}
    assert truth("P & Q", degrees, "s-cubic-own") == pytest.approx(conjunction)
    assert truth("P -> Q", degrees, "r-cubic-own") == pytest.approx(residuum)
    assert truth("~P | ~Q", degrees, "s-cubic-own") == pytest.approx(1 - conjunction)
    assert truth("P -> ~Q", degrees, "s-cubic-own") == pytest.approx(1 - conjunction)
    assert truth("P <-> Q", degrees, "r-cubic-own") == pytest.approx(residuum)
    assert OWN_CUBIC.penalty(Degree(FLOATS, true=0.5)) == 0.125
