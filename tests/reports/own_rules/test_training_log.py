"""Logs of metrics: what is read of whole, damaged, partial and hostile files, and what is said."""

import json
import math
from pathlib import Path

import pytest

from hostile_records import HOSTILE
from residuum.errors import DataError
from residuum.reports.own_rules import obeying, training_log
from residuum.reports.own_rules.figures import MOST_POINTS, thinned
from residuum.reports.own_rules.training_log import read_log


@pytest.fixture
def log_of(tmp_path):
    def read(content, rules=("wet",), name="log.jsonl"):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else lines(*content), "utf-8")
        return read_log(path, list(rules))

    return read


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_the_dictionaries_of_metrics_are_read_by_rule_and_step(log_of):
    rows = [{"step": 10 * n, "wet/penalty": 1 / n, "dry/satisfied": n / 5} for n in range(1, 5)]
    log = log_of(rows, ["wet", "dry"])
    assert (log.axis, log.lines, log.damage, log.unused) == ("step", 4, "", [])
    assert log.rules == ["wet", "dry"]
    assert log.curves["wet", "penalty"] == {10: 1.0, 20: 1 / 2, 30: 1 / 3, 40: 1 / 4}
    assert log.ends("dry", "satisfied") == (0.2, 0.8)
    assert log.ends("wet", "satisfied") is None


@pytest.mark.parametrize(
    ("key", "owner"),
    [
        ("birds/penalty", "birds"),
        ("rules/birds/penalty", "birds"),
        ("eval_rules_birds/penalty", "birds"),
        ("val/red_birds/penalty", "red_birds"),
        ("val_penalty", None),
        ("penalty", None),
        ("rules/penalty", None),
        ("birdspenalty", None),
        ("ladybirds/penalty", None),
    ],
)
def test_names_of_loggers_are_understood(log_of, key, owner):
    if owner is None:
        with pytest.raises(DataError, match="expected metrics of rules"):
            log_of([{key: 1.0}], ["birds", "red_birds"])
    else:
        assert log_of([{key: 1.0}], ["birds", "red_birds"]).rules == [owner]


@pytest.mark.parametrize("key", ["penalty", "rules/penalty", "eval_rules_penalty", "val/penalty"])
def test_a_metric_without_a_rule_belongs_to_the_only_rule(log_of, key):
    if key == "val/penalty":
        with pytest.raises(DataError, match="found the names val/penalty"):
            log_of([{key: 1.0}])
    else:
        assert log_of([{key: 1.0}]).curves == {("wet", "penalty"): {1: 1.0}}


def test_of_two_names_of_the_same_metric_the_first_counts_and_others_are_named(log_of):
    log = log_of([{"val/wet/penalty": 1.0, "train/wet/penalty": 2.0, "loss": 3.0, "epoch": 0}])
    assert log.curves == {("wet", "penalty"): {0: 1.0}}
    assert log.unused == ["train/wet/penalty", "loss"]


def test_without_a_step_in_every_line_lines_are_counted(log_of):
    assert log_of([{"epoch": 3, "penalty": 1}, {"epoch": 5, "penalty": 2}]).axis == "epoch"
    log = log_of([{"epoch": 3, "penalty": 1}, {"penalty": 2}])
    assert (log.axis, log.curves["wet", "penalty"]) == ("line", {1: 1.0, 2: 2.0})
    assert log_of([{"epoch": "soon", "penalty": 1}]).axis == "line"


def test_a_resumed_training_replaces_the_steps_that_it_repeats(log_of):
    rows = [{"step": step, "penalty": value} for step, value in ((1, 5), (2, 4), (3, 9), (2, 3))]
    log = log_of(rows)
    assert log.curves["wet", "penalty"] == {1: 5.0, 2: 3.0, 3: 9.0}
    assert list(log.curves["wet", "penalty"]) == [1, 2, 3]
    assert log.damage == "1 × value that a later line with the same step replaces"


def test_damaged_and_partial_lines_are_left_out_and_counted(log_of):
    deep = "[" * 100_000
    content = (
        lines({"step": 1, "penalty": 1.0})
        + f"not json\n\n[1, 2]\n{deep}\n" + '{"step": 2, "penalty": ' + "9" * 5000 + "}\n"
        + lines({"step": 3, "penalty": "many"}, {"step": 4, "penalty": True},
                {"step": 5, "penalty": None}, {"step": 6, "penalty": [1]},
                {"step": 7, "penalty": -1.0}, {"step": 8, "satisfied": 1.5},
                {"step": 9, "penalty": 1e200}, {"step": 10, "penalty": 0.5})
        + '{"step": 11, "pena'
    )  # fmt: skip
    log = log_of(content)
    assert log.curves == {("wet", "penalty"): {1: 1.0, 10: 0.5}}
    assert "5 × line that is no JSON object" in log.damage
    assert "7 × cell without a number that the metric can have" in log.damage


def test_nan_and_infinite_numbers_are_gaps_and_counted(log_of):
    log = log_of('{"penalty": NaN}\n{"penalty": 2}\n{"penalty": Infinity}\n{"penalty": 1}\n')
    values = list(log.curves["wet", "penalty"].values())
    assert [values[1], values[3]] == [2.0, 1.0]
    assert all(map(math.isnan, values[::2]))
    assert log.ends("wet", "penalty") == (2.0, 1.0)
    assert log.damage == "2 × NaN or infinite number"
    assert log_of('{"penalty": NaN}\n').ends("wet", "penalty") is None


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "found an empty file"),
        ("\n\n", "found an empty file"),
        ("{}\n", "found an empty file"),
        ("garbage", "1 × line that is no JSON object"),
        (b"\xff\xfe\x00\x01", "1 × line that is no JSON object"),
        ('{"loss": 1}\n', "found the names loss"),
    ],
)
def test_a_log_without_metrics_is_refused_and_says_what_it_has(log_of, content, found):
    with pytest.raises(DataError, match=r"`wet/satisfied`, one JSON object") as error:
        log_of(content)
    assert found in str(error.value)


def test_missing_and_large_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="No such file"):
        read_log(tmp_path / "missing.jsonl", ["wet"])
    with pytest.raises(DataError, match="none that can be read"):
        read_log(tmp_path, ["wet"])
    monkeypatch.setattr(training_log, "LARGEST_LOG", 10)
    (tmp_path / "large.jsonl").write_text('{"penalty": 1}\n')
    with pytest.raises(DataError, match="at most 10 bytes"):
        read_log(tmp_path / "large.jsonl", ["wet"])


def test_long_lines_and_very_many_lines_are_left_out(log_of, monkeypatch):
    monkeypatch.setattr(training_log, "LARGEST_LINE", 40)
    monkeypatch.setattr(training_log, "MOST_LINES", 3)
    log = log_of([{"penalty": 1, "name": "x" * 50}, *({"penalty": n} for n in range(5))])
    assert log.curves["wet", "penalty"] == {1: 0.0, 2: 1.0, 3: 2.0}
    assert "1 × line that is no JSON object" in log.damage
    assert "2 × line after the first 3" in log.damage


def test_csv_of_lightning_is_read_with_its_empty_cells(log_of):
    content = (
        "epoch,rules/wet/penalty,rules/wet/satisfied,step,train_loss\n"
        "0,,,4,1.5\n"
        "0,0.5,0.25,9,\n"
        "1,0.25,0.75,19,\n"
        "1,0.1\n"
        "2,nan,0.8,29,\n"
    )
    log = log_of(content, name="metrics.CSV")
    assert (log.axis, log.lines, log.unused) == ("step", 3, ["train_loss"])
    assert log.curves["wet", "satisfied"] == {9: 0.25, 19: 0.75, 29: 0.8}
    assert log.damage == (
        "1 × line with another number of cells than the first line; 1 × NaN or infinite number"
    )


@pytest.mark.parametrize("content", ['"\n', 'penalty\n"0.5', "penalty\n\0\n0.5\n", "\0,\0\n1,1\n"])
def test_damaged_csv_raises_nothing_but_a_data_error(log_of, content):
    try:
        log = log_of(content, name="log.csv")
    except DataError:
        return
    assert log.rules == ["wet"]


def test_hostile_names_in_a_log_are_only_names(log_of):
    log = log_of([{**dict.fromkeys(HOSTILE, 1), "wet/penalty": 1, "\ud800/penalty": 2}])
    assert log.rules == ["wet"]
    assert set(HOSTILE) <= set(log.unused)


def test_thousands_of_points_are_thinned_and_no_peak_is_lost():
    curve = {float(step): math.sin(step / 100) for step in range(50_000)}
    curve[31_234.0], curve[777.0] = 5.0, -5.0
    curve |= {float(step): math.nan for step in range(40_000, 42_000)}
    points = thinned(curve)
    assert len(points) <= MOST_POINTS
    assert points[0] == (0.0, 0.0)
    assert points[-1] == (49_999.0, curve[49_999.0])
    assert (31_234.0, 5.0) in points
    assert (777.0, -5.0) in points
    assert any(math.isnan(value) for _, value in points)
    assert [step for step, _ in points] == sorted({step for step, _ in points})
    few = dict(list(curve.items())[:MOST_POINTS])
    assert thinned(few) == list(few.items())


def test_the_documented_limits_are_those_of_the_code():
    [page] = (Path(__file__).parents[3] / "docs").rglob("report.md")
    text = page.read_text("utf-8")
    for limit in (training_log.LARGEST_LOG, training_log.MOST_LINES, MOST_POINTS):
        assert f" {limit:,} " in text
    assert f"more than {obeying.MOST_GROUNDINGS:,} groundings" in text
