"""The search of the built pages, in a browser, from disk: the first hit has the answer.

`make docs` builds the pages, and continuous integration runs it before the tests. Without built
pages, or without a browser, nothing is tested here.
"""

import json
from pathlib import Path

import pytest

from reports.browser import Browser, find_browser

SITE = Path(__file__).parents[1] / "build" / "docs"
ANSWERS = {
    "predicate with two arguments": "start/questions#a-predicate-with-two-arguments",
    "binary predicate": "start/questions",
    "reproducibility": "start/questions#reproducibility-determinism",
    "random seed": "start/questions",
    "deterministic": "start/questions",
    "logging": "start/questions#logging",
    "citing": "start/questions#citing",
    "bibtex": "start/questions",
    "install without a clone": "start/questions",
    "attention mask padding": "start/questions",
    "resume training": "start/questions",
    "checkpoint": "start/questions",
    "softmax or sigmoid": "start/questions",
    "partial labels": "start/questions#partial-labels",
    "out of memory": "start/questions#out-of-memory",
    "multiple gpus": "start/questions",
    "hugging face": "cookbook/hugging-face",
    "which relaxation": "start/questions#which-relaxation",
    "weight of a rule": "start/questions#the-weight-of-a-rule",
    "license": "start/questions",
    "decode": "reference/python/rules-as-losses#residuum.CompiledRule.decode",
}
FIRST_HIT = """(question => {
    const hit = Search._performSearch(...Search._parseQuery(question)).at(-1); // shown first
    return hit ? hit[0] + (hit[2] || "") : "nothing";
})"""


@pytest.fixture(scope="module")
def search():
    if find_browser() is None or not (SITE / "searchindex.js").exists():
        pytest.skip("needs Chromium, and the pages that `make docs` builds")
    browser = Browser(find_browser())
    browser.open((SITE / "search.html").as_uri(), 1280)
    yield browser
    browser.close()


@pytest.mark.parametrize("question", ANSWERS)
def test_the_first_hit_has_the_answer(search, question):
    found = search.evaluate(f"{FIRST_HIT}({json.dumps(question)})")
    assert found == ANSWERS[question], "if pages have changed, run `make docs` first"


@pytest.mark.parametrize("page", ["index.html", "guide/rules.html", "theory/relaxations.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_asks_no_network_and_fits_a_phone(search, page, scheme):
    search.open((SITE / page).as_uri(), 390, scheme=scheme)
    asked = [
        event["params"]["request"]["url"]
        for event in search.events
        if event.get("method") == "Network.requestWillBeSent"
    ]
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert search.evaluate("document.documentElement.scrollWidth") <= 390
    assert search.evaluate("document.documentElement.dataset.theme") == scheme
