"""The page about a user's rules: its answer, its sections, and text that is hostile."""

import json
import re

import numpy as np
import pytest

from hostile_records import HOSTILE
from reports.browser import Browser, find_browser
from reports.own_rules.made_up_rules import asked, facts_of, write_files
from reports.test_page import Outline
from residuum.reports.blocks import StatedRule, Table
from residuum.reports.own_rules import gathering
from residuum.reports.own_rules.advised import Advised
from residuum.reports.own_rules.answer import answer_in_words, misleading
from residuum.reports.own_rules.gathering import as_data
from residuum.reports.own_rules.sections import own_sections
from residuum.reports.page import render_page, write_page

NAMES = ["answer", "rules", "broken", "gradients", "obeying", "advice", "curves", "made"]


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return facts_of(write_files(tmp_path_factory.mktemp("own")))


@pytest.fixture(scope="module")
def page(facts):
    return render_page(own_sections(facts), "The rules")


def table(facts, name):
    [found] = [one for s in own_sections(facts) for one in s.all(Table) if one.name == name]
    return [[entry.text for entry in row] for row in found.rows]


def test_the_answer_names_the_rule_that_is_broken_most_and_the_advice(facts):
    words = answer_in_words(facts)
    assert words.startswith("“copy” is broken most, by 50% of 4 examples; “red” by 25%.")
    assert f"{facts.advised.relaxation}, which is recommended, " in words
    assert "At the end of the training log “red” is obeyed least, by 40% of the examples" in words
    [said] = misleading(facts.log)
    assert said == (
        "The penalty of “copy” fell from 2 to 1.2 while fewer examples obey it: 100%, then 60%."
    )
    assert said in words


def test_the_page_has_a_section_for_each_question_and_nothing_is_fetched(facts, page):
    outline = Outline(page)
    assert [one["id"] for one in outline.all("section")] == NAMES
    assert outline.words["h1"] == ["The rules"]
    ids = [one["id"] for _, one, _ in outline.elements if "id" in one]
    assert len(ids) == len(set(ids))
    assert outline.all("script", "iframe", "object", "embed") == []
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', ""
    )
    assert "∀x ∈ two: A(x) → B(x)" in page
    assert "residuum report --rules" in page
    json.dumps(as_data(facts), allow_nan=False)


def test_tables_have_the_facts_and_bars_their_length(facts, page):
    shares = {row[0]: row[1:] for row in table(facts, "shares")}
    assert shares["copy"][0] == "50%"
    assert shares["copy"][-1] == "4"
    assert '50%<span class="bar" style="width:50.00%"></span>' in page
    worst = table(facts, "worst")
    assert {row[0] for row in worst} == {one.rule for one in facts.broken}
    assert ["copy", "0", "A(0) → B(0)"] in [row[:3] for row in worst]
    ends = {row[0]: row[1:] for row in table(facts, "ends")}
    assert ends == {
        "copy": ["100% → 60%", "2 → 1.2", "0% → 40%", "–"],
        "red": ["0% → 40%", "–", "–", "25% → 25%"],
    }


def test_without_a_sample_and_a_log_the_rules_and_random_advice_are_shown(facts):
    alone = facts_of(asked(facts.asked.rules.parent))
    names = [one.name for one in own_sections(alone)]
    assert names == ["answer", "rules", "advice", "made"]
    page = render_page(own_sections(alone))
    assert "No predictions were given." in page
    assert "measured on random predictions" in page
    assert alone.advised.is_random
    assert "The rules do not contradict each other, and none follows from others." in page


def test_contradictions_and_rules_that_follow_are_said(tmp_path):
    rules = "predicate A\npredicate B\nrule yes: A\nrule no: ~A & B\nrule more: A | B\n"
    (tmp_path / "rules.rsd").write_text(rules)
    found = facts_of(asked(tmp_path))
    assert answer_in_words(found).startswith(
        "No prediction obeys the rules yes and no together: change one of them first."
    )
    page = render_page(own_sections(found))
    assert "No prediction obeys the rules yes and no together." in page


def test_rules_that_follow_from_others_are_said(tmp_path):
    rules = "predicate A\npredicate B\nrule yes: A & B\nrule more: A | B\n"
    (tmp_path / "rules.rsd").write_text(rules)
    page = render_page(own_sections(facts_of(asked(tmp_path))))
    assert "Rule more follows from yes." in page
    assert "none follows from others" not in page


def test_predictions_that_obey_leave_nothing_to_mend(tmp_path):
    (tmp_path / "rules.rsd").write_text("predicate A\npredicate B\nrule only: A -> B\n")
    np.savez(tmp_path / "p.npz", A=[0.1, 0.9], B=[0.2, 0.8])
    found = facts_of(asked(tmp_path, "p.npz"))
    assert answer_in_words(found) == (
        "All 2 predictions of the sample obey the rule. No relaxation is recommended before the "
        "others, measured on the sample."
    )
    names = [one.name for one in own_sections(found)]
    assert names == ["answer", "rules", "broken", "advice", "made"]
    assert "What does the rule say?" in render_page(own_sections(found))


def test_weights_and_aggregators_stand_beside_the_names_of_rules(tmp_path):
    declared = "domain d = 0..3 predicate A(d) independent "
    rule = "rule r weight 0.5 over mean: forall x in d: A(x)"
    (tmp_path / "rules.rsd").write_text(declared + rule)
    page = render_page(own_sections(facts_of(asked(tmp_path))))
    assert '<p class="caption">r, weight 0.5, over mean</p>' in page


def test_rules_with_functions_of_python_are_shown_and_their_lack_is_said(tmp_path):
    declared = "domain d = 0..3 function f(d): d predicate A(d) independent "
    (tmp_path / "rules.rsd").write_text(f"{declared} rule r: forall x in d: A(x) -> A(f(x))")
    found = facts_of(asked(tmp_path))
    page = render_page(own_sections(found))
    assert answer_in_words(found) == "In 1 rule no contradiction was found."
    assert "Groundings are not counted: expected values of function `f`" in page
    assert "Not checked: r: expected values of function `f`" in page
    assert "There is no advice: expected values of function `f`" in page


def test_rules_about_different_batches_are_reported_but_not_decoded(tmp_path):
    (tmp_path / "rules.rsd").write_text(
        "domain e domain h predicate A(e) predicate B(h)"
        " rule r: forall x in e: A(x) rule s: forall x in h: B(x)"
    )
    np.savez(tmp_path / "p.npz", A=[0.1], B=[0.4, 0.7, 0.6])
    found = facts_of(asked(tmp_path, "p.npz"))
    assert [(one.rule, one.examples, one.broken) for one in found.broken] == [
        ("r", 1, 1.0), ("s", 3, pytest.approx(1 / 3)),
    ]  # fmt: skip
    assert answer_in_words(found).startswith("“r” is broken most, by 100% of 1 example; “s” by 33%")
    assert "None are shown: rules read different numbers of examples" in render_page(
        own_sections(found)
    )


@pytest.mark.parametrize(
    ("declared", "missing"),
    [
        ("quantity Age scale 2\nrule r: Age >= 18", ""),
        ("predicate A\nrule r: A | ~A & true", ""),
        ("predicate A\npredicate H hidden\nrule r: A -> H", ""),
        ("predicate A", "a rule or more"),
    ],
)
def test_where_no_advice_is_possible_the_page_says_why(tmp_path, declared, missing):
    (tmp_path / "rules.rsd").write_text(declared)
    found = facts_of(asked(tmp_path))
    page = render_page(own_sections(found))
    assert missing in found.advised.missing
    assert ("There is no advice: " in page) == bool(missing)


def test_of_rules_with_hidden_predicates_the_page_says_that_exact_alone_was_tried(tmp_path):
    (tmp_path / "rules.rsd").write_text("predicate A\npredicate H hidden\nrule r: A -> H")
    page = render_page(own_sections(facts_of(asked(tmp_path, relaxations=()))))
    assert "Only `exact` sums out the hidden `H`: no other relaxation was tried" in page
    assert "was not asked for" not in page


def test_a_log_of_one_line_is_enough_for_curves(tmp_path):
    (tmp_path / "rules.rsd").write_text("predicate A\nrule r: A\n")
    (tmp_path / "log.jsonl").write_text('{"penalty": 0.5, "satisfied": 0.25}\n')
    found = facts_of(asked(tmp_path, None, "log.jsonl"))
    assert "“r” is obeyed, by 25% of the examples" in answer_in_words(found)
    assert 'id="metrics"' in render_page(own_sections(found))


def test_logs_of_nan_zeros_and_enormous_numbers_are_drawn(tmp_path):
    (tmp_path / "rules.rsd").write_text("predicate A\nrule r: A\n")
    rows = [
        {"step": step, "penalty": value, "satisfied": float("nan")}
        for step, value in ((0, 0), (1e300, 1e99), (-1e300, float("nan")), (2e300, 1e-320))
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = facts_of(asked(tmp_path, None, "log.jsonl"))
    page = render_page(own_sections(found))
    assert "5 × NaN or infinite number" in page
    json.dumps(as_data(found), allow_nan=False)


def test_of_many_rules_few_are_drawn_and_the_rest_is_folded(tmp_path, monkeypatch):
    nothing = Advised(None, (), is_random=True, missing="left out")
    monkeypatch.setattr(gathering, "advise_steps", lambda *_: [nothing])
    names = [f"r{number}" for number in range(30)]
    declared = "predicate A\npredicate B\n" + "".join(f"rule {one}: A -> B\n" for one in names)
    (tmp_path / "rules.rsd").write_text(declared)
    row = {"epoch": 0, **{f"{one}/satisfied": place / 30 for place, one in enumerate(names)}}
    (tmp_path / "log.jsonl").write_text(json.dumps(row))
    found = facts_of(asked(tmp_path, None, "log.jsonl"))
    sections = {one.name: one for one in own_sections(found)}
    page = render_page([sections["rules"], sections["curves"]])
    assert "10 more rules" in page
    assert page.count('class="formula"') == 30
    assert "of the 6 rules that are obeyed least" in page
    assert "r5: shares" in page
    assert "r6: shares" not in page


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    labels = [text for text in HOSTILE if text.strip() and len(text) < 1000]
    listed = ", ".join(json.dumps(text) for text in labels)
    (folder / "rules.rsd").write_text(
        f"domain d = {listed}\npredicate A(d) independent\nrule r: forall x in d: A(x)\n", "utf-8"
    )
    chances = np.full((2, len(labels)), 0.1)
    np.savez(folder / "p.npz", A=chances)
    log = {**{f"{text}/penalty": 1.0 for text in labels}, "penalty": 0.5}
    (folder / "<img src=x>.jsonl").write_text(json.dumps(log))
    return labels, asked(folder, "p.npz", "<img src=x>.jsonl")


def test_hostile_labels_and_names_stay_text(hostile):
    labels, question = hostile
    found = facts_of(question)
    sections = own_sections(found)
    page = render_page(sections, "The rules of <script>")
    outline = Outline(page)
    assert outline.all("script", "img", "iframe") == []
    for _, attributes, _ in outline.elements:
        assert not any(name.startswith("on") for name in attributes)
    assert all(one.isprintable() or one == "\n" for one in page)
    ids = [one["id"] for _, one, _ in outline.elements if "id" in one]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[A-Za-z0-9._:-]{1,200}", one) for one in ids)
    assert [row[0] for row in table(found, "ends")] == ["r"]
    assert len(table(found, "worst")) == sample_top(labels)
    [stated] = [one for s in sections for one in s.blocks if isinstance(one, StatedRule)]
    assert stated.formula == "∀x ∈ d: A(x)"
    assert "--run '" in page.replace("&#39;", "'")


def sample_top(labels):
    return min(5, 2 * len(labels))


@pytest.mark.skipif(find_browser() is None, reason="no chromium or chromium-browser on the PATH")
def test_the_page_in_a_browser(page, tmp_path):
    write_page(tmp_path / "own.html", page)
    url = (tmp_path / "own.html").as_uri()
    browser = Browser(find_browser())
    try:
        backgrounds = set()
        for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (360, "dark")):
            browser.open(url, width, scheme=scheme)
            complaints = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
            assert [one for one in browser.events if one.get("method") in complaints] == []
            asked_for = [
                event["params"]["request"]["url"]
                for event in browser.events
                if event.get("method") == "Network.requestWillBeSent"
            ]
            assert [one for one in asked_for if one != url and not one.startswith("data:")] == []
            browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            shown = browser.evaluate("[...document.querySelectorAll('section')].map(s => s.id)")
            assert shown == NAMES
            backgrounds.add(
                browser.evaluate("getComputedStyle(document.querySelector('.formula')).background")
            )
            bars = "[...document.querySelectorAll('.bar')].map(b => b.getBoundingClientRect())"
            widths = browser.evaluate(f"{bars}.map(b => b.width)")
            assert max(widths) > 40
        assert len(backgrounds) == 2
    finally:
        browser.close()
