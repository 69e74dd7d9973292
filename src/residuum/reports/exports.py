"""Tables and pictures of a report as files: CSV and LaTeX, PNG and SVG."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from residuum.errors import PictureError
from residuum.printable import printable
from residuum.reports.blocks import Entry, Picture, Section, Table, with_safe_names
from residuum.reports.figures import picture, write_whole

_LATEX: Final = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # LaTeX would read them as options of a row
    "≠": r"$\neq$", "≈": r"$\approx$", "≤": r"$\leq$", "−": "$-$", "·": r"$\cdot$", "–": "--",
    "†": r"\dag{}", "°": r"$^\circ$", "¬": r"$\neg$", "∧": r"$\wedge$", "∨": r"$\vee$",
    "→": r"$\rightarrow$", "↔": r"$\leftrightarrow$", "λ": r"$\lambda$",
})  # fmt: skip


def count_files(sections: Sequence[Section]) -> int:
    """Return the number of files that `write_files` writes."""
    return 2 * sum(len([*one.all(Table), *one.all(Picture)]) for one in sections)


def make_folder(folder: Path) -> None:
    """Make the folder for the files if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PictureError(
            f"the folder `{folder}` cannot be made ({error.strerror}); name another folder"
        ) from None


def write_files(folder: Path, sections: Sequence[Section]) -> Iterator[Path]:
    """Write each table and picture in two formats; yield each file once it is written."""
    for name, content in _contents(sections):
        path = folder / name
        write_whole(path, content)
        yield path


def _contents(sections: Sequence[Section]) -> Iterator[tuple[str, bytes]]:
    for section in with_safe_names(sections):
        for table in section.all(Table):
            yield f"{table.name}.csv", to_csv(table).encode("utf-8")
            yield f"{table.name}.tex", to_latex(table).encode("utf-8")
        for drawn in section.all(Picture):
            for form in ("png", "svg"):
                yield f"{drawn.name}.{form}", picture(drawn.figure, form)


def to_csv(table: Table) -> str:
    """Return the unrounded numbers of a table as CSV; without numbers, its cells.

    Text is printable, so that it has no line breaks. Text that a spreadsheet would take for a
    formula gets an apostrophe in front.
    """
    heads: Sequence[str] = list(table.numbers[0]) if table.numbers else table.heads
    rows: Iterable[Iterable[object]] = (
        ([one.get(head) for head in heads] for one in table.numbers)
        if table.numbers
        else ([entry.text for entry in row] for row in table.rows)
    )
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(map(_csv_cell, row) for row in (heads, *rows))
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return (
        f"'{shown}" if shown.startswith(("=", "+", "-", "@")) and not _is_number(shown) else shown
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_latex(table: Table) -> str:
    r"""Return a table as a LaTeX `tabular`; the document needs \usepackage{booktabs}."""
    lines = [
        f"% {printable(table.title)}",
        rf"\begin{{tabular}}{{{'l' * len(table.heads)}}}",
        r"\toprule",
        _latex_row([Entry(head) for head in table.heads]),
        r"\midrule",
        *(_latex_row(row) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(entries: Sequence[Entry]) -> str:
    cells = []
    for entry in entries:
        text = printable(entry.text).translate(_LATEX)
        cells.append(rf"\textbf{{{text}}}" if entry.stands_out else text)
    indent = r"\quad " if entries[0].minor else ""
    return indent + " & ".join(cells) + r" \\"
