"""Tables as files: what is written is read back, by readers that share no code with them."""

import csv
import io
import re

import pytest

from reports.made_up_report import some_records, usual_sections
from residuum.reports.blocks import Entry, Section, Table
from residuum.reports.exports import make_folder, to_csv, to_latex, write_files

SPECIAL = r"[a] *& b_c {50%} $x$ #1 ~ ^ \ ≠ − ° λ → <|>"


@pytest.fixture(scope="module")
def tables():
    return {table.name: table for one in usual_sections() for table in one.all(Table)}


def read_latex(text):
    """The cells of a tabular, and which are bold."""
    body = re.search(r"\\toprule\n(.*)\\bottomrule", text, re.DOTALL)[1].replace("\\midrule\n", "")
    rows = []
    for line in body.strip().split("\n"):
        assert line.endswith(r" \\")
        line = line.removesuffix(r" \\").removeprefix(r"\quad ")
        cells = re.split(r"(?<!\\) & ", line)
        rows.append([re.fullmatch(r"\\textbf\{(.*)\}|(.*)", cell).groups() for cell in cells])
    return rows


def plain(text):
    """Text as it would be typeset."""
    words = {
        r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^",
        r"\textless{}": "<", r"\textgreater{}": ">", r"$\neq$": "≠", r"$\approx$": "≈",
        r"$\leq$": "≤", "$-$": "−", r"$\cdot$": "·", "--": "–", r"\dag{}": "†", r"$^\circ$": "°",
        r"$\neg$": "¬", r"$\wedge$": "∧", r"$\vee$": "∨", r"$\rightarrow$": "→",
        r"$\leftrightarrow$": "↔", r"$\lambda$": "λ", r"\textbar{}": "|", "{[}": "[", "{]}": "]",
        "{*}": "*",
    }  # fmt: skip
    pattern = "|".join(map(re.escape, words)) + r"|\\([&%$#_{}])"
    return re.sub(pattern, lambda found: found[1] or words[found[0]], text)


def test_latex_holds_every_cell_of_every_table(tables):
    for table in tables.values():
        text = to_latex(table)
        head, *rows = read_latex(text)
        assert [plain(cell) for _, cell in head] == list(table.heads)
        assert len(rows) == len(table.rows)
        for row, entries in zip(rows, table.rows, strict=True):
            assert [plain(bold or cell or "") for bold, cell in row] == [e.text for e in entries]
            assert [bold is not None for bold, _ in row] == [e.stands_out for e in entries]
        assert text.count(r"\begin{tabular}{" + "l" * len(table.heads) + "}") == 1


def test_special_characters_of_latex_are_escaped():
    table = Table("t", "T", [SPECIAL], [[Entry(SPECIAL)]], [])
    text = to_latex(table)
    [[[_, head]], [[_, cell]]] = read_latex(text)
    assert (plain(head), plain(cell)) == (SPECIAL, SPECIAL)
    typeset = re.sub(r"\\[a-z]+\{\}|\$[^$]*\$|\\[&%$#_{}]|\\\\|\{[][*]\}", "", cell)
    assert not set(typeset) & set(r"&%$#_{}~^\<>|[]*")


def test_csv_holds_the_numbers_without_rounding(tables):
    for table in tables.values():
        rows = list(csv.DictReader(io.StringIO(to_csv(table))))
        if not table.numbers:
            assert [list(row.values()) for row in rows] == [
                [entry.text for entry in row] for row in table.rows
            ]
            continue
        assert len(rows) == len(table.numbers)
        for row, numbers in zip(rows, table.numbers, strict=True):
            assert set(row) == set(numbers)
            for name, value in numbers.items():
                if isinstance(value, float):
                    assert float(row[name]) == value
                else:
                    text = "" if value is None else str(value)
                    assert row[name] == (f"'{text}" if text == "-log(x)" else text)


def test_csv_of_the_digits_study_has_means_beside_the_printed_ones(tables):
    text = to_csv(tables["digits-mnist-joint-5000-operator_accuracy"])
    rows = {row["relaxation"]: row for row in csv.DictReader(io.StringIO(text))}
    assert set(rows) == {"s-godel", "s-product", "r-product", "lukasiewicz-maxsat"}
    finished = [
        record.measures["operator_accuracy"]
        for record in some_records()
        if record.study == "digits"
        and record.configuration["pair_size"] == 5000
        and record.configuration["pair_pool"] == "paper"
        and record.configuration["relaxation"] == "r-product"
    ]
    assert float(rows["r-product"]["mean"]) == pytest.approx(sum(finished) / len(finished))
    assert (rows["r-product"]["printed_mean"], rows["r-product"]["seeds"]) == ("88.0", "3")


def test_files_of_an_earlier_report_are_replaced(tmp_path):
    table = Table("t", "T", ["a"], [[Entry("1")]], [{"a": 1}])
    make_folder(tmp_path / "new")
    for _ in range(2):
        paths = list(write_files(tmp_path / "new", [Section("s", "S", [table])]))
    assert sorted(tmp_path.joinpath("new").iterdir()) == sorted(paths)
    assert (tmp_path / "new" / "t.csv").read_text() == "a\n1\n"
