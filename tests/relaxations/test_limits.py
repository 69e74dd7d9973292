from __future__ import annotations

import numpy as np
import pytest
from specimens import GRID, OWN, STEP, X, Y, value

from residuum.relaxations import Relaxation, relaxation
from residuum.relaxations.frank import Frank
from residuum.relaxations.hamacher import Hamacher
from residuum.relaxations.powers import ACZEL_ALSINA, DOMBI, YAGER, Power
from residuum.relaxations.schweizer_sklar import SchweizerSklarNilpotent, SchweizerSklarStrict
from residuum.relaxations.sugeno_weber import SugenoWeber

TEXTS = ("P & Q", "P | Q", "P -> Q", "P <-> Q")
SAME = [
    ("hamacher(1)", "product"),
    ("frank(1)", "product"),
    ("frank(inf)", "lukasiewicz"),
    ("yager(1)", "lukasiewicz"),
    ("yager(inf)", "godel"),
    ("dombi(1)", "hamacher(0)"),
    ("dombi(inf)", "godel"),
    ("aczel-alsina(1)", "product"),
    ("aczel-alsina(inf)", "godel"),
    ("schweizer-sklar(-inf)", "godel"),
    ("schweizer-sklar(-1)", "hamacher(0)"),
    ("schweizer-sklar(0)", "product"),
    ("schweizer-sklar(1)", "lukasiewicz"),
    ("sugeno-weber(0)", "lukasiewicz"),
    ("sugeno-weber(inf)", "product"),
]
every_prefix = pytest.mark.parametrize("prefix", ["s-", "r-"])


def logic(prefix, name):
    return name if name == "lukasiewicz" else prefix + name


def assert_same(first, second, tolerance, x=X, y=Y, texts=TEXTS):
    for text in texts:
        np.testing.assert_allclose(
            value(text, first, x, y), value(text, second, x, y), rtol=0, atol=tolerance
        )


@every_prefix
@pytest.mark.parametrize(("name", "limit"), SAME)
def test_a_singular_parameter_is_the_logic_it_should_be(prefix, name, limit):
    if (name, limit) == ("hamacher(1)", "product"):
        assert_same(prefix + name, prefix + limit, STEP)
    else:
        first, second = relaxation(prefix + name), relaxation(logic(prefix, limit))
        assert (first.tnorm, first.structure) == (second.tnorm, second.structure)
        # An S-logic computes x -> y from ~x | y, and `lukasiewicz` as the residuum.
        assert_same(first, second, STEP if limit == "lukasiewicz" else 0)


# Away from the degrees where a limit jumps, and with a change of the order of the step in the
# parameter, times the logarithm of the smallest degree.
INNER = np.linspace(1 / 16, 15 / 16, 15)
NEAR = [
    ("hamacher(1.000000001)", "product"),
    ("frank(1.000000001)", "product"),
    ("frank(0.999999999)", "product"),
    ("frank(1.00000000000000000001)", "product"),
    ("frank(0.99999999999999999999)", "product"),
    ("yager(1.000000001)", "lukasiewicz"),
    ("yager(0.999999999)", "lukasiewicz"),
    ("dombi(0.999999999)", "hamacher(0)"),
    ("aczel-alsina(1.000000001)", "product"),
    ("schweizer-sklar(1e-9)", "product"),
    ("schweizer-sklar(-1e-9)", "product"),
    ("schweizer-sklar(1e-300)", "product"),
    ("schweizer-sklar(-1e-300)", "product"),
    ("schweizer-sklar(0.999999999)", "lukasiewicz"),
    ("schweizer-sklar(1.000000001)", "lukasiewicz"),
    ("schweizer-sklar(-1.000000001)", "hamacher(0)"),
    ("sugeno-weber(1e-9)", "lukasiewicz"),
    ("sugeno-weber(-1e-9)", "lukasiewicz"),
    ("sugeno-weber(1e-300)", "lukasiewicz"),
    ("sugeno-weber(1e9)", "product"),
    ("sugeno-weber(1e300)", "product"),
    ("hamacher(1e-9)", "hamacher(0)"),
]


@every_prefix
@pytest.mark.parametrize(("name", "limit"), NEAR)
def test_a_parameter_close_to_a_singular_one_is_close_to_its_logic(prefix, name, limit):
    x, y = np.meshgrid(INNER, INNER)
    assert_same(prefix + name, logic(prefix, limit), 1e-7, x, y)


@pytest.mark.parametrize("name", ["yager(1e9)", "dombi(1e9)", "aczel-alsina(1e9)",
                                  "schweizer-sklar(-1e9)"])  # fmt: skip
def test_a_huge_exponent_is_close_to_the_minimum(name):
    assert_same("s-" + name, "s-godel", 1e-8)
    off = X != Y
    assert_same("r-" + name, "r-godel", 1e-6, X[off & (Y > 0.01)], Y[off & (Y > 0.01)])


def test_frank_tends_to_the_minimum_and_to_lukasiewicz():
    assert_same("s-frank(1e-300)", "s-godel", 2e-3, texts=TEXTS[:2])  # log 2 / log 1e300 is 0.001
    assert_same("s-frank(1e300)", "lukasiewicz", 2e-3, texts=TEXTS[:2])


@pytest.mark.parametrize(
    ("tnorm", "limit"),
    [
        (Power(YAGER, 1), "lukasiewicz"),
        (Power(DOMBI, 1), "r-hamacher(0)"),
        (Power(ACZEL_ALSINA, 1), "r-product"),
        (Hamacher(1), "r-product"),
        (Frank(1 + 1e-12), "r-product"),
        (Frank(1 - 1e-12), "r-product"),
        (SugenoWeber(1e-12), "lukasiewicz"),
        (SugenoWeber(-1e-12), "lukasiewicz"),
        (SugenoWeber(1e15), "r-product"),
        (SchweizerSklarNilpotent(1), "lukasiewicz"),
        (SchweizerSklarStrict(-1), "r-hamacher(0)"),
        (SchweizerSklarNilpotent(1e-13), "r-product"),
        (SchweizerSklarStrict(-1e-13), "r-product"),
    ],
)
def test_the_general_class_passes_through_its_singular_parameters(tnorm, limit):
    x, y = np.meshgrid(INNER, INNER)
    assert_same(Relaxation("r-general", tnorm, "R"), limit, 1e-10, x, y)


@pytest.mark.parametrize(
    ("own", "name"), [("cubic", "yager(3)"), ("odds", "hamacher(0)"), ("falsity", "lukasiewicz")]
)
@every_prefix
def test_a_generator_of_ones_own_gives_the_logic_of_the_catalogue(prefix, own, name):
    mine = Relaxation("own", OWN[own], "S" if prefix == "s-" else "R")
    x, y = np.meshgrid(INNER, INNER)
    # The steep residuum of Yager turns one rounding, 1e-16, into its cube root.
    assert_same(mine, logic(prefix, name), 1e-5 if own == "cubic" else 1e-14, x, y)


def test_hamacher_zero_is_defined_at_the_corner():
    assert value("P & Q", "s-hamacher(0)", 0.0, 0.0) == 0
    assert np.all(np.isfinite(value("P & Q", "s-hamacher(0)", GRID, GRID)))
