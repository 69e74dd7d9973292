"""The page of the report: whole, self-contained, and readable by every means."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from made_up_runs import runs
from reports.made_up_report import some_records, some_sections, usual_page
from residuum.errors import PictureError
from residuum.reports.blocks import Claims, Entry, Fold, Judged, Section, Table, Text
from residuum.reports.digits_section import digits_section
from residuum.reports.page import render_page, write_page
from residuum.reports.sections import SECTIONS
from residuum.results import Record
from residuum.study.chunking.claims import claims as chunking_claims
from residuum.study.digits.claims import claims as digits_claims
from residuum.study.digits.settings import TUNING

VOID = {"meta", "link", "br", "img"}


class Outline(HTMLParser):
    """What stands in a page: its elements in order, and whether all are closed."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.words = [], [], {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.words.setdefault(self.open[-1], []).append(data)

    def all(self, *tags):
        return [attributes for tag, attributes, _ in self.elements if tag in tags]


@pytest.fixture(scope="module")
def page():
    return usual_page()


@pytest.fixture(scope="module")
def outline(page):
    return Outline(page)


def test_the_page_has_one_title_landmarks_and_a_heading_per_section(outline):
    assert len(outline.all("h1")) == 1
    assert [len(outline.all(tag)) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    sections = [one["id"] for one in outline.all("section")]
    assert len(sections) == len(SECTIONS)
    assert len(outline.all("h2")) == len(sections)
    assert outline.all("html") == [{"lang": "en-GB"}]
    assert "".join(outline.words["title"]).strip()


def test_ids_are_unique_and_all_links_lead_to_one(outline):
    ids = [one["id"] for _, one, _ in outline.elements if "id" in one]
    assert len(ids) == len(set(ids))
    for _, one, _ in outline.elements:
        for name in ("href", "xlink:href"):
            target = one.get(name) or ""
            assert not target.startswith("#") or target[1:] in ids, target
        for name in (one.get("aria-labelledby") or "").split():
            assert name in ids
        for name in re.findall(r"url\(#([^)]*)\)", " ".join(filter(None, one.values()))):
            assert name in ids


def test_nothing_is_fetched(outline, page):
    for _, one, _ in outline.elements:
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (one.get(name) or "#").startswith(("#", "data:")), one
    assert outline.all("script", "iframe", "object", "embed") == []
    styles = " ".join(outline.words["style"]) + " ".join(
        one.get("style") or "" for _, one, _ in outline.elements
    )
    assert "@import" not in styles
    assert re.findall(r"url\((?!#)", styles) == []
    assert [one for one in outline.all("link") if one["href"] != "data:,"] == []
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', ""
    )


def test_every_header_of_a_table_has_a_scope(outline):
    heads = outline.all("th")
    assert {one["scope"] for one in heads} == {"col", "row"}
    rows = [(tag, where) for tag, _, where in outline.elements if tag in ("tr", "th")]
    for (tag, where), (following, _) in pairwise(rows):
        if tag == "tr" and "tbody" in where:
            assert following == "th"
    assert len(outline.all("table")) == len(
        [one for one in outline.all("table") if one.get("aria-labelledby")]
    )


def test_every_picture_has_a_description(outline):
    pictures = outline.all("svg", "img")
    assert len(pictures) >= 8
    for one in pictures:
        assert one.get("role") == "img"
        assert len(one["aria-label"]) > 40
    assert len(outline.all("figcaption")) == len(outline.all("figure"))


def test_wide_things_scroll_in_their_own_box_and_by_keyboard(outline):
    for tag, _, where in outline.elements:
        if tag in ("table", "svg"):
            assert where[-1] == "div"
    boxes = [one for one in outline.all("div", "pre") if one.get("class") == "scroll"]
    assert all(one["tabindex"] == "0" for one in boxes)


def test_exact_values_are_shown_on_hover_and_in_a_fold(page):
    assert 'title="11/12 (exact)"' in page
    assert 'title="(2 + log(2))/3 (exact); printed 0.88"' in page
    fold = page[page.index("Exact values and bounds of all cells") :]
    assert "11/12 (exact)" in fold[: fold.index("</details>")]


def test_figures_that_were_printed_wrong_are_marked_and_explained(page):
    assert "<strong>0.898 ≠ 0.88</strong>" in page
    assert "A3, r-product: (2 + log(2))/3 (exact), printed 0.88." in page
    assert "DM2 as printed, ¬(P ∧ Q) ↔ ¬(¬P ∨ ¬Q), is no tautology." in page
    assert "<strong>0.917" not in page


def test_claims_show_their_status_in_words_and_their_evidence(page):
    judged = [
        Judged(status, "5.1", f"It is {status}", "a test", f"numbers that say {status}")
        for status in ("confirmed", "open", "refuted", "open", "undecidable")
    ]
    shown = render_page([Section("claims", "Claims", [Claims(judged)])])
    marks = {"✓": "confirmed", "✗": "refuted", "?": "open", "–": "undecidable"}
    for mark, status in marks.items():
        claim = shown[shown.index(f"It is {status}") :]
        assert re.search(rf'class="status {status}">{re.escape(mark)} {status}</span>\s*It', shown)
        assert f"numbers that say {status}" in claim[: claim.index("</details>")]
    assert re.findall(r'">(\d) (\w+)</span>', shown) == [
        ("1", "confirmed"), ("1", "refuted"), ("2", "open"), ("1", "undecidable"),
    ]  # fmt: skip
    every_claim = [*digits_claims(), *chunking_claims()]
    assert page.count("<summary>Evidence</summary>") == len(every_claim)


def test_tables_stand_beside_the_papers(page):
    table = page[page.index('id="digits-mnist-joint-5000-operator_accuracy"') :]
    row = re.search(r'<th scope="row">r-product</th>.*?</tr>', table, re.DOTALL)[0]
    printed = re.search(r'<th scope="row">printed</th>.*?</tr>', table[table.index(row) :], re.S)[0]
    assert "<strong>" in row
    assert "88.0 (0.3)" in printed  # the paper's table 4


def test_letters_take_the_colour_of_the_page(page):
    drawn = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert all("currentColor" in one and "#010101" not in one for one in drawn)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_without_runs_the_page_says_so(outline):
    page = render_page(some_sections([]))
    assert page.count("No runs of this study were found") == 2
    assert "residuum study digits --quick" in page
    assert "residuum study chunking --quick" in page
    assert "What the runs were made with" not in page
    assert [one["id"] for one in Outline(page).all("section")] == [
        one["id"] for one in outline.all("section")
    ]


def test_half_finished_studies_have_gaps(page):
    assert "these were not run: joint with PAIR 1,000; joint with PAIR 25,000" in page
    assert "<td>–</td>" in page


def test_tuning_alone_has_no_tables_but_weights():
    tried = [record for record in some_records() if record.study == TUNING]
    page = render_page([digits_section(tried)])
    assert "0 finished runs" in page
    assert "Scores of all runs by the weight λ of the rules" in page


def test_runs_of_another_version_of_the_study_are_left_out_and_counted():
    old = Record(study="digits", scheme=0, configuration={"seed": 1})
    page = render_page([digits_section([old, *runs("r-product", 90)])])
    assert "3 finished runs" in page
    assert "1 run of another version of the study left out" in page
    assert "No runs of this study" in render_page([digits_section([old])])


def test_what_users_wrote_is_escaped():
    entry = Entry("<b>&", title='"<i>')
    table = Table("x", "<u>", ["<s>"], [[entry, entry]], [])
    page = render_page([Section("a", "<em>", [Text("<script>"), Fold("<q>", [table])])])
    assert not re.search(r"<(b|i|u|s|em|script|q)>", page)


def test_the_page_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(PictureError, match="cannot be written"):
        write_page(tmp_path / "missing" / "report.html", "new")
    write_page(path, "new ≠ old")
    assert path.read_text("utf-8") == "new ≠ old"
    assert list(tmp_path.iterdir()) == [path]
