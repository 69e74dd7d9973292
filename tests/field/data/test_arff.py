"""ARFF files with hierarchies are read as they are written; a broken one is refused by its line."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum.errors import DataError
from residuum.field.data import arff
from residuum.field.data.arff import read_arff

HEADER = """% about birds
@RELATION 'birds'

@ATTRIBUTE weight   numeric
@attribute 'wing span' REAL
@ATTRIBUTE colour   {red,blue, black}
@ATTRIBUTE class    hierarchical 1,1/2,1/2/3,4/5,1
@DATA
"""
ROWS = "0.5,-1e3,red,1/2/3\n\n% nothing\n?, 7 ,?,4/5@1 % two\r\n3,?,black,1\n"


def test_numbers_nominal_values_and_classes_are_read():
    found = read_arff((HEADER + ROWS).encode(), "birds.arff")
    nan = math.nan
    expected = [[0.5, -1000, 1, 0, 0], [nan, 7, nan, nan, nan], [3, nan, 0, 0, 1]]
    np.testing.assert_array_equal(found.features, expected)
    assert found.hierarchy.classes == ("1", "4", "1/2", "4/5", "1/2/3")
    assert found.hierarchy.parents == (-1, -1, 0, 1, 2)
    assert found.labels.astype(int).tolist() == [[1, 0, 1, 0, 1], [1, 1, 0, 1, 0], [1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.5,", "0.5,0,", "line 9: expected 4 values, found 5"),
        ("0.5,", "", "line 9: expected 4 values, found 3"),
        ("0.5", "half", "line 9: expected a finite number or [?] for weight, found `half`"),
        ("0.5", "inf", "line 9: expected a finite number"),
        ("0.5", "nan", "line 9: expected a finite number"),
        ("red,1", "pink,1", "line 9: expected a value of colour or [?], found `pink`"),
        ("1/2/3\n", "1/3\n", "line 9: expected classes of the header, joined by @, found `1/3`"),
        ("1/2/3\n", "\n", "line 9: expected classes of the header"),
        ("4/5@1", "4/5@", "line 12: expected classes of the header"),
        ("@DATA", "@DOTA", "line 8: expected @relation, @attribute NAME TYPE or @data"),
        ("@DATA\n", "", "line 8: expected @relation"),
        ("REAL", "string", "line 5: expected the type numeric"),
        ("red,blue", "red,red", "line 6: expected different values"),
        (
            "1/2/3,",
            "1//3,",
            "line 7: expected classes such as 01/03, of 64 levels at most, found `1//3`",
        ),
        ("hierarchical 1,1/2,1/2/3,4/5,1", "numeric", "line 8: expected one hierarchical"),
        ("{red,blue, black}", "hierarchical 1", "line 7: expected one hierarchical attribute, fou"),
    ],
)
def test_a_broken_line_is_refused_by_its_number(old, new, words):
    text = (HEADER + ROWS).replace(old, new, 1)
    with pytest.raises(DataError, match=words):
        read_arff(text.encode(), "birds.arff")


def test_what_would_fill_the_memory_is_refused(monkeypatch):
    many = ",".join(f"{k}" for k in range(20_001))
    deep = "/".join("a" * 65)
    for classes, words in ((many, "at most 20,000 classes, found 20,001"), (deep, "of 64 levels")):
        with pytest.raises(DataError, match=words):
            read_arff(f"@attribute c hierarchical {classes}\n@data\n1\n".encode(), "huge")
    monkeypatch.setattr(arff, "LARGEST_TABLE", 30)
    rows = ROWS.splitlines()[0] + "\n"
    assert len(read_arff((HEADER + 3 * rows).encode(), "birds").labels) == 3  # of 10 columns
    with pytest.raises(DataError, match="line 12: expected at most 3 examples of 10 columns"):
        read_arff((HEADER + 4 * rows).encode(), "birds")


def test_a_file_without_data_is_refused():
    with pytest.raises(DataError, match="expected lines of data"):
        read_arff(HEADER.encode(), "birds.arff")
    with pytest.raises(DataError, match="expected a line @data, found none"):
        read_arff(b"", "birds.arff")
    with pytest.raises(DataError, match="line 1: expected text in UTF-8, found the byte ff"):
        read_arff(b"\xff", "birds.arff")


names = st.text("abc0", min_size=1, max_size=2)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.data(), st.lists(paths, min_size=1, max_size=6))
def test_what_is_written_is_read(data, listed):
    width = data.draw(st.integers(0, 3))
    rows = data.draw(st.lists(st.tuples(*[numbers] * width), min_size=1, max_size=4))
    chosen = [data.draw(st.lists(st.sampled_from(listed), min_size=1)) for _ in rows]
    text = "".join(f"@attribute a{k} numeric\n" for k in range(width))
    text += f"@attribute class hierarchical {','.join(listed)}\n@data\n"
    for row, classes in zip(rows, chosen, strict=True):
        cells = ["?" if value is None else repr(value) for value in row]
        text += ",".join([*cells, "@".join(classes)]) + "\n"
    found = read_arff(text.encode(), "made up")
    for place, (row, classes) in enumerate(zip(rows, chosen, strict=True)):
        expected = [math.nan if value is None else value for value in row]
        np.testing.assert_array_equal(found.features[place], expected)
        labels = zip(found.hierarchy.classes, found.labels[place], strict=True)
        for name, label in labels:
            is_there = any(one == name or one.startswith(f"{name}/") for one in classes)
            assert label == is_there


@given(st.text(max_size=200))
def test_any_other_text_is_refused_in_words(text):
    with pytest.raises(DataError):
        read_arff(text.encode("utf-8", "replace"), "any")
