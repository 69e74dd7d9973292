"""`residuum score` says what `conlleval` says, and which line it cannot read."""

import json

import pytest

FILE = """\
He PRP B-NP B-NP
reckons VBZ B-VP B-VP
the DT B-NP B-NP
deficit NN I-NP B-NP

now RB B-ADVP O
. . O O
"""


@pytest.fixture
def predictions(tmp_path):
    path = tmp_path / "predictions.txt"

    def write(text):
        path.write_bytes(text.encode())
        return str(path)

    return write


def test_json_has_percentages_over_all_and_by_type(residuum, predictions):
    code, out, err = residuum("score", "--json", predictions(FILE))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert list(found) == ["precision", "recall", "f1", "accuracy", "types"]
    # 4 chunks there, 4 guessed, 2 of them right; 4 of 6 tags.
    assert (found["precision"], found["recall"], found["f1"]) == (50, 50, 50)
    assert found["accuracy"] == pytest.approx(100 * 4 / 6)
    assert found["types"]["VP"] == {"precision": 100, "recall": 100, "f1": 100, "support": 1}
    assert found["types"]["NP"] == {
        "precision": pytest.approx(100 / 3), "recall": 50, "f1": 40, "support": 2,
    }  # fmt: skip
    assert found["types"]["ADVP"] == {"precision": 0, "recall": 0, "f1": 0, "support": 1}


def test_standard_input_and_a_file_with_other_line_ends_say_the_same(residuum, predictions):
    plain = residuum("score", predictions(FILE))
    assert "6 tags in 2 sentences, 66.67% right" in plain[1]
    assert residuum("score", "-", stdin=FILE.encode()) == plain
    assert residuum("score", predictions(FILE.replace("\n", "\r\n"))) == plain
    assert residuum("score", predictions("\n\n" + FILE.replace("\n\n", "\n \n\n"))) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected one sentence at least, found none"),
        ("\n\n", "expected one sentence at least, found none"),
        ("a O O\nb O\n", "line 2: expected 3 columns, as in the lines before, found 2"),
        ("a\n", "line 1: expected a gold tag and a predicted one, found 1 column"),
        ("a O O\n\nb O NP\n", "line 3: expected tags such as B-NP, I-NP and O, found `NP`"),
        ("a B- O\n", "line 1: expected tags such as B-NP, I-NP and O, found `B-`"),
        ("a E-NP O\n", "found `E-NP`"),
        ("a O O\rb O O\n", r"line 1: expected a line to end with \n or \r\n, found \r alone"),
    ],
)
def test_a_bad_line_of_predictions_is_refused_with_its_number(residuum, predictions, text, words):
    code, out, err = residuum("score", predictions(text))
    assert (code, out) == (2, "")
    assert words in err
    assert "predictions.txt" in err


def test_a_missing_file_is_refused(residuum, tmp_path):
    code, _, err = residuum("score", str(tmp_path / "absent.txt"))
    assert code == 2
    assert "absent.txt` cannot be read" in err
