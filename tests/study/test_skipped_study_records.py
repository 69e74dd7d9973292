"""Records that a study cannot use: skipped, counted and named, and never a traceback."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import made_up_chunk_runs
import made_up_runs
from hostile_records import damaged, without
from residuum.reports.chunking_section import chunking_section
from residuum.reports.digits_section import digits_section
from residuum.results import ARCHIVES, Curve, Record, merge, read_archive
from residuum.study.chunking import findings as chunking
from residuum.study.chunking.claims import evaluate as evaluate_chunking
from residuum.study.chunking.tables import tables as chunking_tables
from residuum.study.digits import findings as digits
from residuum.study.digits.claims import evaluate as evaluate_digits
from residuum.study.digits.tables import tables as digits_tables
from residuum.study.skipped_records import Skipped, tell_skipped

ROOT = Path(__file__).parents[2]
DIGITS = made_up_runs.run("r-product", 0, 90)
CHUNKING = made_up_chunk_runs.run("r-product", 0, 80, constraints=True)


@pytest.mark.parametrize(
    ("fault_of", "sound"), [(digits.fault_of, DIGITS), (chunking.fault_of, CHUNKING)]
)
def test_a_missing_part_or_one_of_another_type_is_named(fault_of, sound):
    known = dict(sound.configuration)
    assert fault_of(sound) == ""
    for name, value in known.items():
        lacking = replace(sound, configuration=without(known, name))
        # In digits `clip` is younger than some records, which do not have it.
        is_younger = (sound.study, name) == ("digits", "clip")
        assert fault_of(lacking) == ("" if is_younger else f"lacks the setting `{name}`")
        other = 1 if isinstance(value, str) or value is None else "text"
        if name in ("embeddings", "period"):
            other = True
        of_other_type = replace(sound, configuration={**known, name: other})
        assert fault_of(of_other_type).startswith(f"has {other!r} as the setting `{name}`, where")
    for name in ("f1", "coherence"):
        if name in sound.measures:
            lacking = replace(sound, measures=without(sound.measures, name))
            assert fault_of(lacking) == f"lacks the measure `{name}`"
            endless = replace(sound, measures={**sound.measures, name: float("nan")})
            assert fault_of(endless) == f"has nan as the measure `{name}`"
    for name in sound.outcomes:
        lacking = replace(sound, outcomes=without(sound.outcomes, name))
        assert fault_of(lacking) == f"lacks the array of outcomes `{name}`"
        short = replace(sound, outcomes={**sound.outcomes, name: sound.outcomes[name][:-1]})
        assert "outcomes of" in fault_of(short)
    score = next(name for name in sound.curves if name.endswith("dev/score"))
    assert fault_of(replace(sound, curves={})).startswith("lacks the curve")
    empty = replace(sound, curves={**sound.curves, score: Curve([], [])})
    assert fault_of(empty) == f"has a curve `{score}` that is empty, NaN or infinite"


def test_relaxations_and_settings_that_cannot_be_are_named():
    known = dict(DIGITS.configuration)
    for name, value, words in [
        ("relaxation", "r-produkt", "no relaxation is called `r-produkt`"),
        ("images", "cifar", "images: expected mnist or embedded"),
        ("seed", -1, "seed: expected a whole number"),
        ("weight", -1, "weight: expected a number from 0 on"),
    ]:
        fault = digits.fault_of(replace(DIGITS, configuration={**known, name: value}))
        assert fault.startswith(f"has impossible settings: {words}"), fault
    assert digits.fault_of(replace(DIGITS, scheme=9)) == (
        "is of another version of the study (scheme 9, not 1)"
    )


def test_outcomes_of_fewer_examples_than_most_have_are_not_compared():
    sound = made_up_chunk_runs.runs("r-product", 80)
    short = {name: one[:-1] for name, one in sound[0].outcomes.items()}
    records, [skipped] = chunking.sift([replace(sound[0], outcomes=short), *sound[1:]])
    assert records == sound[1:]
    assert skipped == Skipped(
        "chunking", sound[0].id,
        "has outcomes of 149 test examples, where most runs on conll2000 have 150",
    )  # fmt: skip


def test_counts_are_no_outcomes_of_digits():
    counts = DIGITS.outcomes["digit"].astype(np.uint8)
    fault = digits.fault_of(replace(DIGITS, outcomes={**DIGITS.outcomes, "digit": counts}))
    assert fault == "has outcomes that are counts, where right and wrong belong"


def test_one_message_counts_the_skipped_and_names_the_first():
    skipped = [Skipped("digits", f"{number:016x}", f"lacks {number}") for number in range(1000)]
    assert tell_skipped([]) == ""
    assert tell_skipped(skipped[:2]) == (
        "2 records of digits are skipped: 0000000000000000 lacks 0; 0000000000000001 lacks 1"
    )
    assert tell_skipped(skipped).endswith("0000000000000002 lacks 2; and 997 more")
    assert tell_skipped(skipped).startswith("1,000 records of digits are skipped: ")


def test_no_damaged_record_stops_tables_claims_or_sections():
    """All that are left together, so that one does not hide what another does."""
    others = made_up_runs.runs("s-product", 80)
    records = merge(damaged(DIGITS), damaged(made_up_runs.run("s-godel", 20, 60)), others)
    sound, skipped = digits.sift(records)
    assert len(sound) + len(skipped) == len(records)
    assert min(len(sound), len(skipped)) > 50
    found = digits.Findings(digits.of_presets(sound).records)
    assert {*others} <= {*sound}
    assert evaluate_digits(found, sound)
    assert digits_tables(found)
    assert digits_section(records).warnings == [tell_skipped(skipped)]


def test_no_damaged_record_of_chunking_stops_tables_or_claims():
    others = [*made_up_chunk_runs.runs("s-product", 80), CHUNKING]
    copies = damaged(made_up_chunk_runs.run("s-godel", 0, 60, constraints=True, warm_up=0))
    records = merge(others, damaged(CHUNKING), copies)
    sound, skipped = chunking.sift(records)
    assert min(len(sound), len(skipped)) > 50
    found = chunking.Findings(chunking.of_presets(sound).records)
    assert evaluate_chunking(found, sound)
    assert chunking_tables(found, ("argmax", "viterbi"))
    assert chunking_section(records).warnings == [tell_skipped(skipped)]


@pytest.mark.parametrize("study", [digits, chunking])
def test_every_record_of_the_archives_of_a_study_can_be_used(study):
    name = study.__name__.split(".")[-2]
    paths = sorted(ROOT.joinpath(ARCHIVES).glob(f"{name}*.jsonl"))
    assert paths
    for path in paths:
        records = read_archive(path)
        assert study.sift(records) == (records, [])


def test_the_record_of_the_documentation_is_named(capsys):
    text = (ROOT / "docs" / "reference" / "results.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)\n```", text, re.DOTALL)[1].split("folder = ")[0]
    made = {}
    exec(code, made)
    record: Record = made["record"]
    assert record.id in capsys.readouterr().out
    [skipped] = digits.sift([record]).skipped
    assert (skipped.study, skipped.id) == ("digits", record.id)
    assert skipped.reason.startswith("lacks the settings `images`, `pair_size`, `protocol` and ")
    assert json.dumps(skipped._asdict())
