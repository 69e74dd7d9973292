"""The running server: its files, its tasks, hostile requests, cancelling, and its end."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from importlib import resources
from urllib.parse import urlsplit

import pytest

from explorer.running import is_running, running_explorer
from residuum.explorer.limits import MOST_BODY
from residuum.explorer.security import HEADERS

# A formula whose bounds take far longer than a test.
HARD = "(P -> Q) & (Q -> R) -> (P -> R) & (S | ~S -> P) & (T -> (Q -> P))"


@pytest.fixture(scope="module")
def explorer():
    with running_explorer() as running:
        yield running


def until(condition, seconds=20):
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_files_of_the_page_are_served_and_no_others(explorer):
    folder = resources.files("residuum.explorer").joinpath("page")
    for file in folder.iterdir():
        path = "/" if file.name == "index.html" else f"/{file.name}"
        response = explorer.request("GET", path)
        assert (response.status, response.content) == (200, file.read_bytes())
        assert {(n.lower().encode(), v.encode()) for n, v in response.getheaders()} >= set(HEADERS)
    assert explorer.request("GET", "/main.js").getheader("content-type").startswith("text/java")


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/page/../../app.py", "//etc/passwd",
        "/etc/passwd", "/index.html", "/app.py", "/main.js/", "/.", "/%00", "/tasks/", "/tasks/x",
        "/C:\\windows\\win.ini", "/file:///etc/passwd",
    ],
)  # fmt: skip
def test_no_path_leads_to_another_file(explorer, path):
    assert explorer.request("GET", path).status in (404, 405)


def test_a_request_without_the_token_is_refused(explorer):
    assert explorer.request("GET", "/", cookie="").status == 403
    body, kind = b"{}", "application/json"
    assert (
        explorer.request("POST", "/tasks/start", body, cookie="", content_type=kind).status == 403
    )
    assert explorer.request("GET", "/", Host="evil.example").status == 403
    assert explorer.request("GET", "/", Origin="http://evil.example").status == 403


def test_a_formula_is_read_over_the_network(explorer):
    found, end = explorer.ask("formula", {"text": "P -> Q"})
    assert found["part"]["unicode"] == "P → Q"
    assert found["part"]["countermodel"] == [True, False]
    assert end == {"done": True}


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"\xff\xfe", b"{", b"[" * 200_000, b'{"text": ' + b"{" * 100_000]
)
def test_what_is_no_object_of_json_is_refused_in_words(explorer, body):
    (refused,) = explorer.ask("formula", body)
    assert refused == {"refused": "expected a JSON object in UTF-8, got something else; send one"}


def test_too_much_is_refused(explorer):
    kind = "application/json"
    large = b'{"text": "' + b"P" * MOST_BODY + b'"}'
    assert explorer.request("POST", "/tasks/formula", large, content_type=kind).status == 413
    (refused,) = explorer.ask("formula", {"text": "P & " * 10_000 + "P"})
    assert "20,000 characters" in refused["refused"]
    (deep, _) = explorer.ask("formula", {"text": "~" * 19_000 + "P"})
    assert deep["part"]["tree"] is None


def test_what_a_form_of_another_page_could_send_is_refused(explorer):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert explorer.request("POST", "/tasks/start", b"{}", content_type=kind).status == 415
    assert explorer.request("GET", "/tasks/start").status == 405


def test_answers_of_one_worker_are_never_those_of_another(explorer):
    connections = [http.client.HTTPConnection(explorer.host, timeout=60) for _ in range(12)]
    for number, one in enumerate(connections):
        headers = {"Cookie": explorer.cookie, "content-type": "application/json"}
        one.request("POST", "/tasks/formula", json.dumps({"text": f"A{number} -> B"}), headers)
    for number, one in enumerate(connections):
        found = json.loads(one.getresponse().readline())
        assert found["part"]["atoms"] == [f"A{number}", "B"]
        one.close()


def test_work_is_streamed_and_stops_when_the_page_goes_away(explorer):
    before = set(explorer.workers())
    asked = {"text": HARD, "relaxations": ["r-godel", "r-product"], "seconds": 60}
    body = json.dumps(asked).encode()
    with socket.create_connection(explorer.host.split(":"), timeout=60) as connection:
        head = (
            f"POST /tasks/consistency HTTP/1.1\r\nHost: {explorer.host}\r\n"
            f"Cookie: {explorer.cookie}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        received = b""
        while b"r-godel" not in received:  # the first number has come; others take long
            received += connection.recv(65536)
        (worker,) = set(explorer.workers()) - before
    until(lambda: not is_running(worker))


def test_ctrl_c_ends_the_server_with_its_workers_in_the_middle_of_their_work():
    with (
        running_explorer() as running,
        closing(http.client.HTTPConnection(running.host, timeout=60)) as connection,
    ):
        asked = {"text": HARD, "relaxations": ["r-godel", "r-product"], "seconds": 60}
        headers = {"Cookie": running.cookie, "content-type": "application/json"}
        connection.request("POST", "/tasks/consistency", json.dumps(asked), headers)
        assert connection.getresponse().readline()
        workers = running.workers()
        assert len(workers) >= 2
        assert running.stop() == 130
        until(lambda: not any(map(is_running, workers)))


def test_the_address_stands_in_a_line_of_its_own_and_a_file_is_read_once(tmp_path):
    pytest.importorskip("uvicorn", reason="Uvicorn is not installed")
    path = tmp_path / "mine.rsd"
    path.write_text("predicate P rule a: P")
    command = [sys.executable, "-m", "residuum", "explore", "--no-browser", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = urlsplit(process.stdout.readline().strip())
        path.unlink()
        token = address.query.removeprefix("token=")
        connection = http.client.HTTPConnection(address.netloc, timeout=60)
        cookie = {"Cookie": f"residuum-{address.port}={token}"}
        connection.request("GET", "/opened", headers=cookie)
        opened = json.loads(connection.getresponse().read())
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "Ctrl-C ends the explorer\n"
    assert (address.hostname, address.path) == ("127.0.0.1", "/")
    assert opened == {"name": "mine.rsd", "text": "predicate P rule a: P"}


def test_workers_end_even_if_the_server_is_killed():
    with running_explorer() as running:
        running.ask("formula", {"text": "P"})
        workers = running.workers()
        assert workers
        running.process.kill()
        running.process.wait()
        running.process.stdout.close()
        until(lambda: not any(map(is_running, workers)))
