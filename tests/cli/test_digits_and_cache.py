"""Digits, and the cache, at the command line."""

import json
import math
from fractions import Fraction

import mpmath
import pytest

from residuum.analysis import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0.0)
    return tmp_path / "kept"


@pytest.mark.parametrize("digits", [1, 17, 18, 50, 1000])
def test_exact_values_are_printed_with_all_the_digits_asked_for(residuum, digits):
    code, out, _ = residuum(
        "consistency", "P -> (Q -> P)", "-r", "s-godel", "--digits", str(digits)
    )
    with mpmath.workdps(1100):
        expected = mpmath.nstr(mpmath.mpf(19) / 24, digits)
    assert code == 0
    assert out.splitlines()[1].split() == ["s-godel", expected, "=", "19/24"]


def test_estimates_are_printed_with_no_more_digits_than_they_have(residuum):
    _, out, _ = residuum("consistency", "P & Q", "-r", "s-yager(2)", "--digits", "1000")
    _, value, _, low, _, high, kind = out.splitlines()[-1].split()
    true = math.pi / 12  # the mean of 1 - sqrt((1 - p)² + (1 - q)²) where that is positive
    digits = len(value.strip(",")) - 2
    assert value == f"{true:.{digits}f},"
    assert float(low) <= true <= float(high)
    assert kind == "(estimate)"
    assert 2 <= digits <= 5


@pytest.mark.parametrize("digits", ["0", "1001", "-1", "many"])
def test_numbers_of_digits_out_of_range_are_refused(residuum, digits):
    code, out, err = residuum("consistency", "P", "--digits", digits)
    assert (code, out) == (2, "")
    assert "--digits" in err


def test_values_of_thousands_of_digits_are_printed(residuum):
    conjunction = " & ".join(f"A{i}" for i in range(3000))
    code, out, _ = residuum("self-consistency", conjunction, "-r", "s-product", "--digits", "950")
    exact = 1 - Fraction(2, 2**3000) + Fraction(3, 3**3000) - Fraction(2, 4**3000)
    exact += Fraction(1, 5**3000)
    with mpmath.workdps(1200):
        ratio = mpmath.mpf(exact.numerator) / exact.denominator
        assert out.split()[-1] == mpmath.nstr(ratio, 950)
    code, out, _ = residuum("self-consistency", conjunction, "-r", "s-product", "--json")
    numerator, denominator = json.loads(out)[0]["exact"].split("/")
    assert code == 0
    assert len(denominator) > 4300  # more than `int` reads at once
    assert Fraction(_long(numerator), _long(denominator)) == exact


def _long(text):
    value = 0
    for start in range(0, len(text), 1000):
        part = text[start : start + 1000]
        value = value * 10 ** len(part) + int(part)
    return value


def test_digits_add_nothing_to_json(residuum):
    words = ("consistency", "P -> (Q -> P)", "-r", "s-godel", "--json")
    [plain], [longer] = (
        json.loads(residuum(*words, *more)[1]) for more in ((), ("--digits", "100"))
    )
    assert {**plain, "seconds": 0} == {**longer, "seconds": 0}


@pytest.mark.parametrize(
    "words",
    [("consistency", "P & Q"), ("self-consistency", "P & Q"), ("tautologies", "-r", "s-godel")],
)
def test_results_are_cached_unless_no_cache_is_given(residuum, folder, words):
    code, afresh, _ = residuum(*words, "--no-cache")
    assert (code, folder.exists()) == (0, False)
    _, first, _ = residuum(*words)
    kept = {path: path.read_bytes() for path in folder.rglob("*.json")}
    _, second, _ = residuum(*words)
    assert kept
    assert kept == {path: path.read_bytes() for path in folder.rglob("*.json")}
    assert first == second
    if words[0] == "tautologies":
        assert afresh == first


@pytest.mark.usefixtures("folder")
def test_a_cached_result_keeps_its_first_duration(residuum):
    words = ("consistency", "P <-> Q", "-r", "s-godel,r-product", "--json")
    assert residuum(*words)[1] == residuum(*words)[1]
