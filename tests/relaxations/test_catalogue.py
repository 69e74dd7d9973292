from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from specimens import LOGICS

import residuum as rs
from residuum.errors import UnknownRelaxationError
from residuum.relaxations import (
    PAPER,
    Relaxation,
    default_relaxations,
    parameter_of,
    relaxation,
    relaxation_names,
)
from residuum.relaxations.drastic import Drastic


def test_the_papers_five_come_first_and_are_the_default():
    assert PAPER == ("s-product", "r-product", "s-godel", "r-godel", "lukasiewicz")
    assert relaxation_names()[:5] == PAPER
    assert tuple(logic.name for logic in default_relaxations(None)) == PAPER
    assert [logic.name for logic in default_relaxations(["r-godel"])] == ["r-godel"]


def test_every_family_is_listed_once():
    names = relaxation_names()
    assert len(set(names)) == len(names)
    words = {name.split("(")[0] for name in names}
    families = {"product", "godel", "hamacher", "frank", "yager", "dombi", "aczel-alsina",
                "schweizer-sklar", "sugeno-weber", "nilpotent-minimum"}  # fmt: skip
    expected = {f"{prefix}-{family}" for prefix in "sr" for family in families}
    assert words >= expected | {"lukasiewicz", "lukasiewicz-maxsat", "s-drastic"}
    assert "r-drastic" not in words


def test_every_name_leads_back_to_its_relaxation():
    for name in relaxation_names():
        assert relaxation(name).name == name
    for logic in LOGICS:
        if "own" not in logic.name:
            assert relaxation(logic.name) == logic


def test_a_relaxation_is_its_own_name():
    logic = relaxation("r-product")
    assert relaxation(logic) is logic


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("r-yager(0.5)", Fraction(1, 2)),
        ("r-yager(.5)", Fraction(1, 2)),
        ("r-yager( 0.1 )", Fraction(1, 10)),
        (" r-yager (1/3) ", Fraction(1, 3)),
        ("s-yager(+2)", Fraction(2)),
        ("s-yager(2.)", Fraction(2)),
        ("s-yager(25e-1)", Fraction(5, 2)),
        ("s-yager(2E2)", Fraction(200)),
        ("s-yager(1e300)", Fraction(10**300)),
    ],
)
def test_parameters_are_read_exactly(written, value):
    assert relaxation(written).parameters == {"p": value}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("r-yager(0.50)", "r-yager(0.5)"),
        ("r-yager( 2.0 )", "r-yager(2)"),
        ("r-yager(1/3)", "r-yager(1/3)"),
        ("r-yager(1/2)", "r-yager(0.5)"),
        ("r-yager(+inf)", "r-yager(inf)"),
        ("s-schweizer-sklar(-inf)", "s-schweizer-sklar(-inf)"),
        ("s-frank(1e-300)", "s-frank(1e-300)"),
    ],
)
def test_names_are_shown_in_one_form(written, name):
    assert relaxation(written).name == name


@pytest.mark.parametrize(("low", "text"), [("yager", "p > 0 or inf"), ("hamacher", "γ >= 0"),
    ("frank", "s > 0 or inf"), ("sugeno-weber", "λ > -1 or inf"),
    ("schweizer-sklar", "p real or -inf")])  # fmt: skip
def test_ranges_are_said_in_words(low, text):
    assert parameter_of(f"r-{low}(2)").range == text
    assert parameter_of(f"s-{low}").range == text
    assert parameter_of("r-product") is None


@pytest.mark.parametrize(
    "name",
    [
        "r-yager(0)", "r-yager(-1)", "r-yager(-inf)", "r-hamacher(-0.1)", "r-hamacher(inf)",
        "r-frank(0)", "r-frank(-1)", "r-dombi(0)", "r-aczel-alsina(0)", "s-sugeno-weber(-1)",
        "s-sugeno-weber(-inf)", "s-schweizer-sklar(inf)",
    ],
)  # fmt: skip
def test_a_parameter_out_of_range_is_refused_with_the_range(name):
    with pytest.raises(UnknownRelaxationError) as caught:
        relaxation(name)
    assert parameter_of(name).range in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "written",
    [
        "1e999999999", "1e-999999999", "nan", "NaN", "infinity", "1_000", "0x10", "1/0", "1//2",
        "--1", "1e", "two", "2,5", "2)(3", "1j", "1" * 10**6, "0." + "0" * 10**6 + "1",
        "1e301", "1e-301", "1/3/4", "2\x00", "__import__('os')",
    ],
    ids=lambda text: ascii(text[:20]),
)  # fmt: skip
def test_a_hostile_parameter_is_refused_quickly(written):
    start = time.perf_counter()
    with pytest.raises(UnknownRelaxationError):
        relaxation(f"r-yager({written})")
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "name",
    ["", "()", "r-yager()", "r-yager( )", "r-yager", "r-product(2)", "r-yager(2", "r-yager 2",
     "r-yager(2) x", "x" * 10**5, "r-yager" + " " * 30_000 + "!", " " * 30_000 + "!", "(" * 10**5,
     "r-" * 10**5, None, 3, b"r-product", ["r-product"]],
    ids=lambda name: ascii(name)[:20],
)  # fmt: skip
def test_a_hostile_name_is_refused_quickly_and_shortly(name):
    start = time.perf_counter()
    with pytest.raises(UnknownRelaxationError) as caught:
        relaxation(name)
    assert time.perf_counter() - start < 1
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize(
    ("name", "implication"),
    [("product", lambda x, y: min(1, y / x)), ("goguen", lambda x, y: min(1, y / x)),
     ("reichenbach", lambda x, y: 1 - x + x * y), ("kleene-dienes", lambda x, y: max(1 - x, y))],
)  # fmt: skip
def test_other_names_mean_the_implications_of_the_literature(name, implication):
    for x, y in [(0.75, 0.25), (0.5, 1.0), (1.0, 0.0)]:
        assert rs.truth("P -> Q", {"P": x, "Q": y}, name) == pytest.approx(implication(x, y))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("r-prodct", "r-product"), ("R-Product", "r-product"), ("r-gödel", "r-godel"),
        ("łukasiewicz", "lukasiewicz"), ("s-yagr(2)", "s-yager"), ("r-drastic", "s-drastic"),
        ("r-aczel_alsina(2)", "r-aczel-alsina"), ("prodct", "product"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_met_with_the_nearest_and_all_names(name, nearest):
    with pytest.raises(UnknownRelaxationError) as caught:
        relaxation(name)
    message = str(caught.value)
    assert "Did you mean `" in message
    assert nearest in message.split("Known are")[0]
    for word in ("s-product", "r-product", "lukasiewicz-maxsat", "r-yager(p)", "s-drastic"):
        assert word in message


def test_there_is_no_drastic_r_logic():
    with pytest.raises(UnknownRelaxationError):
        relaxation("r-drastic")
    with pytest.raises(UnknownRelaxationError, match="left-continuous"):
        Relaxation("r-drastic", Drastic(), "R")


def test_a_missing_or_superfluous_parameter_is_explained():
    with pytest.raises(UnknownRelaxationError, match=r"needs its parameter .*`r-yager\(2\)`"):
        relaxation("r-yager")
    with pytest.raises(UnknownRelaxationError, match="takes no parameter, got `2`"):
        relaxation("r-product(2)")


def test_relaxations_are_values():
    assert relaxation("r-yager(2)") == relaxation("r-yager(2.0)")
    assert hash(relaxation("r-yager(2)")) == hash(relaxation("r-yager(4/2)"))
    assert relaxation("r-yager(2)") != relaxation("s-yager(2)")
    assert relaxation("r-frank(inf)").parameters == {}
    assert math.isinf(relaxation("r-product").tnorm.limit)
