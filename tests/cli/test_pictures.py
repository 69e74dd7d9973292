"""The verbs that draw: what they write, print and refuse."""

import json
import os
import resource
import sys

import pytest

from residuum.relaxations import PAPER


def test_surface_writes_the_picture_and_says_so(residuum, tmp_path):
    file = tmp_path / "surface.png"
    code, out, err = residuum("surface", "P -> Q", "-o", str(file), "-r", "s-godel,r-godel")
    assert (code, out, err) == (0, f"{file}: P -> Q under s-godel, r-godel\n", "")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_surface_json_names_the_file_and_the_papers_five(residuum, tmp_path):
    file = tmp_path / "curve.svg"
    code, out, _ = residuum("surface", "-", "--output", str(file), "--json", stdin=b"P | ~P")
    assert code == 0
    assert json.loads(out) == {
        "formula": "P | ~P",
        "relaxations": list(PAPER),
        "file": str(file),
    }
    assert file.exists()


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_the_same_command_gives_the_same_bytes(residuum, tmp_path, form):
    files = [tmp_path / f"{number}.{form}" for number in range(2)]
    for file in files:
        assert residuum("surface", "P & Q", "-o", str(file), "-r", "s-product,s-godel")[0] == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_tautologies_are_drawn_beside_the_table(residuum, tmp_path):
    file = tmp_path / "table.pdf"
    words = ("tautologies", "-r", "s-godel")
    code, out, _ = residuum(*words, "-o", str(file))
    assert (code, out) == (0, residuum(*words)[1] + f"{file}: the table as a heat map\n")
    assert file.read_bytes().startswith(b"%PDF")
    file.unlink()
    assert residuum(*words, "-o", str(file), "--json") == residuum(*words, "--json")
    assert file.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("surface", "P & Q & R", "-o", "x.png"), "one or two atoms"),
        (("surface", "true", "-o", "x.png"), "without atoms"),
        (("surface", "forall x in D: P(x)", "-o", "x.png"), "expand"),
        (("surface", "P", "-o", "x.gif"), "got `.gif`"),
        (("surface", "P", "-o", "missing/x.png"), "there is no folder `missing`"),
        (("surface", "P", "-o", "full.png"), "cannot be written"),
        (("surface", "P", "-o", "x.png", "-r", "fuzzy"), "no relaxation is called"),
        (("surface", "P"), "Missing option"),
        (("tautologies", "-o", "table"), "got no ending"),
    ],
)
def test_mistakes_leave_a_message_and_no_file(residuum, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    os.mkdir("full.png")  # even root cannot write a file of this name
    code, out, err = residuum(*words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err
    assert os.listdir() == ["full.png"]


@pytest.mark.parametrize("before", [None, b"the picture of yesterday"])
def test_a_full_disk_leaves_no_half_picture(residuum, tmp_path, before):
    file = tmp_path / "surface.svg"
    if before is not None:
        file.write_bytes(before)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # writing more fails half-way
    try:
        code, out, err = residuum("surface", "P -> Q", "-o", str(file), "-r", "s-godel")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (code, out) == (2, "")
    assert str(file) in err
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == (
        {} if before is None else {file.name: before}
    )


def test_without_matplotlib_the_extra_is_named(residuum, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for words in (("surface", "P"), ("tautologies",)):
        code, _, err = residuum(*words, "-o", str(tmp_path / "x.png"))
        assert (code, "pip install 'residuum[report]'" in err) == (2, True)
