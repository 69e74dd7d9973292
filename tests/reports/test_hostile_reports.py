"""Hostile text in records stays text: on the page, in files, in pictures and in commands."""

import csv
import html
import io
import re
import shlex
import xml.dom.minidom
from dataclasses import replace
from types import SimpleNamespace

import pytest

import made_up_chunk_runs
import made_up_runs
from hostile_records import HOSTILE, hostile
from reports.browser import Browser, find_browser
from reports.test_page import Outline
from residuum.reports.advice_figures import draw_advice
from residuum.reports.blocks import (
    Claims,
    Commands,
    Entry,
    Fold,
    Heading,
    Judged,
    Picture,
    Section,
    Table,
    Text,
    with_safe_names,
)
from residuum.reports.chunking_section import chunking_section
from residuum.reports.colours import Look, draw_legend
from residuum.reports.digits_section import digits_section
from residuum.reports.environment_section import environment_section
from residuum.reports.exports import to_csv, to_latex, write_files
from residuum.reports.figures import house_style, new_figure, picture, settle, short
from residuum.reports.page import inline_svg, render_page, write_page
from residuum.reports.sweep_figures import draw_sweep


def hostile_records():
    run = made_up_chunk_runs.run("r-product", 0, 80, constraints=True)
    heavier = made_up_chunk_runs.run("r-product", 0, 80, constraints=True, weight=3.0)
    chunks = [hostile(run, number) for number in range(0, len(HOSTILE), 3)]
    chunks.append(hostile(heavier, 0))
    after_conll = [  # which has settings that count
        replace(one, configuration={**run.configuration, "corpus": f"conll2000-{text}"})
        for one, text in zip(chunks[:2], HOSTILE, strict=False)
    ]
    digits = [hostile(one, number) for number, one in enumerate(made_up_runs.runs("r-product", 9))]
    others = [replace(digits[0], study=text) for text in HOSTILE]
    lacking = [replace(digits[0], configuration={text: text}) for text in HOSTILE]
    return [*chunks, *after_conll, *digits, *others, *lacking]


def picture_of(text):
    """A figure with a text wherever our figures have some."""
    with house_style():
        figure = new_figure(4, 3)
        place = figure.add_subplot()
        place.set_title(short(text))
        place.set_xticks([0], [short(text)])
        draw_legend(figure, {text: Look("#c2410c", "o"), "other": Look("#c2410c", "s")})
        return settle(figure)


def blocks_of(text):
    """Every kind of block, with a text wherever it has some."""
    table = Table(text, text, [text, text], [[Entry(text), Entry(text, True, text)]],
                  [{text: text}], text, [text])  # fmt: skip
    claims = Claims([Judged("open", text, text, text, text)])
    folded = Fold(text, [Table(f"{text} ", text, [text], [], [])])
    return [Text(text), Heading(text, text), table, claims, Commands([text, text]), folded]


def drawn(text):
    return Picture(text, text, text, picture_of(text), text)


@pytest.fixture(scope="module")
def sections():
    records = hostile_records()
    own = [Section(text, text, blocks_of(text), [text]) for text in HOSTILE]
    own.append(Section("drawn", "drawn", [drawn(HOSTILE[number]) for number in (0, 3, 8)]))
    return [
        digits_section(records), chunking_section(records), environment_section(records), *own,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def page(sections):
    return render_page(sections)


def test_no_text_becomes_an_element_or_an_attribute(page):
    outline = Outline(page)
    blocks = [*blocks_of("plain"), drawn("plain")]
    harmless = render_page([Section("plain", "plain", blocks, ["plain"])])
    known = Outline(harmless)
    elements = {tag for tag, _, _ in known.elements}
    assert {tag for tag, _, _ in outline.elements} <= elements | {"clippath", "rect"}
    names = {name for _, attributes, _ in outline.elements for name in attributes}
    expected = {name for _, attributes, _ in known.elements for name in attributes}
    assert names <= expected | {"clip-path", "width", "height", "x", "y"}  # of its frame
    for _, attributes, _ in outline.elements:
        for name in ("href", "xlink:href", "src", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,"))
    assert not any(name.startswith("on") for name in names)
    assert "49" not in re.findall(r"-->(.*?)<", page)
    assert all(one.isprintable() or one == "\n" for one in page)


def test_every_text_is_shown(page):
    shown = "".join(word for words in Outline(page).words.values() for word in words)
    for text in HOSTILE:
        assert text.replace("\n", r"\n").split("\r")[0] in shown


def test_ids_are_plain_and_unique_and_all_links_lead_to_one(page):
    outline = Outline(page)
    ids = [one["id"] for _, one, _ in outline.elements if "id" in one]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[A-Za-z0-9._:-]{1,200}", one) for one in ids)
    for _, one, _ in outline.elements:
        for name in ("href", "xlink:href"):
            target = one.get(name) or ""
            assert not target.startswith("#") or target[1:] in ids, target
        for name in (one.get("aria-labelledby") or "").split():
            assert name in ids


def test_commands_on_the_page_run_no_other(sections):
    for section in sections[:2]:
        for kind in (Table, Picture):
            for block in section.all(kind):
                words = shlex.split(block.command)
                if words:
                    assert words[:2] == ["residuum", "study"]
                    assert not {";", "touch", "owned;"} & set(words)


@pytest.mark.skipif(find_browser() is None, reason="no chromium or chromium-browser on the PATH")
def test_no_script_runs_in_a_browser(page, tmp_path):
    write_page(tmp_path / "report.html", page)
    browser = Browser(find_browser())
    try:
        browser.open((tmp_path / "report.html").as_uri(), 1280)
        assert browser.evaluate("document.title") != "owned"
        assert browser.evaluate("document.querySelectorAll('script, img, iframe').length") == 0
        asked = [
            one for one in browser.events if one.get("method") == "Page.javascriptDialogOpening"
        ]
        assert asked == []
        fetched = [
            event["params"]["request"]["url"]
            for event in browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        assert [one for one in fetched if not one.startswith(("data:", "file:"))] == []
    finally:
        browser.close()


def test_files_stay_in_their_folder_under_plain_unique_names(sections, tmp_path):
    folder = tmp_path / "inner" / "files"
    folder.mkdir(parents=True)
    few = [sections[1], *sections[-3:]]
    written = list(write_files(folder, few))
    assert {path.parent for path in written} == {folder}
    assert sorted(folder.iterdir()) == sorted(written)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path not in written] == []
    assert len({path.name.lower() for path in written}) == len(written)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,120}", path.name) for path in written)
    for path in written:
        if path.suffix == ".svg":
            xml.dom.minidom.parse(str(path))


def test_names_that_would_be_the_same_differ():
    names = ["a/b", "a-b", "A-B", "a b", "", "..", "nul", "NUL.txt", "x" * 300, "x" * 301, "日本"]
    section = Section("s", "S", [Table(name, "", [], [], []) for name in names])
    found = [one.name for one in with_safe_names([section])[0].all(Table)]
    assert found == [
        "a-b", "a-b-2", "A-B-3", "a-b-4", "unnamed", "unnamed-2", "the-nul", "the-NUL.txt",
        "x" * 100, f"{'x' * 100}-2", "unnamed-3",
    ]  # fmt: skip
    again = with_safe_names(with_safe_names([section]))[0]
    assert [one.name for one in again.all(Table)] == found


@pytest.mark.parametrize("text", HOSTILE)
def test_latex_has_one_line_for_each_row_and_no_command_of_the_text(text):
    latex = to_latex(Table("t", text, [text], [[Entry(text)], [Entry(text, True)]], []))
    comment, *lines = latex.removesuffix("\n").split("\n")
    assert comment.startswith("% ")
    assert [line for line in lines if not line.endswith(r" \\")] == [
        r"\begin{tabular}{l}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    own = {"textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater",
           "textbar", "textbf"}  # fmt: skip
    cells = "\n".join(line.removesuffix(r" \\") for line in lines if line.endswith(r" \\"))
    assert set(re.findall(r"\\([A-Za-z]+)", cells)) <= own
    assert re.findall(r"(?<!\\)[&%$#_^~]", cells) == []
    assert not any(line.startswith(("[", "*")) for line in lines)
    assert latex.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("has_numbers", [True, False])
def test_csv_has_one_line_for_each_row_and_no_formula(text, has_numbers):
    numbers = [{"name": text, "mean": -1.5, "text": "-1.5"}] if has_numbers else []
    cells = [Entry(text), Entry("-1.5"), Entry("-1.5")]
    written = to_csv(Table("t", "T", ["name", "mean", "text"], [cells], numbers))
    assert written.count("\n") == 2
    [head, row] = csv.reader(io.StringIO(written))
    assert (head, row[1:]) == (["name", "mean", "text"], ["-1.5", "-1.5"])
    assert not row[0].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert row[0].isprintable()


@pytest.mark.parametrize("text", HOSTILE)
def test_pictures_have_the_text_as_it_is_written(text):
    figure = picture_of(text)
    for form in ("svg", "png"):
        assert picture(figure, form)
    tree = xml.dom.minidom.parseString(picture(figure, "svg"))
    assert not tree.getElementsByTagName("script")
    svg = inline_svg(figure, "name", text)
    shown = xml.dom.minidom.parseString(svg).getElementsByTagName("text")
    found = [node.firstChild.data for node in shown]
    assert found.count(short(text)) == 3, found  # the title, a tick and the legend


def test_pictures_of_advice_and_sweeps_show_any_text():
    for text in HOSTILE[::4]:
        shares = SimpleNamespace(
            rule=text, sample=text, relaxation=text, violated=0.5, mended=0.5, evaded=0.1
        )
        progress = SimpleNamespace(configuration={"corpus": text}, values={0: 1.0, 1: 2.0})
        for figure in (draw_advice([shares]), draw_sweep([progress], text)):
            xml.dom.minidom.parseString(picture(figure, "svg"))
            shown = inline_svg(figure, "name", "")
            assert html.escape(short(text), quote=False) in shown


def test_template_syntax_in_text_is_not_evaluated(page):
    assert "{{ 7 * 7 }}{% raw %}" in page
