"""Results kept on disk: found again, never believed when damaged, never in the way."""

import hashlib
import importlib
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import residuum
from residuum.analysis import Consistency, cache, consistency, self_consistency
from residuum.analysis.cache import CacheFile, cache_folder, find_cache_file
from residuum.analysis.closed_forms.numbers import ClosedForm
from residuum.logic import And, Atom
from residuum.relaxations import Degree, Generated, Relaxation, is_built_in, register, relaxation
from residuum.relaxations.catalogue import PAPER, relaxation_names
from residuum.relaxations.product import Product
from residuum.syntax import parse

EXACT = Consistency(19 / 24, "exact", Fraction(19, 24), 19 / 24, 19 / 24, "simplices", 0.5)
MODULE = importlib.import_module("residuum.analysis.consistency")  # `consistency` is a function

CERTIFIED = Consistency(0.75, "certified", None, 0.7, 0.8, "boxes", 1.5, note="polynomial: no")
ESTIMATE = Consistency(0.25, "estimate", None, 0.2, 0.3, "sobol", 0.5)
FORMULA = "P -> (Q -> P)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of one's own that keeps everything, however quickly it was found."""
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0.0)
    return tmp_path / "kept"


@pytest.fixture
def computed(monkeypatch):
    """How often a value was computed rather than found."""
    calls = []
    compute = MODULE._integrate
    monkeypatch.setattr(MODULE, "_integrate", lambda *a: calls.append(a) or compute(*a))
    return calls


def files(folder):
    return [path for path in folder.rglob("*") if not path.is_dir()]


def cache_file_in(folder, seconds=1.0, key="ab" + "0" * 62):
    return CacheFile(key, folder / "ab" / "entry.json", seconds)


# What is found again


@pytest.mark.parametrize("name", ["s-godel", "s-product", "r-yager(2)", "r-hamacher(0)"])
def test_the_second_call_computes_nothing_and_returns_the_same(folder, computed, name):
    first = consistency("P & Q -> P & P", name, tolerance=1e-2, seconds=0.05)
    second = consistency("P & Q -> P & P", name, tolerance=1e-2, seconds=0.05)
    assert (first == second, len(computed)) == (True, 1)
    assert second.seconds == first.seconds
    assert len(files(folder)) == 1


@pytest.mark.usefixtures("folder")
def test_self_consistency_is_kept_as_well(computed):
    found = [self_consistency("P & Q", "s-product").exact for _ in range(2)]
    assert (found, len(computed)) == ([Fraction(449, 600)] * 2, 1)


@pytest.mark.usefixtures("folder")
def test_fractions_of_many_thousand_digits_are_kept(computed):
    formula = And(*(Atom(f"A{i}") for i in range(3000)))
    found = [self_consistency(formula, "s-product") for _ in range(2)]
    assert (found[0] == found[1], len(computed)) == (True, 1)
    with pytest.raises(ValueError, match="digits"):
        str(found[1].exact)


@pytest.mark.parametrize("text", ["P | P -> P", "P | Q -> P & Q", "(~P -> ~Q) -> (Q -> P)"])
def test_closed_forms_are_kept(folder, computed, text):
    found = [consistency(text, "r-product") for _ in range(2)]
    assert (found[0] == found[1], len(computed)) == (True, 1)
    assert isinstance(found[1].exact, ClosedForm)
    assert len(files(folder)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"exact": {"terms": [["log", ["3"], "0x1", "0x2"]]}},
        {"exact": {"terms": [["log", ["4"], "0x1", "0x2"]]}},
        {"exact": {"terms": []}},
        {"exact": {}},
        {"exact": {"terms": 3}},
        {"exact": {"terms": [["log", ["1/0"], "0x1", "0x1"]]}},
        {"exact": {"terms": [["log", ["1e999999999"], "0x1", "0x1"]]}},
        {"exact": {"terms": [["log", [2], "0x1", "0x1"]]}},
        {"low": 0.5},
        {"value": 0.6931471805599452},
        {"kind": "certified"},
    ],
)
def test_a_closed_form_that_does_not_fit_its_value_is_not_believed(folder, change):
    kept = cache_file_in(folder)
    result = consistency("P | P -> P", "r-product", cache=False)
    kept.write(result)
    assert kept.read(narrowest=1e-8) == result
    record = {**json.loads(kept.path.read_text())["record"], **change}
    content = {"checksum": cache._checksum(kept.key, record), "record": record}
    kept.path.write_text(json.dumps(content))
    assert kept.read(narrowest=1e-8) is None


def test_without_the_cache_nothing_is_read_or_written(folder, computed):
    consistency(FORMULA, "s-godel", cache=False)
    self_consistency("P", "s-godel", cache=False)
    assert not folder.exists()
    consistency(FORMULA, "s-godel")
    consistency(FORMULA, "s-godel", cache=False)
    assert len(computed) == 4


def test_what_is_found_at_once_leaves_no_file(tmp_path):
    cache_file_in(tmp_path).write(Consistency(1.0, "exact", Fraction(1), 1.0, 1.0, "laws", 0.001))
    assert files(tmp_path) == []
    cache_file_in(tmp_path).write(EXACT)
    assert len(files(tmp_path)) == 1


@pytest.mark.usefixtures("folder")
def test_every_argument_that_matters_has_its_own_file():
    def key(text=FORMULA, name="r-product", seconds=1.0, **changed):
        asked = {"method": None, "tolerance": 1e-4, "seed": 0, **changed}
        return find_cache_file(parse(text), relaxation(name), asked, seconds=seconds).key

    keys = [
        key(),
        key("(P -> Q) -> P"),
        key("P & (Q & R)"),
        key("(P & Q) & R"),
        key("P & Q & R"),
        key(name="s-product"),
        key(name="r-yager(2)"),
        key(name="r-yager(2.5)"),
        key(method="sobol"),
        key(tolerance=1e-3),
        key(seed=1),
    ]
    assert len(set(keys)) == len(keys)
    assert key("P→(Q→P)") == key(seconds=9.0) == key()


def test_the_code_that_values_depend_on_includes_the_rooms_of_each_package(monkeypatch):
    read, seen = Path.read_bytes, set()
    monkeypatch.setattr(Path, "read_bytes", lambda path: seen.add(path) or read(path))
    cache._code.__wrapped__()
    package = Path(residuum.__file__).parent
    assert seen >= set((package / "analysis").rglob("*.py"))
    assert package / "analysis" / "bounds" / "boxes.py" in seen


def test_another_version_or_other_code_starts_afresh(folder, computed, monkeypatch):
    consistency(FORMULA, "s-godel")
    monkeypatch.setattr(residuum, "__version__", "9.9.9")
    consistency(FORMULA, "s-godel")
    assert len(computed) == 2
    monkeypatch.setattr(cache, "_code", lambda: "another")
    consistency(FORMULA, "s-godel")
    assert len(computed) == 3
    monkeypatch.setattr(cache, "SCHEMA", cache.SCHEMA + 1)
    consistency(FORMULA, "s-godel")
    assert (len(computed), len(files(folder))) == (4, 4)


# What a kept result is good for


@pytest.mark.parametrize("result", [EXACT, CERTIFIED, ESTIMATE])
@pytest.mark.parametrize(("allowed", "asked"), [(1.0, 1.0), (5.0, 1.0), (1.0, 0.0)])
def test_a_result_serves_whoever_allows_no_more_time(tmp_path, result, allowed, asked):
    cache_file_in(tmp_path, allowed).write(result)
    assert cache_file_in(tmp_path, asked).read(narrowest=1e-8) == result


@pytest.mark.parametrize("asked", [1.001, 60.0, float("inf"), float("nan")])
def test_more_time_asks_for_a_fresh_result_unless_it_could_not_help(tmp_path, asked):
    def kept(result):
        cache_file_in(tmp_path, 1.0).write(result)
        return cache_file_in(tmp_path, asked).read(narrowest=1e-8)

    assert kept(CERTIFIED) is None
    assert kept(ESTIMATE) is None
    assert kept(EXACT) == EXACT
    narrow = Consistency(0.75, "certified", None, 0.75 - 4e-9, 0.75 + 4e-9, "boxes", 0.9)
    assert kept(narrow) == narrow


def test_a_call_that_allows_more_time_replaces_what_was_kept(folder, monkeypatch):
    def slowly(_formula, _relaxation, _method, _tolerance, seconds, _seed):
        return Consistency(0.75, "certified", None, 0.75 - 0.1 / seconds, 0.75, "boxes", seconds)

    monkeypatch.setattr(MODULE, "_integrate", slowly)
    asked = [1.0, 5.0, 1.0, 2.0, 5.0, 8.0, 7.0]
    found = [consistency("P -> Q", "r-product", seconds=seconds).seconds for seconds in asked]
    assert found == [1.0, 5.0, 5.0, 5.0, 5.0, 8.0, 8.0]
    assert len(files(folder)) == 1


# Whose relaxation it is


@pytest.mark.parametrize("name", [*relaxation_names(), "s-yager(inf)", "r-frank(1/3)"])
def test_relaxations_of_the_catalogue_are_built_in(name):
    assert is_built_in(relaxation(name))


def cubic(scale):
    return Generated(
        lambda x: scale * x.false * x.false * x.false,
        lambda on, penalty: Degree(on, false=on.power(penalty * (1 / scale), 1 / 3)),
        scale,
    )


def test_relaxations_of_the_users_are_never_kept(folder):
    register("own-cubic", cubic(2))
    register("own-product", Product())

    class Twisted(Product):
        pass

    strangers = [
        relaxation("s-own-cubic"),
        relaxation("r-own-product"),
        Relaxation("s-product", cubic(2), "S"),
        Relaxation("s-product", Twisted(), "S"),
        Relaxation("s-product", Product(), "R"),
        Relaxation("mine", Product(), "S"),
    ]
    for one in strangers:
        assert not is_built_in(one)
        consistency("P & Q", one, tolerance=1e-2)
    assert not folder.exists()


@pytest.mark.usefixtures("folder")
def test_a_name_registered_again_means_the_new_t_norm():
    register("own-again", Product())
    assert consistency("P & Q", "s-own-again").exact == Fraction(1, 4)
    double = Generated(lambda x: x.false + x.false, lambda on, g: Degree(on, false=g * 0.5), 2)
    register("own-again", double)  # Łukasiewicz
    assert consistency("P & Q", "s-own-again").exact == Fraction(1, 6)


# Nothing kept is trusted


def checksum(key, record):
    return hashlib.sha256((key + json.dumps(record, sort_keys=True)).encode()).hexdigest()


def put(kept, record, found=None):
    kept.path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"checksum": found or checksum(kept.key, record), "record": record}
    kept.path.write_text(json.dumps(whole))


RECORD = {
    "value": 0.75,
    "kind": "certified",
    "exact": None,
    "low": 0.7,
    "high": 0.8,
    "method": "boxes",
    "seconds": 1.5,
    "recognised": None,
    "note": "polynomial: no",
    "allowed": 1.0,
}


def test_the_documented_layout_is_read(tmp_path):
    kept = cache_file_in(tmp_path)
    put(kept, RECORD)
    assert kept.read(narrowest=1e-8) == CERTIFIED


@pytest.mark.parametrize(
    "changed",
    [
        {"value": 0.9},
        {"value": "0.75"},
        {"value": float("nan")},
        {"value": True},
        {"value": None},
        {"low": -0.1},
        {"low": 0.76},
        {"high": 1.1},
        {"high": float("inf")},
        {"high": 1},
        {"kind": "certain"},
        {"kind": "exact"},
        {"kind": ["certified"]},
        {"exact": ["0x3", "0x4"]},
        {"exact": "3/4"},
        {"kind": "exact", "exact": ["0x3", "0x4"]},
        {"kind": "exact", "exact": ["0x3", "0x5"], "low": 0.75, "high": 0.75},
        {"kind": "exact", "exact": ["0x0", "0x0"], "low": 0.75, "high": 0.75},
        {"kind": "exact", "exact": ["three", "0x4"], "low": 0.75, "high": 0.75},
        {"kind": "exact", "exact": ["0x3"], "low": 0.75, "high": 0.75},
        {"kind": "exact", "exact": [3, 4], "low": 0.75, "high": 0.75},
        {"exact": ["0x5", "0x4"]},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"method": None},
        {"note": 7},
        {"recognised": 7},
        {"allowed": "long"},
        {"allowed": None},
    ],
)
def test_values_that_cannot_be_are_ignored_even_with_a_right_checksum(tmp_path, changed):
    kept = cache_file_in(tmp_path)
    put(kept, {**RECORD, **changed})
    assert kept.read(narrowest=1e-8) is None


def test_nothing_is_read_beyond_the_largest_file(tmp_path):
    kept = cache_file_in(tmp_path)
    kept.write(CERTIFIED)
    kept.path.write_bytes(b" " * (2**20 + 10) + kept.path.read_bytes())
    assert kept.read(narrowest=1e-8) is None


def test_every_field_is_needed(tmp_path):
    kept = cache_file_in(tmp_path)
    for missing in RECORD:
        put(kept, {name: value for name, value in RECORD.items() if name != missing})
        assert kept.read(narrowest=1e-8) is None


def test_plausible_edits_are_noticed_by_the_checksum(tmp_path):
    kept = cache_file_in(tmp_path)
    put(kept, {**RECORD, "low": 0.74}, checksum(kept.key, RECORD))
    assert kept.read(narrowest=1e-8) is None


def test_a_result_moved_to_another_question_is_ignored(tmp_path):
    kept = cache_file_in(tmp_path)
    kept.write(CERTIFIED)
    assert cache_file_in(tmp_path, key="cd" + "0" * 62).read(narrowest=1e-8) is None


quick = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@quick
@given(content=st.binary(max_size=300))
def test_random_bytes_are_ignored(tmp_path, content):
    kept = cache_file_in(tmp_path)
    kept.path.parent.mkdir(exist_ok=True)
    kept.path.write_bytes(content)
    assert kept.read(narrowest=1e-8) is None


@quick
@given(where=st.integers(0, 10**6), bit=st.integers(0, 7), cut=st.booleans())
def test_one_flipped_bit_or_a_missing_end_is_noticed(tmp_path, where, bit, cut):
    kept = cache_file_in(tmp_path)
    kept.write(CERTIFIED)
    whole = bytearray(kept.path.read_bytes())
    where %= len(whole)
    damaged = whole[:where] if cut else whole[:where] + bytes([whole[where] ^ 1 << bit])
    damaged += b"" if cut else whole[where + 1 :]
    kept.path.write_bytes(damaged)
    assert kept.read(narrowest=1e-8) is None


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
degrees = st.sampled_from([0.0, 0.5, 0.75, 1.0]) | st.floats(-1, 2)
hexadecimals = st.integers(-1, 4).map(hex) | st.text(max_size=3)
plausible = {
    "value": degrees,
    "kind": st.sampled_from(["exact", "certified", "estimate"]),
    "exact": st.none() | st.lists(hexadecimals, min_size=2, max_size=2),
    "low": degrees,
    "high": degrees,
    "method": st.just("boxes"),
    "seconds": st.floats(-1),
    "recognised": st.none() | st.text(max_size=5),
    "note": st.text(max_size=5),
    "allowed": st.floats(0),
}
ordered = st.lists(degrees, min_size=3, max_size=3).map(sorted)
ordered = ordered.map(lambda three: dict(zip(("low", "value", "high"), three, strict=True)))
one_field = st.dictionaries(st.sampled_from(list(plausible)), anything, max_size=1)
records = st.builds(
    lambda *parts: {name: value for part in parts for name, value in part.items()},
    st.fixed_dictionaries(plausible),
    st.just({}) | ordered,
    one_field,
)


@quick
@given(record=records | anything)
def test_of_random_records_only_possible_results_are_read(tmp_path, record):
    kept = cache_file_in(tmp_path)
    put(kept, record)
    found = kept.read(narrowest=1e-8)
    if found is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.kind in ("exact", "certified", "estimate")
        assert (found.exact is None) == (found.kind != "exact")
        assert found.exact is None or found.low == found.high == float(found.exact)
        assert 0 <= found.seconds < float("inf")
        assert isinstance(found.method, str)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"record": ' * 5_000,
        b"9" * 10_000,
        b'{"checksum": "", "record": {"allowed": 1e999}}',
    ],
)
def test_a_damaged_file_is_replaced_by_the_right_result(folder, computed, content):
    expected = consistency(FORMULA, "s-godel")
    [kept] = files(folder)
    kept.write_bytes(content)
    assert consistency(FORMULA, "s-godel").exact == expected.exact
    assert len(computed) == 2
    consistency(FORMULA, "s-godel")
    assert len(computed) == 2


def test_a_folder_in_the_place_of_a_file_is_left_alone(folder):
    consistency(FORMULA, "s-godel")
    [kept] = files(folder)
    kept.unlink()
    kept.mkdir()
    assert consistency(FORMULA, "s-godel").exact == Fraction(19, 24)
    assert list(kept.parent.iterdir()) == [kept]


# Nothing kept is in the way


@pytest.mark.parametrize("place", ["file", "file/below", "locked", "/proc/nowhere"])
def test_a_place_that_cannot_be_written_is_no_error(tmp_path, monkeypatch, place):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "locked").mkdir(mode=0o500)
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path / place))
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0.0)
    for _ in range(2):
        assert consistency(FORMULA, "s-godel").exact == Fraction(19, 24)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(("owner", "failing"), [(os, "replace"), (Path, "open")])
def test_a_failing_disk_is_no_error_and_leaves_nothing_behind(
    tmp_path, monkeypatch, owner, failing
):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner, failing, fail)
    cache_file_in(tmp_path).write(CERTIFIED)
    assert files(tmp_path) == []


def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache_file_in(tmp_path).write(CERTIFIED)
    assert files(tmp_path) == []


@pytest.mark.usefixtures("folder")
def test_arguments_that_make_no_sense_fail_as_without_a_cache():
    with pytest.raises(ValueError, match="expected a method"):
        consistency("P", "s-godel", method="magic")
    with pytest.raises(ValueError, match="expected a seed"):
        consistency("P", "s-godel", seed=object())
    assert consistency("P", "s-godel", seconds="soon").exact == Fraction(1, 2)


def test_a_formula_too_long_to_print_is_not_kept(folder):
    shared = Atom("P")
    for _ in range(60):
        shared = And(shared, shared)
    assert consistency(shared, "s-godel").exact == Fraction(1, 2)
    assert not folder.exists()


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from residuum.analysis import Consistency
from residuum.analysis.cache import CacheFile
file = CacheFile(sys.argv[1], Path(sys.argv[2]), 1.0)
kept = Consistency(0.75, "certified", None, 0.7, 0.8, "boxes", 1.5, note=sys.argv[3] * 100_000)
for _ in range(200):
    file.write(kept)
"""


def test_processes_that_write_at_once_leave_one_whole_result(tmp_path):
    kept = cache_file_in(tmp_path)
    words = [sys.executable, "-c", WRITER, kept.key, str(kept.path)]
    writers = [subprocess.Popen([*words, letter]) for letter in "abc"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        found = kept.read(narrowest=1e-8)
        assert found is not None or not seen  # once there, it is never half there
        if found is not None:
            seen.add(found.note)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    seen.add(kept.read(narrowest=1e-8).note)
    assert seen <= {letter * 100_000 for letter in "abc"}
    assert files(tmp_path) == [kept.path]


# Where it is


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache/residuum"),
        ("linux", {"XDG_CACHE_HOME": "{root}/xdg"}, "xdg/residuum"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/residuum"),
        ("linux", {"XDG_CACHE_HOME": ""}, "home/.cache/residuum"),
        ("darwin", {}, "home/Library/Caches/residuum"),
        ("win32", {"LOCALAPPDATA": "{root}/local"}, "local/residuum"),
        ("win32", {}, "home/AppData/Local/residuum"),
        ("linux", {"RESIDUUM_CACHE": "{root}/own", "XDG_CACHE_HOME": "{root}/xdg"}, "own"),
    ],
)
def test_the_folder_follows_the_platform(tmp_path, monkeypatch, platform, variables, expected):
    for name in ("RESIDUUM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(root=tmp_path))
    assert cache_folder() == tmp_path / expected


def test_without_a_home_there_is_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("RESIDUUM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None
    assert consistency(FORMULA, "s-godel").exact == Fraction(19, 24)


def test_tests_and_programs_they_start_have_no_cache():
    code = "from residuum.analysis.cache import cache_folder; print(cache_folder())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (cache_folder(), result.stdout) == (None, "None\n")


def test_the_papers_relaxations_are_all_kept(folder):
    for name in PAPER:
        consistency("P & Q -> P", name)
    assert len(files(folder)) == len(PAPER)
