"""`residuum report`: the file it writes, what it says of it, what it refuses."""

import json
import os
import sys

import pytest

from made_up_runs import run, runs
from residuum.analysis import tautologies
from residuum.results import Store, write_archive

SECTIONS = ["question", "relaxations", "tautologies", "digits", "chunking", "field", "environment"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, a table of few tautologies, and one surface."""
    monkeypatch.setattr("residuum.reports.theory_sections.DRAWN_FORMULAS", ("P -> Q",))
    few = [row for row in tautologies.catalogue() if row.name in ("A1", "LEM")]
    monkeypatch.setattr(tautologies, "catalogue", lambda: few)
    monkeypatch.setattr("residuum.cli.report.catalogue", lambda: few)
    monkeypatch.setenv("RESIDUUM_STORE", str(tmp_path / "usual.sqlite"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_runs_a_page_is_written_that_says_so(residuum, folder):
    code, out, err = residuum("report")
    assert (code, err) == (0, "")
    assert out.startswith("report.html: 0 runs in ")
    assert "No runs of this study were found" in (folder / "report.html").read_text("utf-8")
    assert os.listdir() == ["report.html"]


def test_an_empty_store_gives_a_page_without_runs(residuum, folder):
    Store(folder / "empty.sqlite").close()
    code, out, _ = residuum("report", "--store", "empty.sqlite", "-o", "page.html")
    assert (code, "page.html: 0 runs" in out) == (0, True)


def test_runs_come_from_the_default_store_and_from_archives(residuum, folder):
    with Store(folder / "usual.sqlite") as store:
        store.add(run("r-product", 0, 95))
    (folder / "results").mkdir()
    write_archive(folder / "results" / "digits.jsonl", runs("r-product", 95))
    code, out, _ = residuum("report", "--json")
    assert code == 0
    content = json.loads(out)
    assert content["file"] == "report.html"
    assert content["runs"] == 3
    assert [section["name"] for section in content["sections"]] == SECTIONS
    digits = content["sections"][3]
    assert "digits-mnist-joint-5000-coherence" in digits["tables"]
    assert "digits-mnist-joint-5000-learning" in digits["pictures"]


def test_one_unfinished_seed_is_enough_for_a_page(residuum, folder):
    with Store(folder / "one.sqlite") as store:
        store.add(run("s-godel", 20, 50, images="embedded", digit_size=200, pair_size=4000,
                      precision="float32"))  # fmt: skip
    assert residuum("report", "--store", "one.sqlite")[0] == 0
    page = (folder / "report.html").read_text("utf-8")
    assert "1 finished run, " in page
    assert "PAIR 4,000, 1 seed" in page


def test_runs_of_unknown_studies_are_only_counted(residuum, folder):
    with Store(folder / "usual.sqlite") as store:
        store.add(run("r-product", 0, 95, study="someone's own"))
    code, out, _ = residuum("report")
    assert (code, "report.html: 1 run " in out) == (0, True)


def test_pictures_and_tables_are_files_too(residuum, folder):
    with Store(folder / "usual.sqlite") as store:
        store.add(run("r-product", 0, 95))
    code, out, _ = residuum("report", "--files", "made/files")
    assert code == 0
    names = os.listdir("made/files")
    assert f"made/files: {len(names)} files\n" in out
    stems = {os.path.splitext(name)[0] for name in names}
    by_ending = {end: {n for n in stems if f"{n}.{end}" in names} for end in ("csv", "png")}
    assert by_ending["csv"] | by_ending["png"] == stems
    assert {f"{name}.tex" for name in by_ending["csv"]} <= set(names)
    assert {f"{name}.svg" for name in by_ending["png"]} <= set(names)
    assert {"surface-1", "digits-mnist-joint-5000-learning"} <= by_ending["png"]
    assert {"consistencies", "digits-mnist-joint-5000-coherence"} <= by_ending["csv"]
    content = json.loads(residuum("report", "--files", "made/files", "--json")[1])
    assert sorted(content["files"]) == sorted(f"made/files/{name}" for name in names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--store", "missing.sqlite"), "there is no store missing.sqlite"),
        (("-o", "missing/report.html"), "there is no folder `missing`"),
        (("-o", "taken"), "cannot be written"),
        (("--store", "foreign"), "no store of runs"),
        (("--files", "foreign"), "cannot be made"),
    ],
)
def test_mistakes_leave_a_message_and_no_file(residuum, folder, words, message):
    (folder / "taken").mkdir()
    (folder / "foreign").write_text("some other file")
    code, out, err = residuum("report", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert sorted(os.listdir()) == ["foreign", "taken"]


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_a_library_the_extra_is_named(residuum, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    code, _, err = residuum("report")
    assert (code, "pip install 'residuum[report]'" in err) == (2, True)
    assert os.listdir() == []
