"""The report in a real browser, at the widths of a desk and of a phone."""

import pytest

from reports.browser import Browser, find_browser
from reports.made_up_report import usual_page
from residuum.reports.page import write_page
from residuum.reports.sections import SECTIONS

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no chromium or chromium-browser on the PATH"
)
WIDTHS = [1280, 390, 360]


@pytest.fixture(scope="module")
def browser():
    opened = Browser(find_browser())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(path, usual_page())
    return path.as_uri()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_without_errors_or_requests(browser, url, width, scheme):
    browser.open(url, width, scheme=scheme)
    complaints = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert [event for event in browser.events if event.get("method") in complaints] == []
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event.get("method") == "Network.requestWillBeSent"
    ]
    assert url in asked
    assert [one for one in asked if one != url and not one.startswith("data:")] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_every_section_is_shown_and_nothing_is_wider_than_the_window(browser, url, width):
    browser.open(url, width)
    names = browser.evaluate("[...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))")
    shown = browser.evaluate("[...document.querySelectorAll('section')].map(s => s.id)")
    assert names == shown
    assert len(shown) == len(SECTIONS)
    heights = browser.evaluate(
        "[...document.querySelectorAll('section')].map(s => s.getBoundingClientRect().height)"
    )
    assert len(heights) == len(names)
    assert min(heights) > 100
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("innerWidth") == width


def test_the_page_is_dark_where_that_is_preferred_and_its_letters_follow(browser, url):
    found = {}
    for scheme in ("light", "dark"):
        browser.open(url, 1280, scheme=scheme)
        found[scheme] = browser.evaluate(
            "[getComputedStyle(document.body).backgroundColor, "
            "getComputedStyle(document.querySelector('svg text')).fill]"
        )
    assert found["light"] == ["rgb(255, 255, 255)", "rgb(28, 30, 34)"]
    assert found["dark"] == ["rgb(21, 23, 28)", "rgb(231, 233, 236)"]


def test_printed_pages_are_light_and_show_what_is_folded(browser, url):
    browser.open(url, 1280, scheme="dark")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    height = "document.querySelector('#consistencies-exact table').getBoundingClientRect().height"
    assert browser.evaluate(height) > 50
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")
