"""Records: checked when made, equal by content, named by what they depend on."""

import base64
import copy
import enum
import hashlib
import itertools
import json
import math
import pickle
import random
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from random_records import records

from residuum.errors import RecordError
from residuum.results import Curve, Divergence, Record, encoding, run_id
from residuum.results import records as module
from residuum.results.encoding import from_line, to_line

CONFIGURATION = {"relaxation": "r-product", "seed": 20, "rate": 0.001, "pretrained": None}


def record(**changes):
    return Record(**{"study": "digits", "scheme": 1, "configuration": CONFIGURATION, **changes})


# Names of runs


def test_the_id_is_a_digest_of_compact_sorted_json():
    text = '["digits",1,{"pretrained":null,"rate":0.001,"relaxation":"r-product","seed":20}]'
    assert run_id("digits", CONFIGURATION, 1) == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert record().id == run_id("digits", CONFIGURATION, 1)


def test_the_order_of_keys_does_not_matter():
    orders = itertools.permutations(CONFIGURATION.items())
    assert len({run_id("digits", dict(order), 1) for order in orders}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (0.0, -0.0), (1e300, int(1e300)), (1e-3, 0.001)]
)
def test_equal_numbers_name_the_same_run(one, other):
    assert run_id("digits", {"λ": one}, 1) == run_id("digits", {"λ": other}, 1)
    assert to_line(record(configuration={"λ": one})) == to_line(record(configuration={"λ": other}))


def test_everything_else_that_differs_names_another_run():
    different = [
        None,
        True,
        False,
        0,
        1,
        2,
        0.1,
        0.1 + 2**-56,
        "",
        "1",
        "0.1",
        "null",
        "\u00e9",
        "e\u0301",
    ]
    ids = {run_id("digits", {"x": value}, 1) for value in different}
    ids |= {run_id("digits", {"y": 1}, 1), run_id("digits", {}, 1), run_id("digit", {"x": 1}, 1)}
    ids |= {run_id("digits", {"x": 1}, 2)}
    assert len(ids) == len(different) + 4


class Colour(str, enum.Enum):  # noqa: UP042  the kind whose str() is not its text
    RED = "red"


def test_members_of_enumerations_and_numpy_floats_are_what_they_equal():
    assert run_id("digits", {"x": Colour.RED}, 1) == run_id("digits", {"x": "red"}, 1)
    assert run_id("digits", {"x": np.float64(0.1)}, 1) == run_id("digits", {"x": 0.1}, 1)


@pytest.mark.parametrize(
    "value",
    [
        math.nan, math.inf, -math.inf, [1], (1,), {"a": 1}, {1}, 1j, b"x", object(), np.int64(1),
        np.float32(0.1), np.bool_(True), np.zeros(2), "\ud800", 10**400, print,
    ],
)  # fmt: skip
def test_a_value_that_is_no_json_is_refused_with_its_place(value):
    with pytest.raises(RecordError, match=r"configuration\['λ'\]"):
        run_id("digits", {"λ": value}, 1)
    with pytest.raises(RecordError, match=r"environment\['λ'\]"):
        record(environment={"λ": value})


@pytest.mark.parametrize(
    "changes",
    [
        {"study": ""}, {"study": None}, {"study": "\udfff"},
        {"scheme": -1}, {"scheme": True}, {"scheme": 1.0},
        {"configuration": [("a", 1)]}, {"configuration": {1: 1}}, {"configuration": {"": 1}},
        {"measures": {"Digit": "98"}}, {"measures": {"Digit": True}}, {"measures": {"x": 10**400}},
        {"seconds": -1}, {"seconds": math.nan}, {"seconds": math.inf}, {"seconds": "1"},
        {"curves": {"loss": [1.0]}},
        {"outcomes": {"Sum": [True]}}, {"outcomes": {"Sum": np.zeros(3)}},
        {"outcomes": {"Sum": np.zeros((2, 2), dtype=bool)}},
        {"outcomes": {"Sum": np.array(True)}}, {"outcomes": {"Sum": np.zeros(2, dtype=np.int8)}},
    ],
    ids=str,
)  # fmt: skip
def test_bad_values_of_each_field_are_refused_with_the_name_of_the_field(changes):
    [field] = changes
    with pytest.raises(RecordError, match=rf"^expected .*\b{field}\b.*, got .*[;.] "):
        record(**changes)


@pytest.mark.parametrize(
    ("epochs", "values"),
    [
        ([1], []),
        ([], [1.0]),
        ([2, 1], [0, 0]),
        ([1, 1], [0, 0]),
        ([-1], [0]),
        ([True], [0]),
        ([0.5], [0]),
        ([1], ["a"]),
    ],
)
def test_curves_need_an_ascending_epoch_for_each_number(epochs, values):
    with pytest.raises(RecordError, match=r"^expected"):
        Curve(epochs, values)


# Records as values


def test_a_record_cannot_be_changed_afterwards():
    outcomes, measures = np.array([True, False]), {"Digit": 98}
    kept = record(outcomes={"Sum": outcomes}, measures=measures)
    outcomes[0] = False
    measures["Digit"] = 0
    assert kept.outcomes["Sum"].tolist() == [True, False]
    assert kept.measures["Digit"] == 98.0
    with pytest.raises(ValueError, match="read-only"):
        kept.outcomes["Sum"][0] = False
    with pytest.raises(TypeError):
        kept.measures["Digit"] = 0
    with pytest.raises(AttributeError):
        kept.seconds = 1.0


def test_any_difference_makes_records_unequal():
    full = {
        "measures": {"Digit": 1.0}, "curves": {"loss": Curve([1], [0.5])},
        "outcomes": {"Sum": np.array([True])}, "seconds": 1.0, "environment": {"numpy": "2"},
    }  # fmt: skip
    assert record(**full) == record(**full)
    others = [
        {"measures": {"Digit": 2.0}}, {"measures": {"digit": 1.0}}, {"seconds": 2.0},
        {"curves": {"loss": Curve([2], [0.5])}}, {"curves": {"loss": Curve([1], [0.25])}},
        {"outcomes": {"Sum": np.array([False])}}, {"outcomes": {"Sum": np.array([1], np.uint8)}},
        {"outcomes": {}}, {"environment": {"numpy": "3"}}, {"scheme": 2}, {"study": "chunking"},
        {"configuration": {}},
    ]  # fmt: skip
    early, late = (record(diverged=Divergence(epoch, ["parameters"])) for epoch in (1, 2))
    assert early == record(diverged=Divergence(1, ("parameters",)))
    assert early not in (late, record(), record(diverged=Divergence(1, ["loss"])))
    assert not [change for change in others if record(**{**full, **change}) == record(**full)]


def test_the_line_of_a_run_that_did_not_diverge_is_as_before():
    assert '"diverged"' not in to_line(record())
    line = to_line(record(diverged=Divergence(3, ["parameters"])))
    assert '"diverged":{"epoch":3,"not_finite":["parameters"]}' in line


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"diverged": True}, "to be a Divergence or None"),
        ({"diverged": {"epoch": 1}}, "to be a Divergence or None"),
        ({"measures": {"Sum": 0.0}}, "no measures and no outcomes of a run that diverged"),
        ({"outcomes": {"Sum": np.zeros(3, np.bool_)}}, "no measures and no outcomes"),
    ],
)
def test_a_diverged_run_is_never_measured(changes, words):
    with pytest.raises(RecordError, match=words):
        record(**{"diverged": Divergence(1, ["parameters"]), **changes})


@pytest.mark.parametrize(
    ("epoch", "names"),
    [(0, ["a"]), (-1, ["a"]), (True, ["a"]), (1.0, ["a"]), (1, []), (1, "a"), (1, [""]), (1, [2]),
     (1, None), (None, ["a"]), (2**2000, ["a"])],
)  # fmt: skip
def test_a_divergence_has_an_epoch_and_names(epoch, names):
    with pytest.raises(RecordError):
        Divergence(epoch, names)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(kept=records)
def test_lines_pickles_and_copies_give_the_record_back(kept):
    line = to_line(kept)
    assert "\n" not in line
    assert line.isascii()
    assert from_line(line) == from_line(line.encode()) == kept
    assert pickle.loads(pickle.dumps(kept)) == copy.deepcopy(kept) == kept
    assert to_line(from_line(line)) == line
    assert hash(from_line(line)) == hash(kept)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1_000_000])
@pytest.mark.parametrize("kind", [np.bool_, np.uint8])
def test_outcomes_of_any_length_come_back(count, kind):
    found = (np.random.default_rng(0).random(count) < 0.9).astype(kind)
    back = from_line(to_line(record(outcomes={"Sum": found}))).outcomes["Sum"]
    assert back.dtype == kind
    assert np.array_equal(back, found)


def test_fifty_thousand_outcomes_take_less_than_a_bit_each():
    found = np.random.default_rng(0).random(50_000) < 0.97
    assert len(to_line(record(outcomes={"Sum": found}))) < 50_000 / 8 / 2


def test_outcomes_that_differ_in_few_examples_are_kept_once():
    random = np.random.default_rng(0)
    one = random.random(50_000) < 0.6
    other = one ^ (random.random(50_000) < 0.01)
    kept = record(outcomes={"a": one, "b": other, "c": ~one, "d": one[:-1]})
    line = to_line(kept)
    assert from_line(line) == kept
    alone = [len(to_line(record(outcomes={"a": array}))) for array in (one, one[:-1])]
    assert len(line) < 1.15 * sum(alone)


@pytest.mark.parametrize("other", ["b", "COUNTS", "SHORT", "absent"])
def test_differences_from_an_unsuitable_array_are_refused(other):
    one = np.random.default_rng(0).random(1000) < 0.6
    before = {"COUNTS": np.ones(1000, np.uint8), "SHORT": one[:1]}
    line = to_line(record(outcomes={**before, "a": one, "b": one}, is_verified=False))
    assert line.count('"from":"a"') == 1
    with pytest.raises(RecordError, match=r"no record: .*outcomes\['b'\]"):
        from_line(line.replace('"from":"a"', f'"from":"{other}"'))


# Lines that hold no record

FULL = record(
    measures={"Sum": 1.0, "Digit": math.inf},
    curves={"loss": Curve([1, 2], [0.5, math.nan])},
    outcomes={"Sum": np.ones(100, dtype=np.bool_), "chunks": np.arange(9, dtype=np.uint8)},
    seconds=2.5,
    environment={"device": "cpu"},
    is_verified=False,  # or the checksum would refuse every change
)
LINE = to_line(FULL)


def broken_lines():
    yield from ("", " ", "null", "[]", "{}", "3", "<<<<<<< HEAD", "[" * 100_000, '"text"')
    yield from (LINE[:cut] for cut in range(1, len(LINE), 17))
    for old, new in [
        ('"seed":20', '"seed":21'),  # another run than the id says
        ('"seed":20', '"seed":[20]'),
        ('"seed":20', '"seed":' + "[" * 500 + "]" * 500),
        ('"seed":20', '"seed":20,"seed":20'),
        ('"scheme":1', '"scheme":true'),
        ('"Sum":1.0', '"Sum":NaN'),
        ('"Sum":1.0', '"Sum":Infinity'),
        ('"Sum":1.0', '"Sum":1e999'),
        ('"Sum":1.0', '"Sum":"nan"'),
        ('"Sum":1.0', '"Sum":null'),
        ('"Sum":1.0', '"Sum":' + "1" * 5000),
        ('"Sum":1.0', '"Sum":' + "1" * 400),
        ('"Sum":1.0', '"":1.0'),
        ('"measures":{', '"measures":[],"m":{'),
        ('"measures":', '"measured":'),
        ('"measures":', '"more":1,"measures":'),
        ('"measures":', '"diverged":null,"measures":'),
        ('"measures":', '"diverged":{},"measures":'),
        ('"measures":', '"diverged":{"epoch":1,"not_finite":["a"]},"measures":'),
        ('"measures":', '"diverged":{"epoch":1,"not_finite":["a"],"more":1},"measures":'),
        ('"measures":', '"diverged":{"epoch":"1","not_finite":["a"]},"measures":'),
        ('"measures":', '"diverged":{"epoch":1,"not_finite":"a"},"measures":'),
        ('"epochs":[1,2]', '"epochs":[2,1]'),
        ('"epochs":[1,2]', '"epochs":[0,true]'),
        ('"epochs":[1,2]', '"epochs":3'),
        ('"epochs":[1,2]', '"epochs":"12"'),
        ('"epochs":[1,2],', ""),
        ('"loss":{', '"loss":[],"gain":{'),
        ('"count":100', '"count":105'),
        ('"count":100', '"count":-1'),
        ('"count":100', '"count":true'),
        ('"count":100', '"count":1e30'),
        ('"count":100', '"count":' + str(10**30)),
        ('"bits"', '"bytes"'),
        ('"bits"', '"words"'),
        ('"bits"', '["bits"]'),
        ('"data":"', '"data":"A'),
        ('"data":"', '"data":"*'),
        ('"data":"', '"data":"é'),
        ('"data":"', '"data":"\\u00e9'),
        ('"data":"', '"data":0,"other":"'),
        ('"seconds":2.5', '"seconds":-1'),
        ('"seconds":2.5', '"seconds":"NaN"'),
        ('"seconds":2.5', '"seconds":{}'),
        ('"environment":{', '"environment":3,"e":{'),
        ('"device":"cpu"', '"device":"\\ud800"'),
    ]:
        assert old in LINE, old
        yield LINE.replace(old, new, 1)


@pytest.mark.parametrize("line", list(broken_lines()), ids=lambda line: line[-30:])
def test_a_line_that_holds_no_record_is_refused(line):
    with pytest.raises(
        RecordError, match=r"^this is (no record: [a-z`]|the record of another run)"
    ):
        from_line(line)


ODD = (
    None, True, 0, -1, 10**400, 1e308, -0.0, "", "NaN", "\ud800", "\x1b[31m", "x" * 10**5,
    [], {}, [[]], [None], {"": None}, {"kind": "differences", "count": 0, "data": "", "from": []},
)  # fmt: skip


def mutated(value, chance):
    """Return JSON with something in it replaced, removed, added or put elsewhere."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.15:
        return copy.deepcopy(chance.choice(ODD))
    key = chance.choice([*value] if isinstance(value, dict) else range(len(value)))
    match chance.randrange(8):
        case 0:
            del value[key]
        case 1 if isinstance(value, dict):
            value[chance.choice(["", "id", "other"])] = chance.choice(ODD)
        case 2 if isinstance(value, dict):
            value[chance.choice([*value])] = value[key]
        case _:
            value[key] = mutated(value[key], chance)
    return value


def test_any_line_is_a_record_or_a_record_error():
    chance = random.Random(20)
    refused = []
    for number in range(3000):
        line = json.dumps(mutated(json.loads(LINE), chance))
        if number % 2:
            place = chance.randrange(len(LINE))
            line = LINE[:place] + chance.choice('0e-"[{},:\\]}u') + LINE[place + number % 3 :]
        try:
            from_line(line)
        except RecordError as error:
            refused.append(str(error))
    assert 2000 < len(refused) < 3000
    assert max(map(len, refused)) < 600


def test_outcomes_that_would_unpack_to_far_more_are_refused():
    bomb = base64.b64encode(zlib.compress(bytes(10**8), 9)).decode()
    line = to_line(record(outcomes={"Sum": np.zeros(0, dtype=np.bool_)}, is_verified=False))
    small = base64.b64encode(zlib.compress(b"", 9)).decode()
    assert small in line
    with pytest.raises(RecordError, match="0 examples"):
        from_line(line.replace(small, bomb))


def test_no_line_unpacks_to_more_outcomes_than_a_record_may_have(monkeypatch):
    limits = 1000, "expected from 0 to 1,000 outcomes in a record"
    monkeypatch.setattr(encoding, "MOST_OUTCOMES", limits[0])
    for kind in (np.bool_, np.uint8):
        assert from_line(to_line(record(outcomes={"Sum": np.zeros(1000, kind)})))
        for outcomes in (
            {"Sum": np.zeros(1001, kind)},
            {"a": np.zeros(600, kind), "b": np.zeros(600, kind)},
        ):
            line = to_line(record(outcomes=outcomes))
            with pytest.raises(RecordError, match=limits[1]):
                from_line(line)


def test_a_short_line_takes_little_memory():
    bomb = base64.b64encode(zlib.compress(bytes(2 * 10**8), 9)).decode()
    form = f'{{"kind":"bytes","count":{2 * 10**8},"data":"{bomb}"}}'
    line = to_line(record(is_verified=False)).replace(
        '"outcomes":{}', f'"outcomes":{{"Sum":{form}}}'
    )
    assert len(line) < 300_000
    tracemalloc.start()
    with pytest.raises(RecordError, match="expected from 0 to 16,777,216 outcomes"):
        from_line(line)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(line)


def test_a_record_with_more_outcomes_than_can_be_read_again_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_OUTCOMES", 10)
    record(outcomes={"a": np.ones(4, np.bool_), "b": np.ones(6, np.uint8)})
    with pytest.raises(RecordError, match="at most 10 outcomes in a record, got 11"):
        record(outcomes={"a": np.ones(5, np.bool_), "b": np.ones(6, np.uint8)})
