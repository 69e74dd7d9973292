"""The page in a real browser: typing, sliders, drop, copy, cancel, two tabs, a stopped server."""

import base64
import csv
import io
import json
import subprocess
import sys
import time
from urllib.parse import quote
from xml.dom.minidom import parseString

import numpy as np
import pytest

import residuum as rs
from explorer.running import running_explorer
from explorer.test_server import HARD
from reports.browser import Browser, find_browser

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no chromium or chromium-browser on the PATH"
)
OPENED = "document.querySelector('#examples button') !== null"
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


@pytest.fixture(scope="module")
def browser():
    opened = Browser(find_browser())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def explorer():
    with running_explorer() as running:
        yield running


def until(browser, script, seconds=20):
    """Return the value of a script as soon as there is one."""
    deadline = time.monotonic() + seconds
    while not (value := browser.evaluate(script)):
        assert time.monotonic() < deadline, script
        time.sleep(0.03)
    return value


def text_of(name):
    return f"document.getElementById('{name}').textContent"


def type_in(browser, field, text):
    """Type a text as a user does, in the place of what is there."""
    browser.evaluate(f"document.getElementById('{field}').focus()")
    browser.evaluate(f"document.getElementById('{field}').select()")
    browser.call("Input.insertText", text=text)


def open_formula(browser, explorer, text, width=1280, scheme="light"):
    browser.open(explorer.address, width, scheme=scheme)
    until(browser, OPENED)
    type_in(browser, "text", text)
    read = str(rs.parse(text))
    until(browser, f"document.getElementById('notation').ariaLabel === {json.dumps(read)}")
    rows = "document.querySelectorAll('#relaxations .bar').length"
    until(browser, f"{rows} === document.querySelectorAll('#relaxations tbody tr').length")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_every_view_opens_without_complaints_and_fits_the_window(browser, explorer, width, scheme):
    open_formula(browser, explorer, "P & Q -> R", width, scheme)
    for view, shown in (("training", "charts"), ("rules", "rule-list"), ("formula", "surfaces")):
        browser.evaluate(f"document.getElementById('tab-{view}').click()")
        until(browser, f"document.getElementById('{shown}').children.length")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    unnamed = browser.evaluate(
        "[...document.querySelectorAll('input, select, textarea, canvas, button')].filter(e =>"
        " !(e.ariaLabel || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert [event for event in browser.events if event.get("method") in COMPLAINTS] == []
    requests = [e["params"]["request"] for e in browser.events
                if e.get("method") == "Network.requestWillBeSent"]  # fmt: skip
    origin = explorer.address.partition("/?")[0]
    assert {one["url"][: len(origin)] for one in requests} == {origin}
    assert "token" not in browser.evaluate("location.href + document.cookie")


def test_mistakes_are_underlined_where_they_stand_and_what_was_read_stays(browser, explorer):
    open_formula(browser, explorer, "P -> Q")
    type_in(browser, "text", "P -> => Q")
    problem = until(browser, text_of("problem"))
    assert problem.startswith("line 1, column 6")
    assert problem.splitlines()[-1].index("^") == problem.splitlines()[-2].index("=>")
    assert until(browser, "document.querySelector('#text-backdrop mark')?.textContent") == "="
    assert browser.evaluate("document.getElementById('notation').ariaLabel") == "P -> Q"


def test_text_is_shown_and_never_run(browser, explorer):
    attack = 'P("<img src=x onerror=alert(1)><script>alert(2)</script>") -> Q'
    open_formula(browser, explorer, attack)
    assert "<img src=x" in browser.evaluate(text_of("sliders"))
    assert browser.evaluate("document.querySelectorAll('img, main script').length") == 0
    link = f"{explorer.address.partition('?')[0]}#state=" + quote(
        json.dumps({"text": attack, "view": "<b>", "degrees": {"__proto__": 0.5, "P": "x"},
                    "relaxations": ["<img src=x>", 3], "x": 1e9, "training": {"rate": "<i>"}})
    )  # fmt: skip
    browser.open("about:blank", 1280)
    browser.open(link, 1280)
    until(browser, text_of("notation"))
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert [event for event in browser.events if event.get("method") in COMPLAINTS] == []


def test_sliders_move_degrees_as_the_library_computes_them(browser, explorer):
    open_formula(browser, explorer, "P & (P -> Q) -> Q")
    browser.evaluate("document.getElementById('slider-0').focus()")
    for _ in range(3):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight",
                     windowsVirtualKeyCode=39)  # fmt: skip
    expected = rs.truth("P & (P -> Q) -> Q", {"P": 0.53, "Q": 0.5}, "s-product")
    first = "document.querySelector('#relaxations tbody td').textContent"
    until(browser, f"{first} === '{expected:.4f}'.replace(/0+$/, '')")
    until(browser, "document.getElementById('tree').ariaLabel.includes('P 0.53')")
    moved = browser.evaluate("document.querySelector('canvas').toDataURL()")
    browser.evaluate("document.querySelector('canvas').focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft",
                 windowsVirtualKeyCode=37)  # fmt: skip
    until(browser, f"document.querySelector('canvas').toDataURL() !== {json.dumps(moved)}")


def test_measuring_is_shown_as_it_goes_and_can_be_cancelled(browser, explorer):
    open_formula(browser, explorer, HARD)
    browser.evaluate("document.getElementById('measure').click()")
    until(browser, "/^[1-9] of 10$/.test(document.getElementById('measuring').textContent)")
    browser.evaluate("document.getElementById('stop-measuring').click()")
    until(browser, "document.getElementById('measuring').textContent === 'Cancelled'")
    assert browser.evaluate("document.querySelector('#consistencies td').textContent") != "–"
    assert browser.evaluate("document.getElementById('stop-measuring').hidden")


def copied(browser, button):
    """Return what a button copies."""
    browser.evaluate("navigator.clipboard.writeText = (text) => { window.kept = text; }")
    browser.evaluate(f"document.getElementById('{button}').click()")
    return until(browser, "window.kept")


def test_copies_say_the_same_and_a_link_opens_in_another_tab(browser, explorer):
    text = 'P("it\'s $(x)") -> Q'
    open_formula(browser, explorer, text)
    python = copied(browser, "copy-python")
    found = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True)
    assert found.stderr == ""
    assert found.stdout.splitlines()[1].split()[:2] == ["s-product", "0.75"]
    browser.evaluate("window.kept = ''")
    command = copied(browser, "copy-command").replace(
        "residuum", f"{sys.executable} -m residuum", 1
    )
    shell = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (shell.stderr, shell.stdout.split()[:2]) == ("", ["s-product", "0.75"])
    browser.evaluate("window.kept = ''")
    link = copied(browser, "copy-link")
    assert explorer.address.partition("token=")[2] not in link
    script = f"window.other = window.open({json.dumps(link)}); true"
    browser.call("Runtime.evaluate", expression=script, userGesture=True)
    label = "window.other.document.getElementById('notation')?.ariaLabel"
    assert until(browser, label) == str(rs.parse(text))
    type_in(browser, "text", "P -> R")
    until(browser, "document.getElementById('notation').ariaLabel === 'P -> R'")
    assert browser.evaluate(label) == str(rs.parse(text))
    browser.evaluate("window.other.close()")


def saved(browser, button):
    """Return the name and the content of the file that a button saves."""
    browser.evaluate(
        "URL.createObjectURL = (blob) => { const reader = new FileReader(); reader.onload = () =>"
        "{ window.content = reader.result; }; reader.readAsDataURL(blob); return '#'; };"
        "HTMLAnchorElement.prototype.click = function () { window.named = this.download; };"
        "window.content = ''"
    )
    browser.evaluate(f"document.getElementById('{button}').click()")
    content = until(browser, "window.content").partition("base64,")[2]
    return browser.evaluate("window.named"), base64.b64decode(content)


def test_files_that_are_saved_hold_what_is_shown(browser, explorer):
    open_formula(browser, explorer, "P & Q -> R")
    name, table = saved(browser, "csv-degrees")
    head, first, *_ = csv.reader(io.StringIO(table.decode()))
    shown = {atom: float(browser.evaluate(f"document.getElementById('slider-{n}').value"))
             for n, atom in enumerate("PQR")}  # fmt: skip
    assert (name, head[:2], head[2]) == ("degrees.csv", ["relaxation", "degree"], "gradient by P")
    assert float(first[1]) == pytest.approx(rs.truth("P & Q -> R", shown, "s-product"))
    name, tree = saved(browser, "svg-tree")
    texts = [node.firstChild.data for node in parseString(tree).getElementsByTagName("text")]
    assert (name, texts[::2]) == ("tree.svg", ["→", "∧", "P", "Q", "R"])
    until(browser, "document.querySelectorAll('#surfaces canvas').length === 10")
    _, table = saved(browser, "csv-surfaces")
    assert len(table.decode().splitlines()) == 1 + 33 * 33
    name, picture = saved(browser, "png-surfaces")
    assert (name, picture[:4]) == ("surfaces.png", b"\x89PNG")
    assert len(picture) > 20_000


def test_a_file_that_is_dropped_is_read(browser, explorer):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    browser.open(explorer.address, 1280)
    until(browser, OPENED)
    browser.evaluate("document.getElementById('tab-rules').click()")
    until(browser, "document.getElementById('penalties').tBodies[0].rows.length === 2")
    file = io.BytesIO()
    np.savez(file, Smokes=np.full((3, 3), 0.25), Friends=np.full((3, 3, 3), 0.75))
    browser.evaluate(
        f"(() => {{ const data = new DataTransfer(), bytes = Uint8Array.from(atob("
        f"'{base64.b64encode(file.getvalue()).decode()}'), (one) => one.charCodeAt(0));"
        "data.items.add(new File([bytes], '<b>mine.npz'));"
        "document.getElementById('drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, "
        "bubbles: true, cancelable: true})); })()"
    )
    until(browser, f"{text_of('dropped')} === '<b>mine.npz: 3 examples'")
    until(browser, "[...document.querySelectorAll('.output .number')][0].textContent === '0.75'")


def test_a_stopped_server_is_told_and_what_was_typed_stays(browser):
    with running_explorer() as running:
        open_formula(browser, running, "Kept -> Typed")
        running.stop()
    until(browser, "!document.getElementById('stopped').hidden")
    assert browser.evaluate("document.getElementById('text').value") == "Kept -> Typed"
    assert copied(browser, "copy-typed") == "Kept -> Typed"
