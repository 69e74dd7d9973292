"""Files of pictures: what they claim to be, the same twice, and refused in plain words."""

import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib
import pytest

from residuum.analysis import Consistency
from residuum.errors import PictureError
from residuum.reports import check_picture, draw_surfaces, picture, save_picture
from residuum.reports.figures import rounded

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.mark.parametrize("form", MAGIC)
def test_files_are_what_their_names_say(form, tmp_path):
    for name in (f"curve.{form}", f"CURVE.{form.upper()}"):
        save_picture(draw_surfaces("P | ~P"), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(MAGIC[form])


@pytest.mark.parametrize("form", MAGIC)
def test_the_same_picture_has_the_same_bytes_in_every_process(form):
    code = (
        "import sys; from residuum.reports import draw_surfaces, picture;"
        f"sys.stdout.buffer.write(picture(draw_surfaces('P -> Q', ['s-godel']), '{form}'))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": epoch},
        ).stdout
        for seed, epoch in (("1", "1"), ("2", "1000000000"))
    }
    assert len(found) == 1
    assert found.pop().startswith(MAGIC[form])


@pytest.mark.parametrize("form", MAGIC)
def test_a_figure_saved_twice_is_the_same(form):
    figure = draw_surfaces("P -> Q", ["s-godel"])
    first = picture(figure, form)
    picture(figure, "png")
    assert picture(figure, form) == first


def test_no_picture_bears_a_date():
    figure = draw_surfaces("P", ["s-godel"])
    assert b"<dc:date>" not in picture(figure, "svg")
    assert b"CreationDate" not in picture(figure, "pdf")
    assert not re.search(rb"tIME|date", picture(figure, "png"))


def test_the_users_settings_neither_change_nor_are_changed():
    plain = picture(draw_surfaces("P", ["s-godel"]), "png")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 20, "svg.hashsalt": "mine"}):
        before = dict(matplotlib.rcParams)
        assert picture(draw_surfaces("P", ["s-godel"]), "png") == plain
        assert dict(matplotlib.rcParams) == before


def test_drawing_opens_no_window_and_the_command_loads_matplotlib_only_to_draw():
    code = (
        "import sys, residuum.cli; assert 'matplotlib' not in sys.modules;"
        "from residuum.reports import draw_surfaces, picture;"
        "picture(draw_surfaces('P', ['s-godel']), 'png');"
        "assert 'matplotlib' in sys.modules; assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_dollar_signs_are_not_mathematics():
    # Matplotlib would read $…$ as TeX, and raise for this one.
    assert picture(draw_surfaces('Is("$\\frac$") -> Q', ["s-godel"]), "png")


@pytest.mark.parametrize("width", [30, 300])
def test_long_names_and_formulas_leave_room_for_the_picture(width):
    figure = draw_surfaces(f"{'P' * width} -> {'Q' * width}", ["s-godel", "r-godel"])
    panel = figure.axes[0].get_window_extent()
    assert panel.width > 0.5 * figure.dpi
    for text in (figure.axes[0].title, figure.axes[0].xaxis.label):
        assert text.get_window_extent().width < 1.95 * figure.dpi
    assert figure._suptitle.get_window_extent().width < figure.bbox.width


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("surface.bmp", r"ends in \.png, \.svg or \.pdf, got `\.bmp`"),
        ("surface", r"ends in \.png, \.svg or \.pdf, got no ending"),
        ("missing/surface.png", "there is no folder `.*missing`; make it first"),
        ("a" * 300 + "/surface.png", "there is no folder"),
    ],
)
def test_bad_names_of_files_are_refused_before_drawing(name, message, tmp_path):
    with pytest.raises(PictureError, match=message):
        check_picture(tmp_path / name)


def test_an_unknown_format_is_refused():
    with pytest.raises(PictureError, match="png, svg or pdf, got 'bmp'"):
        picture(draw_surfaces("P", ["s-godel"]), "bmp")


@pytest.mark.parametrize("name", ["folder.png", "a" * 300 + ".png"])
def test_a_file_that_cannot_be_written_is_explained(name, tmp_path):
    (tmp_path / "folder.png").mkdir()
    check_picture(tmp_path / name)
    with pytest.raises(PictureError, match=r"cannot be written \(.+\); name another"):
        save_picture(draw_surfaces("P", ["s-godel"]), tmp_path / name)


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for work in (lambda: draw_surfaces("P -> Q"), lambda: check_picture(Path("surface.png"))):
        with pytest.raises(PictureError, match=r"pip install 'residuum\[report\]'"):
            work()


def known(low, value, high, exact=None):
    return Consistency(value, "certified", exact, low, high, "boxes", 0.0)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (known(1, 1, 1, Fraction(1)), "1"),
        (known(0, 0, 0, Fraction(0)), "0"),
        (known(11 / 12, 11 / 12, 11 / 12, Fraction(11, 12)), "0.917"),
        (known(0.89771, 0.89772, 0.89773), "0.898"),
        (known(0.89, 0.904, 0.91), "≈0.90"),
        (known(0.43749, 0.4375, 0.43751), "≈0.44"),
        (known(0.9996, 0.9999, 1), "1.000"),
    ],
)
def test_only_certain_decimals_are_shown(result, text):
    assert rounded(result) == text
